// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps by their processes and cgroups: which is in front, which were found.

use crate::engine_tests::{bench, focus, in_front, Bench, SECOND_NS};
use crate::fake::FakeApp;
use fovea_apps::{Importance, Kind};
use fovea_client::protocol::{Reply, Request};

impl Bench {
    fn foreground(&mut self) -> Option<String> {
        let Reply::Status(status) = self.engine.handle(Request::status(), 0) else { panic!("no status") };
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
    let Reply::Status(status) = b.engine.handle(Request::status(), 0) else { panic!("no status") };
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
    for n in 0..1100 {
        for uid in [1000, 1001] {
            if uid == 1000 || n == 1099 {
                b.engine.found(&format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/app-x-{n}.scope"), 0);
            }
        }
    }
    let (mut apps, mut offset, mut missing) = (0, Some(0), Vec::new());
    while let Some(from) = offset {
        let request = Request::Status { offset: from, limit: None };
        let Reply::Status(page) = b.engine.handle(request, 0) else { panic!("no status") };
        (apps, offset, missing) = (apps + page.apps.len(), page.next_offset, page.missing);
    }
    assert_eq!(apps, 1025);
    let lacking: Vec<_> = missing.iter().filter(|what| what.contains("user 1000")).collect();
    assert_eq!(lacking.len(), 1, "said, and once: {:?}", missing);
}

const APPS: &str = "user.slice/user-1000.slice/user@1000.service/app.slice";

/// GNOME Terminal as systemd shows it: the terminal's own service, a scope for each tab, tmux in one of them.
#[test]
fn what_a_terminal_started_is_seen_with_it_and_is_no_app() {
    let mut b = bench(&[]);
    let terminal = format!("{APPS}/app-org.gnome.Terminal.slice/gnome-terminal-server.service");
    let tab = format!("{APPS}/app-org.gnome.Terminal.slice/vte-spawn-1.scope");
    let pane = format!("{APPS}/tmux-spawn-1.scope");
    let cron = format!("{APPS}/backup.service");
    {
        let mut state = b.device.0.borrow_mut();
        state.started_by.extend([(tab.clone(), terminal.clone()), (pane.clone(), tab.clone())]);
        state.pids.extend([(7, format!("{terminal}/x")), (8, cron.clone())]);
    }
    for cgroup in [&terminal, &tab, &pane, &cron] {
        b.device.0.borrow_mut().apps.insert(cgroup.clone(), FakeApp::default());
        b.engine.found(cgroup, 0);
    }
    let of = |b: &mut Bench, cgroup: &str| {
        let status = b.status();
        let app = status.apps.iter().find(|app| app.cgroup == cgroup).expect("found").clone();
        (app.kind, app.importance)
    };
    assert_eq!(of(&mut b, &terminal).0, Kind::App);
    assert_eq!(of(&mut b, &tab), (Kind::Job, Importance::Service));
    b.engine.handle_from(Some(1), in_front(7), 0);
    assert_eq!(of(&mut b, &terminal), (Kind::App, Importance::Foreground));
    assert_eq!(of(&mut b, &tab), (Kind::Job, Importance::Visible));
    assert_eq!(of(&mut b, &pane), (Kind::Job, Importance::Visible));
    assert_eq!(of(&mut b, &cron), (Kind::Job, Importance::Service));
    // A service that has a window after all is an app from then on.
    b.engine.handle_from(Some(1), in_front(8), 0);
    assert_eq!(of(&mut b, &cron), (Kind::App, Importance::Foreground));
    assert_eq!(of(&mut b, &tab), (Kind::Job, Importance::Service));
    b.run(0, 60 * SECOND_NS);
    let state = b.device.0.borrow();
    assert!(!state.done.iter().any(|done| *done == format!("freeze {tab}")), "{:?}", state.done);
    assert_eq!(state.apps[&tab].score, 0, "nor ranked");
}

#[test]
fn a_login_is_known_as_one_and_what_lies_below_a_unit_is_none() {
    let mut b = bench(&[]);
    b.engine.found("user.slice/user-1000.slice/session-4.scope", 0);
    b.engine.found("user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service", 0);
    b.engine.found(&format!("{APPS}/app-x-1.scope/below"), 0);
    let known: Vec<_> = b.status().apps.into_iter().map(|app| (app.kind, app.importance)).collect();
    assert_eq!(known, [(fovea_apps::Kind::Login, fovea_apps::Importance::Service)]);
}
