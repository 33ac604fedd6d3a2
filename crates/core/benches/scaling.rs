// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How well readers of two volumes go side by side: the core and the module's location table as one program of threads
//! (`kmod/ecache/tests/scaling.c`), with one thread and with two. `cargo bench -p fovea-core --bench scaling`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn build(folder: &Path) -> PathBuf {
    let program = folder.join("scaling");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/ecache/tests");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(compiler)
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-sign-compare", "-pthread", "-I"])
        .arg(tests.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(tests.join("scaling.c"))
        .output()
        .expect("a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// Pages put and got by all threads in a second.
fn pages_per_s(program: &Path, threads: &str, seconds: &str) -> f64 {
    let output = Command::new(program).args([threads, seconds]).output().expect("the program just built");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "pages were missed: {text}");
    let mut words = text.split_ascii_whitespace().skip_while(|word| *word != "pages_per_s").skip(1);
    words.next().and_then(|word| word.parse().ok()).expect("its line")
}

fn main() {
    let measure = env::args().any(|arg| arg == "--bench");
    let (seconds, rounds) = if measure { ("2", 5) } else { ("1", 1) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = build(folder.path());
    // The best of each: whatever else runs on this machine only takes away.
    let best =
        |threads: &str| (0..rounds).map(|_| pages_per_s(&program, threads, seconds)).fold(0.0, |a: f64, b| a.max(b));
    let (one, two) = (best("1"), best("2"));
    println!(
        "pages put and got, a volume for each thread: {:.2} M/s by one, {:.2} M/s by two, {:.2} times as many",
        one / 1e6,
        two / 1e6,
        two / one
    );
}
