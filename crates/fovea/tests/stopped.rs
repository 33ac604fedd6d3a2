// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Processes that are stopped or asleep hold nobody up.

mod common;

use std::fs;
use std::process::Command;

use common::{Client, Daemon};
use rustix::process::{kill_process, Pid, Signal};

/// Whose process it is may stop it, or leave it in uninterruptible sleep (D: the parent of a vfork until its child ends):
/// whatever is said of such a process and done to its app, the daemon answers.
#[test]
fn a_stopped_process_and_one_in_uninterruptible_sleep_hold_nobody_up() {
    let apps = [common::app::App::new("stopped"), common::app::App::new("asleep")];
    let [Some(stopped), Some(asleep)] = &apps else { return };
    let state = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("State:\t")?.chars().next())
    };
    let stopped_pid = stopped.process.id();
    kill_process(Pid::from_raw(stopped_pid as i32).unwrap(), Signal::STOP).unwrap();
    common::until(&|| "it does not stop".into(), || state(stopped_pid) == Some('T'));
    let script = "import ctypes, time\nif ctypes.CDLL(None).vfork() == 0: time.sleep(1000)";
    let Ok(mut parent) = Command::new("python3").args(["-c", script]).spawn() else {
        println!("skipped: no python3 here");
        return;
    };
    fs::write(asleep.folder.join("cgroup.procs"), parent.id().to_string()).unwrap();
    common::until(&|| "it does not sleep".into(), || state(parent.id()) == Some('D'));
    let daemon = Daemon::start_with(|command, folder| {
        let config =
            "[zram]\nenabled = false\n[daemon]\ndiscover = false\n[freeze]\nclasses = [\"hidden\"]\ndebounce_ms = 1\n";
        fs::write(folder.join("fovea.toml"), config).unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    });
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"attend","name":"test"}"#);
    for (name, app, pid) in [("stopped", stopped, stopped_pid), ("asleep", asleep, parent.id())] {
        client.say(&format!(r#"{{"request":"register","app":"{name}","cgroup":"{}"}}"#, app.cgroup));
        client.say(&format!(r#"{{"request":"windows","front":{pid},"visible":[{pid}]}}"#));
        client.say(&format!(r#"{{"request":"names","names":[{{"pid":{pid},"name":"org.test.{name}"}}]}}"#));
        for told in ["inhibitors", "playing"] {
            client.say(&format!(r#"{{"request":"{told}","pids":[{pid}]}}"#));
            client.say(&format!(r#"{{"request":"{told}","pids":[]}}"#));
        }
        client.send(format!(r#"{{"request":"adopt","pid":{pid},"windows":[{pid}]}}"#).as_bytes()).unwrap();
        assert!(client.reply().is_some(), "an answer");
        client.say(&format!(r#"{{"request":"focus","app":"{name}"}}"#));
        client.say(r#"{"request":"home"}"#);
        app.until_frozen(&daemon);
        for request in ["status", "simulate", "explain"] {
            client.send(format!(r#"{{"request":"{request}"}}"#).as_bytes()).unwrap();
            assert_ne!(client.reply().expect("an answer")["reply"], "error", "{request}");
        }
        client.say(&format!(r#"{{"request":"focus","app":"{name}"}}"#));
        assert!(!app.is_frozen());
        client.say(&format!(r#"{{"request":"close","app":"{name}"}}"#));
    }
    daemon.stop();
    fs::write(asleep.folder.join("cgroup.kill"), "1").unwrap();
    parent.wait().unwrap();
}
