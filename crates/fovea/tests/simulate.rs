// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea simulate`: with a daemon and without, as root and as nobody; it changes nothing and writes nothing.

mod common;

use std::fs;

use common::{as_nobody, is_root, one_line, run, Client, Daemon};

fn json(output: &std::process::Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn without_a_daemon_it_looks_at_the_machine_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("run");
    let config = folder.path().join("fovea.toml");
    fs::write(&config, "[lists]\nprotect = [\"*\"]\n").unwrap();
    let config = config.to_str().unwrap();
    let told =
        json(&run(&run_folder, &["simulate", "--json", "--config", config, "--free", "4M", "--file-cache", "1M"]));
    assert_eq!((&told["by_daemon"], &told["memory"]["free_bytes"]), (&false.into(), &(4 << 20).into()));
    assert!(told["plan"]["before"]["critical"].as_bool().unwrap(), "{told}");
    let kills = |told: &serde_json::Value| {
        let steps = told["plan"]["steps"].as_array().unwrap();
        steps.iter().filter(|step| step["action"] == "kill" || step["action"] == "ask").count()
    };
    assert_eq!(kills(&told), 0, "all are protected: {told}");
    let words = String::from_utf8(run(&run_folder, &["simulate", "--config", config]).stdout).unwrap();
    assert!(words.starts_with("a daemon that starts now, with "), "{words}");
    assert!(!run_folder.exists(), "nothing is written");
    let refused = run(&run_folder, &["simulate", "--free", "much"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(one_line(&refused).contains("K, M, G or T"));
    fs::write(config, "[lists]\nprotect = [\"[\"]\n").unwrap();
    let broken = run(&run_folder, &["simulate", "--config", config]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(one_line(&broken).contains("fovea.toml:2"));
    if is_root() {
        let told = as_nobody(folder.path(), &["simulate", "--free", "4M"]);
        assert!(told.status.success(), "reading suffices: {told:?}");
        assert!(!run_folder.exists());
    }
}

#[test]
fn a_running_daemon_answers_of_what_it_knows_and_stays_as_it_is() {
    let daemon = Daemon::start();
    let folder = daemon.run_folder();
    let before = (daemon.status()["kills"].clone(), fs::read(folder.join("undo.log")).unwrap());
    let journal = fs::read(folder.join("journal.jsonl")).unwrap();
    let told = json(&run(&folder, &["simulate", "--json", "--free", "1M", "--file-cache", "1M"]));
    assert_eq!((&told["by_daemon"], &told["apps"]), (&true.into(), &0.into()));
    assert!(told["plan"]["before"]["critical"].as_bool().unwrap());
    assert_eq!((daemon.status()["kills"].clone(), fs::read(folder.join("undo.log")).unwrap()), before);
    assert_eq!(fs::read(folder.join("journal.jsonl")).unwrap(), journal);
    let client = Client::connect(&folder);
    assert!(client.refused(br#"{"request":"simulate","assumed":{"free":1}}"#).contains("free"));
    if is_root() {
        // Not allowed to ask, it looks by itself.
        let told = as_nobody(daemon.folder.path(), &["simulate", "--json"]);
        assert_eq!(json(&told)["by_daemon"], false);
    }
    daemon.stop();
}
