// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom the engine kills where somebody takes memory who is no app: jobs, logins, other users and parts of a session.

use crate::engine_tests::{bench_with, freezing, Bench, MB, SECOND_NS};
use crate::fake::FakeApp;
use fovea_apps::{Holder, ProcessId, PAGE_BYTES};
use fovea_client::protocol::Request;

const USER: &str = "user.slice/user-1000.slice/user@1000.service";
const STEP_NS: u64 = 300_000_000;

/// Three apps of a user in `app.slice`, one of them in front, and whoever else is named; each began 90 s before the first look.
fn desktop(others: &[(&str, u64)]) -> Bench {
    let mut b = bench_with(&[], freezing());
    let apps = [("mail", 60), ("web", 100), ("front", 80)].map(|(app, mb)| (cgroup_of(app), mb));
    for (cgroup, mb) in apps.iter().map(|(cgroup, mb)| (cgroup.as_str(), *mb)).chain(others.iter().copied()) {
        let app = FakeApp { anon_pages: mb * MB / PAGE_BYTES, started_ns: 10 * SECOND_NS, ..FakeApp::default() };
        b.device.0.borrow_mut().apps.insert(cgroup.to_owned(), app);
        b.engine.found(cgroup, 10 * SECOND_NS);
    }
    for app in ["mail", "web", "front"] {
        b.engine.handle(Request::Focus { app: app.parse().unwrap() }, 20 * SECOND_NS);
    }
    b
}

fn cgroup_of(app: &str) -> String {
    format!("{USER}/app.slice/app-gnome-{app}-{}.scope", 100 + app.len())
}

impl Bench {
    /// Memory is short for so many seconds from the 100th on, and from the 105th on somebody waits. `take` says what one holds each second.
    /// Says who dies, as often as somebody does.
    fn short_for(&mut self, seconds: u64, mut take: impl FnMut(&mut Bench, u64)) -> Vec<String> {
        self.fill_swap();
        for look in 0..seconds * 10 / 3 {
            let now_ns = 100 * SECOND_NS + look * STEP_NS;
            take(self, look * STEP_NS / SECOND_NS);
            let waits = now_ns >= 105 * SECOND_NS;
            {
                let mut state = self.device.0.borrow_mut();
                let left_mb = if waits { 5 } else { 12 };
                (state.memory.free_bytes, state.memory.file_bytes) = (left_mb * MB, left_mb * MB);
                if waits {
                    state.memory.psi_some_total_us = Some(now_ns / 1000);
                }
            }
            if waits {
                self.engine.pressure();
            }
            let turn = self.engine.turn(now_ns).unwrap();
            turn.awaited.iter().for_each(|_| self.engine.victim_ended(now_ns));
        }
        let state = self.device.0.borrow();
        let kills = state.done.iter().filter_map(|done| done.strip_prefix("kill "));
        kills.map(|kill| kill.rsplit_once('/').map_or(kill, |(_, unit)| unit).to_owned()).collect()
    }

    fn holds(&self, cgroup: &str, mb: u64) {
        if let Some(app) = self.device.0.borrow_mut().apps.get_mut(cgroup) {
            app.anon_pages = mb * MB / PAGE_BYTES;
        }
    }
}

#[test]
fn a_job_that_takes_much_in_steps_with_pauses_dies_before_any_app() {
    let job = format!("{USER}/app.slice/vte-spawn-1.scope");
    let mut b = desktop(&[(&job, 4)]);
    let dead = b.short_for(30, |b, second| b.holds(&job, 4 + 200 * (2 + second / 7)));
    assert_eq!(dead.first().map(String::as_str), Some("vte-spawn-1.scope"), "{dead:?}");
    assert_eq!(b.journal("kill")[0]["reason"], "runaway");
}

#[test]
fn a_job_that_has_ended_to_grow_at_five_times_the_largest_app_dies_before_any_app() {
    let job = format!("{USER}/app.slice/vte-spawn-1.scope");
    let mut b = desktop(&[(&job, 500)]);
    assert_eq!(b.short_for(7, |_, _| ()).first().map(String::as_str), Some("vte-spawn-1.scope"));
    // As much in many processes that come and go is a build.
    let mut b = desktop(&[(&job, 4)]);
    let dead = b.short_for(8, |b, second| {
        let compiler = |nth: u32| Holder {
            id: ProcessId { pid: 10 + nth + 8 * second as u32, start_ticks: 10 },
            bytes: 60 * MB,
            parent: 1,
            started_ns: (99 + second) * SECOND_NS,
            ..Holder::default()
        };
        b.holds(&job, 4 + 8 * 60);
        if let Some(app) = b.device.0.borrow_mut().apps.get_mut(&job) {
            (app.job, app.other_scores) = ((0..8).map(compiler).collect(), vec![0; 8]);
        }
    });
    assert!(!dead.is_empty() && !dead[0].contains("vte-spawn"), "{dead:?}");
}

#[test]
fn a_part_of_the_session_that_leaks_costs_apps_in_their_order_and_no_standing_aside() {
    let shell = format!("{USER}/session.slice/org.gnome.Shell@wayland.service");
    let mut b = desktop(&[]);
    b.device.0.borrow_mut().apps.insert(shell.clone(), FakeApp::default());
    let dead =
        b.short_for(40, |b, second| b.device.0.borrow_mut().others = vec![(shell.clone(), (200 + 20 * second) * MB)]);
    assert_eq!(dead[..2], ["app-gnome-web-103.scope", "app-gnome-mail-104.scope"]);
    assert_eq!(b.journal("aside").len(), 0);
}

#[test]
fn the_quiet_hog_of_a_user_who_is_not_at_the_screen_dies_before_the_apps_of_the_one_who_is() {
    let (other, own) = ("user.slice/user-1001.slice/session-7.scope", "user.slice/user-1000.slice/session-2.scope");
    let mut b = desktop(&[(other, 200)]);
    assert_eq!(b.short_for(7, |_, _| ()).first().map(String::as_str), Some("session-7.scope"));
    let mut b = desktop(&[(own, 200)]);
    let dead = b.short_for(8, |_, _| ());
    assert!(!dead.is_empty() && !dead.iter().any(|unit| unit == "session-2.scope"), "{dead:?}");
}

#[test]
fn of_a_login_the_program_that_leaks_dies_and_never_the_whole() {
    let login = "user.slice/user-1000.slice/session-2.scope";
    let process = |pid: u32, parent, mb: u64| Holder {
        id: ProcessId { pid, start_ticks: u64::from(pid) },
        parent,
        bytes: mb * MB,
        started_ns: 10 * SECOND_NS,
        ..Holder::default()
    };
    let mut b = desktop(&[(login, 30)]);
    let dead = b.short_for(15, |b, second| {
        let leak_mb = 10 + 20 * second;
        b.holds(login, 30 + leak_mb);
        if let Some(app) = b.device.0.borrow_mut().apps.get_mut(login) {
            (app.job, app.other_scores) = (vec![process(7, 1, 20), process(8, 7, leak_mb)], vec![0; 2]);
        }
    });
    assert_eq!(dead.first().map(String::as_str), Some("session-2.scope"));
    let kills: Vec<_> = b.device.0.borrow().done.iter().filter(|done| done.starts_with("kill ")).cloned().collect();
    assert_eq!(kills[0], format!("kill [8] of {login}"));
    assert!(!kills.contains(&format!("kill {login}")));
    // Two that grow alike: one of them. Five: nobody stands out, and nobody is asked again for a while.
    let alike = |count: u32| {
        let mut b = desktop(&[(login, 30)]);
        b.short_for(15, |b, second| {
            let each_mb = 10 + 20 / u64::from(count) * second;
            b.holds(login, 10 + u64::from(count) * each_mb);
            if let Some(app) = b.device.0.borrow_mut().apps.get_mut(login) {
                app.job = (7..7 + count).map(|pid| process(pid, 1, each_mb)).collect();
                app.other_scores = vec![0; count as usize];
            }
        });
        b
    };
    let b = alike(2);
    let kills = |b: &Bench| -> Vec<String> {
        let state = b.device.0.borrow();
        state.done.iter().filter(|done| done.starts_with("kill") && done.contains(login)).cloned().collect()
    };
    assert_eq!(kills(&b)[0], format!("kill [8] of {login}"));
    let mut b = alike(5);
    assert_eq!(kills(&b), Vec::<String>::new());
    assert_eq!(b.journal("kill-failed").len(), 1);
}
