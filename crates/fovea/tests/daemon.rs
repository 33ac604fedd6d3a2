// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real daemon, used wrongly: by two at once, by nonsense on its socket, by clients that misbehave, by signals.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{as_nobody, fovea, is_root, one_line, run, wait, Client, Daemon};
use fovea_client::protocol::REQUEST_MAX_BYTES;
use rustix::event::PollFlags;
use rustix::process::{kill_process, pidfd_open, Pid, PidfdFlags, Signal};

const STATUS: &[u8] = br#"{"request":"status"}"#;

#[test]
fn a_second_daemon_is_refused_and_the_first_goes_on() {
    let daemon = Daemon::start();
    let config = daemon.folder.path().join("fovea.toml");
    let output = fovea(&daemon.run_folder()).args(["run", "--config"]).arg(config).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line = one_line(&output);
    assert!(line.contains("another daemon is running: stop it first"), "{line}");
    daemon.status();
    daemon.stop();
}

#[test]
fn nonsense_on_the_socket_is_answered_in_one_line_and_survived() {
    let daemon = Daemon::start();
    let client = Client::connect(&daemon.run_folder());
    for packet in [
        &b"{"[..],
        b"nonsense",
        b"[]",
        b"null",
        b"\xff\xfe\0",
        b"{\"request\":\"dance\"}",
        b"{\"request\":\"focus\"}",
        b"{\"request\":\"focus\",\"app\":\"..\"}",
        b"{\"request\":\"focus\",\"app\":\"\"}",
        b"{\"request\":\"focus\",\"app\":\"a\\nb\"}",
        b"{\"request\":\"focus\",\"app\":7}",
        b"{\"request\":\"screen\",\"on\":\"yes\"}",
        b"{\"request\":\"status\",\"loud\":true}",
        b"{\"request\":\"status\"} {\"request\":\"status\"}",
        b"{\"request\":\"explain\",\"limit\":-1}",
        b"{\"request\":\"register\",\"app\":\"mail\"}",
        b"{\"request\":\"register\",\"app\":\"mail\",\"cgroup\":\"../../etc\"}",
        b"{\"request\":\"register\",\"app\":\"mail\",\"cgroup\":\"/etc\"}",
        b"{\"request\":\"register\",\"app\":\"mail\",\"cgroup\":\"\"}",
        b"{\"request\":\"register\",\"app\":\"mail\",\"cgroup\":\"a\\u0000b\"}",
        b"{\"request\":\"register\",\"app\":\"mail\",\"cgroup\":\"fovea-test-no-such\"}",
    ] {
        let error = client.refused(packet);
        assert!(error.contains(": "), "what, where and the mend: {error}");
    }
    let deep = [b"{\"request\":".as_slice(), &[b'['; 4000]].concat();
    client.refused(&deep);
    let name = format!("{{\"request\":\"focus\",\"app\":\"{}\"}}", "x".repeat(65));
    assert!(client.refused(name.as_bytes()).contains("choose another name"));
    // The same connection still serves.
    client.send(STATUS).unwrap();
    assert_eq!(client.reply().unwrap()["reply"], "status");
    daemon.stop();
}

#[test]
fn packets_too_large_are_refused_and_the_largest_allowed_is_read() {
    let daemon = Daemon::start();
    let client = Client::connect(&daemon.run_folder());
    let padded = |length: usize| {
        let mut packet = STATUS.to_vec();
        packet.resize(length, b' ');
        packet
    };
    client.send(&padded(REQUEST_MAX_BYTES)).unwrap();
    assert_eq!(client.reply().unwrap()["reply"], "status");
    for length in [REQUEST_MAX_BYTES + 1, 100 * 1024] {
        let error = client.refused(&padded(length));
        assert!(
            error.contains(&format!("{length} bytes")) && error.contains(&REQUEST_MAX_BYTES.to_string()),
            "{error}"
        );
    }
    // An empty packet cannot be told from the end of a connection, so it is taken for one.
    client.send(b"").unwrap();
    assert_eq!(client.reply(), None);
    daemon.status();
    daemon.stop();
}

#[test]
fn two_hundred_idle_clients_do_not_keep_others_out() {
    let daemon = Daemon::start();
    let clients: Vec<Client> = (0..200).map(|_| Client::connect(&daemon.run_folder())).collect();
    daemon.status();
    // Those that came last are still served; those that came first were let go.
    let last = clients.last().unwrap();
    last.send(STATUS).unwrap();
    assert_eq!(last.reply().unwrap()["reply"], "status");
    assert_eq!(clients[0].reply(), None);
    drop(clients);
    daemon.status();
    daemon.stop();
}

#[test]
fn a_source_takes_back_what_it_said_when_it_goes_and_is_not_let_go_for_idle_clients() {
    let daemon = Daemon::start();
    let source = Client::connect(&daemon.run_folder());
    for request in
        [r#"{"request":"attend","name":"sway"}"#, r#"{"request":"home"}"#, r#"{"request":"screen","on":false}"#]
    {
        source.send(request.as_bytes()).unwrap();
        assert_eq!(source.reply().unwrap()["reply"], "done", "{request}");
    }
    let _idle: Vec<Client> = (0..200).map(|_| Client::connect(&daemon.run_folder())).collect();
    let status = daemon.status();
    assert_eq!(status["sources"], serde_json::json!(["sway"]));
    assert_eq!((&status["focus_told"], &status["screen_on"]), (&true.into(), &false.into()));
    drop(source);
    let status = daemon.status();
    assert_eq!(status["sources"], serde_json::json!([]));
    assert_eq!((&status["focus_told"], &status["screen_on"]), (&false.into(), &true.into()));
    // What a command says of the screen holds.
    assert!(run(&daemon.run_folder(), &["screen", "off"]).status.success());
    assert_eq!(daemon.status()["screen_on"], false);
    daemon.stop();
}

#[test]
fn clients_that_never_read_or_leave_mid_way_do_not_hold_the_daemon() {
    let daemon = Daemon::start();
    let folder = daemon.run_folder();
    let deaf = Client::connect(&folder);
    rustix::io::ioctl_fionbio(&deaf.0, true).unwrap();
    // Until the daemon lets it go, since it cannot answer without waiting for it.
    let mut sent = 0;
    loop {
        match deaf.send(STATUS) {
            Ok(_) => sent += 1,
            Err(rustix::io::Errno::AGAIN) => wait(&deaf.0, PollFlags::OUT),
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => break,
            Err(e) => panic!("{e}"),
        }
        assert!(sent < 1_000_000, "the daemon answers a client that does not read, for ever");
    }
    daemon.status();
    for _ in 0..50 {
        let hasty = Client::connect(&folder);
        hasty.send(STATUS).unwrap();
        drop(hasty);
    }
    daemon.status();
    daemon.stop();
}

#[test]
fn another_user_is_refused() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start();
    fs::set_permissions(daemon.run_folder(), PermissionsExt::from_mode(0o755)).unwrap();
    let output = as_nobody(daemon.folder.path(), &["screen", "off"]);
    assert_eq!(output.status.code(), Some(1));
    let line = one_line(&output);
    assert!(line.contains("permission denied: only root may ask the daemon: run this by sudo"), "{line}");
    // Even if somebody opens the socket to all.
    fs::set_permissions(daemon.run_folder().join("control.sock"), PermissionsExt::from_mode(0o666)).unwrap();
    let output = as_nobody(daemon.folder.path(), &["screen", "off"]);
    assert_eq!(output.status.code(), Some(1));
    let line = one_line(&output);
    assert!(line.contains("user 65534 may not steer the daemon: ask as root"), "{line}");
    assert_eq!(daemon.status()["screen_on"], true);
    daemon.stop();
}

#[test]
fn a_killed_worker_ends_the_supervisor_with_one_line() {
    let mut daemon = Daemon::start();
    // It answers once it is set up, and has then said what it lacks.
    let worker = daemon.worker();
    let before = daemon.stderr();
    kill_process(worker, Signal::KILL).unwrap();
    let status = daemon.ended();
    assert_eq!(status.code(), Some(1));
    let all = daemon.stderr();
    let said: Vec<&str> = all.strip_prefix(&before).unwrap().lines().collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("killed by signal 9") && said[0].contains("start again"), "{}", said[0]);
    assert_eq!(fs::read(daemon.run_folder().join("undo.log")).unwrap(), b"");
    let output = run(&daemon.run_folder(), &["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("start it with `fovea run`"), "a socket that nobody listens on");
}

/// The worker's child that looks at what other users have open.
fn probe_of(worker: Pid) -> Option<Pid> {
    let children = format!("/proc/{0}/task/{0}/children", worker.as_raw_nonzero());
    let children = fs::read_to_string(children).unwrap_or_default();
    let is_probe = |pid: &&str| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(7).any(|w| w == b"\0probe\0"))
    };
    children.split_whitespace().find(is_probe).and_then(|pid| Pid::from_raw(pid.parse().ok()?))
}

/// Whatever holds the probe up, a stop here (a silent file system, a socket that lingers elsewhere), the daemon answers, and
/// goes on with another.
#[test]
fn a_probe_that_never_answers_holds_nobody_up() {
    let Some(app) = common::app::App::new("probe") else { return };
    let daemon = Daemon::start();
    let client = Client::connect(&daemon.run_folder());
    client.say(&format!(r#"{{"request":"register","app":"mail","cgroup":"{}"}}"#, app.cgroup));
    let worker = daemon.worker();
    let probe = probe_of(worker).expect("a probe");
    let status = fs::read_to_string(format!("/proc/{}/status", probe.as_raw_nonzero())).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    kill_process(probe, Signal::STOP).unwrap();
    // Each status looks who plays.
    common::until(&|| "it is never given up".into(), || {
        daemon.status();
        probe_of(worker) != Some(probe)
    });
    common::until(&|| "no other is started".into(), || {
        daemon.status();
        probe_of(worker).is_some()
    });
    drop(client);
    daemon.stop();
}

/// A source of a user's session leaves root behind before it reads a byte of that session's; what it says counts for that
/// user alone.
#[test]
fn a_sessions_source_becomes_its_user_and_can_say_nothing_else() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start();
    let run_folder = daemon.run_folder();
    let copy = common::copy_for_all(daemon.folder.path());
    let mut watcher = Command::new(copy)
        .env_remove("FOVEA_RUN")
        .arg("--run-folder")
        .arg(&run_folder)
        .args(["source", "--wait", "session", "--uid", "65534", "--bus", "unix:path=/nowhere/bus"])
        .spawn()
        .unwrap();
    common::until(&|| "it never tells of the session".into(), || daemon.status()["sources"][0] == "session");
    let status = || fs::read_to_string(format!("/proc/{}/status", watcher.id())).unwrap();
    common::until(&|| format!("it stays root: {}", status()), || status().contains("CapEff:\t0000000000000000"));
    let text = status();
    assert!(text.contains("Uid:\t65534\t65534\t65534\t65534") && text.contains("NoNewPrivs:\t1"), "{text}");
    assert!(text.contains("Groups:\t \n") || text.contains("Groups:\t\n"), "{text}");
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    let client = Client::connect(&run_folder);
    client.say(r#"{"request":"attend","name":"session","uid":65534}"#);
    client.say(r#"{"request":"inhibitors","pids":[1]}"#);
    let error = client.refused(br#"{"request":"home"}"#);
    assert!(error.contains("user 65534"), "{error}");
    let error = client.refused(br#"{"request":"attend","name":"session","uid":0}"#);
    assert!(error.contains("user 65534"), "it is nobody else's from then on: {error}");
    daemon.stop();
}

/// Programs inherit which signals are blocked; a service manager or a test's harness may have blocked some for itself.
#[test]
fn a_supervisor_that_was_started_with_all_signals_blocked_hears_of_them_all_the_same() {
    let started = || {
        Daemon::start_with(|command, folder| {
            let mut blocked = Command::new("env");
            blocked.args(["--block-signal", "--"]).arg(command.get_program()).args(command.get_args());
            blocked.stdin(std::process::Stdio::null()).stderr(fs::File::create(folder.join("stderr")).unwrap());
            *command = blocked;
        })
    };
    let mut daemon = started();
    kill_process(daemon.worker(), Signal::KILL).unwrap();
    assert_eq!(daemon.ended().code(), Some(1));
    assert!(daemon.stderr().contains("has been put back"), "{}", daemon.stderr());
    started().stop();
}

#[test]
fn a_worker_whose_supervisor_is_killed_ends_by_itself() {
    let mut daemon = Daemon::start();
    let worker = pidfd_open(daemon.worker(), PidfdFlags::empty()).unwrap();
    kill_process(daemon.supervisor_pid(), Signal::KILL).unwrap();
    assert_eq!(common::signal_of(daemon.ended()), Some(9));
    wait(&worker, PollFlags::IN);
    assert_eq!(fs::read(daemon.run_folder().join("undo.log")).unwrap(), b"");
    // Neither holds the lock any more.
    let lock = fs::File::open(daemon.run_folder().join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn it_stops_in_order_when_the_worker_is_asked_and_by_every_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut daemon = Daemon::start();
        kill_process(daemon.supervisor_pid(), signal).unwrap();
        let status = daemon.ended();
        assert!(status.success(), "{signal:?}: {status}");
    }
    let mut daemon = Daemon::start();
    kill_process(daemon.worker(), Signal::TERM).unwrap();
    assert!(daemon.ended().success());
    assert_eq!(fs::read(daemon.run_folder().join("undo.log")).unwrap(), b"");
}

#[test]
fn sighup_reads_the_configuration_again_and_a_broken_one_changes_nothing() {
    let mut daemon = Daemon::start();
    let config = daemon.folder.path().join("fovea.toml");
    let reloads = |daemon: &Daemon| {
        let output = run(&daemon.run_folder(), &["explain", "--json", "--limit", "400"]);
        String::from_utf8(output.stdout).unwrap().matches("\"reload\"").count()
    };
    let mut times = 0;
    for (text, counts) in [("[freeze]\nclasses = [\"hidden\"]\n", true), ("nonsense", false), (common::HARMLESS, true)]
    {
        fs::write(&config, text).unwrap();
        let before = daemon.stderr().len();
        kill_process(daemon.supervisor_pid(), Signal::HUP).unwrap();
        while daemon.stderr()[before..].is_empty() {
            daemon.status();
        }
        let said = &daemon.stderr()[before..];
        assert_eq!(said.contains("has been read again"), counts, "{said}");
        assert_eq!(said.contains("until then the configuration that was in force counts"), !counts, "{said}");
        times += usize::from(counts);
        assert_eq!(reloads(&daemon), times);
    }
    kill_process(daemon.supervisor_pid(), Signal::TERM).unwrap();
    assert!(daemon.ended().success());
}

#[test]
fn a_daemon_whose_messages_nobody_reads_any_more_goes_on() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let daemon = Daemon::start_with(|command, _| {
        command.stderr(writer);
    });
    daemon.status();
    daemon.stop();
}

#[test]
fn a_connection_that_only_asks_steers_nothing_and_one_that_follows_is_told() {
    let daemon = Daemon::start();
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"only-ask"}"#);
    for request in [
        r#"{"request":"screen","on":false}"#,
        r#"{"request":"reload"}"#,
        r#"{"request":"attend","name":"sway"}"#,
        r#"{"request":"list-add","list":"prefer","entry":"mail"}"#,
    ] {
        assert!(client.refused(request.as_bytes()).contains("only asks"), "{request}");
    }
    for request in [r#"{"request":"status"}"#, r#"{"request":"explain"}"#, r#"{"request":"list"}"#] {
        client.send(request.as_bytes()).unwrap();
        assert_ne!(client.reply().unwrap()["reply"], "error", "{request}");
    }
    assert_eq!(daemon.status()["screen_on"], true);

    let follower = Client::connect(&daemon.run_folder());
    follower.send(br#"{"request":"follow"}"#).unwrap();
    let first = serde_json::json!({ "reply": "news", "news": "warning", "level": 0 });
    assert_eq!(follower.reply().unwrap(), first);
    assert!(follower.refused(br#"{"request":"home"}"#).contains("only asks"));
    // Idle clients do not push it out.
    let _idle: Vec<Client> = (0..200).map(|_| Client::connect(&daemon.run_folder())).collect();
    follower.send(br#"{"request":"follow"}"#).unwrap();
    assert_eq!(follower.reply().unwrap(), first);
    daemon.stop();
}

/// Whoever takes a user's source over must not read what other users do.
#[test]
fn a_source_of_a_users_session_reads_no_journal() {
    let daemon = Daemon::start();
    let source = Client::connect(&daemon.run_folder());
    source.say(r#"{"request":"attend","name":"kde","uid":1000}"#);
    for request in [
        r#"{"request":"explain"}"#,
        r#"{"request":"follow"}"#,
        r#"{"request":"only-ask"}"#,
        r#"{"request":"attend","name":"kde"}"#,
    ] {
        assert!(source.refused(request.as_bytes()).contains("user 1000"), "{request}");
    }
    daemon.stop();
}
