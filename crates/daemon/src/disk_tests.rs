// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the disk is told by the engine, and that nothing of it stands when the daemon is gone.

use fovea_apps::{DiskControl, IoClass, Perceived};
use fovea_client::protocol::Request;
use fovea_linux::Controller;

use crate::classes_tests::two;
use crate::engine_tests::{bench_with, focus, freezing, Bench, SECOND_NS};
use crate::undo::{restore, UndoLog};

const FRONT: u64 = 100;
const MUSIC: u64 = 101;
const MS: u64 = 1_000_000;

impl Bench {
    fn classes(&self) -> Vec<(u64, IoClass)> {
        self.device.0.borrow().disk_classes.iter().map(|(&id, &class)| (id, class)).collect()
    }

    fn io_file(&self, cgroup: &str, file: &str) -> String {
        self.device.0.borrow().io_files[&(cgroup.to_owned(), file.to_owned())].clone()
    }

    fn turn_at(&mut self, now_ns: u64) -> Option<u64> {
        self.engine.turn(now_ns).unwrap().wake_at_ns
    }
}

/// A volume comes up beside two apps, of which the first is in front.
fn with_volume() -> Bench {
    let mut b = two();
    b.device.0.borrow_mut().disk = DiskControl::Volumes;
    b.engine.handle_from(Some(20), focus("front"), 0);
    b.turn_at(0);
    b
}

#[test]
fn the_disk_is_told_who_is_in_front_and_who_plays() {
    let mut b = with_volume();
    assert_eq!(b.classes(), [(FRONT, IoClass::TimeSensitive), (MUSIC, IoClass::Bursty)]);
    assert_eq!(b.status().disk, DiskControl::Volumes);
    b.plays(&[(10, Perceived::PlaysSound)], SECOND_NS);
    assert_eq!(b.classes(), [(FRONT, IoClass::TimeSensitive), (MUSIC, IoClass::TimeSensitive)], "at once");
    b.plays(&[], 2 * SECOND_NS);
    assert_eq!(b.classes()[1].1, IoClass::TimeSensitive, "between two songs");
    b.run(2 * SECOND_NS, 4 * SECOND_NS);
    assert_eq!(b.classes()[1].1, IoClass::Bursty);
    let messages = b.device.0.borrow().disk_messages;
    b.run(4 * SECOND_NS, 60 * SECOND_NS);
    assert_eq!(b.device.0.borrow().disk_messages, messages, "nothing is said twice");
}

#[test]
fn who_changes_every_ten_milliseconds_costs_few_messages() {
    let mut b = with_volume();
    for nth in 0..500u64 {
        let app = if nth % 2 == 0 { "music" } else { "front" };
        b.engine.handle_from(Some(20), focus(app), nth * 10 * MS);
        b.turn_at(nth * 10 * MS);
    }
    // Both were in front within the last second all the time.
    assert!(b.device.0.borrow().disk_messages <= 4, "{}", b.device.0.borrow().disk_messages);
    assert!(b.classes().iter().all(|&(_, class)| class == IoClass::TimeSensitive));
}

#[test]
fn who_ends_is_forgotten_and_what_the_log_names_is_undone() {
    let mut b = with_volume();
    b.engine.ended(&"music".parse().unwrap(), SECOND_NS);
    assert_eq!(b.classes(), [(FRONT, IoClass::TimeSensitive)]);
    let (folder, device) = b.left_behind();
    assert_eq!(restore(folder.path(), &mut device.clone()).unwrap(), Vec::<String>::new());
    assert!(device.0.borrow().disk_classes.is_empty());
    assert!(UndoLog::open(folder.path()).unwrap().changed().is_empty());
}

#[test]
fn what_cannot_be_forgotten_stays_in_the_log() {
    let b = with_volume();
    let (folder, device) = b.left_behind();
    device.0.borrow_mut().failing = Some("forget_disk_class");
    assert_eq!(restore(folder.path(), &mut device.clone()).unwrap().len(), 2);
    device.0.borrow_mut().failing = None;
    restore(folder.path(), &mut device.clone()).unwrap();
    assert!(device.0.borrow().disk_classes.is_empty());
}

#[test]
fn a_volume_that_is_gone_and_comes_back_is_told_again() {
    let mut b = with_volume();
    b.device.0.borrow_mut().disk = DiskControl::Absent;
    b.engine.handle_from(Some(20), focus("music"), SECOND_NS);
    b.turn_at(SECOND_NS);
    b.device.0.borrow_mut().disk_classes.clear();
    b.device.0.borrow_mut().disk = DiskControl::Volumes;
    b.engine.handle_from(Some(20), focus("front"), 2 * SECOND_NS);
    b.turn_at(2 * SECOND_NS);
    assert_eq!(b.classes().len(), 2);
}

#[test]
fn a_rate_that_is_given_is_told_and_an_app_that_is_left_alone_is_not() {
    let mut config = freezing();
    config.disk.cmax_bytes_per_s = 10_000_000;
    config.lists.ignore = vec!["music".parse().unwrap()];
    let mut b = bench_with(&[("front", 10), ("music", 10)], config);
    b.device.0.borrow_mut().disk = DiskControl::Volumes;
    b.engine.handle(focus("front"), 0);
    b.turn_at(0);
    assert_eq!(b.device.0.borrow().disk_rate, 10_000_000);
    assert_eq!(b.classes(), [(FRONT, IoClass::TimeSensitive)]);
}

fn with_limits() -> Bench {
    let mut config = freezing();
    config.disk.cmax_bytes_per_s = 10_000_000;
    let mut b = bench_with(&[("front", 10), ("music", 10)], config);
    {
        let mut state = b.device.0.borrow_mut();
        state.disk = DiskControl::Limits;
        for cgroup in ["apps/front", "apps/music"] {
            state.io_files.insert((cgroup.into(), "io.max".into()), String::new());
            state.disk_usage.insert(cgroup.into(), 0);
        }
    }
    b.engine.handle(focus("front"), SECOND_NS);
    b
}

#[test]
fn without_volumes_bursty_apps_are_limited_while_the_one_in_front_uses_the_disk() {
    let mut b = with_limits();
    let limit = |b: &Bench| b.io_file("apps/music", "io.max");
    let mut now_ns = SECOND_NS;
    b.turn_at(now_ns);
    assert_eq!(limit(&b), "", "nobody has used the disk");
    for _ in 0..4 {
        now_ns += SECOND_NS / 2;
        *b.device.0.borrow_mut().disk_usage.get_mut("apps/front").unwrap() += 1_000_000;
        b.turn_at(now_ns);
    }
    assert_eq!(limit(&b), "8:0 rbps=7000000 wbps=7000000");
    assert_eq!(b.io_file("apps/front", "io.max"), "");
    let mut looks = 0;
    b.device.0.borrow_mut().done.clear();
    while let Some(next_ns) = b.turn_at(now_ns).filter(|&next_ns| next_ns < 100 * SECOND_NS) {
        now_ns = next_ns.max(now_ns + 1);
        looks += 1;
    }
    assert_eq!(limit(&b), "8:0 rbps=max wbps=max", "nobody has used it for a while");
    assert!(looks < 30, "{looks} wake-ups in 97 s of nothing");
}

#[test]
fn limits_are_undone_and_where_the_controller_is_not_passed_on_that_is_said_or_mended() {
    let mut b = with_limits();
    for nth in 1..4 {
        *b.device.0.borrow_mut().disk_usage.get_mut("apps/front").unwrap() += 1_000_000;
        b.turn_at(nth * SECOND_NS);
    }
    assert!(b.io_file("apps/music", "io.max").starts_with("8:0 rbps="));
    let (folder, device) = b.left_behind();
    restore(folder.path(), &mut device.clone()).unwrap();
    let file = ("apps/music".to_owned(), "io.max".to_owned());
    assert_eq!(device.0.borrow().io_files[&file], "8:0 rbps=max wbps=max");

    let mut b = two();
    b.device.0.borrow_mut().disk = DiskControl::Weights;
    b.engine.handle_from(Some(20), focus("front"), 0);
    b.turn_at(0);
    assert!(b.status().missing.iter().any(|what| what.contains("io controller")), "{:?}", b.status().missing);
    let mut config = freezing();
    config.disk.enable_controller = true;
    let mut b = bench_with(&[("front", 10)], config);
    {
        let mut state = b.device.0.borrow_mut();
        state.disk = DiskControl::Weights;
        state.without = [String::new(), "apps".into()].map(|cgroup| (cgroup, Controller::Io)).into();
        state.io_files.insert(("apps/front".into(), "io.bfq.weight".into()), "default 100".into());
    }
    b.engine.handle(focus("front"), 0);
    b.turn_at(0);
    assert!(b.device.0.borrow().without.is_empty());
    assert_eq!(b.io_file("apps/front", "io.bfq.weight"), "default 1000");
    let (folder, device) = b.left_behind();
    restore(folder.path(), &mut device.clone()).unwrap();
    let passed: Vec<_> = device.0.borrow().without.iter().map(|(cgroup, _)| cgroup.clone()).collect();
    assert_eq!(passed, ["apps", ""], "from below");
    assert_eq!(device.0.borrow().io_files[&("apps/front".into(), "io.bfq.weight".into())], "default 100");
}

#[test]
fn what_was_decided_is_in_the_journal_and_decides_the_same_again() {
    let mut b = with_volume();
    b.plays(&[(10, Perceived::PlaysSound)], SECOND_NS);
    b.plays(&[], 2 * SECOND_NS);
    b.engine.handle(Request::Home {}, 3 * SECOND_NS);
    b.run(3 * SECOND_NS, 9 * SECOND_NS);
    let text = std::fs::read(b.folder().join("journal.jsonl")).unwrap();
    let mut replay = fovea_client::replay::Replay::new(None);
    for line in text.split(|&b| b == b'\n').filter_map(fovea_client::replay::line_of) {
        assert_eq!(replay.line(line), None);
    }
    assert!(replay.tally().decisions >= 4, "{:?}", replay.tally());
}
