// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runaways as the engine sees them: by readings over time.

use crate::engine_tests::{bench, bench_with, focus, freezing, Bench, SECOND_NS};
use fovea_apps::PAGE_BYTES;
use fovea_client::protocol::{Reply, Request};

const MB: u64 = 1 << 20;

impl Bench {
    fn grow(&self, name: &str, mb: u64) {
        let mut state = self.device.0.borrow_mut();
        if let Some(app) = state.apps.get_mut(&format!("apps/{name}")) {
            app.anon_pages += mb * MB / PAGE_BYTES;
        }
    }

    /// Takes 5 MB more at a look of `watch` from the 60th second on, all held by so many processes, of which each lives for so long and one
    /// begins after the other.
    fn build(&self, name: &str, wide: usize, lived_ns: u64, look: u64) {
        self.grow(name, 5);
        let now_ns = 60 * SECOND_NS + look * 3 * SECOND_NS / 10;
        let process = |i: usize| fovea_apps::Holder {
            id: fovea_apps::ProcessId { pid: i as u32 + 2, start_ticks: 2 },
            parent: 1,
            bytes: (40 + 5 * (look + 1)) * MB / wide as u64,
            started_ns: now_ns.saturating_sub(lived_ns * (i as u64 + 1) / wide as u64),
            ..Default::default()
        };
        let mut state = self.device.0.borrow_mut();
        state.apps.get_mut(&format!("apps/{name}")).unwrap().job = (0..wide).map(process).collect();
    }

    /// Looks at a shortage that nobody waits in, every 0.3 s, while somebody grows.
    fn watch(&mut self, from_ns: u64, looks: u64, mut grow: impl FnMut(&mut Bench, u64)) -> u64 {
        self.fill_swap();
        let mut now_ns = from_ns;
        for look in 0..looks {
            grow(self, look);
            let mut state = self.device.0.borrow_mut();
            (state.memory.free_bytes, state.memory.file_bytes) = (12 * MB, 12 * MB);
            drop(state);
            self.engine.turn(now_ns).unwrap();
            now_ns += 3 * SECOND_NS / 10;
        }
        now_ns
    }

    fn dies(&mut self, now_ns: u64) -> Vec<String> {
        self.device.0.borrow_mut().done.clear();
        let mut state = self.device.0.borrow_mut();
        state.memory.psi_some_total_us = state.memory.psi_some_total_us.map(|t| t + 100_000);
        drop(state);
        self.engine.pressure();
        self.engine.turn(now_ns).unwrap();
        let done = &self.device.0.borrow().done;
        // All of it or a part.
        let kills = done.iter().filter(|d| d.starts_with("kill "));
        kills.filter_map(|d| Some(d.split_once("apps/")?.1.to_owned())).collect()
    }
}

fn household() -> Bench {
    let mut b = bench_with(&[("leak", 40), ("big", 200), ("front", 60)], freezing());
    b.engine.handle(focus("leak"), 0);
    b.engine.handle(focus("big"), 0);
    b.engine.handle(focus("front"), 0);
    b
}

#[test]
fn the_leak_dies_and_not_the_largest() {
    let mut b = household();
    let now_ns = b.watch(60 * SECOND_NS, 8, |b, _| b.grow("leak", 5));
    assert_eq!(b.dies(now_ns), ["leak"]);
    let mut b = household();
    let now_ns = b.watch(60 * SECOND_NS, 8, |b, look| {
        if look % 2 == 0 {
            b.grow("leak", 5);
        }
    });
    assert_eq!(b.dies(now_ns), ["leak"], "8 MB a second with 24 MB left");
    let mut b = household();
    let now_ns = b.watch(60 * SECOND_NS, 8, |b, _| b.grow("leak", 1));
    assert_eq!(b.dies(now_ns), ["big"], "3 MB a second are nobody's emergency");
}

/// The user goes to and fro between it and others, and swap is full 4 s after memory was first short.
#[test]
fn what_grows_each_time_that_it_was_left_is_known_though_memory_was_not_short() {
    for (grows_unseen, dead) in [(true, "leak"), (false, "big")] {
        let mut b = bench_with(&[("leak", 40), ("big", 400), ("front", 60)], freezing());
        b.engine.handle(focus("big"), 0);
        b.engine.handle(focus("front"), 0);
        let mut now_ns = 10 * SECOND_NS;
        for name in ["leak", "front"].repeat(3) {
            b.engine.handle(focus(name), now_ns);
            for _ in 0..2 {
                b.engine.turn(now_ns).unwrap();
                b.grow("leak", if grows_unseen || name == "leak" { 32 } else { 0 });
                now_ns += SECOND_NS;
            }
        }
        let now_ns = b.watch(now_ns, 5, |b, _| b.grow("leak", 8));
        assert_eq!(b.dies(now_ns), [dead]);
    }
}

#[test]
fn a_job_of_many_short_lived_processes_is_no_leak_though_it_is_looked_at_when_it_has_the_most() {
    // By hand in a terminal, in an editor that has more itself, and as wide as a fork bomb that somebody has seen.
    for (own_mb, wide, lived_ns, dead) in [
        (0, 1, SECOND_NS / 2, "big"),
        (0, 1, 60 * SECOND_NS, "leak"),
        (120, 4, SECOND_NS / 2, "big"),
        (120, 4, 60 * SECOND_NS, "leak"),
        (0, 100, SECOND_NS / 2, "big"),
        (0, 100, 60 * SECOND_NS, "leak"),
    ] {
        let mut b = household();
        b.grow("leak", own_mb);
        b.grow("big", 300);
        b.device.0.borrow_mut().apps.get_mut("apps/leak").unwrap().other_scores = vec![0; wide - 1];
        let now_ns = b.watch(60 * SECOND_NS, 30, |b, look| b.build("leak", wide, lived_ns, look));
        let ms = lived_ns / 1_000_000;
        assert_eq!(b.dies(now_ns), [dead], "{wide} at once, each lives for {ms} ms, beside {own_mb} MB");
    }
}

#[test]
fn a_bomb_that_has_just_started_dies_and_an_app_that_starts_does_not() {
    for (processes, dead) in [(200, "bomb"), (20, "big")] {
        let mut b = bench_with(&[("bomb", 40), ("big", 200), ("front", 60)], freezing());
        b.device.0.borrow_mut().apps.get_mut("apps/bomb").unwrap().other_scores = vec![0; processes - 1];
        b.engine.handle(focus("big"), 0);
        b.engine.handle(focus("front"), 0);
        let now_ns = b.watch(SECOND_NS, 8, |b, _| b.grow("bomb", 5));
        assert_eq!(b.dies(now_ns), [dead], "{processes} processes");
    }
}

#[test]
fn a_build_as_wide_as_a_bomb_that_nobody_has_seen_is_none_once_its_compilers_end() {
    const WIDE: usize = 100;
    for (lived_ns, dead) in [(SECOND_NS / 2, "big"), (60 * SECOND_NS, "build")] {
        let mut b = bench_with(&[("build", 40), ("big", 500), ("front", 60)], freezing());
        b.device.0.borrow_mut().apps.get_mut("apps/build").unwrap().other_scores = vec![0; WIDE - 1];
        b.engine.handle(focus("big"), 0);
        b.engine.handle(focus("front"), 0);
        let now_ns = b.watch(60 * SECOND_NS, 30, |b, look| b.build("build", WIDE, lived_ns, look));
        assert_eq!(b.dies(now_ns), [dead], "each lives for {} ms", lived_ns / 1_000_000);
    }
}

#[test]
fn a_bomb_is_known_at_the_first_look_if_it_began_under_the_daemon() {
    for (began_ns, dead) in [(60 * SECOND_NS, "bomb"), (SECOND_NS, "big")] {
        let mut b = bench_with(&[("big", 800), ("front", 60)], freezing());
        b.engine.handle(focus("big"), 0);
        b.engine.handle(focus("front"), 0);
        let bomb = crate::fake::FakeApp {
            anon_pages: 670 * 256,
            other_scores: vec![0; 200],
            ..crate::fake::FakeApp::default()
        };
        b.device.0.borrow_mut().apps.insert("apps/bomb".into(), bomb);
        let register = Request::Register {
            app: "bomb".parse().unwrap(),
            cgroup: "apps/bomb".into(),
            role: Default::default(),
            io_class: None,
        };
        b.engine.handle(register, began_ns);
        let now_ns = b.watch(began_ns + 4 * SECOND_NS, 1, |_, _| {});
        assert_eq!(b.dies(now_ns), [dead], "found {} s after the daemon's start", began_ns / SECOND_NS);
    }
}

#[test]
fn a_service_outside_of_apps_that_runs_away_is_named_once() {
    let mut b = household();
    let (eater, idle) = ("system.slice/indexer.service", "system.slice/cups.service");
    let now_ns = b.watch(60 * SECOND_NS, 30, |b, look| {
        b.device.0.borrow_mut().others = vec![(eater.into(), (50 + 5 * look) * MB), (idle.into(), 300 * MB)];
    });
    assert_eq!(b.status().runaways, [eater]);
    let told = |b: &mut Bench, now_ns| match b.engine.handle(Request::status(), now_ns) {
        Reply::Status(status) => status.runaways,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&mut b, now_ns + 61 * SECOND_NS), Vec::<String>::new(), "it is over");
    assert_eq!(b.journal("runaway").len(), 1);
    assert_eq!(b.journal("runaway")[0]["outcome"]["cgroup"], eater);
    assert_eq!(b.dies(now_ns), ["big"]);
    // A build in a container.
    let mut b = household();
    b.device.0.borrow_mut().apps.insert(eater.into(), crate::fake::FakeApp::default());
    b.watch(60 * SECOND_NS, 30, |b, look| {
        let mut state = b.device.0.borrow_mut();
        state.others = vec![(eater.into(), (50 + 5 * look) * MB)];
        let started_ns = 60 * SECOND_NS + look * 3 * SECOND_NS / 10 - SECOND_NS / 2;
        state.apps.get_mut(eater).unwrap().started_ns = started_ns;
    });
    assert_eq!(b.status().runaways, Vec::<String>::new());
    // Registered, it is an app like others.
    let mut b = household();
    let register =
        Request::Register { app: "x".parse().unwrap(), cgroup: eater.into(), role: Default::default(), io_class: None };
    b.engine.handle(register, 0);
    b.watch(60 * SECOND_NS, 30, |b, look| b.device.0.borrow_mut().others = vec![(eater.into(), (50 + 5 * look) * MB)]);
    assert_eq!(b.status().runaways, Vec::<String>::new());
}

#[test]
fn apps_live_while_somebody_outside_leaks_and_the_kernel_is_told_so_until_he_has_ended() {
    // It grows by 20 MB at each of so many looks from the 600th second on.
    let leaking_at = |leak: &str, looks, score, started_s: u64| {
        let mut b = household();
        let process = crate::fake::FakeApp { score, started_ns: started_s * SECOND_NS, ..Default::default() };
        b.device.0.borrow_mut().apps.insert(leak.into(), process);
        let now_ns = b.watch(600 * SECOND_NS, looks, |b, look| {
            b.device.0.borrow_mut().others = vec![(leak.into(), (250 + 20 * look) * MB)];
        });
        (b, now_ns)
    };
    let leak = "system.slice/indexer.service";
    let leaking = |looks, score, started_s| leaking_at(leak, looks, score, started_s);
    let scores = |b: &Bench| -> Vec<i32> {
        let state = b.device.0.borrow();
        state.apps.iter().filter(|(cgroup, _)| cgroup.starts_with("apps/")).map(|(_, app)| app.score).collect()
    };
    let said = |b: &mut Bench| -> Vec<_> {
        b.journal("aside").iter().map(|line| line["outcome"]["cgroup"].as_str().map(str::to_owned)).collect()
    };
    let (mut spared, now_ns) = leaking(40, -250, 0);
    let before = scores(&spared);
    assert_eq!(
        (said(&mut spared), spared.dies(now_ns)),
        (vec![], vec!["big".to_owned()]),
        "its administrator spares it"
    );
    for elsewhere in ["machine.slice/machine-vm.scope", "init.scope"] {
        let (mut spared, now_ns) = leaking_at(elsewhere, 40, 0, 0);
        assert_eq!((said(&mut spared), spared.dies(now_ns)), (vec![], vec!["big".to_owned()]), "{elsewhere}");
    }
    // Four apps died for a container of root's that leaked, and the leak lived on.
    for container in ["machine.slice/libpod-0123.scope", "machine.slice/machine-libpod_pod_1.slice/libpod-2.scope"] {
        let (mut b, now_ns) = leaking_at(container, 40, 0, 0);
        assert_eq!((said(&mut b), b.dies(now_ns)), (vec![Some(container.to_owned())], Vec::<String>::new()));
    }
    let (mut old, now_ns) = leaking(10, 0, 0);
    assert_eq!((said(&mut old), old.dies(now_ns)), (vec![], vec!["big".to_owned()]), "it may soon be done");
    let (mut young, now_ns) = leaking(10, 0, 590);
    assert_eq!((young.dies(now_ns), scores(&young)), (vec![], vec![0; 3]), "it has grown since its start");

    let (mut b, now_ns) = leaking(40, 0, 0);
    assert_eq!(said(&mut b), [Some(leak.to_owned())]);
    assert_eq!(b.dies(now_ns), Vec::<String>::new());
    assert_eq!((scores(&b), before.iter().any(|&score| score > 0)), (vec![0; 3], true));
    let now_ns = b.watch(now_ns + SECOND_NS, 4, |b, _| b.device.0.borrow_mut().others.clear());
    assert_eq!(said(&mut b), [Some(leak.to_owned()), None]);
    assert_eq!(scores(&b), before);
    assert_eq!(b.dies(now_ns), ["big"], "who matters least dies as before");
}

/// A user's service that leaked was started anew by systemd each time that it was ended: it was starting then, and apps died for it.
#[test]
fn a_service_that_is_started_anew_is_not_waited_for_again() {
    let mut b = household();
    let service = "user.slice/user-1000.slice/user@1000.service/app.slice/indexer.service";
    let began = |b: &mut Bench, at_ns| {
        b.device.0.borrow_mut().apps.insert(service.into(), crate::fake::FakeApp::default());
        b.engine.found(service, at_ns);
        let name = b.engine.owner_of(service).unwrap();
        (b.engine.background_since_ns(&name), name)
    };
    let (first_ns, name) = began(&mut b, 60 * SECOND_NS);
    b.engine.ended(&name, 75 * SECOND_NS);
    assert_eq!((first_ns, began(&mut b, 76 * SECOND_NS).0), (60 * SECOND_NS, 60 * SECOND_NS));
    b.engine.ended(&name, 80 * SECOND_NS);
    assert_eq!(began(&mut b, 111 * SECOND_NS).0, 111 * SECOND_NS, "long after");
}

/// It leaked 64 MB a second, and in each of its lives an app died for it.
#[test]
fn a_service_that_died_as_a_runaway_dies_at_the_first_look_once_it_is_started_anew() {
    let mut b = household();
    let service = "user.slice/user-1000.slice/user@1000.service/app.slice/indexer.service";
    let begins = |b: &mut Bench, at_ns, mb: u64| {
        let app = crate::fake::FakeApp { anon_pages: mb * MB / PAGE_BYTES, ..crate::fake::FakeApp::default() };
        b.device.0.borrow_mut().apps.insert(service.into(), app);
        b.engine.found(service, at_ns);
        b.engine.owner_of(service).unwrap()
    };
    let name = begins(&mut b, 40 * SECOND_NS, 40);
    let now_ns = b.watch(60 * SECOND_NS, 8, |b, _| {
        b.device.0.borrow_mut().apps.get_mut(service).unwrap().anon_pages += 5 * MB / PAGE_BYTES;
    });
    let dies = |b: &mut Bench, now_ns| {
        b.dies(now_ns);
        let state = b.device.0.borrow();
        state.done.iter().filter(|done| done.starts_with("kill ")).cloned().collect::<Vec<_>>()
    };
    let dead = [format!("kill {service}")];
    assert_eq!(dies(&mut b, now_ns), dead);
    b.engine.victim_ended(now_ns + SECOND_NS / 10);
    b.engine.ended(&name, now_ns + SECOND_NS / 10);
    begins(&mut b, now_ns + SECOND_NS / 5, 180);
    let now_ns = now_ns + 4 * SECOND_NS;
    let mut state = b.device.0.borrow_mut();
    (state.memory.free_bytes, state.memory.file_bytes) = (12 * MB, 12 * MB);
    drop(state);
    assert_eq!(dies(&mut b, now_ns), dead, "it grows by 45 MB a second since it began");
}

/// What the user's systemd starts has a score of 200, what the system's starts has 0: the kernel then ended the shell for a service's leak.
#[test]
fn a_leak_is_left_to_the_kernel_only_if_the_session_is_smaller_as_the_kernel_counts() {
    let leak = "system.slice/indexer.service";
    let shell = "user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service";
    let left_to_kernel = |score| {
        let mut b = household();
        {
            let mut state = b.device.0.borrow_mut();
            state.memory.total_bytes = 1000 * MB;
            state.apps.insert(leak.into(), crate::fake::FakeApp::default());
            state.apps.insert(shell.into(), crate::fake::FakeApp { score, ..Default::default() });
        }
        b.watch(600 * SECOND_NS, 40, |b, look| {
            b.device.0.borrow_mut().others = vec![(leak.into(), (250 + 20 * look) * MB), (shell.into(), 900 * MB)];
        });
        !b.journal("aside").is_empty()
    };
    assert_eq!((left_to_kernel(0), left_to_kernel(200)), (true, false));
}

#[test]
fn a_turn_says_whom_it_killed_and_whose_that_was() {
    let mut b = bench(&[("game", 40)]);
    let cgroup = "user.slice/user-1000.slice/user@1000.service/app.slice/app-mail-7.scope";
    {
        let mut state = b.device.0.borrow_mut();
        let mail = crate::fake::FakeApp { anon_pages: 60 * 256, ..Default::default() };
        state.apps.insert(cgroup.into(), mail);
    }
    let starve = |b: &mut Bench, stalled_us| {
        let mut state = b.device.0.borrow_mut();
        (state.memory.free_bytes, state.memory.file_bytes) = (MB, MB);
        state.memory.psi_some_total_us = Some(stalled_us);
        drop(state);
        b.fill_swap();
        b.engine.pressure();
    };
    b.engine.found(cgroup, 0);
    starve(&mut b, 100_000);
    let turn = b.engine.turn(SECOND_NS).unwrap();
    let killed: Vec<_> = turn.killed().map(|k| (k.app.as_str(), k.uid, k.size_bytes)).collect();
    assert_eq!(killed, [("mail", Some(1000), 60 * MB)]);
    assert_eq!(turn.killed().next().unwrap().unit, "app-mail-7.scope");
    assert_eq!(b.journal("kill")[0]["uid"], 1000);
    b.engine.victim_ended(SECOND_NS);
    starve(&mut b, 200_000);
    let turn = b.engine.turn(2 * SECOND_NS).unwrap();
    let killed: Vec<_> = turn.killed().map(|k| (k.app.as_str(), k.uid)).collect();
    assert_eq!(killed, [("game", None)], "said by somebody, in a cgroup of no user's");
}
