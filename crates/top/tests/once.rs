// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The program, beside a daemon that only answers, and without one.

mod fake;

use std::path::Path;
use std::process::{Command, Output};

fn top(run_folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fovea-top"));
    command.env_remove("FOVEA_RUN").env("COLUMNS", "120").arg("--run-folder").arg(run_folder).args(args);
    command.output().unwrap()
}

fn one_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!output.status.success() && text.starts_with("fovea: ") && text.lines().count() == 1, "{text}");
    text
}

#[test]
fn one_screen_for_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let listener = fake::listen(folder.path());
    std::thread::spawn(move || fake::serve(&listener));
    let output = top(folder.path(), &["--once", "--sort", "name"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let at =
        |name: &str| text.lines().position(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}:\n{text}"));
    assert!(at("backup") < at("org.gimp.GIMP") && at("org.gimp.GIMP") < at("org.mozilla.firefox"), "{text}");
    assert!(text.contains("kill        org.gnome.Photos: memory is short and zram can really take no more"), "{text}");
    // Without a terminal there is nothing to keep up to date.
    assert!(one_line(&top(folder.path(), &[])).contains("fovea top --once"));
}

#[test]
fn without_a_daemon_one_line_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let line = one_line(&top(folder.path(), &["--once"]));
    assert!(line.contains("no daemon answers at") && line.contains("fovea run"), "{line}");
}

/// A user whom the socket does not let in, as far as this test may become one.
#[test]
fn a_plain_user_is_told_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let _listener = fake::listen(folder.path());
    // Nobody may not look into the folder where it was built; `cp` has ended before it is run.
    let copy = folder.path().join("fovea-top");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_fovea-top")).arg(&copy).status().unwrap().success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"]).arg(&copy);
    command.env_remove("FOVEA_RUN").args(["--once", "--run-folder"]).arg(folder.path()).current_dir("/");
    let line = one_line(&command.output().expect("setpriv (util-linux)"));
    assert!(line.contains("permission denied") && line.contains("sudo fovea top"), "{line}");
}
