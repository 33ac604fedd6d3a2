// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `[daemon] act = false`: what is decided is written to the journal, and by the log of its system calls the daemon does none of it.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::app::App;
use common::{until, Client, Daemon};

/// Calls by which one process does something to another, or to the machine. Files are looked at by how they are opened.
const CHANGING: [&str; 28] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "mknodat",
    "symlinkat",
    "linkat",
    "kill",
    "tkill",
    "tgkill",
    "pidfd_send_signal",
    "process_madvise",
    "process_mrelease",
    "migrate_pages",
    "swapon",
    "swapoff",
    "finit_module",
    "delete_module",
    "mount",
    "bpf",
];

/// Has strace write down those calls of a command and of all its children. It is no parent of theirs, so the command stays ours.
fn traced(command: &mut Command, to: &Path) {
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-q", "-o"]).arg(to).arg(format!("-etrace={}", CHANGING.join(",")));
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    *command = strace;
}

/// Whether a line of the log is of a call that changes something beside the daemon's own folder and processes, which are all that the log has.
fn changes(line: &str, own_folder: &str, own_pids: &BTreeSet<&str>) -> bool {
    let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
    if !call.contains('(') || call.starts_with("<...") || call.starts_with("---") {
        return false;
    }
    let is_own = |call: &str| {
        let path = call.split('"').nth(1).unwrap_or_default();
        // What is written to a file of pressure is when its writer wants to be woken.
        let wakes = path.starts_with("/proc/pressure/");
        wakes
            || path.starts_with(own_folder)
            || path.starts_with("/proc/self/")
            || matches!(path, "/dev/null" | "/dev/log")
    };
    let first = call.split(['(', ',']).nth(1).unwrap_or_default();
    match call.split('(').next().unwrap_or_default() {
        "open" | "openat" | "openat2" => {
            ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| call.contains(flag)) && !is_own(call)
        }
        // Every other one of a file names it first.
        _ if call.contains('"') => !is_own(call),
        "kill" | "tkill" | "tgkill" => !own_pids.contains(first),
        // No process: whether the kernel has the call.
        "process_madvise" | "process_mrelease" => first != "-1",
        _ => true,
    }
}

fn run(act: bool) -> Option<(Vec<String>, serde_json::Value)> {
    let app = App::new(if act { "acts" } else { "decides" })?;
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: no strace here");
        return None;
    }
    let log = tempfile::tempdir().unwrap();
    let calls = log.path().join("calls");
    let daemon = Daemon::start_with(|command, folder| {
        let config = format!(
            "[zram]\nenabled = false\n[daemon]\nact = {act}\ndiscover = false\n[freeze]\nclasses = [\"hidden\"]\ndebounce_ms = 1\n"
        );
        fs::write(folder.join("fovea.toml"), config).unwrap();
        traced(command, &calls);
        command.stderr(fs::File::create(folder.join("stderr")).unwrap()).stdin(std::process::Stdio::null());
    });
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"attend","name":"test"}"#);
    client.say(&format!(r#"{{"request":"register","app":"mail","cgroup":"{}"}}"#, app.cgroup));
    client.say(r#"{"request":"focus","app":"mail"}"#);
    client.say(r#"{"request":"home"}"#);
    let mut frozen = None;
    until(&|| "it is never decided".into(), || {
        client.send(br#"{"request":"explain","app":"mail"}"#).unwrap();
        let story = client.reply().unwrap();
        frozen = story["entries"].as_array().unwrap().iter().find(|entry| entry["action"] == "freeze").cloned();
        frozen.is_some()
    });
    assert_eq!(app.is_frozen(), act);
    let status = common::run(&daemon.run_folder(), &["status"]);
    assert_eq!(String::from_utf8(status.stdout).unwrap().contains("act = false"), !act, "and a person sees it");
    let (folder, supervisor) = (daemon.folder.path().to_str().unwrap().to_owned(), daemon.supervisor.id());
    let mut daemon = daemon;
    rustix::process::kill_process(daemon.supervisor_pid(), rustix::process::Signal::TERM).unwrap();
    assert!(daemon.ended().success(), "{}", daemon.stderr());
    let text = || fs::read_to_string(&calls).unwrap();
    until(&|| "strace does not end".into(), || {
        text().lines().any(|line| {
            line.split_once(' ').is_some_and(|(pid, rest)| pid == supervisor.to_string() && rest.contains("+++"))
        })
    });
    assert!(!app.is_frozen() && app.score() == "123", "the device is as it was");
    let text = text();
    let own_pids = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let changing = text.lines().filter(|line| changes(line, &folder, &own_pids)).map(str::to_owned).collect();
    Some((changing, frozen.unwrap()))
}

#[test]
fn a_daemon_that_only_decides_makes_no_call_that_changes_anything() {
    let Some((calls, frozen)) = run(true) else { return };
    assert!(calls.iter().any(|call| call.contains("cgroup.freeze")), "the log shows what is done: {calls:#?}");
    assert_eq!(frozen["only_decided"], serde_json::Value::Null);
    let Some((calls, frozen)) = run(false) else { return };
    assert_eq!(calls, Vec::<String>::new());
    assert_eq!(frozen["only_decided"], true);
}
