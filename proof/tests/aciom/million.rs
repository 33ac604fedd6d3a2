// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the module adds to a request while nobody is time-sensitive and eight CPUs read at once, from a disk that answers at once: more than a
//! million requests a second. In exact mode with as many CPUs, where a nanosecond is an instruction of any of them, those of waiting for a lock
//! included.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use fovea_linux::dm::device_number;
use fovea_tests::content::Random;
use fovea_tests::kernel::{at, open_direct, target, Outcome, SECTOR};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;
use rustix::thread::{sched_setaffinity, CpuSet};

use crate::stack::{Disk, Volume};

/// What `boots.rs` gives the machine.
pub const CPUS: usize = 8;
const READS: u64 = 4000;
const ROUNDS: usize = 5;
/// Of dm-linear's instructions.
const MOST_PERCENT: f64 = 3.0;
const WANTED_PER_S: u64 = 1_000_000;

pub fn all(report: &Report) -> Outcome<()> {
    let disk = Disk { name: "million", mib: 64, mbps: 0 };
    let queues = [("memory_backed", 0), ("irqmode", 0), ("submit_queues", CPUS as u64), ("hw_queue_depth", 64)];
    let node = disk.make_with(&queues)?;
    let size = (disk.mib << 20) / SECTOR;
    let volume = Volume::direct("v", &node, size, "")?;
    let number = at(disk.name, device_number(&node))?;
    at("linear", volume.mapper.create("linear"))?;
    at("linear", volume.mapper.load("linear", &[target("linear", 0, size, format!("{number} 0"))]))?;
    let linear = at("linear", volume.mapper.resume("linear"))?.node();
    for (rate, cmax) in [("given", "cmax 1000000000000"), ("to be found", "cmax 0")] {
        volume.message(cmax)?;
        // Whatever is allocated at first use is.
        per_read(&linear)?;
        per_read(&volume.node)?;
        let (mut pairs, mut without) = (Vec::new(), 0.0);
        for _ in 0..ROUNDS {
            without = per_read(&linear)?;
            pairs.push((per_read(&volume.node)? / without - 1.0) * 100.0);
        }
        pairs.sort_by(f64::total_cmp);
        let per_s = CPUS as u64 * 1_000_000_000 / without as u64;
        let what = format_args!("wrong content: {CPUS} CPUs, cmax {rate}: at most {MOST_PERCENT} % over dm-linear");
        let found = format_args!("{pairs:.2?} % of {without:.0} instructions, {per_s} requests a second of dm-linear");
        report.check(what, pairs[ROUNDS / 2] <= MOST_PERCENT && per_s >= WANTED_PER_S, found);
    }
    let ordered = volume.count("arrived")?;
    report.check("no request was ordered", ordered == 0, ordered);
    at("linear", volume.mapper.remove("linear"))?;
    volume.remove()?;
    disk.remove()
}

/// Instructions of a read of 4 KiB, while each CPU reads: from when the first begins until the last is done.
fn per_read(node: &Path) -> Outcome<f64> {
    let begins = Barrier::new(CPUS);
    let times = std::thread::scope(|scope| {
        let reader = |cpu: usize| {
            let begins = &begins;
            scope.spawn(move || -> Outcome<(Instant, Instant)> {
                let file = on(cpu).and_then(|()| open_direct(node));
                // Nobody waits for one that failed.
                begins.wait();
                let began = Instant::now();
                read(&file?, cpu)?;
                Ok((began, Instant::now()))
            })
        };
        let readers: Vec<_> = (0..CPUS).map(reader).collect();
        readers.into_iter().map(|reader| reader.join().map_err(|_| "panicked".to_owned())?).collect::<Outcome<Vec<_>>>()
    })?;
    let (first, last) = (times.iter().map(|time| time.0).min(), times.iter().map(|time| time.1).max());
    let elapsed = first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first);
    Ok(elapsed.as_nanos() as f64 / (READS * CPUS as u64) as f64)
}

fn on(cpu: usize) -> Outcome<()> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    at("sched_setaffinity", sched_setaffinity(None, &cpus))
}

fn read(file: &std::fs::File, cpu: usize) -> Outcome<()> {
    let (mut pages, mut random) = (Pages::new(1), Random::new(1, cpu as u64));
    (0..READS).try_for_each(|_| at("reading", file.read_exact_at(pages.bytes(1), random.below(16 << 10) * PAGE as u64)))
}
