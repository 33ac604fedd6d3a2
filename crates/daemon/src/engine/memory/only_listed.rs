// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Nobody but listed apps could be killed, and somebody should be: whoever finds the OOM killer's work must find out why.

use fovea_linux::Device;
use fovea_policy::{Action, Decision, Snapshot};
use serde_json::json;

use crate::engine::engine_state::EngineState;
use crate::journal::Entry;

/// Least time between two words to the system's log that only listed apps are left.
const AGAIN_NS: u64 = 60_000_000_000;

#[derive(Debug, Default)]
pub(super) struct OnlyListed {
    is_so: bool,
    said_ns: Option<u64>,
}

impl OnlyListed {
    pub(super) fn is_so(&self) -> bool {
        self.is_so
    }

    pub(super) fn note<D: Device>(&mut self, shared: &mut EngineState<D>, decision: &Decision, snapshot: &Snapshot) {
        if !decision.only_listed {
            let kills = decision.actions.iter().any(|(a, _)| matches!(a, Action::Kill { .. } | Action::Ask { .. }));
            self.is_so &= !kills && decision.pressure.is_some_and(|p| p.ladder.is_some());
            return;
        }
        self.is_so = true;
        let now_ns = snapshot.now_ns;
        if self.said_ns.is_some_and(|said_ns| now_ns.saturating_sub(said_ns) < AGAIN_NS) {
            return;
        }
        self.said_ns = Some(now_ns);
        let kept = shared.apps.iter().filter_map(|(name, known)| Some(format!("{name} ({})", known.listed.as_ref()?)));
        let kept: Vec<String> = kept.take(8).collect();
        let line = format!(
            "memory is short and only listed apps are left: {}: take some off, or the kernel's OOM killer may choose",
            kept.join(", ")
        );
        say!("fovea: {line}");
        shared.syslog(&line);
        shared.journal.write(&Entry {
            t_ns: now_ns,
            action: "only-listed",
            readings: Some(snapshot.memory),
            outcome: json!({ "kept": kept }),
            ..Entry::default()
        });
    }
}
