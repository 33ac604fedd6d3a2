// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of two speeds as the engine has the kernel use it, and that nothing of it stands when the daemon is gone.

use fovea_apps::{MemoryNode, PAGE_BYTES};
use fovea_client::protocol::Request;
use fovea_linux::{Controller, TierSetting};

use crate::config::Config;
use crate::engine_tests::{bench_with, engine_with, focus, Bench, SECOND_NS};
use crate::undo::restore;

const FAST_PAGES: u64 = 20_000;

fn node(node: u32, tier: u32, total_pages: u64, free_pages: u64) -> MemoryNode {
    MemoryNode {
        node,
        tier: Some(tier),
        read_latency_ns: None,
        has_cpus: node == 0,
        total_bytes: total_pages * PAGE_BYTES,
        free_bytes: free_pages * PAGE_BYTES,
        kept_bytes: 0,
    }
}

fn keeping_out() -> Config {
    let mut config = Config::default();
    config.tier.keep_out = true;
    config
}

/// "a" is in front; "b" has 4,000 pages of fast memory, so many of them cold. All else is the app's in front.
fn tiered(cold_pages: u64, change: impl FnOnce(&mut crate::fake::State)) -> Bench {
    let mut b = bench_with(&[("a", 20), ("b", 20)], keeping_out());
    {
        let mut state = b.device.0.borrow_mut();
        state.tiers.nodes = vec![node(0, 4, FAST_PAGES, 0), node(1, 900, 100_000, 90_000)];
        state.tiers.fast_pages = [("apps/a".into(), FAST_PAGES - 4_000), ("apps/b".into(), 4_000)].into();
        state.tiers.cold_pages = [("apps/b".into(), cold_pages)].into();
        state.tiers.settings = [
            (TierSetting::Demotion, "false".into()),
            (TierSetting::ScanPeriod, "1000".into()),
            (TierSetting::ScanPeriodMax, "60000".into()),
            (TierSetting::ScanDelay, "1000".into()),
            (TierSetting::HotThreshold, "1000".into()),
        ]
        .into();
        state.sysctls.insert("kernel/numa_balancing".into(), "1".into());
        state.sysctls.insert("kernel/numa_balancing_promote_rate_limit_MBps".into(), "65536".into());
        state.without = vec![(String::new(), Controller::Cpuset)];
        change(&mut state);
    }
    b.engine = engine_with(b.folder.path(), &b.device, keeping_out());
    b.engine.set_up(0).unwrap();
    for name in ["b", "a"] {
        let (app, cgroup) = (name.parse().unwrap(), format!("apps/{name}"));
        b.engine.handle(Request::Register { app, cgroup, role: Default::default(), io_class: None }, 0);
        b.engine.handle(focus(name), 0);
    }
    b
}

impl Bench {
    /// Turns for so long, as often as the engine wants to.
    fn turns_until(&mut self, from_ns: u64, until_ns: u64) {
        let mut now_ns = from_ns;
        while now_ns < until_ns {
            let turn = self.engine.turn(now_ns).unwrap();
            now_ns = turn.wake_at_ns.unwrap_or(u64::MAX).max(now_ns + 1_000_000);
        }
    }

    fn front_takes_all(&mut self) {
        let tiers = &mut self.device.0.borrow_mut().tiers;
        let taken = std::mem::take(&mut tiers.nodes[0].free_bytes) / PAGE_BYTES;
        *tiers.fast_pages.get_mut("apps/a").unwrap() += taken;
    }

    /// It takes so many pages more, and there is fast memory for one of them.
    fn grows(&mut self, cgroup: &str, pages: u64) {
        let tiers = &mut self.device.0.borrow_mut().tiers;
        *tiers.slow_pages.entry(cgroup.into()).or_default() += pages - 1;
        *tiers.fast_pages.entry(cgroup.into()).or_default() += 1;
    }

    /// "b" takes new memory in the background, and is kept out for it.
    fn keeps_b_out(&mut self) {
        self.turns_until(0, SECOND_NS);
        self.front_takes_all();
        self.grows("apps/b", 512);
        self.engine.handle(focus("a"), SECOND_NS);
        self.turns_until(SECOND_NS, 2 * SECOND_NS);
        assert_eq!(self.allowed("apps/b"), "1");
    }

    fn fast_pages(&self, cgroup: &str) -> u64 {
        self.device.0.borrow().tiers.fast_pages[cgroup]
    }

    fn allowed(&self, cgroup: &str) -> String {
        self.device.0.borrow().tiers.allowed.get(cgroup).cloned().unwrap_or_default()
    }

    fn times_did(&self, what: &str) -> usize {
        self.device.0.borrow().done.iter().filter(|did| did.starts_with(what)).count()
    }
}

#[test]
fn room_is_made_by_what_others_do_not_use_and_all_is_put_back_after_a_death() {
    let mut b = tiered(3_900, |_| {});
    {
        let state = b.device.0.borrow();
        assert_eq!(state.sysctls["kernel/numa_balancing"], "2");
        assert_eq!(state.sysctls["kernel/numa_balancing_promote_rate_limit_MBps"], "64");
        assert_eq!(state.tiers.settings[&TierSetting::Demotion], "true");
        assert_eq!(state.tiers.settings[&TierSetting::ScanPeriod], "100");
        assert_eq!(state.tiers.settings[&TierSetting::ScanPeriodMax], "100");
        assert_eq!(state.tiers.settings[&TierSetting::ScanDelay], "100");
        assert_eq!(state.tiers.settings[&TierSetting::HotThreshold], "3000");
    }
    b.turns_until(0, 2 * SECOND_NS);
    // One in 128 of 20,000 is to be free, and half of that again.
    assert_eq!((b.fast_pages("apps/b"), b.times_did("demote apps/a")), (4_000 - 234, 0));
    assert_eq!(b.allowed("apps/b"), "");
    // The app in front takes all of it; in the end what is in use is left of "b", and the front is asked for what it does not use.
    for second in 2..20 {
        b.front_takes_all();
        b.engine.handle(focus("a"), second * SECOND_NS);
        b.turns_until(second * SECOND_NS, (second + 1) * SECOND_NS);
    }
    assert_eq!((b.fast_pages("apps/b"), b.allowed("apps/b").as_str()), (100, ""));
    assert!(b.times_did("demote apps/a") > 0);
    // New pages of "b" belong in slow memory.
    b.grows("apps/b", 512);
    b.engine.handle(focus("a"), 20 * SECOND_NS);
    b.turns_until(20 * SECOND_NS, 21 * SECOND_NS);
    assert_eq!((b.fast_pages("apps/b"), b.allowed("apps/b").as_str()), (0, "1"));
    assert!(b.device.0.borrow().without.is_empty(), "the controller is passed on");

    let mut device = b.device.clone();
    assert!(restore(b.folder.path(), &mut device).unwrap().is_empty());
    assert_eq!(b.allowed("apps/b"), "");
    let state = b.device.0.borrow();
    assert_eq!(state.sysctls["kernel/numa_balancing"], "1");
    assert_eq!(state.sysctls["kernel/numa_balancing_promote_rate_limit_MBps"], "65536");
    assert_eq!(state.tiers.settings[&TierSetting::Demotion], "false");
    assert_eq!(state.tiers.settings[&TierSetting::ScanPeriod], "1000");
    assert_eq!(state.tiers.settings[&TierSetting::ScanPeriodMax], "60000");
    assert_eq!(state.tiers.settings[&TierSetting::ScanDelay], "1000");
    assert_eq!(state.tiers.settings[&TierSetting::HotThreshold], "1000");
    assert_eq!(state.without, [(String::new(), Controller::Cpuset)]);
}

#[test]
fn a_focus_lets_an_app_in_before_it_is_answered() {
    let mut b = tiered(0, |_| {});
    b.keeps_b_out();
    let read = b.times_did("memory nodes");
    b.engine.handle(focus("b"), 2 * SECOND_NS);
    assert_eq!((b.allowed("apps/b").as_str(), b.times_did("memory nodes")), ("", read));
}

#[test]
fn who_takes_no_more_is_let_in_again_and_who_does_not_is_kept_out_for_longer() {
    let mut b = tiered(0, |_| {});
    b.keeps_b_out();
    b.turns_until(2 * SECOND_NS, 10 * SECOND_NS);
    assert_eq!(b.allowed("apps/b"), "");
    b.front_takes_all();
    b.grows("apps/b", 512);
    b.engine.handle(focus("a"), 10 * SECOND_NS);
    b.turns_until(10 * SECOND_NS, 17 * SECOND_NS);
    assert_eq!(b.allowed("apps/b"), "1", "twice as long as the last time");
    b.turns_until(17 * SECOND_NS, 24 * SECOND_NS);
    assert_eq!(b.allowed("apps/b"), "");
}

#[test]
fn what_an_app_takes_in_front_while_nobody_looks_is_nothing_against_it() {
    let mut b = tiered(0, |_| {});
    b.turns_until(0, SECOND_NS);
    // Nothing is short while "b" is in front, so nobody reads what it has.
    b.device.0.borrow_mut().tiers.nodes[0].free_bytes = FAST_PAGES * PAGE_BYTES;
    b.engine.handle(focus("b"), SECOND_NS);
    b.turns_until(SECOND_NS, 2 * SECOND_NS);
    b.grows("apps/b", 2_000);
    b.engine.handle(focus("a"), 2 * SECOND_NS);
    b.device.0.borrow_mut().tiers.nodes[0].free_bytes = 0;
    b.turns_until(2 * SECOND_NS, 4 * SECOND_NS);
    assert_eq!(b.allowed("apps/b"), "");
}

#[test]
fn where_everything_is_in_use_looks_become_rare() {
    let mut b = tiered(0, |_| {});
    b.turns_until(0, 60 * SECOND_NS);
    let before = ["memory nodes", "demote"].map(|what| b.times_did(what));
    b.turns_until(60 * SECOND_NS, 120 * SECOND_NS);
    let [looks, asked] = ["memory nodes", "demote"].map(|what| b.times_did(what));
    // Every 8 s, and once more after each of the two apps was asked.
    assert!(looks - before[0] <= 24, "{}", looks - before[0]);
    assert!(asked - before[1] <= 16, "{}", asked - before[1]);
}

#[test]
fn the_cgroup_of_an_app_that_has_ended_is_as_it_was() {
    let mut b = tiered(0, |_| {});
    b.keeps_b_out();
    b.engine.ended(&"b".parse().unwrap(), 2 * SECOND_NS);
    assert_eq!(b.allowed("apps/b"), "");
}

#[test]
fn what_somebody_else_has_said_of_nodes_holds() {
    let mut b = tiered(3_900, |state| drop(state.tiers.allowed.insert("apps/b".into(), "0-1".into())));
    b.turns_until(0, 3 * SECOND_NS);
    assert_eq!((b.times_did("demote apps/b"), b.allowed("apps/b").as_str()), (0, "0-1"));
    // And whoever has switched the kernel's part off.
    let mut b = tiered(3_900, |state| drop(state.sysctls.insert("kernel/numa_balancing".into(), "0".into())));
    b.turns_until(0, 3 * SECOND_NS);
    let state = b.device.0.borrow();
    assert_eq!((b.times_did("demote"), state.sysctls["kernel/numa_balancing"].as_str()), (0, "0"));
    assert_eq!(state.tiers.settings[&TierSetting::Demotion], "false");
}

#[test]
fn who_switches_the_kernels_part_off_meanwhile_has_it_off_until_it_is_on_again() {
    let mut b = tiered(3_900, |_| {});
    b.keeps_b_out();
    b.device.0.borrow_mut().sysctls.insert("kernel/numa_balancing".into(), "0".into());
    b.engine.handle(focus("a"), 2 * SECOND_NS);
    b.turns_until(2 * SECOND_NS, 3 * SECOND_NS);
    let demoted = b.times_did("demote");
    assert_eq!(b.allowed("apps/b"), "", "nothing would bring it back");
    b.front_takes_all();
    b.engine.handle(focus("a"), 3 * SECOND_NS);
    b.turns_until(3 * SECOND_NS, 30 * SECOND_NS);
    assert_eq!(b.times_did("demote"), demoted);
    b.device.0.borrow_mut().sysctls.insert("kernel/numa_balancing".into(), "2".into());
    b.engine.handle(focus("a"), 30 * SECOND_NS);
    b.turns_until(30 * SECOND_NS, 32 * SECOND_NS);
    assert!(b.times_did("demote") > demoted);
    // What is not ours any more is not put back, all else is.
    b.device.0.borrow_mut().sysctls.insert("kernel/numa_balancing".into(), "0".into());
    b.device.0.borrow_mut().tiers.settings.insert(TierSetting::ScanPeriod, "700".into());
    let mut device = b.device.clone();
    assert!(restore(b.folder.path(), &mut device).unwrap().is_empty());
    let state = b.device.0.borrow();
    assert_eq!(state.sysctls["kernel/numa_balancing"], "0");
    assert_eq!(state.tiers.settings[&TierSetting::ScanPeriod], "700");
    assert_eq!(state.tiers.settings[&TierSetting::ScanPeriodMax], "60000");
}

#[test]
fn who_has_the_kernel_look_more_often_or_hold_more_for_hot_wants_so() {
    let settings = [(TierSetting::ScanPeriod, "50"), (TierSetting::HotThreshold, "10000")];
    let b = tiered(3_900, |state| {
        for (setting, value) in settings {
            state.tiers.settings.insert(setting, value.into());
        }
    });
    let state = b.device.0.borrow();
    assert_eq!(settings.map(|(setting, _)| &*state.tiers.settings[&setting]), settings.map(|(_, value)| value));
    assert_eq!(state.tiers.settings[&TierSetting::ScanDelay], "100");
}

#[test]
fn a_machine_with_one_kind_of_memory_is_looked_at_once() {
    let mut b = tiered(3_900, |state| _ = state.tiers.nodes.pop());
    let looked = b.times_did("memory nodes");
    b.turns_until(0, 3 * SECOND_NS);
    assert_eq!(b.times_did("memory nodes"), looked);
    assert_eq!(b.device.0.borrow().sysctls["kernel/numa_balancing"], "1");
}

#[test]
fn fast_memory_without_cpus_is_left_alone() {
    let mut b = tiered(3_900, |state| {
        (state.tiers.nodes[0].has_cpus, state.tiers.nodes[1].has_cpus) = (false, true);
    });
    assert_eq!(b.engine.turn(SECOND_NS).unwrap().wake_at_ns, None);
    assert_eq!(b.device.0.borrow().sysctls["kernel/numa_balancing"], "1");
}

#[test]
fn what_fails_moves_nothing_and_ends_nothing() {
    for failing in ["memory_nodes", "demote", "set_allowed_nodes"] {
        let mut b = tiered(3_900, |_| {});
        b.device.0.borrow_mut().failing = Some(failing);
        b.turns_until(0, 3 * SECOND_NS);
        assert!(b.times_did("demote") <= 16, "{failing}: it is not tried again and again");
    }
}

#[test]
fn with_the_screen_off_nobody_looks() {
    let mut b = tiered(3_900, |_| {});
    b.engine.handle(Request::Screen { on: false }, 0);
    let looked = b.times_did("memory nodes");
    b.turns_until(SECOND_NS, 60 * SECOND_NS);
    assert_eq!(b.times_did("memory nodes"), looked);
}
