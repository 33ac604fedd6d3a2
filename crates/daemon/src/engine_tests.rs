// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The engine over the fake device.

use std::path::Path;

use fovea_linux::{MemoryReading, PAGE_BYTES};
use proptest::prelude::*;

use crate::config::Config;
use crate::engine::Engine;
use crate::fake::{FakeApp, FakeDevice};
use crate::journal::Journal;
use crate::protocol::{Reply, Request};
use crate::undo::{restore, UndoLog};

const MB: u64 = 1 << 20;
pub const SECOND_NS: u64 = 1_000_000_000;

pub struct Bench {
    pub device: FakeDevice,
    pub engine: Engine<FakeDevice>,
    folder: tempfile::TempDir,
}

/// What a phone's maker sets: the paper's thresholds, and background apps are frozen.
pub fn freezing() -> Config {
    let mut config = Config::default();
    config.memory.minfree_pages = Some(fovea_policy::PAPER_PAGES);
    config.memory.thrash_refaults_per_s = Some(600);
    config.memory.kill_grace_ms = 0;
    config.freeze.classes = vec![fovea_apps::Importance::Hidden, fovea_apps::Importance::Empty];
    config
}

fn engine_in(folder: &Path, device: &FakeDevice) -> Engine<FakeDevice> {
    engine_with(folder, device, freezing())
}

fn engine_with(folder: &Path, device: &FakeDevice, config: Config) -> Engine<FakeDevice> {
    let journal = Journal::open(&folder.join("journal.jsonl"), 1 << 20).unwrap();
    let undo = UndoLog::open(folder).unwrap();
    Engine::new(device.clone(), config, journal, undo, Vec::new())
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
fn the_ecaches_settings_are_given_and_come_back() {
    let device = FakeDevice::default();
    let there = [("verify", "always"), ("salvage_pages", "7"), ("zero", "lazy")];
    for (name, value) in there {
        device.0.borrow_mut().sysctls.insert(format!("module/dm_ecache/{name}"), value.into());
    }
    device.0.borrow_mut().ecache = Some(fovea_linux::ecache::PoolReading { frames: 23040, ..Default::default() });
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    engine.set_up(0).unwrap();
    assert_eq!(device.0.borrow().sysctls["module/dm_ecache/verify"], "auto");
    assert_eq!(device.0.borrow().sysctls["module/dm_ecache/salvage_pages"], "16384");
    let Reply::Status(status) = engine.handle(Request::Status {}, 0) else { panic!("no status") };
    assert_eq!(status.ecache.map(|pool| pool.frames), Some(23040));
    drop(engine);
    restore(folder.path(), &mut device.clone()).unwrap();
    for (name, value) in there {
        assert_eq!(device.0.borrow().sysctls[&format!("module/dm_ecache/{name}")], value);
    }
}

#[test]
fn between_a_request_and_the_look_that_follows_the_daemon_is_busy() {
    let mut b = bench(&[]);
    let busy = |b: &mut Bench| match b.engine.handle(Request::Status {}, 0) {
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

fn close(app: &str) -> Request {
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
fn a_kill_that_fails_is_written_down_and_tried_again_later_not_at_once() {
    let mut bench = bench(&[("mail", 40)]);
    bench.engine.handle(close("mail"), 0);
    {
        let mut state = bench.device.0.borrow_mut();
        state.failing = Some("kill");
        (state.memory.free_bytes, state.memory.file_bytes) = (5 * MB, 5 * MB);
        // No swap to compress to.
        (state.memory.swap_total_bytes, state.memory.zram) = (0, None);
        state.memory.psi_some_total_us = Some(9000);
    }
    bench.engine.pressure();
    let turn = bench.engine.turn(SECOND_NS).unwrap();
    assert!(turn.awaited.is_empty() && turn.wake_at_ns.is_some());
    let failures = |bench: &mut Bench| match bench.engine.handle(Request::Explain { app: None, limit: None }, 0) {
        Reply::Story { entries } => entries.iter().filter(|e| e["action"] == "kill-failed").count(),
        other => panic!("{other:?}"),
    };
    assert_eq!(failures(&mut bench), 1);
    bench.device.0.borrow_mut().memory.psi_some_total_us = Some(99_000);
    bench.engine.pressure();
    bench.engine.turn(SECOND_NS + SECOND_NS / 2).unwrap();
    assert_eq!(failures(&mut bench), 1, "patience");
    bench.device.0.borrow_mut().failing = None;
    bench.device.0.borrow_mut().memory.psi_some_total_us = Some(999_000);
    bench.engine.pressure();
    let turn = bench.engine.turn(40 * SECOND_NS).unwrap();
    assert_eq!(turn.awaited.len(), 1, "and then it is killed");
}

/// Short of memory, with nothing to compress to, and somebody waiting.
fn short(bench: &Bench, stalled_us: u64, free_mb: u64) {
    let mut state = bench.device.0.borrow_mut();
    (state.memory.free_bytes, state.memory.file_bytes) = (free_mb * MB, 10 * MB);
    (state.memory.swap_total_bytes, state.memory.zram) = (0, None);
    state.memory.psi_some_total_us = Some(stalled_us);
}

#[test]
fn a_victim_that_lives_on_is_given_up_and_another_tried() {
    let mut b = bench(&[("stuck", 90), ("large", 40), ("none", 0)]);
    for name in ["stuck", "large", "none"] {
        b.engine.handle(close(name), 0);
    }
    b.device.0.borrow_mut().unkillable = Some("apps/stuck".into());
    for second in 1..30 {
        short(&b, second * 9000, 12);
        b.engine.pressure();
        let turn = b.engine.turn(second * SECOND_NS).unwrap();
        if b.done("kill apps/large") && !turn.awaited.is_empty() {
            b.engine.victim_ended(second * SECOND_NS);
        }
    }
    let kills: Vec<_> = b.device.0.borrow().done.iter().filter(|d| d.starts_with("kill")).cloned().collect();
    assert_eq!(kills, ["kill apps/stuck", "kill apps/large"], "and one of 0 MB is not worth it");
    assert!(b.actions().contains(&"kill-in-vain".to_owned()));
}

#[test]
fn an_app_is_asked_before_it_is_killed_unless_memory_cannot_wait() {
    for (in_time, short_mb, expected) in [
        (true, 12, vec!["terminate apps/game"]),
        (false, 12, vec!["terminate apps/game", "kill apps/game"]),
        (false, 5, vec!["terminate apps/game", "kill apps/game"]),
    ] {
        let mut config = freezing();
        config.memory.kill_grace_ms = 1000;
        let mut b = bench_with(&[("game", 40)], config);
        b.engine.handle(focus("game"), 0);
        b.engine.handle(close("game"), 0);
        b.run(0, 20 * SECOND_NS);
        assert!(b.device.0.borrow().apps["apps/game"].frozen);
        short(&b, 9000, 12);
        b.engine.pressure();
        let turn = b.engine.turn(21 * SECOND_NS).unwrap();
        assert!(!b.device.0.borrow().apps["apps/game"].frozen, "frozen, it could not answer");
        assert!(turn.wake_at_ns.is_some_and(|at_ns| at_ns <= 22 * SECOND_NS));
        if in_time {
            b.device.0.borrow_mut().apps.remove("apps/game");
            b.engine.ended(&"game".parse().unwrap(), 21 * SECOND_NS + 1);
            assert!(b.actions().contains(&"victim-gone".to_owned()));
        }
        // Before the grace is over only if memory cannot wait.
        short(&b, 10_000, short_mb);
        let half_ns = 21 * SECOND_NS + SECOND_NS / 2;
        let killed = !b.engine.turn(half_ns).unwrap().awaited.is_empty();
        assert_eq!(killed, short_mb == 5);
        b.engine.turn(22 * SECOND_NS).unwrap();
        let done = b.device.0.borrow().done.clone();
        let done: Vec<_> = done.iter().filter(|d| d.starts_with("kill") || d.starts_with("term")).collect();
        assert_eq!(done, expected);
    }
}

#[test]
fn without_psi_memory_is_looked_at_without_the_daemons_being_busy() {
    let mut bench = bench(&[("mail", 40)]);
    bench.device.0.borrow_mut().memory.psi_some_total_us = None;
    // The app is frozen after its debounce, and then there is nothing to do.
    bench.engine.turn(20 * SECOND_NS).unwrap();
    let turn = bench.engine.turn(21 * SECOND_NS).unwrap();
    assert!(turn.wake_at_ns.is_some_and(|at_ns| at_ns > 21 * SECOND_NS));
    match bench.engine.handle(Request::Status {}, 21 * SECOND_NS) {
        Reply::Status(status) => assert!(!status.busy),
        other => panic!("{other:?}"),
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
    assert_eq!(b.device.0.borrow().apps["apps/game"].score, 700);
}

#[test]
fn with_the_screen_off_closed_apps_are_compressed_and_open_ones_left_alone() {
    let mut b = bench(&[("mail", 10), ("game", 10)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(close("mail"), 0);
    b.engine.handle(focus("game"), 0);
    b.engine.handle(Request::Screen { on: false }, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    let state = b.device.0.borrow();
    assert_eq!(state.apps["apps/mail"].swap_pages, 10 * 256 / 2);
    assert_eq!(state.apps["apps/game"].swap_pages, 0);
    drop(state);
    assert_eq!(b.engine.turn(61 * SECOND_NS).unwrap().wake_at_ns, None, "then it sleeps");
    assert_eq!(b.actions().iter().filter(|a| *a == "compress").count(), 1, "one line for the whole");
}

#[test]
fn with_the_screen_on_compression_waits_for_an_idle_cpu() {
    let mut b = bench(&[("mail", 10)]);
    b.engine.handle(close("mail"), 0);
    {
        let mut state = b.device.0.borrow_mut();
        (state.memory.free_bytes, state.memory.file_bytes) = (15 * MB, 10 * MB);
    }
    let compressed = |b: &Bench| b.done("compress apps/mail");
    b.engine.turn(SECOND_NS).unwrap();
    assert!(!compressed(&b), "busy since boot");
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    b.device.0.borrow_mut().cpu.idle_ns = 20_000_000 * cpus;
    b.engine.turn(SECOND_NS + 50_000_000).unwrap();
    assert!(!compressed(&b), "idle for 20 of 50 ms");
    b.device.0.borrow_mut().cpu.idle_ns += 50_000_000 * cpus;
    b.engine.turn(SECOND_NS + 100_000_000).unwrap();
    assert!(compressed(&b));
}

#[test]
fn screen_on_stops_compression_at_once() {
    let mut b = bench(&[("mail", 100)]);
    b.engine.handle(Request::Home {}, 0);
    b.engine.handle(close("mail"), 0);
    b.engine.handle(Request::Screen { on: false }, 0);
    b.engine.turn(1).unwrap();
    let after_one = b.device.0.borrow().apps["apps/mail"].swap_pages;
    assert_eq!(after_one, 256);
    b.engine.handle(Request::Screen { on: true }, 2);
    b.run(3, 9 * SECOND_NS);
    assert_eq!(b.device.0.borrow().apps["apps/mail"].swap_pages, after_one);
}

#[test]
fn short_memory_ends_in_one_kill_when_nothing_can_be_compressed() {
    let mut b = bench(&[("mail", 10), ("game", 20), ("front", 30)]);
    b.engine.handle(focus("front"), 0);
    {
        let mut state = b.device.0.borrow_mut();
        state.failing = Some("compress");
        (state.memory.free_bytes, state.memory.file_bytes) = (15 * MB, 10 * MB);
        state.memory.psi_some_total_us = Some(9000);
        state.memory.psi_full_avg10 = Some(50.0);
    }
    // Each app that cannot be compressed is given up, then the largest hidden one goes; its memory ends the shortage.
    for turn in (2..7).map(|s| s * SECOND_NS) {
        b.device.0.borrow_mut().memory.psi_some_total_us = Some(9000 + turn / SECOND_NS);
        b.device.0.borrow_mut().cpu.idle_ns = turn * 1024;
        b.engine.pressure();
        if !b.engine.turn(turn).unwrap().awaited.is_empty() {
            b.engine.victim_ended(turn);
        }
    }
    let kills: Vec<_> = b.device.0.borrow().done.iter().filter(|d| d.starts_with("kill")).cloned().collect();
    assert_eq!(kills, ["kill apps/game"]);
    let Reply::Story { entries } =
        b.engine.handle(Request::Explain { app: Some("game".parse().unwrap()), limit: None }, 9)
    else {
        panic!("no story")
    };
    let kill = entries.iter().find(|e| e["action"] == "kill").unwrap();
    assert_eq!(kill["reason"], "thrash");
    assert_eq!(kill["readings"]["free_bytes"], 15 * MB);
}

#[test]
fn the_plain_ladder_kills_by_what_comes_back_and_reads_little_for_it() {
    let mut config = freezing();
    config.memory.mode = fovea_policy::Mode::Ladder;
    let mut b = bench_with(&[("reader", 10), ("game", 20)], config);
    let short = |b: &mut Bench, at: u64, stalled_us: u64| {
        b.device.0.borrow_mut().memory.psi_some_total_us = Some(stalled_us);
        b.engine.pressure();
        b.engine.turn(at).unwrap()
    };
    {
        let mut state = b.device.0.borrow_mut();
        (state.memory.free_bytes, state.memory.file_bytes) = (25 * MB, 25 * MB);
        (state.memory.swap_total_bytes, state.memory.zram) = (0, None);
        state.apps.get_mut("apps/reader").unwrap().file_pages = 100 * MB / PAGE_BYTES;
    }
    let sized = |b: &Bench| b.device.0.borrow().done.iter().filter(|d| *d == "usage apps/reader").count();
    let mut counts = Vec::new();
    for (second, more_mb) in [(1, 0), (2, 10), (3, 40), (4, 0)] {
        b.device.0.borrow_mut().apps.get_mut("apps/reader").unwrap().file_pages += more_mb * MB / PAGE_BYTES;
        b.device.0.borrow_mut().failing = Some("kill");
        short(&mut b, second * SECOND_NS, second * 9000);
        counts.push(sized(&b));
    }
    assert_eq!(counts, [1, 1, 2, 2], "in full at first, and when its charge was a quarter off");
    {
        let mut state = b.device.0.borrow_mut();
        state.failing = None;
        (state.memory.free_bytes, state.memory.file_bytes) = (5 * MB, 5 * MB);
    }
    let turn = short(&mut b, 9 * SECOND_NS, 99_000);
    assert_eq!(turn.awaited.len(), 1);
    assert!(b.done("kill apps/game") && !b.done("kill apps/reader"));
}

#[test]
fn a_stall_long_ago_kills_nobody() {
    let mut b = bench(&[("mail", 10)]);
    b.engine.turn(1).unwrap();
    {
        let mut state = b.device.0.borrow_mut();
        state.failing = Some("compress");
        (state.memory.free_bytes, state.memory.file_bytes) = (6 * MB, 12 * MB);
        (state.memory.psi_some_total_us, state.memory.psi_full_avg10) = (Some(1500), Some(50.0));
        state.cpu.idle_ns = 1 << 50;
    }
    b.engine.handle(Request::Home {}, 60 * SECOND_NS);
    b.run(60 * SECOND_NS, 61 * SECOND_NS);
    assert!(!b.done("kill apps/mail"));
    b.device.0.borrow_mut().memory.psi_some_total_us = Some(5000);
    b.engine.pressure();
    b.run(90 * SECOND_NS, 91 * SECOND_NS);
    assert!(b.done("kill apps/mail"));
}

#[test]
fn scores_that_others_set_keep_their_offsets_and_come_back() {
    let mut b = bench(&[]);
    let browser = FakeApp { score: 100, other_scores: vec![300, -900], ..FakeApp::default() };
    b.device.0.borrow_mut().apps.insert("apps/browser".into(), browser);
    let (app, cgroup) = ("browser".parse().unwrap(), "apps/browser".into());
    b.engine.handle(Request::Register { app, cgroup, role: Default::default(), io_class: None }, 0);
    let scores = |b: &Bench| {
        let app = b.device.0.borrow().apps["apps/browser"].clone();
        (app.score, app.other_scores)
    };
    assert_eq!(scores(&b), (800, vec![1000, -900]), "tabs still before the browser, what is protected stays so");
    b.engine.handle(focus("browser"), 1);
    assert_eq!(scores(&b), (100, vec![300, -900]), "in front it has what it had");
    b.engine.handle(Request::Home {}, 2);
    // A tab is born in the background: it has its parent's.
    b.device.0.borrow_mut().apps.get_mut("apps/browser").unwrap().other_scores.push(800);
    b.engine.handle(close("browser"), 3);
    assert_eq!(scores(&b), (800, vec![1000, -900, 800]));
    restore(b.folder.path(), &mut b.device.clone()).unwrap();
    assert_eq!(scores(&b), (100, vec![300, -900, 100]));
}

#[test]
fn cpus_that_cannot_be_read_end_nothing() {
    let mut b = bench(&[("mail", 10)]);
    b.device.0.borrow_mut().failing = Some("cpu");
    b.engine.turn(SECOND_NS).unwrap();
    b.engine.turn(2 * SECOND_NS).unwrap();
}

#[test]
fn where_the_trigger_is_refused_memory_is_looked_at_and_a_look_may_kill() {
    let mut b = bench(&[("game", 40)]);
    short(&b, 9000, 12);
    b.engine.turn(SECOND_NS).unwrap();
    assert_eq!(b.engine.turn(60 * SECOND_NS).unwrap().awaited.len(), 0, "nobody called: an old stall is none");
    let folder = tempfile::tempdir().unwrap();
    b.engine = engine_in(folder.path(), &b.device).uncalled(true);
    b.engine.set_up(0).unwrap();
    let (app, cgroup) = ("game".parse().unwrap(), "apps/game".into());
    b.engine.handle(Request::Register { app, cgroup, role: Default::default(), io_class: None }, 0);
    short(&b, 18_000, 100);
    let turn = b.engine.turn(SECOND_NS).unwrap();
    assert!(turn.wake_at_ns.is_some(), "it looks by itself");
    short(&b, 27_000, 12);
    let turn = b.engine.turn(61 * SECOND_NS).unwrap();
    assert!(b.done("kill apps/game") && turn.awaited.len() == 1);
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

impl Bench {
    fn foreground(&mut self) -> Option<String> {
        let Reply::Status(status) = self.engine.handle(Request::Status {}, 0) else { panic!("no status") };
        status.foreground.map(String::from)
    }
}

#[test]
fn a_process_in_front_is_its_app_wherever_in_its_cgroup_it_is() {
    let mut b = bench(&[("mail", 10), ("mailer", 10)]);
    let nested = Request::Register {
        app: "plugin".parse().unwrap(),
        cgroup: "apps/mail/plugins/a".into(),
        role: Default::default(),
        io_class: None,
    };
    b.engine.handle(nested, 0);
    for (pid, cgroup) in [
        (10, "apps/mail"),
        (11, "apps/mail/helper/x"),
        (12, "apps/mailer"),
        (13, "apps/mail/plugins/a/b"),
        (14, "apps"),
        (15, "apps/mailbox"),
        (16, ""),
    ] {
        b.device.0.borrow_mut().pids.insert(pid, cgroup.into());
    }
    let cases = [
        (10, Some("mail")),
        (12, Some("mailer")),
        (11, Some("mail")),
        (13, Some("plugin")),
        (14, None),
        (12, Some("mailer")),
        (15, None),
        (10, Some("mail")),
        (16, None),
        (10, Some("mail")),
        // Ended.
        (99, None),
    ];
    for (pid, front) in cases {
        assert_eq!(b.engine.handle(in_front(pid), SECOND_NS), Reply::Done {});
        assert_eq!(b.foreground().as_deref(), front, "{pid}");
    }
}

#[test]
fn a_process_in_front_thaws_its_app_before_the_answer() {
    let mut b = bench(&[("mail", 10), ("game", 10)]);
    b.device.0.borrow_mut().pids.extend([(10, "apps/mail/x".to_owned()), (11, "apps/game".to_owned())]);
    b.engine.handle(in_front(10), 0);
    b.engine.handle(in_front(11), SECOND_NS);
    b.run(SECOND_NS, 30 * SECOND_NS);
    assert!(b.device.0.borrow().apps["apps/mail"].frozen);
    assert_eq!(b.engine.handle(in_front(10), 31 * SECOND_NS), Reply::Done {});
    assert!(!b.device.0.borrow().apps["apps/mail"].frozen);
    let focused = |b: &Bench| b.actions().iter().filter(|a| *a == "focus").count();
    let before = focused(&b);
    b.engine.handle(in_front(10), 32 * SECOND_NS);
    assert_eq!(focused(&b), before, "another window of the app in front is no news");
}

#[test]
fn a_process_that_cannot_be_looked_up_changes_nothing() {
    let mut b = bench(&[("mail", 10)]);
    b.device.0.borrow_mut().pids.insert(10, "apps/mail".into());
    b.engine.handle(in_front(10), 0);
    b.device.0.borrow_mut().failing = Some("cgroup_of_pid");
    let Reply::Error { error } = b.engine.handle(in_front(11), 1) else { panic!("accepted") };
    assert!(!error.contains('\n'));
    assert_eq!(b.foreground().as_deref(), Some("mail"));
}

#[test]
fn found_apps_of_two_users_are_two_and_a_frozen_one_that_ends_leaves_nothing_frozen() {
    let mut b = bench(&[]);
    let cgroup =
        |uid: u32, n: u32| format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/app-firefox-{n}.scope");
    b.engine.handle(Request::Home {}, 0);
    for (uid, n) in [(1000, 1), (1001, 1), (1001, 2), (1001, 2)] {
        b.device.0.borrow_mut().apps.insert(cgroup(uid, n), FakeApp::default());
        b.engine.found(&cgroup(uid, n), 0);
    }
    b.engine.found("system.slice/app-web.service", 0);
    let Reply::Status(status) = b.engine.handle(Request::Status {}, 0) else { panic!("no status") };
    let names: Vec<_> = status.apps.iter().map(|app| app.name.as_str()).collect();
    assert_eq!(names, ["firefox", "firefox@1001", "firefox@1001-2"]);
    assert_eq!(b.engine.owner_of(&cgroup(1001, 2)).unwrap().as_str(), "firefox@1001-2");
    b.engine.handle(focus("firefox"), 0);
    b.engine.handle(Request::Home {}, 0);
    b.run(0, 20 * SECOND_NS);
    assert!(b.device.0.borrow().apps[&cgroup(1000, 1)].frozen);
    b.engine.ended(&"firefox".parse().unwrap(), 21 * SECOND_NS);
    assert!(!b.device.0.borrow().apps[&cgroup(1000, 1)].frozen);
    assert!(b.engine.give_way(&"firefox@1001".parse().unwrap(), 22 * SECOND_NS));
    assert_eq!(b.engine.owner_of(&cgroup(1001, 1)), None);
}

#[test]
fn one_user_cannot_fill_the_daemon_with_apps() {
    let mut b = bench(&[]);
    for n in 0..600 {
        for uid in [1000, 1001] {
            if uid == 1000 || n == 599 {
                b.engine.found(&format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/app-x-{n}.scope"), 0);
            }
        }
    }
    let Reply::Status(status) = b.engine.handle(Request::Status {}, 0) else { panic!("no status") };
    assert_eq!(status.apps.len(), 513);
}

#[test]
fn a_device_without_zram_is_served_without_compression() {
    let device = FakeDevice::default();
    device.0.borrow_mut().failing = Some("zram_setup");
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    engine.set_up(0).unwrap();
    let Reply::Status(status) = engine.handle(Request::Status {}, 0) else { panic!("no status") };
    assert!(status.missing.iter().any(|m| m.starts_with("zram")));
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
