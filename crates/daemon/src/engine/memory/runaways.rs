// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runaways that are no apps: never killed by us, but named, and where one leaks apps do not die for it: the kernel's OOM killer is left to choose.

use std::collections::{BTreeMap, BTreeSet};

use fovea_linux::Device;
use fovea_policy::memory::{eats_what_is_left, Growth, MemoryState, LEAST_GAINED_BYTES, YOUNG_NS};
use fovea_policy::{Decision, Outsider};
use serde_json::json;

use crate::engine::engine_state::EngineState;
use crate::journal::Entry;

/// Time between two looks while memory is short.
const LOOK_NS: u64 = 500_000_000;

/// Time until the same one is named in the logs again.
const AGAIN_NS: u64 = 60_000_000_000;

/// Never left to the kernel: the first process, which the kernel never kills, and a virtual machine that systemd knows
/// (org.freedesktop.machine1(5): `machine-NAME.scope`), which grows to its size and in which somebody works. A container of root's is a
/// service like any other.
fn is_spared(cgroup: &str) -> bool {
    let machine = cgroup.strip_prefix("machine.slice/").and_then(|within| within.split('/').next());
    let is_machine = |unit: &str| unit.starts_with("machine-") && unit.ends_with(".scope");
    machine.is_some_and(is_machine) || fovea_linux::cgroup::is_within(cgroup, "init.scope")
}

/// What is to be known of one that grows: since when, by how much, and what the kernel's OOM killer would find of it, going by size.
///
/// Nobody looks while memory is not short, so that the first readings of a fast one are of its last seconds. If its largest process began not
/// long ago, all that this has was gained since. Of one that has run for long only readings count.
fn outsider<D: Device>(
    device: &mut D,
    cgroup: &str,
    known: &mut Growth,
    bytes: u64,
    memory: &MemoryState,
    now_ns: u64,
) -> Option<Outsider> {
    let grows = known.gained().is_some() || known.bytes_per_s() > 0;
    if bytes < LEAST_GAINED_BYTES || (!grows && known.hoarded_bytes() < LEAST_GAINED_BYTES) {
        return None;
    }
    let holders = device.holders(cgroup).ok()?;
    known.take_off_replaced(&holders);
    let largest = holders.iter().max_by_key(|holder| holder.bytes)?;
    let is_spared = is_spared(cgroup) || largest.oom_score_adj < 0;
    let has_begun = now_ns.saturating_sub(largest.started_ns) < YOUNG_NS;
    let is_young = known.bytes_per_s() > 0 && has_begun;
    let (growing_since_ns, gained_bytes) =
        if is_young { (largest.started_ns, largest.bytes) } else { known.gained().unwrap_or((now_ns, 0)) };
    let killable_bytes = if is_spared { 0 } else { largest.bytes + handicap_bytes(largest.oom_score_adj, memory) };
    let hoarded_bytes = if has_begun { largest.bytes } else { known.hoarded_bytes().min(largest.bytes) };
    let of_session = is_of_session(cgroup);
    Some(Outsider {
        cgroup: cgroup.to_owned(),
        growing_since_ns,
        gained_bytes,
        killable_bytes,
        hoarded_bytes,
        of_session,
    })
}

/// What a score counts for when the kernel's OOM killer goes by size (mm/oom_kill.c, `oom_badness`): thousandths of memory and swap.
fn handicap_bytes(oom_score_adj: i32, memory: &MemoryState) -> u64 {
    let all_bytes = memory.total_bytes + memory.swap.map_or(0, |swap| swap.total_bytes);
    all_bytes / 1000 * u64::try_from(oom_score_adj).unwrap_or(0)
}

/// Whether a session breaks without it.
fn is_of_session(cgroup: &str) -> bool {
    fovea_apps::place_of_cgroup(cgroup).place == fovea_apps::Place::Session
}

/// What is known of the cgroups outside of apps.
#[derive(Debug, Default)]
pub(super) struct Outside {
    looked_ns: Option<u64>,
    growth: BTreeMap<String, Growth>,
    /// Those that grow too fast now, and when each was last named in the logs.
    runaways: BTreeMap<String, u64>,
    /// Those that have grown for a while, at the last look.
    outsiders: Vec<Outsider>,
    /// The most that a part of a session occupied then, as the kernel's OOM killer counts it.
    session_bytes: u64,
    /// What a session's score counts for with that.
    handicap_bytes: u64,
    /// Whom the kernel's OOM killer is left to end.
    left_to_kernel: Option<String>,
    /// When that was last so.
    leaked_ns: Option<u64>,
}

impl Outside {
    /// Cgroups that have been found to run away of late.
    pub(super) fn named(&self, now_ns: u64) -> Vec<String> {
        let late = self.runaways.iter().filter(|(_, said_ns)| now_ns.saturating_sub(**said_ns) < AGAIN_NS);
        late.map(|(cgroup, _)| cgroup.clone()).collect()
    }

    /// Who has grown for a while.
    pub(super) fn outsiders(&self) -> &[Outsider] {
        &self.outsiders
    }

    /// The most that the kernel's OOM killer finds of a session, whose largest app has so much: what the user's systemd starts has a
    /// higher score than a service of the system's.
    pub(super) fn session_bytes(&self, largest_app_bytes: u64) -> u64 {
        let app_bytes = if self.handicap_bytes > 0 { largest_app_bytes + self.handicap_bytes } else { 0 };
        self.session_bytes.max(app_bytes)
    }

    /// When somebody was last found to leak.
    pub(super) fn leaked_ns(&self) -> Option<u64> {
        self.leaked_ns
    }

    /// Nobody has looked: what was known may not be so any more.
    pub(super) fn forget_outsiders(&mut self) {
        self.outsiders.clear();
    }

    /// Whether it must be looked whether a leak goes on, short or not: nothing is done for apps meanwhile.
    pub(super) fn is_watched(&self) -> bool {
        self.left_to_kernel.is_some()
    }

    /// Says once for whom nothing is done; true if that has changed, and with it what the kernel is to know of apps.
    pub(super) fn note<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        decision: &Decision,
        memory: &MemoryState,
        now_ns: u64,
    ) -> bool {
        if decision.left_to_kernel.is_some() {
            self.leaked_ns = Some(now_ns);
        }
        if self.left_to_kernel == decision.left_to_kernel {
            return false;
        }
        self.left_to_kernel.clone_from(&decision.left_to_kernel);
        let line = match &self.left_to_kernel {
            Some(cgroup) => {
                format!("{cgroup} is no app and leaks: no app dies for it, the kernel's OOM killer is to end it")
            }
            None => "nobody outside of apps leaks any more".to_owned(),
        };
        say!("fovea: {line}");
        shared.syslog(&line);
        let outcome = json!({ "cgroup": self.left_to_kernel });
        let readings = Some(*memory);
        shared.journal.write(&Entry { t_ns: now_ns, action: "aside", readings, outcome, ..Entry::default() });
        true
    }

    /// Looks for somebody else who eats what is left.
    pub(super) fn look<D: Device>(&mut self, shared: &mut EngineState<D>, memory: &MemoryState, now_ns: u64) {
        if self.looked_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < LOOK_NS) {
            return;
        }
        self.looked_ns = Some(now_ns);
        // An app that was registered may lie anywhere; what is found but over the budget is an outsider.
        let apps: BTreeSet<&str> = shared.registry.iter().map(|app| app.cgroup.as_str()).collect();
        let others = match shared.device.others(&|cgroup| apps.contains(cgroup)) {
            Ok(others) => others,
            Err(e) => return say!("fovea: {e}"),
        };
        let mut growth = std::mem::take(&mut self.growth);
        let mut runaways = Vec::new();
        self.outsiders.clear();
        (self.session_bytes, self.handicap_bytes) = (0, 0);
        let mut session = None;
        for (cgroup, bytes) in others.units {
            if apps.iter().any(|app| fovea_linux::cgroup::is_within(app, &cgroup)) {
                continue;
            }
            if is_of_session(&cgroup) && bytes > self.session_bytes {
                self.session_bytes = bytes;
                session = Some(cgroup.clone());
            }
            let mut known = growth.remove(&cgroup).unwrap_or_default();
            known.record(now_ns, bytes);
            // This first: it takes off what is no growth.
            self.outsiders.extend(outsider(&mut shared.device, &cgroup, &mut known, bytes, memory, now_ns));
            if eats_what_is_left(known.bytes_per_s(), memory) {
                runaways.push((cgroup.clone(), known.bytes_per_s(), bytes));
            }
            self.growth.insert(cgroup, known);
        }
        let is_left_to_kernel = self.outsiders.iter().any(|who| !who.of_session && who.killable_bytes > 0);
        for process in
            session.filter(|_| is_left_to_kernel).and_then(|at| shared.device.holders(&at).ok()).iter().flatten()
        {
            let handicap_bytes = handicap_bytes(process.oom_score_adj, memory);
            self.handicap_bytes = self.handicap_bytes.max(handicap_bytes);
            self.session_bytes = self.session_bytes.max(process.bytes + handicap_bytes);
        }
        for beyond in others.beyond {
            let what = format!("{beyond}: whether those grow is not seen, so remove some");
            if !shared.missing.contains(&what) {
                shared.lacks(now_ns, what);
            }
        }
        self.runaways.retain(|_, said_ns| now_ns.saturating_sub(*said_ns) < AGAIN_NS);
        for (cgroup, bytes_per_s, bytes) in runaways {
            if self.runaways.contains_key(&cgroup) {
                continue;
            }
            self.runaways.insert(cgroup.clone(), now_ns);
            let (mb, mb_per_s) = (bytes >> 20, bytes_per_s >> 20);
            let line = format!("{cgroup} is no app, has {mb} MiB and grows by {mb_per_s} MiB a second");
            say!("fovea: {line}");
            shared.syslog(&line);
            let outcome = json!({ "cgroup": cgroup, "bytes": bytes, "bytes_per_s": bytes_per_s });
            shared.journal.write(&Entry {
                t_ns: now_ns,
                action: "runaway",
                readings: Some(*memory),
                outcome,
                ..Entry::default()
            });
        }
    }
}
