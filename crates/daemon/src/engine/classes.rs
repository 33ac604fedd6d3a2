// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What each app's I/O needs: its class, for all who manage I/O.

use std::collections::BTreeMap;

use fovea_apps::{classify, AppName, ClassBy, Classified, Importance, IoClass, Standing, Traits};
use fovea_linux::{Device, Error};
use serde_json::json;

use super::engine_state::EngineState;
use super::perceptions::SAID_APART_NS;

/// How old what is known of services may be where something is looked at anyway.
const FRESH_NS: u64 = 10_000_000_000;

/// Time after an app came, or came to the screen, in which it has connected to what it uses.
const SETTLES_NS: u64 = 2_000_000_000;

impl<D: Device> EngineState<D> {
    /// Looks who uses which services, if that is due. Of who connects to whom the kernel tells nothing, so an app is looked at when it comes and
    /// when it comes to the screen, and a while after; at other times along with what wakes the daemon anyway.
    pub(super) fn look_at_services(&mut self, now_ns: u64) {
        let looks = &mut self.service_looks;
        let fresh = |looked_ns: u64| now_ns.saturating_sub(looked_ns) < FRESH_NS;
        let due = looks.again_ns.is_some_and(|again_ns| again_ns <= now_ns) || !looks.looked_ns.is_some_and(fresh);
        if !looks.matter || !due || self.services.is_empty() || self.registry.is_empty() {
            return;
        }
        let is_new = looks.looked_ns.replace(now_ns).is_none();
        looks.again_ns = is_new.then_some(now_ns + SETTLES_NS);
        match self.read_services() {
            Ok(found) => {
                for (name, known) in &mut self.apps {
                    known.services = found.get(name).cloned().unwrap_or_default();
                }
                self.classify(now_ns);
            }
            Err(e) => {
                if self.service_looks.said_ns.is_none_or(|then_ns| now_ns.saturating_sub(then_ns) > SAID_APART_NS) {
                    self.service_looks.said_ns = Some(now_ns);
                    say!("fovea: {e}: which services apps use stays as it was last known");
                }
                self.service_looks.again_ns = Some(now_ns + SETTLES_NS);
            }
        }
    }

    fn read_services(&mut self) -> Result<BTreeMap<AppName, Vec<usize>>, Error> {
        let mut found: BTreeMap<AppName, Vec<usize>> = BTreeMap::new();
        let mut users = self.device.service_users(&self.services)?;
        users.extend(self.service_looks.named(&self.services));
        for user in users {
            // One process that cannot be looked up keeps nobody else from being seen.
            if let Ok(Some(name)) = self.app_of_pid(user.pid) {
                let services = found.entry(name).or_default();
                if !services.contains(&user.service) {
                    services.push(user.service);
                }
            }
        }
        found.values_mut().for_each(|services| services.sort_unstable());
        Ok(found)
    }

    /// Classifies all apps by what is known of them, and writes down who has another class now.
    pub(super) fn classify(&mut self, now_ns: u64) {
        let mut changed = Vec::new();
        // Else who is in front is a guess, and who is not is nobody's to say.
        let has_source = self.registry.has_source();
        for app in self.registry.iter() {
            let Some(known) = self.apps.get_mut(&app.name) else { continue };
            let services: Vec<_> = known.services.iter().filter_map(|&nth| self.services.get(nth)).collect();
            let importance = known.importance.unwrap_or(Importance::Hidden);
            let importance = (has_source || importance <= Importance::Visible).then_some(importance);
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
