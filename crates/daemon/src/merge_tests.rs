// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Merging as the engine has the kernel do it.

use fovea_apps::{Kinship, MergeReading, MergeSettings};
use fovea_client::protocol::Request;

use crate::config::Config;
use crate::engine_tests::{bench_with, focus, Bench, SECOND_NS};
use crate::undo::{restore, UndoLog};

const PAGES: u64 = 10_000;

fn stock() -> MergeSettings {
    MergeSettings { run: 0, pages_to_scan: 100, sleep_ms: 20, advisor: Some("none".into()) }
}

/// "a" and "b" are forked from one process; nobody is in front.
fn kin(settings: MergeSettings, config: Config) -> Bench {
    let mut b = bench_with(&[("a", 20), ("b", 20)], Config::default());
    {
        let mut state = b.device.0.borrow_mut();
        state.merging = Some(MergeReading { settings, scanned_pages: Some(0), ..MergeReading::default() });
        let kinship = Kinship { user: 1, executable: (1, 2), layout: (3, 4) };
        state.kin = ["apps/a", "apps/b"].map(|cgroup| (cgroup.to_owned(), kinship)).into();
    }
    // What the kernel can do is read at the start.
    b.engine = crate::engine_tests::engine_with(b.folder.path(), &b.device, config);
    b.engine.set_up(0).unwrap();
    for name in ["a", "b"] {
        let (app, cgroup) = (name.parse().unwrap(), format!("apps/{name}"));
        b.engine.handle(Request::Register { app, cgroup, role: Default::default(), io_class: None }, 0);
    }
    b
}

impl Bench {
    fn merging(&self) -> MergeSettings {
        self.device.0.borrow().merging.as_ref().unwrap().settings.clone()
    }

    /// ksmd has gone through all pages once more.
    fn pass(&self, volatile_pages: u64, sharing_pages: u64) {
        let mut state = self.device.0.borrow_mut();
        let merging = state.merging.as_mut().unwrap();
        merging.full_scans += 1;
        merging.scanned_pages = merging.scanned_pages.map(|pages| pages + PAGES);
        merging.cpu_ns += PAGES * 3_000;
        (merging.volatile_pages, merging.sharing_pages) = (volatile_pages, sharing_pages);
        merging.unshared_pages = PAGES - volatile_pages - sharing_pages;
    }

    fn merge_turn(&mut self, now_ns: u64) -> Option<u64> {
        self.engine.turn(now_ns).unwrap().wake_at_ns
    }

    /// What would be restored if the daemon died now.
    fn logged_merging(&self) -> Option<MergeSettings> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(self.folder.path().join("undo.log"), folder.path().join("undo.log")).unwrap();
        UndoLog::open(folder.path()).unwrap().changed().merging.clone()
    }
}

const DUE_NS: u64 = 15 * SECOND_NS;
const LOOK_NS: u64 = SECOND_NS / 5;

#[test]
fn a_window_opens_for_newcomers_and_closes_when_a_pass_finds_no_more() {
    let mut b = kin(stock(), Config::default());
    assert_eq!(b.merge_turn(0), Some(DUE_NS));
    assert_eq!(b.merging(), stock());
    assert!(!b.status().busy, "waiting for newcomers to come to rest is no work");
    b.merge_turn(DUE_NS);
    assert_eq!(b.merging().run, 1);
    assert_eq!(b.logged_merging(), Some(stock()));
    assert!(b.status().busy);
    b.pass(PAGES, 0);
    b.merge_turn(DUE_NS + LOOK_NS);
    assert_eq!(b.merging().run, 1, "all pages have been seen once: none could merge yet");
    assert_eq!(b.merging().pages_to_scan, 740, "a tenth of the CPU at 3 us a page");
    b.pass(0, PAGES / 4);
    assert_eq!(b.merge_turn(DUE_NS + 2 * LOOK_NS), None, "nothing is new any more");
    assert_eq!((b.merging(), b.logged_merging()), (stock(), None));
    let status = b.status();
    let merging = status.merging.unwrap();
    assert!(!status.busy && !merging.looking && merging.ours);
    assert_eq!((merging.registered_apps, merging.saved_bytes), (2, PAGES / 4 * 4096));
    let actions = b.actions();
    assert_eq!(actions.iter().filter(|action| action.ends_with("merge")).count(), 2, "{actions:?}");
    assert!(actions.contains(&"stop-merging".to_owned()));
}

/// As where the probe goes on looking, or the owner's processes hold it up.
#[test]
fn whoever_could_not_be_looked_into_is_looked_into_later() {
    let mut b = kin(stock(), Config::default());
    b.device.0.borrow_mut().failing = Some("kinship");
    b.merge_turn(0);
    assert!(b.status().merging.is_none());
    b.device.0.borrow_mut().failing = None;
    b.merge_turn(LOOK_NS);
    assert_eq!(b.status().merging.map(|merging| merging.registered_apps), Some(2));
    b.merge_turn(DUE_NS + LOOK_NS);
    assert_eq!(b.merging().run, 1);
}

#[test]
fn a_daemon_that_dies_while_the_kernel_looks_leaves_it_as_it_was() {
    let scans = MergeSettings { advisor: Some("scan-time".into()), pages_to_scan: 777, ..stock() };
    let mut b = kin(scans.clone(), Config::default());
    b.merge_turn(0);
    b.merge_turn(DUE_NS);
    assert_eq!((b.merging().run, b.merging().advisor.as_deref()), (1, Some("none")));
    let (device, folder) = (b.device.clone(), b.folder);
    drop(b.engine);
    device.0.borrow_mut().failing = Some("set_merging");
    assert_eq!(restore(folder.path(), &mut device.clone()).unwrap().len(), 1);
    device.0.borrow_mut().failing = None;
    assert_eq!(restore(folder.path(), &mut device.clone()).unwrap(), Vec::<String>::new());
    assert_eq!(device.0.borrow().merging.as_ref().unwrap().settings, scans);
    assert!(UndoLog::open(folder.path()).unwrap().changed().is_empty());
}

#[test]
fn a_new_configuration_that_does_not_want_it_ends_it_at_once() {
    let mut b = kin(stock(), Config::default());
    b.merge_turn(0);
    b.merge_turn(DUE_NS);
    assert_eq!(b.merging().run, 1);
    let mut config = Config::default();
    config.merge.enabled = false;
    b.engine.reconfigure(config, DUE_NS + 1);
    assert_eq!((b.merging(), b.logged_merging()), (stock(), None));
    assert_eq!(b.merge_turn(DUE_NS + 2), None);
}

#[test]
fn what_somebody_else_runs_is_left_alone_unless_the_owner_says_otherwise() {
    let runs = MergeSettings { run: 1, pages_to_scan: 64, ..stock() };
    let mut b = kin(runs.clone(), Config::default());
    b.merge_turn(0);
    b.merge_turn(DUE_NS);
    assert_eq!(b.merging(), runs);
    assert!(!b.done("set merging run=1 pages=64") && !b.status().merging.unwrap().ours);

    let mut config = Config::default();
    config.merge.take_over = true;
    let mut b = kin(runs.clone(), config);
    assert_eq!((b.merging().run, b.logged_merging()), (0, Some(runs.clone())));
    b.merge_turn(0);
    b.merge_turn(DUE_NS);
    assert_eq!(b.merging().run, 1);
    b.pass(PAGES, 0);
    b.merge_turn(DUE_NS + LOOK_NS);
    b.pass(0, PAGES / 4);
    b.merge_turn(DUE_NS + 2 * LOOK_NS);
    assert_eq!(
        (b.merging().run, b.logged_merging()),
        (0, Some(runs.clone())),
        "it rests, and is given back at the end"
    );
    let (folder, device) = b.left_behind();
    restore(folder.path(), &mut device.clone()).unwrap();
    assert_eq!(device.0.borrow().merging.as_ref().unwrap().settings, runs);
}

#[test]
fn what_somebody_else_sets_meanwhile_holds() {
    let mut b = kin(stock(), Config::default());
    b.merge_turn(0);
    b.merge_turn(DUE_NS);
    let theirs = MergeSettings { run: 1, pages_to_scan: 64, ..stock() };
    b.device.0.borrow_mut().merging.as_mut().unwrap().settings = theirs.clone();
    b.merge_turn(DUE_NS + LOOK_NS);
    assert_eq!((b.merging(), b.logged_merging()), (theirs, None));
    assert_eq!(b.merge_turn(DUE_NS + 2 * LOOK_NS), None);
}

#[test]
fn who_is_excluded_or_alone_is_nobodys_kin() {
    let mut config = Config::default();
    config.merge.exclude = vec!["a*".to_owned().try_into().unwrap()];
    let mut b = kin(stock(), config);
    assert_eq!(b.merge_turn(0), None);
    assert_eq!(b.status().merging.map(|merging| merging.registered_apps), Some(1));
    assert!(!b.done("kinship apps/a"));

    let mut b = kin(stock(), Config::default());
    b.engine.handle_from(Some(20), focus("b"), 1);
    b.merge_turn(1);
    assert_eq!(b.merge_turn(DUE_NS), None);
    assert_eq!(b.merging(), stock());
}

#[test]
fn a_kernel_without_it_or_apps_that_are_not_registered_cost_nothing() {
    let mut b = kin(stock(), Config::default());
    b.device.0.borrow_mut().kin.clear();
    assert_eq!(b.merge_turn(0), None);
    let reads = |b: &Bench| b.device.0.borrow().done.iter().filter(|what| what.contains("kinship")).count();
    assert_eq!(reads(&b), 2);
    for turn in 1..50 {
        b.merge_turn(turn * SECOND_NS);
    }
    assert_eq!(reads(&b), 2, "each is read once");
    assert_eq!(b.status().merging, None);
    assert_eq!(b.merging(), stock());

    let mut b = bench_with(&[("a", 20), ("b", 20)], Config::default());
    assert_eq!(b.merge_turn(0), None);
    assert!(!b.done("kinship apps/a"));
}

#[test]
fn what_cannot_be_read_or_set_keeps_nobody_from_looking_after_memory() {
    for failing in ["merging", "set_merging"] {
        let mut b = kin(stock(), Config::default());
        b.merge_turn(0);
        b.device.0.borrow_mut().failing = Some(failing);
        b.merge_turn(DUE_NS);
        assert_eq!(b.merging(), stock(), "{failing}");
        assert_eq!(b.merge_turn(DUE_NS + LOOK_NS), None, "{failing}");
    }
}

#[test]
fn whoever_comes_to_the_background_is_looked_at_when_the_next_app_has_had_its_time() {
    let mut b = kin(stock(), Config::default());
    b.engine.handle(focus("a"), SECOND_NS);
    b.run(SECOND_NS, 9 * SECOND_NS);
    b.device.0.borrow_mut().done.clear();
    b.engine.handle(focus("b"), 10 * SECOND_NS);
    assert!(b.engine.turn(10 * SECOND_NS).unwrap().wake_at_ns.is_some_and(|at_ns| at_ns <= 11 * SECOND_NS));
    assert!(!b.done("kinship apps/a"));
    b.run(11 * SECOND_NS, 11 * SECOND_NS);
    assert!(b.done("kinship apps/a"));
}
