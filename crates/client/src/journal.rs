// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Lines of the daemon's journal: what was done, why, and what that decision depended on, so that it can be made again.

use std::collections::BTreeMap;

use fovea_apps::AppName;
use fovea_policy::disk::DiskState;
use fovea_policy::memory::MemoryState;
use fovea_policy::merge::MergeState;
use fovea_policy::net::NetState;
use fovea_policy::tier::TierState;
use fovea_policy::{AppState, Asked, Config, Outsider, Reason, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Monotonic time.
    pub t_ns: u64,
    /// Time of day, in milliseconds since 1970.
    pub unix_ms: u64,
    /// What was done ("kill", "compress", …: [`fovea_policy::Action::name`]), or what happened ("focus", "start", …).
    pub action: String,
    /// The app concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppName>,
    /// Whose app it is, where that is known by its cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Memory at that time. A rank and a thaw leave out what is as in the last decision's line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<MemoryState>,
    /// What else the decision depended on; with `readings`, all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub outcome: Value,
    /// It was decided, and not done (`[daemon] act = false`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_decided: bool,
}

/// A [`Snapshot`] without its memory, and of the apps only those that are not as they were in the last basis of the file: a journal lies in
/// memory, and most apps are as they were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    /// When it was decided; a line may be written later.
    pub now_ns: u64,
    /// [`Snapshot::screen_on`].
    pub screen_on: bool,
    /// [`Snapshot::focus_told`].
    pub focus_told: bool,
    /// [`Snapshot::focused_ns`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focused_ns: Option<u64>,
    /// [`Snapshot::goes_back_permille`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_back_permille: Option<u32>,
    /// [`Snapshot::cpu_busy`].
    pub cpu_busy: bool,
    /// [`Snapshot::cpus`].
    pub cpus: usize,
    /// [`Snapshot::kill_pending`].
    pub kill_pending: bool,
    /// [`Snapshot::asked`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// [`Snapshot::disk`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub disk: DiskState,
    /// [`Snapshot::net`]; none if nobody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<NetState>,
    /// [`Snapshot::merge`]; none if nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeState>,
    /// [`Snapshot::tier`]; none where there is one kind of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierState>,
    /// [`Snapshot::outsiders`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outsiders: Vec<Outsider>,
    /// [`Snapshot::session_bytes`].
    #[serde(default, skip_serializing_if = "is_none")]
    pub session_bytes: u64,
    /// [`Snapshot::leaked_ns`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaked_ns: Option<u64>,
    /// By what it was decided. Only in the first of a file, and after a change; then all apps are in it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Config>>,
    /// Apps that are new or have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apps: Vec<AppState>,
    /// Of the other apps whose [`AppState::returns_permille`] alone has changed, that: a visit changes everybody's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub returns_permille: BTreeMap<AppName, Option<u32>>,
    /// Apps that are there no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<AppName>,
}

fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

fn is_default(disk: &DiskState) -> bool {
    *disk == DiskState::default()
}

/// Turns snapshots into bases, one after the other.
#[derive(Debug, Default)]
pub struct Encoder {
    last: Option<BTreeMap<AppName, AppState>>,
    memory: Option<MemoryState>,
    policy: Config,
}

impl Encoder {
    /// By what the next ones are decided.
    pub fn set_policy(&mut self, policy: Config) {
        self.policy = policy;
        self.restart();
    }

    /// The next basis is the first of a file.
    pub fn restart(&mut self) {
        self.last = None;
        self.memory = None;
    }

    /// What to write of a snapshot: a line's `readings` and `basis`.
    pub fn encode(&mut self, snapshot: &Snapshot) -> (Option<MemoryState>, Basis) {
        let changed = self.memory.replace(snapshot.memory) != Some(snapshot.memory);
        (changed.then_some(snapshot.memory), self.basis(snapshot))
    }

    fn basis(&mut self, snapshot: &Snapshot) -> Basis {
        let policy = self.last.is_none().then(|| Box::new(self.policy.clone()));
        let last = self.last.get_or_insert_default();
        let is_there = |name: &AppName| snapshot.apps.iter().any(|app| app.name == *name);
        // Only where somebody has gone is it worth asking of each.
        let mut gone = Vec::new();
        let mut apps = Vec::new();
        let mut returns_permille = BTreeMap::new();
        for app in &snapshot.apps {
            match last.get_mut(&app.name) {
                Some(before) => {
                    let returned = std::mem::replace(&mut before.returns_permille, app.returns_permille);
                    if before != app {
                        apps.push(app.clone());
                    } else if returned != app.returns_permille {
                        returns_permille.insert(app.name.clone(), app.returns_permille);
                    }
                }
                None => apps.push(app.clone()),
            }
        }
        let new = apps.iter().filter(|app| !last.contains_key(&app.name)).count();
        if last.len() + new > snapshot.apps.len() {
            gone = last.keys().filter(|name| !is_there(name)).cloned().collect();
        }
        gone.iter().for_each(|name| drop(last.remove(name)));
        for app in &apps {
            last.insert(app.name.clone(), app.clone());
        }
        Basis {
            now_ns: snapshot.now_ns,
            screen_on: snapshot.screen_on,
            focus_told: snapshot.focus_told,
            focused_ns: snapshot.focused_ns,
            goes_back_permille: snapshot.goes_back_permille,
            cpu_busy: snapshot.cpu_busy,
            cpus: snapshot.cpus,
            kill_pending: snapshot.kill_pending,
            asked: snapshot.asked.clone(),
            disk: snapshot.disk,
            net: (snapshot.net != NetState::default()).then_some(snapshot.net),
            merge: (snapshot.merge != MergeState::default()).then(|| snapshot.merge.clone()),
            tier: (snapshot.tier != TierState::default()).then_some(snapshot.tier),
            outsiders: snapshot.outsiders.clone(),
            session_bytes: snapshot.session_bytes,
            leaked_ns: snapshot.leaked_ns,
            policy,
            apps,
            returns_permille,
            gone,
        }
    }
}

/// Turns them back, in the same order.
#[derive(Debug, Default)]
pub struct Decoder {
    apps: BTreeMap<AppName, AppState>,
    memory: Option<MemoryState>,
    policy: Option<Config>,
}

impl Decoder {
    /// By what the line that was decoded last was decided.
    pub fn policy(&self) -> Option<&Config> {
        self.policy.as_ref()
    }

    /// What a line's decision depended on; `None` if the line is no decision's, or the file's beginning is missing. Apps are in the order of
    /// their names: no decision depends on it.
    pub fn decode(&mut self, line: &Line) -> Option<Snapshot> {
        let basis = line.basis.as_ref()?;
        if let Some(policy) = &basis.policy {
            self.policy = Some((**policy).clone());
            self.memory = None;
            self.apps.clear();
        }
        self.policy.as_ref()?;
        self.memory = line.readings.or(self.memory);
        let memory = self.memory?;
        let apps = &mut self.apps;
        basis.gone.iter().for_each(|name| drop(apps.remove(name)));
        for app in &basis.apps {
            apps.insert(app.name.clone(), app.clone());
        }
        for (name, &returns_permille) in &basis.returns_permille {
            apps.get_mut(name)?.returns_permille = returns_permille;
        }
        Some(Snapshot {
            now_ns: basis.now_ns,
            screen_on: basis.screen_on,
            focus_told: basis.focus_told,
            focused_ns: basis.focused_ns,
            goes_back_permille: basis.goes_back_permille,
            cpu_busy: basis.cpu_busy,
            cpus: basis.cpus,
            memory,
            kill_pending: basis.kill_pending,
            asked: basis.asked.clone(),
            disk: basis.disk,
            net: basis.net.unwrap_or_default(),
            merge: basis.merge.clone().unwrap_or_default(),
            tier: basis.tier.unwrap_or_default(),
            outsiders: basis.outsiders.clone(),
            session_bytes: basis.session_bytes,
            leaked_ns: basis.leaked_ns,
            apps: apps.values().cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use fovea_apps::Importance;
    use proptest::prelude::*;

    use super::*;

    fn line_of(encoder: &mut Encoder, snapshot: &Snapshot) -> Line {
        let (readings, basis) = encoder.encode(snapshot);
        Line { readings, basis: Some(basis), ..Line::default() }
    }

    proptest! {
        /// Apps come, change and go; a file is rotated now and then.
        #[test]
        fn a_snapshot_comes_back_from_a_file_as_it_was_written(
            steps in prop::collection::vec((prop::collection::btree_map(0u8..9, (0usize..6, 0u64..3, any::<bool>(), prop::option::of(1u32..4)), 0..7), any::<bool>(), 0u8..8), 1..30)
        ) {
            let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
            for (at, (apps, screen_on, rotate)) in steps.into_iter().enumerate() {
                if rotate == 0 {
                    encoder.restart();
                }
                let apps = apps.into_iter().map(|(id, (class, mb, frozen, returns_permille))| AppState {
                    frozen, returns_permille, anon_bytes: mb << 20, swap_bytes: mb,
                    ..AppState::new(format!("a{id}").parse().unwrap(), Importance::ALL[class])
                });
                // Not at every step another one.
                let memory = MemoryState { free_bytes: at as u64 / 2, stall_percent: 0.1 * (at / 2) as f64, ..MemoryState::default() };
                let who = Outsider { cgroup: "x.service".into(), growing_since_ns: 1, gained_bytes: at as u64, killable_bytes: 2, hoarded_bytes: 1, of_session: at % 2 == 1 };
                let outsiders = vec![who; at % 3];
                let leaked_ns = (at % 2 == 0).then_some(at as u64);
                let snapshot = Snapshot { now_ns: at as u64, screen_on, memory, outsiders, leaked_ns, session_bytes: at as u64 % 3, apps: apps.collect(), ..Snapshot::default() };
                let text = serde_json::to_string(&line_of(&mut encoder, &snapshot)).unwrap();
                let line: Line = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(decoder.decode(&line), Some(snapshot));
            }
        }
    }

    #[test]
    fn what_comes_before_the_first_whole_basis_of_a_torn_file_is_passed_over() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        let snapshot =
            Snapshot { apps: vec![AppState::new("mail".parse().unwrap(), Importance::Hidden)], ..Snapshot::default() };
        line_of(&mut encoder, &snapshot);
        assert_eq!(decoder.decode(&line_of(&mut encoder, &snapshot)), None, "its beginning is missing");
        encoder.restart();
        assert_eq!(decoder.decode(&line_of(&mut encoder, &snapshot)), Some(snapshot));
        assert_eq!(decoder.decode(&Line::default()), None, "no decision");
    }
}
