// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea rules` and [lists] of the real program.

mod common;

use std::fs;

use common::{is_root, one_line, run, Daemon, HARMLESS};
use rustix::process::{kill_process, Signal};

fn shown(daemon: &Daemon) -> serde_json::Value {
    let output = run(&daemon.run_folder(), &["rules", "show", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn entries_are_added_and_removed_while_the_daemon_runs_and_reloaded_with_the_configuration() {
    let daemon = Daemon::start();
    let folder = daemon.run_folder();
    let list = |args: &[&str]| run(&folder, &[&["rules"], args].concat());
    assert!(String::from_utf8(list(&["show"]).stdout).unwrap().starts_with("nothing is listed"));
    assert!(list(&["add", "protect", "org.gnome.*"]).status.success());
    assert!(list(&["add", "ignore", "/opt/*/game"]).status.success());
    assert_eq!(shown(&daemon)["said"]["protect"], serde_json::json!(["org.gnome.*"]));
    fs::write(daemon.folder.path().join("fovea.toml"), format!("{HARMLESS}[lists]\navoid = [\"mail\"]\n")).unwrap();
    kill_process(daemon.supervisor_pid(), Signal::HUP).unwrap();
    // A reload that never comes fails the test by its harness's limit.
    while shown(&daemon)["configured"]["avoid"] != serde_json::json!(["mail"]) {}
    let text = String::from_utf8(list(&["show"]).stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.lines().any(|l| l.starts_with("avoid    mail") && l.ends_with("by configuration")), "{text}");
    let refused = list(&["remove", "avoid", "mail"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(one_line(&refused).contains("in the configuration"));
    assert!(list(&["remove", "protect", "org.gnome.*"]).status.success());
    assert!(list(&["remove", "ignore", "/opt/*/game"]).status.success());
    assert_eq!(String::from_utf8(list(&["show"]).stdout).unwrap().lines().count(), 1);
    for (args, named) in [
        (["add", "protect", "fire[fox"], "character 5"),
        (["add", "protect", ""], "printable"),
        (["add", "favour", "x"], "favour"),
    ] {
        let refused = list(&args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(one_line(&refused).contains(named));
    }
    let client = common::Client::connect(&folder);
    assert!(client.refused(br#"{"request":"list-add","list":"protect","entry":"a\nb"}"#).contains("printable"));
    assert!(client.refused(br#"{"request":"list-add","list":"plain","entry":"a"}"#).contains("no list"));
    daemon.stop();
}

#[test]
fn whoever_may_not_steer_the_daemon_may_not_change_its_lists() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start();
    let refused = common::as_nobody(daemon.folder.path(), &["rules", "add", "ignore", "x"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(shown(&daemon)["said"]["ignore"], serde_json::json!([]));
    daemon.stop();
}

#[test]
fn check_names_the_line_of_a_bad_pattern_and_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("fovea.toml");
    fs::write(&config, "[lists]\nprefer = [\"cc1\"]\nprotect = [\n  \"mail\",\n  \"fire[fox\",\n]\n").unwrap();
    let output = run(folder.path(), &["check", "--config", config.to_str().unwrap()]);
    // As any row that has a mend.
    assert_eq!(output.status.code(), Some(3));
    let rows = String::from_utf8(output.stdout).unwrap();
    let line = rows.lines().find(|line| line.contains("fovea.toml:")).unwrap_or_else(|| panic!("{rows}"));
    assert!(
        line.contains("NO  config") && line.contains("fire[fox") && line.contains("write [*], [?] or [[]"),
        "{line}"
    );
    // The line on which the list begins; the entry is quoted.
    assert!(line.contains("fovea.toml:3:"), "{line}");
}

/// Units and scripts of whoever installed an earlier version.
#[test]
fn the_old_words_still_work_and_are_in_no_help() {
    let help = |args: &[&str]| {
        String::from_utf8(common::fovea("/nowhere".as_ref()).args(args).output().unwrap().stdout).unwrap()
    };
    for (old, new) in [("watch", "source"), ("list", "rules")] {
        assert_eq!(help(&[old, "--help"]), help(&[new, "--help"]));
        assert!(help(&[new, "--help"]).contains(&format!("Usage: fovea {new}")));
        assert!(!help(&["--help"]).lines().any(|line| line.trim_start().starts_with(&format!("{old} "))));
    }
}
