// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom the engine kills, and what it does when that is in vain.

use crate::engine_tests::{bench, bench_with, close, engine_in, focus, freezing, Bench, MB, SECOND_NS};
use fovea_apps::PAGE_BYTES;
use fovea_client::news::News;
use fovea_client::protocol::{Reply, Request};

use crate::config::Config;

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
    let failures =
        |bench: &mut Bench| match bench.engine.handle(Request::Explain { app: None, limit: None, uid: None }, 0) {
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

/// What a victim occupied is only told: that it cannot be read must not have it live.
#[test]
fn a_victim_whose_size_cannot_be_read_dies_all_the_same() {
    let mut bench = bench(&[("mail", 40)]);
    bench.engine.handle(close("mail"), 0);
    bench.run(0, 0);
    bench.status();
    bench.device.0.borrow_mut().failing = Some("usage");
    short(&bench, 9000, 5);
    bench.engine.pressure();
    bench.engine.turn(SECOND_NS).unwrap();
    assert!(bench.done("kill apps/mail"));
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

/// Its cgroup was empty, which was taken for "its memory is back", and the next app died.
#[test]
fn a_victim_that_only_left_its_cgroup_is_awaited_before_another_dies() {
    let mut config = freezing();
    config.memory.kill_grace_ms = 1000;
    let mut b = bench_with(&[("game", 40), ("mail", 30)], config);
    b.run(0, 20 * SECOND_NS);
    short(&b, 9000, 12);
    b.engine.pressure();
    b.engine.turn(21 * SECOND_NS).unwrap();
    assert!(b.done("terminate apps/game"));
    {
        let mut state = b.device.0.borrow_mut();
        state.apps.remove("apps/game");
        state.leaves = Some("apps/game".into());
    }
    b.engine.ended(&"game".parse().unwrap(), 21 * SECOND_NS + 1);
    assert!(b.actions().contains(&"kill-left".to_owned()) && !b.actions().contains(&"victim-gone".to_owned()));
    short(&b, 10_000, 5);
    b.engine.pressure();
    let turn = b.engine.turn(21 * SECOND_NS + SECOND_NS / 2).unwrap();
    assert_eq!(turn.awaited.len(), 1, "its end, and nobody else's");
    assert!(!b.done("kill apps/mail") && !b.done("terminate apps/mail"));
    b.engine.victim_ended(22 * SECOND_NS);
    assert!(b.actions().contains(&"victim-gone".to_owned()));
    short(&b, 20_000, 5);
    b.engine.pressure();
    b.engine.turn(22 * SECOND_NS + 1).unwrap();
    assert!(b.done("kill apps/mail") || b.done("terminate apps/mail"));
}

#[test]
fn without_psi_memory_is_looked_at_without_the_daemons_being_busy() {
    let mut bench = bench(&[("mail", 40)]);
    bench.device.0.borrow_mut().memory.psi_some_total_us = None;
    // The app is frozen after its debounce, and then there is nothing to do.
    bench.engine.turn(20 * SECOND_NS).unwrap();
    let turn = bench.engine.turn(21 * SECOND_NS).unwrap();
    assert!(turn.wake_at_ns.is_some_and(|at_ns| at_ns > 21 * SECOND_NS));
    match bench.engine.handle(Request::status(), 21 * SECOND_NS) {
        Reply::Status(status) => assert!(!status.busy),
        other => panic!("{other:?}"),
    }
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
        b.device.0.borrow_mut().memory.psi_some_total_us = Some(9000 + turn / 5000);
        b.device.0.borrow_mut().cpu.idle_ns = turn * 1024;
        b.engine.pressure();
        if !b.engine.turn(turn).unwrap().awaited.is_empty() {
            b.engine.victim_ended(turn);
        }
    }
    let kills: Vec<_> = b.device.0.borrow().done.iter().filter(|d| d.starts_with("kill")).cloned().collect();
    assert_eq!(kills, ["kill apps/game"]);
    let Reply::Story { entries } =
        b.engine.handle(Request::Explain { app: Some("game".parse().unwrap()), limit: None, uid: None }, 9)
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
    config.memory.mode = fovea_policy::memory::Mode::Ladder;
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
    b.run(90 * SECOND_NS, 90 * SECOND_NS + 10_000_000);
    assert!(!b.done("kill apps/mail"), "the average says that everybody waits, this moment does not");
    b.device.0.borrow_mut().memory.psi_some_total_us = Some(25_000);
    b.run(90 * SECOND_NS + 50_000_000, 91 * SECOND_NS);
    assert!(b.done("kill apps/mail"));
}

/// A service took memory slowly, the kernel dropped names for it, and an app died for 5 us.
#[test]
fn a_stall_that_the_kernel_would_not_have_told_of_kills_nobody() {
    for (stalled_us, dies) in [(5, false), (390, false), (410, true)] {
        let mut b = bench(&[("mail", 10)]);
        short(&b, 9000, 12);
        b.engine.turn(SECOND_NS).unwrap();
        b.device.0.borrow_mut().memory.psi_some_total_us = Some(9000 + stalled_us);
        b.engine.turn(SECOND_NS + 100_000_000).unwrap();
        assert_eq!(b.done("kill apps/mail"), dies, "{stalled_us} us in a tenth of a second");
    }
}

#[test]
fn where_the_trigger_is_refused_memory_is_looked_at_and_a_look_may_kill() {
    let mut b = bench(&[("game", 40)]);
    short(&b, 9000, 12);
    b.engine.turn(SECOND_NS).unwrap();
    assert_eq!(b.engine.turn(60 * SECOND_NS).unwrap().awaited.len(), 0, "nobody called: an old stall is none");
    let folder = tempfile::tempdir().unwrap();
    b.engine = engine_in(folder.path(), &b.device).polls_memory(true);
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
fn what_the_user_comes_back_to_outlives_what_he_hardly_opens() {
    let dies = |visits: &[&str]| {
        let mut b = bench(&[("chat", 90), ("once", 60), ("front", 10)]);
        for (at, name) in visits.iter().enumerate() {
            b.engine.handle_from(Some(1), focus(name), at as u64 * SECOND_NS);
        }
        let Reply::Status(status) = b.engine.handle(Request::status(), 0) else { panic!("no status") };
        let returns = |name: &str| status.apps.iter().find(|app| app.name.as_str() == name).unwrap().returns_permille;
        assert_eq!(returns("front"), None, "it is there");
        assert!(returns("chat") > Some(0) && returns("once") > Some(0));
        short(&b, 9000, 12);
        b.engine.pressure();
        b.engine.turn(100 * SECOND_NS).unwrap();
        let kills: Vec<_> = b.device.0.borrow().done.iter().filter(|d| d.starts_with("kill")).cloned().collect();
        kills
    };
    assert_eq!(dies(&["chat", "once", "front"]), ["kill apps/chat"], "nothing is known, so it is the largest");
    let often = ["once", "chat", "front", "chat", "front", "chat", "front", "chat", "front"];
    assert_eq!(dies(&often), ["kill apps/once"]);
}

/// What is decided and not done gives no memory back: without a rest, every app would be named in turn.
#[test]
fn where_nothing_is_done_one_kill_is_decided_and_then_half_a_minute_none() {
    let mut config = Config::default();
    config.daemon.act = false;
    let mut bench = bench_with(&[("mail", 40), ("game", 40), ("web", 40)], config);
    // As the real device does that only looks.
    bench.device.0.borrow_mut().unkillable = Some("apps/mail".into());
    for app in ["mail", "game", "web"] {
        bench.engine.handle(close(app), 0);
    }
    short(&bench, 9000, 5);
    let kills = |bench: &mut Bench| match bench.engine.handle(Request::Explain { app: None, limit: None, uid: None }, 0)
    {
        Reply::Story { entries } => entries.iter().filter(|e| e["action"] == "kill").count(),
        other => panic!("{other:?}"),
    };
    let mut told = 0;
    for second in 1..30 {
        bench.device.0.borrow_mut().memory.psi_some_total_us = Some(second * 99_000);
        bench.engine.pressure();
        told += bench.engine.turn(second * SECOND_NS).unwrap().killed().count();
    }
    assert_eq!((kills(&mut bench), told), (1, 0), "and no user is told that his app was killed");
}

/// What is told of one turn after the other, while less and less is left.
fn told(config: Config) -> (Vec<News>, Bench) {
    let mut bench = bench_with(&[("mail", 40)], config);
    bench.engine.handle(close("mail"), 0);
    let mut told = Vec::new();
    for (second, free_mb, file_mb) in [(1, 200, 200), (2, 20, 47), (3, 12, 12), (4, 5, 5)] {
        short(&bench, second * 99_000, free_mb);
        bench.device.0.borrow_mut().memory.file_bytes = file_mb * MB;
        bench.engine.pressure();
        told.append(&mut bench.engine.turn(second * SECOND_NS).unwrap().news);
    }
    (told, bench)
}

#[test]
fn apps_are_warned_before_one_is_asked_to_end_and_that_before_it_is_killed() {
    let mut config = Config::default();
    config.memory.minfree_pages = Some(fovea_policy::memory::PAPER_PAGES);
    let (told, mut bench) = told(config);
    let names: Vec<_> = told
        .iter()
        .map(|news| match news {
            News::Warning { level } => format!("warning {level}"),
            News::AboutToKill(killed) => format!("about to kill {}", killed.app),
            News::Killed(killed) => format!("killed {}", killed.app),
        })
        .collect();
    assert_eq!(names, ["warning 50", "warning 255", "about to kill mail", "killed mail"]);
    let Reply::Story { entries } = bench.engine.handle(Request::Explain { app: None, limit: None, uid: None }, 0)
    else {
        panic!("no story")
    };
    let steps = entries.iter().map(|entry| entry["action"].as_str().unwrap());
    let steps: Vec<_> = steps.filter(|step| ["warn", "ask", "kill"].contains(step)).collect();
    assert_eq!(steps, ["warn", "warn", "ask", "kill"]);
    assert_eq!(bench.status().warning, Some(fovea_policy::memory::Warning::Critical));
}

#[test]
fn where_nothing_is_done_nobody_is_warned() {
    let mut config = Config::default();
    config.memory.minfree_pages = Some(fovea_policy::memory::PAPER_PAGES);
    config.daemon.act = false;
    assert_eq!(told(config).0, []);
}
