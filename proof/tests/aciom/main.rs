// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! dm-aciom under load, as the first process of a virtual phone: apps of all classes, each a process in a cgroup of its own, read and write a
//! volume whose every block is known, while classes change, tables are replaced, and the disk below fails and works again.
//!
//! Words on the kernel's command line, `fovea.aciom.KEY=VALUE`:
//!
//! ```text
//! seconds      of load in each phase          measure      1: only what a player gets beside a copy that takes all, with classes and without
//! seed         of everything drawn                cases        instead of the usual: some of xfs, btrfs, ecache-below, ecache-above, sleep, hook, luks, lvm, btrfs-two, resized, told,
//!                                                             gone, over-loop, unloaded; or fair, or million
//!                                                 cost         1: only what the module adds to a request
//! ```

mod above;
mod barrier;
mod child;
mod cost;
mod fair;
mod files;
mod layers;
mod measure;
mod million;
mod phases;
mod refusals;
mod stack;
mod swap;
mod uses;
mod writeback;

use fovea_tests::audit::{KernelLog, BAD};
use fovea_tests::init;
use fovea_tests::kernel::{at, Outcome};
use fovea_tests::report::Report;
use fovea_tests::words::Words;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of load in each phase.
    pub seconds: u64,
    /// Of everything drawn.
    pub seed: u64,
    /// Only figures.
    pub measure: bool,
    /// Only instructions.
    pub cost: bool,
    /// What is done instead of the usual.
    pub cases: Vec<String>,
    /// Of the disks below.
    pub scheduler: String,
}

impl Options {
    fn read(words: &Words) -> Options {
        Options {
            seconds: words.number("seconds", 6),
            seed: words.number("seed", 1),
            measure: words.flag("measure", false),
            cost: words.flag("cost", false),
            cases: words.text("cases").into_iter().flat_map(|text| text.split(',')).map(str::to_owned).collect(),
            scheduler: words.text("scheduler").unwrap_or("none").to_owned(),
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(word) = args.get(1).filter(|word| [child::WORD, child::FAILING].contains(&word.as_str())) {
        std::process::exit(child::main(word, &args[2..]));
    }
    init::live("aciom", |words, report| {
        let options = Options::read(words);
        println!("aciom: {options:?}");
        let mut log = at("/dev/kmsg", KernelLog::new())?;
        let done = run(&options, report);
        let said: Vec<String> = log.lines().into_iter().map(|line| line.1).collect();
        let bad: Vec<&String> = said.iter().filter(|line| BAD.iter().any(|bad| line.contains(bad))).collect();
        report.check("the kernel complains of nothing", bad.is_empty(), format_args!("{} lines, {bad:?}", said.len()));
        done
    })
}

fn run(options: &Options, report: &Report) -> Outcome<()> {
    stack::prepare(&options.scheduler)?;
    if options.measure {
        return measure::all(options, report);
    }
    if options.cost {
        return cost::all(report);
    }
    if options.cases == ["fair"] {
        return fair::all(report);
    }
    if options.cases == ["million"] {
        return million::all(report);
    }
    if !options.cases.is_empty() {
        let one = |name: &String| {
            let found = above::case(name, options, report).or_else(|| uses::case(name, options, report));
            found.unwrap_or_else(|| layers::case(name, options, report))
        };
        return options.cases.iter().try_for_each(one);
    }
    let volume = stack::Volume::build("v", stack::Disk { name: "n0", mib: 64, mbps: 40 })?;
    refusals::all(&volume, report)?;
    phases::errors(&volume, options, report)?;
    phases::gates(&volume, options, report)?;
    phases::content(&volume, options, report)?;
    files::all(&volume, &volume.node, &files::EXT4, options, report)?;
    writeback::all(&volume, &volume.node, &files::EXT4, report)?;
    swap::all(&volume, options, report)?;
    volume.remove()?;
    barrier::all(options, report)?;
    refusals::unload(report)
}
