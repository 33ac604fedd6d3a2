// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs of a desktop that starts them in the login's own cgroup.

use fovea_client::protocol::{Reply, Request};
use fovea_linux::ProgramTree;

use crate::config::Config;
use crate::engine_tests::{bench_with, in_front, Bench};
use crate::undo::restore;

const LOGIN: &str = "user.slice/user-1000.slice/session-4.scope";

fn desktop(config: Config) -> Bench {
    let b = bench_with(&[], config);
    {
        let mut state = b.device.0.borrow_mut();
        for pid in [70, 71, 80] {
            state.pids.insert(pid, LOGIN.to_owned());
        }
        for (first, pids) in [(70, vec![70, 71]), (80, vec![80])] {
            let program = "fire/fox".to_owned();
            state.programs_with_windows.insert(first, ProgramTree { cgroup: LOGIN.into(), uid: 1000, program, pids });
        }
    }
    b
}

fn adopt(pid: u32) -> Request {
    Request::Adopt { pid, windows: vec![70, 80] }
}

#[test]
fn a_program_with_a_window_gets_a_cgroup_of_its_own_and_goes_back_at_the_end() {
    let mut b = desktop(Config::default());
    assert_eq!(b.engine.handle_from(Some(1), adopt(70), 0), Reply::Done {});
    assert_eq!(b.engine.handle_from(Some(1), adopt(80), 0), Reply::Done {});
    assert_eq!(b.engine.handle_from(Some(1), adopt(80), 0), Reply::Done {}, "it has one");
    b.engine.handle_from(Some(1), in_front(71), 0);
    let status = b.status();
    let apps: Vec<_> = status.apps.iter().map(|app| (app.name.as_str(), app.cgroup.as_str())).collect();
    let first = "fovea.slice/user-1000.slice/fire+2ffox";
    let second = format!("{first}.80");
    assert_eq!(apps, [("fire+2ffox", first), ("fire+2ffox.80", second.as_str())]);
    assert_eq!(status.foreground.unwrap().as_str(), "fire+2ffox");
    // One that has ended has nothing to go back.
    b.engine.ended(&"fire+2ffox.80".parse().unwrap(), 1);
    let (folder, device) = b.left_behind();
    restore(folder.path(), &mut device.clone()).unwrap();
    let back: Vec<_> = device.0.borrow().done.iter().filter(|done| done.starts_with("give back")).cloned().collect();
    assert_eq!(back, [format!("give back {first} to {LOGIN}")]);
}

#[test]
fn where_the_users_systemd_runs_it_is_to_make_the_scope() {
    let mut b = desktop(Config::default());
    b.device.0.borrow_mut().managers.push(1000);
    let unit = "app-fovea-fire\\x2b2ffox-70.scope".to_owned();
    let expected = Reply::Scope { uid: 1000, unit: unit.clone(), pids: vec![70, 71] };
    assert_eq!(b.engine.handle_from(Some(1), adopt(70), 0), expected);
    assert_eq!(b.status().apps, []);
    // The scope is there, and the window is told before the cgroup's own news.
    let scope = format!("user.slice/user-1000.slice/user@1000.service/app.slice/{unit}");
    b.device.0.borrow_mut().pids.extend([(70, scope.clone()), (71, scope)]);
    b.engine.handle_from(Some(1), in_front(70), 0);
    assert_eq!(b.status().foreground.unwrap().as_str(), "fire+2ffox");
}

#[test]
fn nothing_is_moved_of_a_unit_of_the_sessions_or_where_the_owner_does_not_want_it() {
    let mut config = Config::default();
    config.daemon.windows_make_apps = false;
    let mut b = desktop(config);
    assert_eq!(b.engine.handle_from(Some(1), adopt(70), 0), Reply::Done {});
    assert_eq!(b.status().apps, []);
    let mut b = desktop(Config::default());
    let shell = "user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service";
    b.device.0.borrow_mut().pids.insert(70, shell.to_owned());
    assert_eq!(b.engine.handle_from(Some(1), adopt(70), 0), Reply::Done {});
    b.device.0.borrow_mut().pids.insert(70, "system.slice/sddm.service".into());
    assert_eq!(b.engine.handle_from(Some(1), adopt(70), 0), Reply::Done {}, "a service of systemd's");
    assert_eq!(b.status().apps, []);
    assert!(!b.device.0.borrow().done.iter().any(|done| done.starts_with("adopt")));
}
