// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whatever is written into the configuration file, a daemon runs, and it is said what is wrong.

mod common;

use std::fs;
use std::process::Command;

use common::{fovea, one_line, run, Daemon, HARMLESS};
use rustix::process::{kill_process, Signal};

/// A daemon whose file is this one, in a folder where other starts were before.
fn started_with(folder: tempfile::TempDir, text: &str) -> Daemon {
    let text = text.to_owned();
    Daemon::start_in(folder, |command: &mut Command, folder| {
        fs::write(folder.join("fovea.toml"), text).unwrap();
        command.env("STATE_DIRECTORY", folder.join("state"));
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    })
}

fn new_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("run")).unwrap();
    folder
}

fn problems(daemon: &Daemon) -> String {
    daemon.status()["config_problems"].to_string()
}

/// Ends it and keeps its folder for the next one.
fn ended(mut daemon: Daemon) -> tempfile::TempDir {
    kill_process(daemon.supervisor_pid(), Signal::TERM).unwrap();
    assert!(daemon.ended().success());
    fs::remove_file(daemon.run_folder().join("undo.log")).unwrap();
    std::mem::replace(&mut daemon.folder, tempfile::tempdir().unwrap())
}

#[test]
fn a_start_with_a_bad_file_goes_by_the_last_good_one_and_says_so() {
    let daemon = started_with(new_folder(), &format!("{HARMLESS}[lists]\nprotect = [\"mine\"]\n"));
    assert_eq!(problems(&daemon), "null");
    let daemon = started_with(ended(daemon), "[memory]\nwatch_ms = \"soon\"\n");
    let said = problems(&daemon);
    assert!(said.contains("fovea.toml:2: watch_ms") && said.contains("last-good"), "{said}");
    assert!(daemon.stderr().contains("fovea.toml:2: watch_ms"), "{}", daemon.stderr());
    let lists = run(&daemon.run_folder(), &["rules", "show"]);
    assert!(String::from_utf8(lists.stdout).unwrap().contains("mine"), "what was good last counts");
    let table = run(&daemon.run_folder(), &["status"]);
    assert!(String::from_utf8(table.stdout).unwrap().contains("config   /"), "and a person sees it");
    daemon.stop();
}

#[test]
fn a_newer_versions_keys_stop_no_daemon() {
    let daemon = started_with(new_folder(), &format!("{HARMLESS}nap_ms = 3\n[dream]\ndeep = true\n"));
    let said = problems(&daemon);
    assert!(said.contains("unknown key daemon.nap_ms") && said.contains("unknown section [dream]"), "{said}");
    daemon.stop();
}

#[test]
fn a_reload_fails_where_the_file_cannot_be_used_and_nothing_has_changed() {
    let daemon = started_with(new_folder(), HARMLESS);
    let file = daemon.folder.path().join("fovea.toml");
    let reload = || run(&daemon.run_folder(), &["reload"]);
    fs::write(&file, format!("{HARMLESS}[memory]\nmode = \"sideways\"\n")).unwrap();
    let output = reload();
    assert_eq!(output.status.code(), Some(1));
    let line = one_line(&output);
    assert!(line.contains("fovea.toml:6: mode: unknown variant `sideways`") && line.contains("until then"), "{line}");
    assert!(problems(&daemon).contains("sideways"));
    fs::write(&file, format!("{HARMLESS}[lists]\nprotect = [\"mine\"]\n")).unwrap();
    assert!(reload().status.success());
    assert_eq!(problems(&daemon), "null");
    let lists = run(&daemon.run_folder(), &["rules", "show"]);
    assert!(String::from_utf8(lists.stdout).unwrap().contains("mine"));
    daemon.stop();
}

/// A path outside what the unit may write is the likeliest wish of all.
#[test]
fn a_journal_that_cannot_be_written_is_kept_where_it_is_by_default() {
    let daemon = started_with(new_folder(), &format!("{HARMLESS}journal = \"/proc/fovea.jsonl\"\n"));
    let said = problems(&daemon);
    assert!(said.contains("daemon.journal: /proc/fovea.jsonl") && said.contains("run/journal.jsonl instead"), "{said}");
    daemon.stop();
}

#[test]
fn check_reads_the_file_that_the_daemon_reads_and_strict_refuses_what_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fovea.toml");
    let check = |text: &str, strict: &[&str]| {
        fs::write(&file, text).unwrap();
        let output =
            fovea(folder.path()).args(["check", "--json", "--config"]).arg(&file).args(strict).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let row = report["rows"].as_array().unwrap().iter().find(|row| row["name"] == "config").unwrap().clone();
        (row, String::from_utf8(output.stderr).unwrap())
    };
    let (row, _) = check("[memory]\nwatch_ms = 70000\n", &[]);
    assert_eq!(row["state"], "missing");
    assert!(row["found"].as_str().unwrap().contains("fovea.toml:2: memory.watch_ms"), "{row}");
    let (row, said) = check("[memory]\nnap_ms = 1\n", &[]);
    assert!(row["state"] == "present" && row["found"].as_str().unwrap().contains("unknown key memory.nap_ms"), "{row}");
    assert!(!said.contains("nap_ms"));
    let output = fovea(folder.path()).args(["run", "--strict", "--config"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("unknown key memory.nap_ms"));
}
