// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How well readers of two volumes go side by side: the core and the module's location tables as one program of threads
//! (`kmod/ecache/tests/scaling.c`), with one thread and with two; and two such programs, which share nothing but the machine.
//! `cargo bench -p fovea-core --bench scaling`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

/// One run: so many threads, the first on this CPU.
fn start(program: &Path, threads: u32, seconds: &str, cpu: u32) -> Child {
    Command::new(program)
        .args([&threads.to_string(), seconds, &cpu.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program just built")
}

/// Pages put and got by all threads in a second.
fn pages_per_s(run: Child) -> f64 {
    let output = run.wait_with_output().expect("its output");
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
    let (mut one, mut two, mut apart) = (0f64, 0f64, 0f64);
    for _ in 0..rounds {
        one = one.max(pages_per_s(start(&program, 1, seconds, 0)));
        two = two.max(pages_per_s(start(&program, 2, seconds, 0)));
        let both = [0, 1].map(|cpu| start(&program, 1, seconds, cpu));
        apart = apart.max(both.into_iter().map(pages_per_s).sum());
    }
    println!(
        "pages put and got, a volume for each thread: {:.2} M/s by one, {:.2} times as many by two, {:.2} times by two programs",
        one / 1e6,
        two / one,
        apart / one
    );
}
