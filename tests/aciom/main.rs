// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! dm-aciom under load, as the first process of a virtual phone: apps of all classes, each a process in a cgroup of its own, read and write a
//! volume whose every block is known, while classes change, tables are replaced, and the disk below fails and works again.
//!
//! Words on the kernel's command line, `fovea.aciom.KEY=VALUE`:
//!
//! ```text
//! seconds      of load in each phase          measure      1: only what a player gets beside a copy that takes all, with classes and without
//! seed         of everything drawn
//! ```

mod barrier;
mod child;
mod files;
mod measure;
mod phases;
mod refusals;
mod stack;

use fovea_tests::door::Outcome;
use fovea_tests::init;
use fovea_tests::report::Report;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of load in each phase.
    pub seconds: u64,
    /// Of everything drawn.
    pub seed: u64,
    /// Only figures.
    pub measure: bool,
}

impl Options {
    fn read(command_line: &str) -> Options {
        let word = |key: &str, otherwise: u64| {
            let words = command_line.split_ascii_whitespace();
            let mut found = words.filter_map(|word| word.strip_prefix("fovea.aciom.")?.split_once('='));
            found.rfind(|(k, _)| *k == key).and_then(|(_, value)| value.parse().ok()).unwrap_or(otherwise)
        };
        Options { seconds: word("seconds", 6), seed: word("seed", 1), measure: word("measure", 0) == 1 }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(word) = args.get(1).filter(|word| [child::WORD, child::FAILING].contains(&word.as_str())) {
        std::process::exit(child::main(word, &args[2..]));
    }
    if !init::is_init() {
        eprintln!("aciom: is the first process of a virtual phone, and destroys what it finds on any other machine");
        std::process::exit(2);
    }
    init::mount_all();
    let options = Options::read(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default());
    println!("aciom: {options:?}");
    let report = Report::default();
    // A defect in here must end the machine with a word, not as a kernel panic.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&options, &report))) {
        Ok(Ok(())) => {}
        Ok(Err(e)) => report.fail(e),
        Err(_) => report.fail("panicked: see the console"),
    }
    init::end(report.failures());
}

fn run(options: &Options, report: &Report) -> Outcome<()> {
    stack::prepare()?;
    if options.measure {
        return measure::all(options, report);
    }
    let volume = stack::Volume::build("v", stack::Disk { name: "n0", mib: 64, mbps: 40 })?;
    refusals::all(&volume, report)?;
    phases::errors(&volume, options, report)?;
    phases::gates(&volume, options, report)?;
    phases::content(&volume, options, report)?;
    files::all(&volume, options, report)?;
    volume.remove()?;
    barrier::all(options, report)?;
    refusals::unload(report)
}
