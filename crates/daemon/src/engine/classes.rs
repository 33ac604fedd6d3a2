// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What each app's I/O needs: its class, for all who manage I/O.

use fovea_apps::{classify, ClassBy, Classified, Importance, IoClass, Standing, Traits};
use fovea_linux::Device;
use serde_json::json;

use super::house::House;

impl<D: Device> House<D> {
    /// Classifies all apps by what is known of them, and writes down who has another class now.
    pub(super) fn classify(&mut self, now_ns: u64) {
        let mut changed = Vec::new();
        for app in self.registry.iter() {
            let Some(known) = self.apps.get_mut(&app.name) else { continue };
            let services: Vec<_> = known.services.iter().filter_map(|&nth| self.services.get(nth)).collect();
            let importance = known.importance.unwrap_or(Importance::Hidden);
            let classified = match known.listed.as_ref().map(|listed| listed.list) {
                Some(Standing::Ignore) => {
                    Classified { class: IoClass::Plain, by: ClassBy::Ignored, ..Classified::default() }
                }
                _ => classify(&Traits { said: app.io_class, heard: known.heard, services: &services, importance }),
            };
            if known.io_class.class != classified.class {
                known.io_class_since_ns = now_ns;
            }
            if known.io_class != classified {
                known.io_class = classified.clone();
                changed.push((app.name.clone(), classified));
            }
        }
        for (name, classified) in changed {
            self.changed = true;
            self.write(now_ns, "io-class", Some(&name), None, json!(classified));
        }
    }
}
