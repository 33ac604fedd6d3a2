// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The engine over the fake device.

use std::path::Path;

use fovea_apps::{MemoryReading, PAGE_BYTES};
use fovea_linux::StorageSwap;
use proptest::prelude::*;

use crate::config::Config;
use crate::engine::Engine;
use crate::fake::{FakeApp, FakeDevice, OWN_ALGORITHM, UNKNOWN_ALGORITHM};
use crate::journal::Journal;
use crate::undo::{restore, UndoLog};
use fovea_client::protocol::{Reply, Request};

pub const MB: u64 = 1 << 20;
pub const SECOND_NS: u64 = 1_000_000_000;

pub struct Bench {
    pub device: FakeDevice,
    pub engine: Engine<FakeDevice>,
    pub folder: tempfile::TempDir,
}

/// What a phone's maker sets: the paper's thresholds, and background apps are frozen.
pub fn freezing() -> Config {
    let mut config = Config::default();
    config.memory.minfree_pages = Some(fovea_policy::memory::PAPER_PAGES);
    config.memory.thrash_refaults_per_s = Some(600);
    config.memory.kill_grace_ms = 0;
    config.freeze.classes = vec![fovea_apps::Importance::Hidden, fovea_apps::Importance::Empty];
    config
}

pub fn engine_in(folder: &Path, device: &FakeDevice) -> Engine<FakeDevice> {
    engine_with(folder, device, freezing())
}

pub fn engine_with(folder: &Path, device: &FakeDevice, config: Config) -> Engine<FakeDevice> {
    let journal = Journal::open(&folder.join("journal.jsonl"), 1 << 20).unwrap();
    let undo = UndoLog::open(folder).unwrap();
    Engine::new(device.clone(), config, journal, undo, Vec::new())
}

impl Bench {
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The daemon dies; what it leaves.
    pub fn left_behind(self) -> (tempfile::TempDir, FakeDevice) {
        (self.folder, self.device)
    }
}

pub fn bench(apps: &[(&str, u64)]) -> Bench {
    bench_with(apps, freezing())
}

pub fn bench_with(apps: &[(&str, u64)], config: Config) -> Bench {
    let device = FakeDevice::default();
    {
        let mut state = device.0.borrow_mut();
        state.memory = MemoryReading {
            total_bytes: 512 * MB,
            free_bytes: 100 * MB,
            available_bytes: 200 * MB,
            file_bytes: 100 * MB,
            psi_some_total_us: Some(0),
            ..Default::default()
        };
        state.sysctls.insert("vm/page-cluster".into(), "3".into());
        for &(name, mb) in apps {
            let anon_pages = mb * MB / PAGE_BYTES;
            let app = FakeApp { anon_pages, compressible_pages: anon_pages / 2, ..FakeApp::default() };
            state.apps.insert(format!("apps/{name}"), app);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_with(folder.path(), &device, config);
    engine.set_up(0).unwrap();
    for &(name, _) in apps {
        let app = name.parse().unwrap();
        let cgroup = format!("apps/{name}");
        engine.handle(Request::Register { app, cgroup, role: Default::default(), io_class: None }, 0);
    }
    Bench { device, engine, folder }
}

#[test]
fn the_status_names_the_largest_holders_of_device_buffers() {
    let device = FakeDevice::default();
    let holder = |cgroup| fovea_apps::BufferHolder { cgroup, uid: 1000, buffers: 1, bytes: cgroup << 20 };
    device.0.borrow_mut().buffer_holders = (1..40).map(holder).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    let Reply::Status(status) = engine.handle(Request::Status { limit: None, offset: 0 }, 0) else {
        panic!("no status")
    };
    assert_eq!(status.buffer_holders.len(), 16);
    assert_eq!(status.buffer_holders[0], holder(39));
}

#[test]
fn between_a_request_and_the_look_that_follows_the_daemon_is_busy() {
    let mut b = bench(&[]);
    let busy = |b: &mut Bench| match b.engine.handle(Request::status(), 0) {
        Reply::Status(status) => status.busy,
        other => panic!("{other:?}"),
    };
    b.engine.turn(0).unwrap();
    assert!(!busy(&mut b));
    b.engine.handle(Request::Screen { on: false }, SECOND_NS);
    assert!(busy(&mut b));
    b.engine.turn(SECOND_NS).unwrap();
    assert!(!busy(&mut b));
}

pub fn focus(app: &str) -> Request {
    Request::Focus { app: app.parse().unwrap() }
}

pub fn in_front(pid: u32) -> Request {
    Request::Windows { front: Some(pid), visible: vec![pid] }
}

pub fn close(app: &str) -> Request {
    Request::Close { app: app.parse().unwrap() }
}

impl Bench {
    /// Turns until nothing is due before `until_ns`; returns the time reached.
    pub fn run(&mut self, mut now_ns: u64, until_ns: u64) {
        for _ in 0..10_000 {
            let turn = self.engine.turn(now_ns).unwrap();
            if !turn.awaited.is_empty() {
                self.engine.victim_ended(now_ns);
                continue;
            }
            match turn.wake_at_ns {
                Some(at_ns) if at_ns <= until_ns => now_ns = at_ns.max(now_ns + 1),
                _ => return,
            }
        }
        panic!("the engine does not come to rest");
    }

    pub fn done(&self, what: &str) -> bool {
        self.device.0.borrow().done.iter().any(|d| d == what)
    }

    pub fn actions(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("journal.jsonl")).unwrap();
        text.lines()
            .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["action"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn a_left_app_is_frozen_after_the_debounce_and_thawed_before_focus_is_answered() {
    let mut b = bench(&[("mail", 10), ("game", 10)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(focus("game"), SECOND_NS);
    b.run(SECOND_NS, 5 * SECOND_NS);
    assert!(!b.done("freeze apps/mail"));
    b.run(5 * SECOND_NS, 20 * SECOND_NS);
    assert!(b.done("freeze apps/mail") && !b.done("freeze apps/game"));
    assert_eq!(b.engine.handle(focus("mail"), 21 * SECOND_NS), Reply::Done {});
    assert!(!b.device.0.borrow().apps["apps/mail"].frozen);
    assert_eq!(b.device.0.borrow().apps["apps/mail"].score, 0);
    assert_eq!(b.device.0.borrow().apps["apps/game"].score, 701);
}

/// While memory was short a process could not be looked into as its app came to the front. The score of the background stayed on it, and the
/// kernel ended it for a service's leak.
#[test]
fn a_score_that_could_not_be_set_is_set_with_the_next_change() {
    let mut b = bench(&[("mail", 10), ("game", 10), ("web", 10)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(focus("game"), SECOND_NS);
    b.device.0.borrow_mut().failing = Some("rank");
    b.engine.handle(focus("mail"), 2 * SECOND_NS);
    b.device.0.borrow_mut().failing = None;
    b.engine.handle(close("web"), 4 * SECOND_NS);
    let score = |name: &str| b.device.0.borrow().apps[&format!("apps/{name}")].score;
    assert_eq!((score("mail"), score("game")), (0, 701));
}

#[test]
fn scores_that_others_set_are_left_and_ours_come_back() {
    let mut b = bench(&[]);
    let browser = FakeApp { score: 100, other_scores: vec![100, -900], ..FakeApp::default() };
    b.device.0.borrow_mut().apps.insert("apps/browser".into(), browser);
    let (app, cgroup) = ("browser".parse().unwrap(), "apps/browser".into());
    b.engine.handle(Request::Register { app, cgroup, role: Default::default(), io_class: None }, 0);
    let scores = |b: &Bench| {
        let app = b.device.0.borrow().apps["apps/browser"].clone();
        (app.score, app.other_scores)
    };
    assert_eq!(scores(&b), (801, vec![801, -900]), "what is protected stays so");
    b.engine.handle(focus("browser"), 1);
    assert_eq!(scores(&b), (100, vec![100, -900]), "in front it has what it had");
    b.engine.handle(Request::Home {}, 2);
    // Children born in the background have their parent's, one born just before has its own.
    b.device.0.borrow_mut().apps.get_mut("apps/browser").unwrap().other_scores.extend([801, 100]);
    b.engine.handle(close("browser"), 3);
    let (first, others) = scores(&b);
    assert!(first > 801 && others == [first, -900, first, first], "{first} {others:?}");
    // One that was marked has left the app meanwhile.
    b.device.0.borrow_mut().apps.insert("services/x".into(), FakeApp { score: 801, ..FakeApp::default() });
    restore(b.folder.path(), &mut b.device.clone()).unwrap();
    assert_eq!(scores(&b), (100, vec![100, -900, 100, 100]));
    assert_eq!(b.device.0.borrow().apps["services/x"].score, 100);
}

#[test]
fn cpus_that_cannot_be_read_end_nothing() {
    let mut b = bench(&[("mail", 10)]);
    b.device.0.borrow_mut().failing = Some("cpu");
    b.engine.turn(SECOND_NS).unwrap();
    b.engine.turn(2 * SECOND_NS).unwrap();
}

#[test]
fn another_configuration_counts_from_then_on_but_for_what_was_set_up() {
    let mut b = bench(&[("mail", 10)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(Request::Home {}, 0);
    b.run(0, 20 * SECOND_NS);
    assert!(b.device.0.borrow().apps["apps/mail"].frozen);
    let mut config = Config::default();
    config.zram.size_percent = 50;
    assert_eq!(b.engine.reconfigure(config, 21 * SECOND_NS), ["zram"]);
    b.run(21 * SECOND_NS, 22 * SECOND_NS);
    assert!(!b.device.0.borrow().apps["apps/mail"].frozen, "freezing is off now");
}

#[test]
fn unknown_apps_get_one_line_and_change_nothing() {
    let mut b = bench(&[("mail", 1)]);
    let Reply::Error { error } = b.engine.handle(focus("nope"), 1) else { panic!("accepted") };
    assert!(error.contains("nope") && error.contains("fovea launch") && !error.contains('\n'));
}

#[test]
fn a_device_without_zram_is_served_without_compression() {
    let device = FakeDevice::default();
    device.0.borrow_mut().failing = Some("zram_setup");
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    engine.set_up(0).unwrap();
    let Reply::Status(status) = engine.handle(Request::status(), 0) else { panic!("no status") };
    assert!(status.missing.iter().any(|m| m.starts_with("zram")));
}

#[test]
fn where_the_algorithm_cannot_be_had_zram_has_the_kernels_own() {
    let device = without_zram(StorageSwap::default());
    let folder = tempfile::tempdir().unwrap();
    let mut config = freezing();
    config.zram.algorithm = UNKNOWN_ALGORITHM.into();
    let mut engine = engine_with(folder.path(), &device, config);
    engine.set_up(0).unwrap();
    assert!(device.0.borrow().memory.zram.is_some());
    let Reply::Status(status) = engine.handle(Request::status(), 0) else { panic!("no status") };
    assert!(!status.missing.iter().any(|m| m.starts_with("zram")), "{:?}", status.missing);
    let journal = std::fs::read_to_string(folder.path().join("journal.jsonl")).unwrap();
    let line = journal.lines().find(|line| line.contains(r#""action":"zram""#)).unwrap();
    assert!(line.contains(OWN_ALGORITHM), "{line}");
    let undo = std::fs::read_to_string(folder.path().join("undo.log")).unwrap();
    assert!(undo.contains(OWN_ALGORITHM) && !undo.contains(UNKNOWN_ALGORITHM), "{undo}");
}

#[test]
fn a_zram_that_could_not_be_set_up_is_nobodys() {
    let device = without_zram(StorageSwap::default());
    device.0.borrow_mut().failing = Some("swapon");
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    engine.set_up(0).unwrap();
    let Reply::Status(status) = engine.handle(Request::status(), 0) else { panic!("no status") };
    assert!(status.missing.iter().any(|m| m.starts_with("zram")), "{:?}", status.missing);
    drop(engine);
    assert_eq!(UndoLog::open(folder.path()).unwrap().changed().zram, None, "whoever sets it up next keeps it");
}

/// A device of 1 GiB with that swap, and nothing in it.
fn without_zram(storage: StorageSwap) -> FakeDevice {
    let device = FakeDevice::default();
    {
        let mut state = device.0.borrow_mut();
        state.sysctls.insert("vm/page-cluster".into(), "3".into());
        (state.memory.zram, state.memory.total_bytes) = (None, 1 << 30);
        (state.memory.swap_total_bytes, state.memory.swap_free_bytes) = (storage.size_bytes, storage.size_bytes);
        state.storage_swap = storage;
    }
    device
}

#[test]
fn above_swap_on_storage_zram_has_no_limit_at_which_it_would_refuse_pages() {
    for (storage_bytes, is_limited) in [(0, true), (1 << 30, false)] {
        let device = without_zram(StorageSwap { size_bytes: storage_bytes, ..Default::default() });
        let folder = tempfile::tempdir().unwrap();
        engine_in(folder.path(), &device).set_up(0).unwrap();
        let state = device.0.borrow();
        let zram = state.memory.zram.unwrap();
        assert_eq!((zram.limit_bytes > 0, zram.disk_bytes > 0), (is_limited, true));
        assert_eq!(state.memory.swap_total_bytes, storage_bytes + zram.disk_bytes);
    }
}

#[test]
fn above_swap_on_ssds_no_zram_is_set_up_and_nothing_else_is_changed() {
    let device = without_zram(StorageSwap { size_bytes: 1 << 30, ssd_bytes: 1 << 30, ..Default::default() });
    let folder = tempfile::tempdir().unwrap();
    engine_in(folder.path(), &device).set_up(0).unwrap();
    let state = device.0.borrow();
    assert_eq!((state.memory.zram, state.memory.swap_total_bytes), (None, 1 << 30));
    assert_eq!(state.sysctls["vm/page-cluster"], "3");
    let journal = std::fs::read_to_string(folder.path().join("journal.jsonl")).unwrap_or_default();
    assert!(journal.contains("zram-left-out"), "{journal}");
}

#[test]
fn pages_are_read_back_one_by_one_but_for_swap_on_a_disk_that_turns() {
    for (storage_bytes, rotational_bytes, cluster) in [(0, 0, "0"), (1 << 30, 0, "0"), (1 << 30, 1 << 30, "3")] {
        let device = without_zram(StorageSwap { size_bytes: storage_bytes, rotational_bytes, ..Default::default() });
        let folder = tempfile::tempdir().unwrap();
        engine_in(folder.path(), &device).set_up(0).unwrap();
        assert_eq!(device.0.borrow().sysctls["vm/page-cluster"], cluster, "set up by the first");
        // Killed, and followed by another.
        engine_in(folder.path(), &device).set_up(1).unwrap();
        assert_eq!(device.0.borrow().sysctls["vm/page-cluster"], cluster, "taken over");
    }
}

#[test]
fn a_torn_undo_log_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = UndoLog::open(folder.path()).unwrap();
    log.freezing("apps/a").unwrap();
    log.freezing("apps/b").unwrap();
    log.thawed("apps/a").unwrap();
    drop(log);
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("undo.log")).unwrap();
    file.write_all(b"{\"frozen\":\"app").unwrap();
    let log = UndoLog::open(folder.path()).unwrap();
    assert_eq!(log.changed().frozen.iter().collect::<Vec<_>>(), ["apps/b"]);
}

proptest! {
    /// Whatever was asked and wherever the daemon dies, restoring leaves the device as it was.
    #[test]
    fn a_death_at_any_moment_leaves_nothing_changed(ops in prop::collection::vec((0u8..6, 0usize..3), 0..40)) {
        let names = ["a", "b", "c"];
        let mut b = bench(&[("a", 4), ("b", 8), ("c", 2)]);
        let mut now_ns = 0;
        for (op, i) in ops {
            now_ns += 4 * SECOND_NS;
            match op {
                0 => drop(b.engine.handle(focus(names[i]), now_ns)),
                1 => drop(b.engine.handle(close(names[i]), now_ns)),
                2 => drop(b.engine.handle(Request::Home {}, now_ns)),
                3 => drop(b.engine.handle(Request::Screen { on: i == 0 }, now_ns)),
                4 => {
                    b.device.0.borrow_mut().apps.remove(&format!("apps/{}", names[i]));
                    b.engine.ended(&names[i].parse().unwrap(), now_ns);
                }
                _ => drop(b.engine.turn(now_ns).unwrap()),
            }
        }
        drop(b.engine);
        let mut device = b.device.clone();
        let complaints = restore(b.folder.path(), &mut device).unwrap();
        prop_assert_eq!(complaints, Vec::<String>::new());
        let state = b.device.0.borrow();
        prop_assert!(state.apps.values().all(|a| !a.frozen && a.score == 0));
        prop_assert!(state.memory.zram.is_none());
        prop_assert_eq!(&state.sysctls["vm/page-cluster"], "3");
        drop(state);
        prop_assert!(UndoLog::open(b.folder.path()).unwrap().changed().is_empty());
    }
}
