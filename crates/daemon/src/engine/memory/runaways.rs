// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runaways that are no apps: never killed by us, but named, for else apps would die for somebody whom nobody looks at.

use std::collections::BTreeMap;

use fovea_linux::Device;
use fovea_policy::memory::{eats_what_is_left, Growth, MemoryState};
use serde_json::json;

use crate::engine::house::House;
use crate::journal::Entry;

/// Time between two looks while memory is short.
const LOOK_NS: u64 = 500_000_000;

/// Time until the same one is named in the logs again.
const AGAIN_NS: u64 = 60_000_000_000;

/// What is known of the cgroups outside of apps.
#[derive(Debug, Default)]
pub(super) struct Outside {
    looked_ns: Option<u64>,
    growth: BTreeMap<String, Growth>,
    /// Those that grow too fast now, and when each was last named in the logs.
    runaways: BTreeMap<String, u64>,
}

impl Outside {
    /// Cgroups that have been found to run away of late.
    pub(super) fn named(&self, now_ns: u64) -> Vec<String> {
        let late = self.runaways.iter().filter(|(_, said_ns)| now_ns.saturating_sub(**said_ns) < AGAIN_NS);
        late.map(|(cgroup, _)| cgroup.clone()).collect()
    }

    /// Looks for somebody else who eats what is left.
    pub(super) fn look<D: Device>(&mut self, house: &mut House<D>, memory: &MemoryState, now_ns: u64) {
        if self.looked_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < LOOK_NS) {
            return;
        }
        self.looked_ns = Some(now_ns);
        let others = match house.device.others() {
            Ok(others) => others,
            Err(e) => return say!("fovea: {e}"),
        };
        let mut growth = std::mem::take(&mut self.growth);
        let mut runaways = Vec::new();
        // An app that was registered may lie anywhere.
        let apps: Vec<&str> = house.registry.iter().map(|app| app.cgroup.as_str()).collect();
        for (cgroup, bytes) in others {
            if apps.iter().any(|app| fovea_linux::cgroup::is_within(app, &cgroup)) {
                continue;
            }
            let mut known = growth.remove(&cgroup).unwrap_or_default();
            known.record(now_ns, bytes);
            if eats_what_is_left(known.bytes_per_s(), memory) {
                runaways.push((cgroup.clone(), known.bytes_per_s(), bytes));
            }
            self.growth.insert(cgroup, known);
        }
        self.runaways.retain(|_, said_ns| now_ns.saturating_sub(*said_ns) < AGAIN_NS);
        for (cgroup, bytes_per_s, bytes) in runaways {
            if self.runaways.contains_key(&cgroup) {
                continue;
            }
            self.runaways.insert(cgroup.clone(), now_ns);
            let (mb, mb_per_s) = (bytes >> 20, bytes_per_s >> 20);
            let line =
                format!("{cgroup} is no app, has {mb} MB and grows by {mb_per_s} MB a second: apps may die for it");
            say!("fovea: {line}");
            house.syslog(&line);
            let outcome = json!({ "cgroup": cgroup, "bytes": bytes, "bytes_per_s": bytes_per_s });
            house.journal.write(&Entry {
                t_ns: now_ns,
                action: "runaway",
                readings: Some(*memory),
                outcome,
                ..Entry::default()
            });
        }
    }
}
