// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The program, beside a daemon that only answers, and without one.

#[path = "../../top/tests/fake/mod.rs"]
mod fake;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(run_folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fovea-metrics"));
    command.env_remove("FOVEA_RUN").arg("--run-folder").arg(run_folder).args(args).current_dir(run_folder);
    command
}

fn metrics(run_folder: &Path, args: &[&str]) -> Output {
    command(run_folder, args).output().unwrap()
}

fn with_daemon() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let listener = fake::listen(folder.path());
    std::thread::spawn(move || fake::serve(&listener));
    folder
}

#[test]
fn a_textfile_is_written_and_counts_go_on() {
    let folder = with_daemon();
    for _ in 0..2 {
        let output = metrics(folder.path(), &["--textfile", "fovea.prom", "--state", "tally.json"]);
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
        let text = std::fs::read_to_string(folder.path().join("fovea.prom")).unwrap();
        assert!(
            text.ends_with("# EOF\n") && text.contains("fovea_up 1\n") && text.contains("fovea_kills_total 2\n"),
            "{text}"
        );
        assert!(text.contains("fovea_kills_by_reason_total{reason=\"swap-full\"} 1\n"), "each entry once: {text}");
    }
    std::fs::write(folder.path().join("tally.json"), "{").unwrap();
    let output = metrics(folder.path(), &["--textfile", "fovea.prom", "--state", "tally.json"]);
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && line.contains("tally.json") && line.contains("remove it"), "{line}");
}

#[test]
fn a_daemon_that_is_gone_is_a_figure_to_a_monitor_and_an_error_to_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let output = metrics(folder.path(), &["--textfile", "fovea.prom"]);
    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::read_to_string(folder.path().join("fovea.prom")).unwrap().contains("fovea_up 0\n"));
    let output = metrics(folder.path(), &[]);
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && line.contains("no daemon answers"), "{line}");
    assert!(output.stdout.is_empty());
}

#[test]
fn it_answers_scrapes_at_a_socket() {
    let folder = with_daemon();
    let socket = folder.path().join("scrape.sock");
    // One that another run left.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let mut server = command(folder.path(), &["--listen", "unix:scrape.sock"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(server.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("answers at unix:scrape.sock"), "{said}");
    for _ in 0..2 {
        let mut client = UnixStream::connect(&socket).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("# EOF\n"), "{answer}");
        assert!(answer.contains("fovea_kills_by_reason_total{reason=\"swap-full\"} 1\n"), "{answer}");
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
