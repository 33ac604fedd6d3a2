// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The torture test of dm-ecache, as the first process of a virtual phone: everything that reads and writes files, drops, moves and
//! reclaims their pages, reloads tables and takes device memory away, at once; what each block must hold is kept in memory, outside
//! of every file system. One seed decides all choices (not their interleaving: there are several CPUs).
//!
//! Words on the kernel's command line, `fovea.torture.KEY=VALUE`:
//!
//! ```text
//! operations   of the soak                            seed        of everything
//! sequences    of buffers opened and closed           kind        of target; `linear` rehearses without the module
//! stop         1: end at the first failure            phases      0: none of the targeted phases
//! carveouts    the module's parameter                 refusals    0: none of wrong carve-outs, which name the phone's places
//! blind        1: the module is not told of moves, and must notice
//! follow       0: the module is to follow no moves, as on a kernel without function tracing
//! faulty       1: some loads of the module's fault, and it must notice
//! debug        1: the kernel has checkers, and faults
//! readers      so many threads read cached files, and nothing else is done
//! ```

mod broken_memory;
mod buffers;
mod checkers;
mod disturb;
mod drivers;
mod faults;
mod phases;
mod physical;
mod readers;
mod refusals;
mod soak;
mod sources;
mod stack;
mod volume_io;

use std::time::Instant;

use fovea_contract::{
    ecache_parameters, ecache_statistics as statistics, ECACHE_MODULE as MODULE, ECACHE_TARGET, HEAP_MODULE,
};
use fovea_linux::{module, Root};
use fovea_tests::audit::{self, KernelLog, Watch};
use fovea_tests::content::Contents;
use fovea_tests::init;
use fovea_tests::pressure;
use fovea_tests::report::Report;
use fovea_tests::words::Words;

use crate::phases::Phases;
use crate::stack::{module_file, read_number, statistic, Outcome, Stack};

/// Carve-outs as the kernel's command line keeps them (`memmap=SIZE$ADDRESS`): size and address.
const CARVEOUTS: [(u64, u64); 2] = [(12 << 20, 0x1000_0000), (4 << 20, 0x1200_0000)];
/// Devices and their reservations: the first two fill one carve-out but for 1 MiB.
const DEVICES: [(&str, u64); 3] = [("camera", 6 << 20), ("video", 5 << 20), ("jpeg", 2 << 20)];

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Operations of the soak.
    pub operations: u64,
    /// Buffers opened and closed with nothing else going on.
    pub sequences: u64,
    /// Decides all choices.
    pub seed: u64,
    /// Type of the targets under test.
    pub kind: String,
    /// End at the first failure.
    pub stop_early: bool,
    /// Whether the targeted phases are run.
    pub phases: bool,
    /// Which memory the module is given.
    pub carveouts: String,
    /// Whether wrong parameters are tried.
    pub refusals: bool,
    /// Whether the module is one that is not told when pages move.
    pub blind: bool,
    /// Whether the module is to follow pages that move.
    pub follow: bool,
    /// Whether the module is one some of whose loads fault.
    pub faulty: bool,
    /// Whether the kernel must be one with checkers, and is asked what they found.
    pub debug: bool,
    /// Whether an instruction is a nanosecond here, and those under the module's lock are counted.
    pub exact: bool,
    /// Threads that read cached files, in place of all phases and the soak.
    pub readers: u32,
}

impl Options {
    fn read(words: &Words) -> Options {
        Options {
            operations: words.number("operations", 20_000),
            sequences: words.number("sequences", 1_000),
            seed: words.number("seed", 1),
            kind: words.text("kind").unwrap_or(ECACHE_TARGET).to_owned(),
            stop_early: words.flag("stop", false),
            phases: words.flag("phases", true),
            carveouts: words.text("carveouts").map_or_else(reserved, str::to_owned),
            refusals: words.flag("refusals", true),
            blind: words.flag("blind", false),
            follow: words.flag("follow", true),
            faulty: words.flag("faulty", false),
            debug: words.flag("debug", false),
            exact: words.flag("exact", false),
            readers: u32::try_from(words.number("readers", 0)).unwrap_or(u32::MAX),
        }
    }

    /// Whether the module is there, and not a stand-in for rehearsals.
    pub fn has_module(&self) -> bool {
        self.kind == ECACHE_TARGET
    }
}

/// What the kernel's command line keeps from Linux.
fn reserved() -> String {
    CARVEOUTS.map(|(size, at)| format!("{size}@{at:#x}")).join(",")
}

fn main() {
    init::live("torture", |words, report| {
        let options = Options::read(words);
        println!("torture: {options:?}");
        run(&options, report)
    })
}

fn run(options: &Options, report: &Report) -> Outcome<()> {
    let root = Root::at("/");
    checkers::begin(options, report)?;
    let due = match options {
        Options { blind: true, .. } => "pages move and nothing tells",
        Options { faulty: true, .. } => broken_memory::DAMAGED_LINE,
        _ => "",
    };
    let mut watch = Watch::new(due).map_err(|e| format!("/dev/kmsg: {e}"))?;
    if options.has_module() {
        module::load(&root, "dm_mod").map_err(|e| e.to_string())?;
        if options.refusals {
            refusals::of_parameters(report);
        }
        let mut log = KernelLog::new().map_err(|e| format!("/dev/kmsg: {e}"))?;
        module::load_with(&root, MODULE, &refusals::good_parameters(options)).map_err(|e| e.to_string())?;
        says_whether_it_follows(options, &mut log, report)?;
        let found = physical::carveouts()?;
        let right = options.carveouts != reserved() || found == CARVEOUTS;
        report.check("the memory is where it should be", right, format_args!("{found:x?}"));
        watch.look(report, true);
    }
    let contents = Contents::new(options.seed);
    let began = Instant::now();
    let mut stack = Stack::build(&options.kind)?;
    println!("     devices and file systems made in {:.1?}", began.elapsed());
    if options.readers > 0 {
        readers::read(&stack, &contents, report, options.readers)?;
        return finish(&mut stack, &contents, options, report);
    }
    // What a module without a safety has left is looked at no more: it has failed, and the machine ends.
    let stops = || options.stop_early && report.failures() > 0;
    if options.phases {
        phases(&stack, &contents, options, report)?;
        watch.expect(&broken_memory::SAID);
    }
    if stops() {
        return Ok(());
    }
    soak(&stack, &contents, options, report, &mut watch)?;
    if stops() {
        return Ok(());
    }
    if options.has_module() {
        let unseen = statistic(statistics::MOVES_UNSEEN)?;
        let told = format_args!("unseen: {unseen}");
        let are = options.blind || !options.follow;
        report.check("moves that nobody tells of are noticed", unseen == u64::from(are), told);
    }
    finish(&mut stack, &contents, options, report)?;
    watch.look(report, false);
    checkers::nothing_lost(options, report)?;
    if let Err(e) = faults::all(options, &contents, report, &mut watch) {
        report.fail(format_args!("faults: {e}"));
    }
    checkers::end(options, report)?;
    watch.look(report, false);
    report.check("the kernel's log was watched", watch.seen() > 0, format_args!("{} lines", watch.seen()));
    Ok(())
}

/// A module that follows no moves says so once, and in its parameter.
fn says_whether_it_follows(options: &Options, log: &mut KernelLog, report: &Report) -> Outcome<()> {
    let said = log.lines().iter().filter(|(_, line)| line.contains("are not followed")).count();
    let path = module_file("parameters").join(ecache_parameters::FOLLOW_MOVES);
    let follows = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    report.check(
        "the module says whether it follows moves",
        said == usize::from(!options.follow) && follows.trim() == if options.follow { "Y" } else { "N" },
        format_args!("{said} lines, follow_moves {}", follows.trim()),
    );
    Ok(())
}

fn phases(stack: &Stack, contents: &Contents, options: &Options, report: &Report) -> Outcome<()> {
    let phases = Phases { stack, contents, report, seed: options.seed };
    let list: [(&str, &dyn Fn() -> Outcome<()>); 8] = [
        ("write", &|| phases.write()),
        ("truncated", &|| phases.truncated()),
        ("direct", &|| phases.direct()),
        // Memory that arm64 was booted with cannot be taken offline there.
        ("migration", &|| if cfg!(target_arch = "aarch64") { Ok(()) } else { phases.migration() }),
        ("salvaged", &|| if options.has_module() { phases.salvaged() } else { Ok(()) }),
        ("pinned", &|| if options.has_module() { phases.pinned() } else { Ok(()) }),
        // Through /dev/mem, which has what was kept from Linux at boot.
        ("damaged", &|| {
            if options.carveouts == reserved() && options.has_module() {
                phases.damaged()
            } else {
                Ok(())
            }
        }),
        ("poisoned", &|| if options.has_module() { phases.poisoned() } else { Ok(()) }),
    ];
    for (name, phase) in list {
        let (before, began) = (report.failures(), Instant::now());
        if let Err(e) = phase() {
            report.fail(format_args!("phase {name}: {e}"));
        }
        let failed = report.failures() - before;
        report.check(
            format_args!("phase {name}"),
            failed == 0,
            format_args!("{failed} failures, {:.1?}", began.elapsed()),
        );
        if options.stop_early && failed > 0 {
            break;
        }
    }
    Ok(())
}

fn soak(stack: &Stack, contents: &Contents, options: &Options, report: &Report, watch: &mut Watch) -> Outcome<()> {
    watch.look(report, false);
    if options.has_module() {
        let began = Instant::now();
        buffers::sequences(report, options.seed, options.sequences);
        println!("     in {:.1?}", began.elapsed());
        watch.look(report, false);
        drivers::all(report);
        refusals::while_in_use(stack, options, report);
        sources::all(report)?;
        watch.look(report, true);
    }
    let compare_all = || stack.volumes.iter().try_for_each(|volume| audit::compare(&volume.sides(), contents, report));
    let (done, seconds) = soak::run(stack, contents, report, options, watch, || {
        // Everything that can be put is put, and then every frame is looked at.
        pressure::drop_caches()?;
        compare_all()
    })?;
    report.check(
        "soak",
        done >= options.operations || report.failures() > 0,
        format_args!("{done} operations in {seconds:.1} s, {:.0} a second", done as f64 / seconds),
    );
    Ok(())
}

fn finish(stack: &mut Stack, contents: &Contents, options: &Options, report: &Report) -> Outcome<()> {
    for index in 0..stack.volumes.len() {
        println!("     {}: {}", stack.volumes[index].name, stack.status(index)?);
    }
    stack.unmount()?;
    report.check("file systems", true, "unmounted, and e2fsck has nothing to say");
    for volume in &stack.volumes {
        audit::compare(&volume.sides(), contents, report)?;
    }
    if options.has_module() && options.readers == 0 {
        numbers(report, options);
        let retired = statistic(statistics::RETIRED)?;
        let told = format_args!("{retired} retired");
        report.check("frames that fault are not used again", (retired > 0) == options.faulty, told);
        if options.exact {
            interrupts_off(report);
        }
    }
    stack.remove()?;
    if options.has_module() {
        // No target holds it any more.
        if !sources::goes(report, MODULE, &format!("/dev/ecache/{}", DEVICES[0].0), DEVICES[0].1)? {
            return Ok(());
        }
        let claimed = std::fs::read_to_string("/proc/iomem").is_ok_and(|text| text.contains(MODULE));
        report.check("its memory is given back", !claimed, format_args!("in /proc/iomem: {claimed}"));
        // What was not given back could not be taken again.
        let again = module::load_with(&Root::at("/"), MODULE, &refusals::good_parameters(options))
            .and_then(|()| module::remove(MODULE));
        report.check("it comes and goes again", again.is_ok(), format_args!("{again:?}"));
        let heap = module::remove(HEAP_MODULE);
        report.check("the heap goes", heap.is_ok(), format_args!("{heap:?}"));
    }
    Ok(())
}

/// How long the module kept interrupts off: whoever waits for one may miss what it is for.
fn interrupts_off(report: &Report) {
    const INSNS_MAX: u64 = 100_000;
    for name in [statistics::LONGEST_HELD_INSNS, statistics::LONGEST_PUT_INSNS] {
        let insns = statistic(name).unwrap_or(u64::MAX);
        report.check(format_args!("interrupts come in time: {name}"), (1..=INSNS_MAX).contains(&insns), insns);
    }
}

/// That the cache was at work: a test of an idle one would prove nothing.
fn numbers(report: &Report, options: &Options) {
    use statistics::{
        ALLOCS, CACHED, DEVICE, DISCARDED, EVICTIONS, FLUSHED, FRAMES, FREE, HITS, PUTS, RETIRED, TOMBSTONES,
    };
    let pool = module_file("pool");
    let mut entries: Vec<_> = pool.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let found: Vec<String> = entries
        .iter()
        .map(|path| {
            format!("{} {}", path.file_name().unwrap_or_default().to_string_lossy(), read_number(path).unwrap_or(0))
        })
        .collect();
    println!("     pool: {}", found.join(" "));
    let number = |name: &str| statistic(name).unwrap_or(0);
    let full = [PUTS, HITS, FLUSHED, ALLOCS, DISCARDED].into_iter().chain(options.phases.then_some(EVICTIONS));
    for name in full {
        // How many buffers a busy host has time for under load is chance; those of the sequences are asked for.
        let least = if name == ALLOCS { options.sequences } else { 100 };
        report.check(format_args!("the cache was at work: {name}"), number(name) >= least, number(name));
    }
    let sum: u64 = [CACHED, FREE, DEVICE, TOMBSTONES, RETIRED].into_iter().map(number).sum();
    report.check("frames add up", sum == number(FRAMES) && number(DEVICE) == 0, sum);
}
