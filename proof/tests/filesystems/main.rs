// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! dm-ecache under every file system, as the first process of a virtual phone: each case makes a disk, a target on it and a file
//! system on that, works on files whose content it keeps in memory, and compares all of them and every block with the disk.
//!
//! Words on the kernel's command line, `fovea.filesystems.KEY=VALUE`:
//!
//! ```text
//! cases        names, separated by commas; `short-file-systems` (default), `short-once-wrong`, `all`, `pc`, `xfstests`, `large-blocks`    seed     of all content and choices
//! kind         of target; `linear` rehearses without the module              rounds   of the races
//! stop         1: end after the first case that fails                        operations  of each file of fsx
//! carveouts    the module's parameter, for a machine that is not the phone
//! seconds      how long fsx and the programs of xfstests go on at least, however many operations that takes
//! ```
//!
//! A line for each case, for programs: `case name=… result=ok|failed reads=… hits=… puts=… invalidated=… moved=… elapsed_ms=…`, in pages.

mod aio;
mod bed;
mod calls;
mod carveouts;
mod cases;
mod change;
mod churn;
mod cut;
mod exchange;
mod filesystem;
mod fsx;
mod guarded;
mod images;
mod layers;
mod once;
mod programs;
mod race;
mod swapped;
mod tree;
mod unmarked;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Instant;

use fovea_contract::ECACHE_TARGET;
use fovea_linux::dm::DeviceMapper;
use fovea_linux::{module, Root};
use fovea_tests::audit::{KernelLog, BAD};
use fovea_tests::content::Contents;
use fovea_tests::init;
use fovea_tests::kernel::{at, load_module, Outcome};
use fovea_tests::report::Report;
use fovea_tests::words::Words;
use rustix::mount::{mount, MountFlags};

use crate::bed::Bed;
use crate::cases::{Case, List, CARVEOUTS};

/// The module under test.
const MODULE: &str = fovea_contract::ECACHE_MODULE;
/// As the virtual phone's command line keeps them.
const CARVED_OUT: &str = "12M@0x10000000,4M@0x12000000";
/// Its devices that the cases use.
pub(crate) const DEVICES: [(&str, u64); 1] = [("camera", 11 << 20)];

/// The short lists, which run side by side: whole file systems, and what was wrong once.
const SHORT_FILE_SYSTEMS: &str = "short-file-systems";
const SHORT_ONCE_WRONG: &str = "short-once-wrong";
const PC: &str = "pc";
const XFSTESTS: &str = "xfstests";
const LARGE_BLOCKS: &str = "large-blocks";
/// What names no single case, or one that is no test of a volume.
const LISTS: [&str; 7] = ["all", PC, XFSTESTS, LARGE_BLOCKS, SHORT_FILE_SYSTEMS, SHORT_ONCE_WRONG, CARVEOUTS];

/// What a case works with.
pub(crate) struct Lab<'a> {
    pub(crate) bed: Bed<'a>,
    pub(crate) report: &'a Report,
    pub(crate) contents: &'a Contents,
    pub(crate) kind: &'a str,
    pub(crate) seed: u64,
    pub(crate) rounds: u32,
    pub(crate) operations: u64,
    pub(crate) seconds: u64,
    /// Pages that were seen on the node they were to move to.
    pub(crate) moved: u64,
}

impl Lab<'_> {
    /// Whether the module is there, and not a stand-in for rehearsals.
    pub fn has_module(&self) -> bool {
        self.kind == ECACHE_TARGET
    }
}

/// What the command line asks for.
#[derive(Debug)]
struct Options {
    cases: Vec<String>,
    kind: String,
    seed: u64,
    rounds: u32,
    operations: u64,
    seconds: u64,
    stop_early: bool,
    carveouts: String,
}

impl Options {
    fn read(words: &Words) -> Outcome<Options> {
        let text = |key: &str, default: &str| words.text(key).unwrap_or(default).to_owned();
        let number = |key: &str, default: &str| {
            let value = text(key, default);
            value.parse::<u64>().map_err(|_| format!("{key}={value} is no number"))
        };
        Ok(Options {
            cases: text("cases", SHORT_FILE_SYSTEMS).split(',').map(str::to_owned).collect(),
            kind: text("kind", ECACHE_TARGET),
            seed: number("seed", "1")?,
            rounds: number("rounds", "12")? as u32,
            operations: number("operations", "400")?,
            seconds: number("seconds", "0")?,
            stop_early: number("stop", "0")? == 1,
            carveouts: text("carveouts", CARVED_OUT),
        })
    }

    fn wants(&self, case: &Case) -> bool {
        match case.list {
            List::FileSystems => self.wants_named(case.name, case.short, SHORT_FILE_SYSTEMS),
            List::OnceWrong => self.wants_named(case.name, case.short, SHORT_ONCE_WRONG),
            List::Pc => self.asks_for(case.name, PC),
            List::Xfstests => self.asks_for(case.name, XFSTESTS),
            List::LargeBlocks => self.asks_for(case.name, LARGE_BLOCKS),
        }
    }

    fn asks_for(&self, name: &str, list: &str) -> bool {
        self.cases.iter().any(|asked| asked == name || asked == list)
    }

    fn wants_named(&self, name: &str, short: bool, list: &str) -> bool {
        self.asks_for(name, "all") || (short && self.asks_for(name, list))
    }
}

fn main() {
    if !init::is_init() {
        eprintln!(
            "filesystems: is the first process of a virtual phone, and destroys what it finds on any other machine"
        );
        std::process::exit(2);
    }
    init::mount_all();
    let began = Instant::now();
    let failures = match run() {
        Ok(failures) => failures,
        Err(e) => {
            println!("FAIL {e}");
            1
        }
    };
    println!("     all in {:.1?}", began.elapsed());
    init::end(failures);
}

/// Makes ready, and goes through the cases; returns how much failed.
fn run() -> Outcome<u32> {
    let options =
        Options::read(&Words::of("filesystems", &std::fs::read_to_string("/proc/cmdline").unwrap_or_default()))?;
    println!("filesystems: {options:?}");
    let cases = cases::all();
    let known = |name: &String| LISTS.contains(&name.as_str()) || cases.iter().any(|c| c.name == *name);
    if let Some(unknown) = options.cases.iter().find(|name| !known(name)) {
        return Err(format!("cases: there is no case {unknown}"));
    }
    let root = Root::at("/");
    for name in ["dm_mod", "null_blk"] {
        load_module(name)?;
    }
    for (kind, path) in [("configfs", "/sys/kernel/config"), ("debugfs", "/sys/kernel/debug")] {
        let _ = mount(kind, path, kind, MountFlags::empty(), None);
    }
    let mut log = at("/dev/kmsg", KernelLog::new())?;
    let mut failures = 0;
    if options.kind == ECACHE_TARGET {
        if options.wants_named(CARVEOUTS, true, SHORT_ONCE_WRONG) {
            let report = Report::default();
            let began = Instant::now();
            if let Err(e) = cases::carveouts(&report) {
                report.fail(e);
            }
            look(&mut log, &["dm_ecache:"], &report);
            println!("case name={CARVEOUTS} result={} elapsed_ms={}", result(&report), began.elapsed().as_millis());
            failures += report.failures();
        }
        let parameters = format!("carveouts={} devices=camera:11M,jpeg:2M", options.carveouts);
        at(MODULE, module::load_with(&root, MODULE, &parameters))?;
    }
    let mapper = at("device-mapper", DeviceMapper::open(&root))?;
    let contents = Contents::new(options.seed);
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| options.wants(case)) {
        if !(options.stop_early && failures > 0) {
            failures += one(number, case, &options, &contents, &mapper, &mut log);
        }
    }
    Ok(failures)
}

fn result(report: &Report) -> &'static str {
    match report.failures() {
        0 => "ok",
        _ => "failed",
    }
}

/// Runs one case, and takes down what it made; returns how much failed.
fn one(
    number: usize,
    case: &Case,
    options: &Options,
    contents: &Contents,
    mapper: &DeviceMapper,
    log: &mut KernelLog,
) -> u32 {
    println!("     case {}", case.name);
    let report = Report::default();
    let began = Instant::now();
    let mut lab = Lab {
        bed: Bed::new(mapper, &options.kind, number),
        report: &report,
        contents,
        kind: &options.kind,
        seed: options.seed,
        rounds: options.rounds,
        operations: options.operations,
        seconds: options.seconds,
        moved: 0,
    };
    match catch_unwind(AssertUnwindSafe(|| (case.test)(&mut lab))) {
        Ok(Ok(())) => {}
        Ok(Err(e)) => report.fail(e),
        Err(_) => report.fail("panicked: see the console"),
    }
    if let Err(e) = lab.bed.clear() {
        report.fail(e);
    }
    let (counts, moved) = (lab.bed.counts(), lab.moved);
    look(log, case.meant, &report);
    println!(
        "case name={} result={} reads={} hits={} puts={} invalidated={} moved={moved} elapsed_ms={}",
        case.name,
        result(&report),
        counts.reads,
        counts.hits,
        counts.puts,
        counts.invalidated,
        began.elapsed().as_millis()
    );
    report.failures()
}

/// What the kernel has said meanwhile and should not have.
fn look(log: &mut KernelLog, meant: &[&str], report: &Report) {
    const MORE: [&str; 6] =
        ["failed to decompress", "Corrupt", "BTRFS error", "SQUASHFS error", "I/O error", "FAT-fs ("];
    for (priority, line) in log.lines() {
        // That it is not part of the kernel, the kernel's loader says in the module's name.
        let of_loader = line.contains("taint");
        let of_module = priority <= 4 && line.starts_with("dm_ecache:") && !of_loader;
        let bad = BAD.iter().chain(&MORE).any(|bad| line.contains(bad));
        if (of_module || bad) && !meant.iter().any(|word| line.contains(word)) {
            report.fail(format_args!("kernel log: {line}"));
        }
    }
}
