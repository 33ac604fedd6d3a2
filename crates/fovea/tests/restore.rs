// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea restore` beside a daemon that lives, that is killed at any moment, that is dead: one lock, and nothing stays frozen.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use common::app::App;
use common::{fovea, one_line, run, Client, Daemon, FOVEA};
use rustix::process::{kill_process, Signal};

const CONFIG: &str =
    "[zram]\nenabled = false\n[daemon]\ndiscover = false\n[freeze]\nclasses = [\"hidden\"]\ndebounce_ms = 1\n";

fn daemon() -> Daemon {
    Daemon::start_with(|command, folder| {
        fs::write(folder.join("fovea.toml"), CONFIG).unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    })
}

fn focus_and_leave(client: &Client, app: &App) {
    client.say(r#"{"request":"attend","name":"test"}"#);
    client.say(&format!(r#"{{"request":"register","app":"mail","cgroup":"{}"}}"#, app.cgroup));
    client.say(r#"{"request":"focus","app":"mail"}"#);
    client.say(r#"{"request":"home"}"#);
}

#[test]
fn beside_a_living_daemon_restore_is_refused_and_the_undo_log_stays() {
    let Some(app) = App::new("beside") else { return };
    let mut daemon = daemon();
    let client = Client::connect(&daemon.run_folder());
    focus_and_leave(&client, &app);
    app.until_frozen(&daemon);
    let log = daemon.run_folder().join("undo.log");
    let before = fs::read(&log).unwrap();
    for _ in 0..3 {
        let output = run(&daemon.run_folder(), &["restore"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(one_line(&output).contains("another daemon is running: stop it first"));
    }
    assert!(fs::read(&log).unwrap() == before && app.is_frozen());
    let worker = daemon.worker();
    kill_process(daemon.supervisor_pid(), Signal::STOP).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    kill_process(daemon.supervisor_pid(), Signal::KILL).unwrap();
    daemon.ended();
    assert!(app.is_frozen(), "both are dead, and nobody has put it back");
    assert_eq!(run(&daemon.run_folder(), &["restore", "--wait"]).status.code(), Some(0));
    assert!(!app.is_frozen());
    assert_eq!(app.score(), "123");
    assert_eq!(run(&daemon.run_folder(), &["restore"]).status.code(), Some(0), "again, to no effect");
}

/// By the configuration, without a word on the command line: what the daemon writes down, others must find.
#[test]
fn the_configured_run_folder_counts_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("fovea.toml");
    let run_folder = folder.path().join("configured");
    fs::create_dir(&run_folder).unwrap();
    fs::write(&config, format!("[daemon]\nrun_folder = {run_folder:?}\n")).unwrap();
    let by_config = |args: &[&str]| {
        Command::new(FOVEA).env_remove("FOVEA_RUN").arg("--config").arg(&config).args(args).output().unwrap()
    };
    let output = by_config(&["status"]);
    assert!(one_line(&output).contains(run_folder.to_str().unwrap()), "{output:?}");
    fs::write(run_folder.join("undo.log"), "{\"sysctl\":[\"fovea/no-such-setting\",\"1\"]}\n").unwrap();
    let output = by_config(&["restore"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("no-such-setting"), "{output:?}");
    fs::write(&config, "nonsense").unwrap();
    assert!(
        one_line(&by_config(&["status"])).contains("/run/fovea"),
        "a broken file does not keep anybody from the usual one"
    );
}

/// Restores again and again, as a person or systemd would, until told to stop.
fn restoring(run_folder: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let output = fovea(run_folder).arg("restore").output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    }
}

#[test]
fn killed_at_any_moment_with_restore_racing_it_it_leaves_nothing_changed() {
    let Some(app) = App::new("racing") else { return };
    let mut random: u64 = 20;
    let mut frozen = 0;
    for round in 0..25 {
        let mut daemon = daemon();
        let worker = daemon.worker();
        let stop = AtomicBool::new(false);
        let run_folder = daemon.run_folder();
        std::thread::scope(|scope| {
            scope.spawn(|| restoring(&run_folder, &stop));
            let client = Client::connect(&run_folder);
            focus_and_leave(&client, &app);
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            for turn in 0..(random >> 33) % 40 {
                match turn % 4 {
                    0 => client.say(r#"{"request":"focus","app":"mail"}"#),
                    1 => client.say(r#"{"request":"home"}"#),
                    _ => drop(daemon.status()),
                }
            }
            // The worker first, or both at once as a crash of the machine's memory would.
            if round % 2 == 0 {
                kill_process(daemon.supervisor_pid(), Signal::STOP).unwrap();
            }
            kill_process(worker, Signal::KILL).unwrap();
            frozen += u32::from(app.is_frozen());
            kill_process(daemon.supervisor_pid(), Signal::KILL).unwrap();
            daemon.ended();
            stop.store(true, Ordering::Relaxed);
        });
        let output = run(&run_folder, &["restore", "--wait"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(!app.is_frozen(), "round {round}");
        assert_eq!(app.score(), "123", "round {round}");
    }
    assert!(frozen > 0, "it was never killed while something was frozen");
}

/// A run folder with no byte to spare (a tmpfs that somebody has filled): undoing writes nothing before it is done, and
/// what is said of it is so.
#[test]
fn with_a_full_run_folder_everything_is_undone_and_said_truly() {
    let Some(app) = App::new("full") else { return };
    let Some(SmallDisk { folder, _mounted }) = SmallDisk::mounted() else { return };
    let mut daemon = Daemon::start_in(folder, |command, folder| {
        fs::write(folder.join("fovea.toml"), CONFIG).unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    });
    let client = Client::connect(&daemon.run_folder());
    focus_and_leave(&client, &app);
    app.until_frozen(&daemon);
    let worker = daemon.worker();
    let mut filler = fs::File::create(daemon.run_folder().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[7; 512]).is_ok() {}
    kill_process(worker, Signal::KILL).unwrap();
    assert_eq!(daemon.ended().code(), Some(1));
    assert!(!app.is_frozen() && app.score() == "123", "{}", daemon.stderr());
    assert!(daemon.stderr().contains("the device has been put back"), "{}", daemon.stderr());
    assert_eq!(run(&daemon.run_folder(), &["restore"]).status.code(), Some(0));
}

/// A folder with a run folder that is a tmpfs of 64 KiB, where one may be mounted.
struct SmallDisk {
    folder: tempfile::TempDir,
    _mounted: Mounted,
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

impl SmallDisk {
    fn mounted() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("run");
        fs::create_dir(&at).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&at).status();
        if !mount.is_ok_and(|status| status.success()) {
            println!("skipped: no tmpfs can be mounted here");
            return None;
        }
        Some(SmallDisk { folder, _mounted: Mounted(at) })
    }
}
