// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the command line says and how it ends when it is used wrongly, or where there is no daemon.

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use common::{as_nobody, fovea, is_root, one_line, run, Daemon, HARMLESS};

const NOWHERE: &str = "/nonexistent-fovea-test";

#[test]
fn without_a_daemon_every_command_says_so_in_one_line() {
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["focus", "mail"],
        &["focus", "--none"],
        &["close", "mail"],
        &["screen", "off"],
        &["explain"],
        &["explain", "mail", "--json"],
    ] {
        let output = run(Path::new(NOWHERE), args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let line = one_line(&output);
        assert!(line.contains(NOWHERE) && line.contains("start it with `fovea run`"), "{line}");
        assert!(output.stdout.is_empty());
    }
    // Nothing to undo, so nothing is wrong.
    assert!(run(Path::new(NOWHERE), &["restore"]).status.success());
}

#[test]
fn the_version_names_the_commit_and_which_program_it_is() {
    let output = run(Path::new(NOWHERE), &["--version"]);
    let line = String::from_utf8(output.stdout).unwrap();
    let parts = [env!("CARGO_PKG_VERSION"), "(commit ", "the virtual phone and the lab)"];
    assert!(output.status.success() && parts.iter().all(|part| line.contains(part)), "{line}");
    assert!(!line.contains("(commit ;"), "{line}");
}

#[test]
fn a_usage_error_keeps_the_hints_and_names_the_commands_own_help() {
    for (args, said) in [
        (&["simulate", "--free", "40"][..], "write a unit, as 40M: see `fovea "),
        (
            &["launch", "x", "--nowhere"],
            "to pass '--nowhere' as a value, use '-- --nowhere': see `fovea launch --help`",
        ),
        (&["explian"], "a similar subcommand exists: 'explain': see `fovea --help`"),
        (&["heap", "alloc"], "see `fovea heap alloc --help`"),
    ] {
        let output = run(Path::new(NOWHERE), args);
        let line = one_line(&output);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.contains(said), "{line}");
    }
}

#[test]
fn nothing_is_launched_without_a_daemon_to_know_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let output = run(Path::new(NOWHERE), &["launch", "mail", "--", "touch", ran.to_str().unwrap()]);
    assert!(matches!(output.status.code(), Some(1 | 3)));
    one_line(&output);
    assert!(!ran.exists());
    assert!(!Path::new("/sys/fs/cgroup/fovea.slice/mail").exists(), "a cgroup that nobody takes away");
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let long = "x".repeat(65);
    let bad_names = ["", "..", ".hidden", "a/b", "../../etc", "a b", "a\nb", "\u{1b}[31mred", "naïve", &long];
    for name in bad_names {
        for args in [&["focus", name][..], &["close", name], &["explain", name], &["launch", name, "--", "true"]] {
            let output = run(Path::new(NOWHERE), args);
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            let line = one_line(&output);
            assert!(line.contains("choose another name") && line.contains("--help"), "{line}");
        }
    }
    for (args, named) in [
        (&["dance"][..], "dance"),
        (&["focus"], "NAME"),
        (&["focus", "mail", "--none"], "--none"),
        (&["screen", "sideways"], "sideways"),
        (&["status", "--jsn"], "--jsn"),
        (&["launch", "mail"], "CMD"),
        (&["explain", "--limit", "many"], "many"),
        (&["phone", "run"], "SCENARIO"),
    ] {
        let output = run(Path::new(NOWHERE), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let line = one_line(&output);
        assert!(line.contains(named) && line.contains("--help"), "{line}");
    }
    let help = run(Path::new(NOWHERE), &["--help"]);
    let text = String::from_utf8(help.stdout.clone()).unwrap();
    let (people, units) = text.split_once("Commands for units, scripts and sources:").expect("two groups");
    let lists = |group: &str, name: &str| group.lines().any(|line| line.starts_with(&format!("  {name} ")));
    for name in ["check", "setup", "status", "top", "explain", "rules", "launch", "notify", "phone", "lab"] {
        assert!(lists(people, name) && !lists(units, name), "{name}: {text}");
    }
    for name in ["run", "reload", "restore", "source", "focus", "screen", "metrics"] {
        assert!(lists(units, name) && !lists(people, name), "{name}: {text}");
    }
    assert!(!text.contains("probe") && text.lines().all(|line| line.len() <= 80), "{text}");
    // What it was called.
    let old = run(Path::new(NOWHERE), &["source", "kills", "--bus", "unix:path=/nowhere"]);
    assert_eq!(old.status.code(), Some(3), "{old:?}");
    assert!(help.status.success() && String::from_utf8(help.stdout).unwrap().contains("Usage: fovea"));
}

#[test]
fn wrong_seeds_are_one_line_and_status_2_before_anything_is_booted() {
    for seeds in [&["seeds="][..], &["seeds=1,1"], &["seed=1", "seeds=2,3"], &["seeds=many"]] {
        for command in [&["phone", "run", "pair"][..], &["lab", "sim", "pair"]] {
            let args = [command, seeds].concat();
            let output = run(Path::new(NOWHERE), &args);
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            assert!(one_line(&output).contains(seeds[seeds.len() - 1]) && output.stdout.is_empty(), "{output:?}");
        }
    }
}

#[test]
fn a_simulation_with_several_seeds_says_so_and_writes_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let (json, results) = (folder.path().join("pair.json"), folder.path().join("boots"));
    let scenario = ["lab", "sim", "pair", "seeds=21,22", "configurations=zram,fovea"];
    let to = ["--json", json.to_str().unwrap(), "--results", results.to_str().unwrap()];
    let output = run(Path::new(NOWHERE), &[&scenario[..], &to].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("pair, simulated mode, means over seeds 21 and 22\n"), "{text}");
    assert!(text.contains("of 2 seeds)"), "{text}");
    let document: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((&document["seed"], &document["seeds"]), (&serde_json::json!(21), &serde_json::json!([21, 22])));
    assert_eq!(document["command"], serde_json::json!(scenario));
    let boots = fs::read_dir(results).unwrap().map(|boot| boot.unwrap().file_name().into_string().unwrap());
    assert_eq!(boots.filter(|boot| boot.contains("seed-22")).count(), 2);
}

#[test]
fn a_broken_configuration_names_file_line_and_mend() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fovea.toml");
    let told = |expected: &str, mend: &str| {
        for command in [&["check", "--strict", "--config"][..], &["run", "--strict", "--config"]] {
            let output = fovea(&folder.path().join("run")).args(command).arg(&path).output().unwrap();
            assert!(matches!(output.status.code(), Some(1 | 3)), "{expected}");
            let said = match command[0] {
                "check" => String::from_utf8(output.stdout).unwrap(),
                _ => one_line(&output),
            };
            assert!(said.contains(&format!("{}{expected}", path.display())) && said.contains(mend), "{said}");
        }
    };
    told(": No such file", "name a readable file with --config");
    for (text, expected, mend) in [
        ("[memory]\nmod = \"full\"\n", ":2: unknown key memory.mod", "fovea.toml(5)"),
        ("[momery]\n", ":1: unknown section [momery]", "fovea.toml(5)"),
        ("[memory]\n\nwatch_ms = \"soon\"\n", ":3: watch_ms: invalid type: string \"soon\"", "a whole number"),
        ("[memory]\nwatch_ms = -1\n", ":2: watch_ms: invalid value: integer `-1`", "a whole number"),
        ("[memory]\nmode = \"sideways\"\n", ":2: mode: unknown variant `sideways`", "expected `ladder` or `full`"),
        ("[zram]\nsize_percent = 101\n", ":2: zram.size_percent", "must be 1 to 100"),
        ("[memory]\nwatch_ms = 0\n", ":2: memory.watch_ms", "must be 1 to 60000"),
        ("[daemon]\n# \npsi_stall_us = 500001\n", ":3: daemon.psi_stall_us", "must be 1 to 500000"),
        ("[memory\n", ":1: ", "expected"),
        ("a = 1\na = 2\n", ":2: duplicate key", "`a`"),
    ] {
        fs::write(&path, text).unwrap();
        told(expected, mend);
    }
    fs::write(&path, [0xff, 0xfe, b'\n']).unwrap();
    told(": stream did not contain valid UTF-8", "save it as UTF-8");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    told(": no regular file", "mend or remove it");
}

#[test]
fn files_in_the_configurations_folder_go_before_it_and_check_names_them_all() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("fovea.toml");
    let drop_in = folder.path().join("fovea.toml.d/10-mine.toml");
    fs::create_dir(drop_in.parent().unwrap()).unwrap();
    fs::write(&config, "[zram]\nsize_percent = 0\n").unwrap();
    fs::write(&drop_in, "[zram]\nsize_percent = 30\n").unwrap();
    fs::write(folder.path().join("fovea.toml.d/README"), "not read").unwrap();
    let row = || {
        let output = fovea(Path::new(NOWHERE)).args(["check", "--json", "--config"]).arg(&config).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == "config").unwrap()["found"].as_str().unwrap().to_owned()
    };
    let both = row();
    assert!(both.contains("fovea.toml, ") && both.ends_with("10-mine.toml"), "{both}");
    fs::write(&drop_in, "[zram]\npriority = 40000\n").unwrap();
    let wrong = row();
    assert!(
        wrong.contains("fovea.toml:2: zram.size_percent") || wrong.contains("10-mine.toml:2: zram.priority"),
        "{wrong}"
    );
}

#[test]
fn a_run_folder_that_cannot_be_is_named_with_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("fovea.toml");
    fs::write(&config, HARMLESS).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let deep = folder.path().join("x".repeat(120));
    for (run_folder, mend) in [(file.clone(), "run_folder"), (file.join("below"), "run_folder"), (deep, "shorter path")]
    {
        let output = fovea(&run_folder).args(["run", "--config"]).arg(&config).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", run_folder.display());
        let line = one_line(&output);
        assert!(line.contains(run_folder.to_str().unwrap()) && line.contains(mend), "{line}");
    }
}

#[test]
fn a_scenario_that_is_none_is_one_line_with_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    for (text, named) in [
        ("kind = \"steps\"\nsteps = [{ do = \"dance\" }]\n", "mine.toml:2: "),
        ("kind = \"steps\"\n", "mine.toml:1: steps"),
        ("kind = \"steps\"\n[lacks]\nkernel_args = [\"a b\"]\nmodules = []\n", "mine.toml:3: kernel argument \"a b\""),
        ("kind = \"steps\"\n[lacks]\nsyscalls = [\"fork\"]\n", "mine.toml:3: unknown variant `fork`"),
    ] {
        fs::write(&path, text).unwrap();
        let output = run(Path::new(NOWHERE), &["phone", "run", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let line = one_line(&output);
        assert!(line.contains(named), "{line}");
    }
    let output = run(Path::new(NOWHERE), &["phone", "run", "nosuch"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("workload"), "the scenarios there are");
}

#[test]
fn check_prints_json_and_says_by_its_code_whether_the_machine_will_do() {
    let output = run(Path::new(NOWHERE), &["check", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let missing = |report: &serde_json::Value, name: &str| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().any(|row| row["name"] == name && row["state"] == "missing")
    };
    for row in report["rows"].as_array().unwrap() {
        let mended = row["state"] != "missing" || row["mend"].as_str().is_some_and(|mend| !mend.is_empty());
        assert!(mended && !row["gives"].as_str().unwrap().is_empty(), "{row}");
    }
    let lacking = missing(&report, "root") || missing(&report, "cgroup2");
    assert_eq!(output.status.code(), Some(if lacking { 3 } else { 0 }));
    assert_eq!(report["rows"][1]["name"], "config", "what the daemon reads");
    if lacking {
        assert!(one_line(&output).contains("this machine lacks"));
    }
    if is_root() {
        let folder = tempfile::tempdir().unwrap();
        let output = as_nobody(folder.path(), &["check", "--json"]);
        assert_eq!(output.status.code(), Some(3));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(missing(&report, "root"));
        assert!(one_line(&output).contains("root"));
    }
}

#[test]
fn a_reader_that_leaves_and_a_full_disk_are_no_crash() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let mut command = fovea(Path::new(NOWHERE));
    let output =
        command.arg("check").stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = fovea(Path::new(NOWHERE));
    let output = command.arg("check").stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("No space left on device"));
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let status = fovea(Path::new(NOWHERE)).arg("status").stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(1), "an error that nobody reads is an error and no panic");
}

#[test]
fn a_table_on_standard_input_is_imported_and_said_how() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.parquet");
    let import = |table: &str, more: &[&str]| {
        let mut command = fovea(Path::new(NOWHERE));
        command.args(["trace", "import", "-"]).arg(&trace).args(more);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Who is wrongly used does not read it.
        let _ = child.stdin.take().unwrap().write_all(table.as_bytes());
        child.wait_with_output().unwrap()
    };
    let output = import(",time_ms,key,size\n0,1,a,10\n1,2,b,20\n2,2,a,10\n", &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("read as csv: comma, header; time: \"time_ms\" (column 2) in ms; object: \"key\" (column 3)"),
        "{text}"
    );
    assert!(text.contains("3 requests for 2 objects of 30 bytes, 50.0 % of them asked for once"), "{text}");
    // What it may be is said, with the option for each.
    let output = import("1,17,512\n2,18,64\n", &[]);
    let line = one_line(&output);
    assert!(
        line.contains("standard input: its beginning: 3 columns without names")
            && line.contains("--csv id=2,size=3,time=1,time-unit=s"),
        "{line}"
    );
    assert!(import("1,17,512\n2,18,64\n", &["--csv", "id=2,size=3,time=1,time-unit=s"]).status.success());
    let output = import("1,17\n", &["--csv", "id=2,thing=1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("\"thing\" is no column"));
}

#[test]
fn an_unknown_app_is_named_with_the_mend_and_json_is_json() {
    let daemon = Daemon::start();
    let folder = daemon.run_folder();
    for args in [&["focus", "mail"][..], &["close", "mail"]] {
        let output = run(&folder, args);
        assert_eq!(output.status.code(), Some(1));
        let line = one_line(&output);
        assert!(line.contains("no app named mail is running") && line.contains("fovea launch mail -- CMD"), "{line}");
    }
    let output = run(&folder, &["explain", "mail"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("the journal says nothing of mail"));

    assert_eq!(daemon.status()["foreground"], serde_json::Value::Null);
    assert!(run(&folder, &["screen", "off"]).status.success());
    assert_eq!(daemon.status()["screen_on"], false);
    let output = run(&folder, &["explain", "--json"]);
    assert!(output.status.success());
    let lines: Vec<serde_json::Value> = output
        .stdout
        .split(|&b| b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect();
    let actions: Vec<_> = lines.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert!(actions.contains(&"start") && actions.contains(&"screen-off"), "{actions:?}");
    daemon.stop();
}
