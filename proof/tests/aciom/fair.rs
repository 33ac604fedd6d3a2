// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whoever is in nobody's favour beside a player: on a disk of two tags that eight threads keep full, beside a write-back of seconds, and when a page
//! comes back from swap. And two volumes on one disk, and the disk's rate while nothing is ordered.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use fovea_contract::aciom_classes;
use fovea_linux::dm::Suspend;
use fovea_linux::swap;
use fovea_tests::kernel::{at, comes, write_file, Outcome, SECTOR};
use fovea_tests::report::Report;

use crate::files::{FileSystem, EXT4, MOUNT};
use crate::phases::{wait, PATIENCE};
use crate::stack::{App, Disk, Volume};

/// The longest that a small read may take: twice what it takes on the bare disk beside the same load, and half a second.
const WORST_NS: u64 = 500_000_000;
const MS: u64 = 4000;
/// Of a write-back: some seconds of the disk's time.
const DIRTY_BYTES: u64 = 16 << 20;
const SLOW_MBPS: u64 = 8;
const SLOW_CMAX: u64 = 6_700_000;
/// What may wait to be written at once of a class (core/aciom/internal.h) of whoever is in a transaction, as ext4 is that writes new data back; and
/// what the pieces of one bio may add.
const WRITES_BYTES: u64 = (8 << 20) + (2 << 20);

pub fn all(report: &Report) -> Outcome<()> {
    tags(report)?;
    write_back(report)?;
    swap_in(report)?;
    two_volumes(report)?;
    passing_by(report)
}

fn latencies(file: &str) -> Outcome<Vec<u64>> {
    let text = at(file, fs::read_to_string(file))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

fn path(node: &Path) -> String {
    node.to_string_lossy().into_owned()
}

fn sectors(disk: &Disk) -> u64 {
    (disk.mib << 20) / SECTOR
}

/// A reader of no class: when each of its reads was answered, and how long the worst took.
fn worst_read(reader: &App, node: &str, period_ms: u64, ms: u64) -> Outcome<(usize, u64)> {
    const ANSWERS: &str = "/tmp/answers";
    let _ = fs::remove_file(ANSWERS);
    let period = (period_ms * 1_000_000).to_string();
    let mut reading = reader.start(&["reader", node, "4096", &period, &ms.to_string(), ANSWERS])?;
    // Long enough for the worst that was ever seen, so that a failure says how bad it is.
    let ended = wait(&mut reading, Instant::now() + Duration::from_secs(60))?;
    if !ended {
        return Err("the reader failed".into());
    }
    let answers = latencies(ANSWERS)?;
    Ok((answers.len(), answers.iter().copied().max().unwrap_or(u64::MAX)))
}

/// A disk that takes two requests, and eight threads of one app that is time-sensitive: the others' turn comes at the disk too.
fn tags(report: &Report) -> Outcome<()> {
    let disk = Disk { name: "tags", mib: 16, mbps: 0 };
    let node = disk.make_with(&[("completion_nsec", 5_000_000), ("hw_queue_depth", 2)])?;
    let volume = Volume::direct("t", &node, sectors(&disk), "cmax=20971520")?;
    let [greedy, reader] = [App::make("greedy")?, App::make("reader")?];
    volume.class(&greedy, aciom_classes::TIME_SENSITIVE)?;
    let node = path(&volume.node);
    let mut load = greedy.start(&["readers", &node, "8", &(MS + 1000).to_string()])?;
    comes(PATIENCE, || Ok(volume.count("in_flight")? >= 2))?;
    let (reads, worst_ns) = worst_read(&reader, &node, 400, MS)?;
    let fair = worst_ns <= WORST_NS;
    report.check("wrong content: a disk's tags starve nobody", fair, format_args!("worst of {reads}: {worst_ns} ns"));
    let said = volume.count("plain_worst_ns")?;
    let truth = said <= worst_ns && said * 10 >= worst_ns * 8;
    report.check("the status says how long it took", truth, format_args!("{said} of {worst_ns} ns"));
    report.check("and the same of all that are not time-sensitive", volume.count("longest_wait_ns")? == said, "");
    wait(&mut load, Instant::now() + PATIENCE)?;
    volume.forget(&greedy)?;
    volume.remove()?;
    disk.remove()
}

fn slow_volume(disk: &Disk) -> Outcome<Volume> {
    let node = disk.make_with(&[("hw_queue_depth", 32)])?;
    Volume::direct("w", &node, sectors(disk), &format!("cmax={SLOW_CMAX}"))
}

fn player(volume: &Volume, app: &App, ms: u64) -> Outcome<Child> {
    let stream = app.start(&["player", &path(&volume.node), "16384", "33000000", &ms.to_string(), "/tmp/stream"])?;
    comes(PATIENCE, || Ok(volume.count("active_time_sensitive")? > 0))?;
    Ok(stream)
}

/// Somebody syncs what another has dirtied, all of it at once: a read of a third waits for none of it.
fn write_back(report: &Report) -> Outcome<()> {
    let system: &FileSystem = &EXT4;
    let disk = Disk { name: "sync", mib: system.mib, mbps: SLOW_MBPS };
    let volume = slow_volume(&disk)?;
    system.begin(&volume.node)?;
    let [playing, writer, reader] = [App::make("sync-player")?, App::make("sync-writer")?, App::make("sync-reader")?];
    volume.class(&playing, aciom_classes::TIME_SENSITIVE)?;
    for class in [aciom_classes::PLAIN, aciom_classes::BURSTY] {
        volume.class(&writer, class)?;
        let mut dirty = writer.start(&["dirty", &format!("{MOUNT}/{class}"), &DIRTY_BYTES.to_string()])?;
        wait(&mut dirty, Instant::now() + PATIENCE)?;
        let mut stream = player(&volume, &playing, MS + 1000)?;
        let throttled = volume.count("throttled")?;
        let (mut most, mut result) = (0, Ok((0, 0)));
        std::thread::scope(|scope| {
            let syncing = scope.spawn(rustix::fs::sync);
            let node = path(&volume.node);
            let reading = scope.spawn(|| worst_read(&reader, &node, 20, 2000).map(|found| (found.0, found.1, node)));
            while !reading.is_finished() {
                most = most.max(volume.count("queued_write_bytes").unwrap_or(u64::MAX));
                std::thread::sleep(Duration::from_millis(5));
            }
            result = reading.join().map_err(|_| "panicked".to_owned()).and_then(|found| found.map(|f| (f.0, f.1)));
            drop(syncing.join());
        });
        let (reads, worst_ns) = result?;
        let what = format_args!("wrong content: a read waits for no write-back of a {class} app");
        report.check(what, worst_ns <= WORST_NS, format_args!("worst of {reads}: {worst_ns} ns"));
        let waited = volume.count("throttled")? > throttled;
        report.check("wrong content: who writes back has to wait", waited && most > 0, most);
        report.check("so that not all of it is queued", most <= WRITES_BYTES, format_args!("{most} bytes at most"));
        let played = wait(&mut stream, Instant::now() + PATIENCE)?;
        report.check("the player came to its end", played, "");
    }
    volume.forget(&playing)?;
    volume.forget(&writer)?;
    system.end(&volume.node, report)?;
    volume.remove()?;
    disk.remove()
}

/// A bursty app's own memory: nothing of it is held, whether it goes or comes.
fn swap_in(report: &Report) -> Outcome<()> {
    let disk = Disk { name: "swap", mib: 32, mbps: 20 };
    let node = disk.make()?;
    let volume = Volume::direct("w", &node, sectors(&disk), "cmax=4000000")?;
    at("mkswap", swap::make(&volume.node, volume.size_bytes))?;
    at("swapon", swap::on(&volume.node, -1))?;
    let [playing, swapper] = [App::make("swap-player")?, App::make("swapper")?];
    volume.class(&playing, aciom_classes::TIME_SENSITIVE)?;
    volume.class(&swapper, aciom_classes::BURSTY)?;
    write_file(swapper.path.join("memory.max"), &(3_u64 << 20).to_string())?;
    let mut stream = player(&volume, &playing, MS + 2000)?;
    let counts =
        || -> Outcome<[u64; 3]> { Ok([volume.count("bursty")?, volume.count("urgent")?, volume.count("held")?]) };
    let before = counts()?;
    let mut using = swapper.start(&["memory", &path(&volume.node), "2000", "1"])?;
    let used = wait(&mut using, Instant::now() + Duration::from_secs(60))?;
    let after = counts()?;
    let [bursty, urgent, held] = [0, 1, 2].map(|nth| after[nth] - before[nth]);
    let found = format_args!("{bursty} requests, {urgent} at once, {held} held");
    let never = used && bursty > 20 && held == 0 && urgent >= bursty;
    report.check("wrong content: nothing that goes to swap or comes from it is held", never, found);
    write_file(swapper.path.join("memory.max"), "max")?;
    at("swapoff", swap::off(&volume.node))?;
    wait(&mut stream, Instant::now() + PATIENCE)?;
    volume.forget(&playing)?;
    volume.forget(&swapper)?;
    volume.remove()?;
    disk.remove()
}

/// One disk has one rate, one window and one order, whichever volume a request comes by.
fn two_volumes(report: &Report) -> Outcome<()> {
    let disk = Disk { name: "both", mib: 32, mbps: SLOW_MBPS };
    let node = disk.make()?;
    let one = Volume::direct("one", &node, sectors(&disk), &format!("cmax={SLOW_CMAX}"))?;
    let other = Volume::direct("other", &node, sectors(&disk), "hold=512")?;
    let shared = other.count("cmax")? == SLOW_CMAX;
    report.check("two volumes on one disk know one rate", shared, other.count("cmax")?);
    let [playing, copy] = [App::make("one-player")?, App::make("other-copy")?];
    one.class(&playing, aciom_classes::TIME_SENSITIVE)?;
    one.class(&copy, aciom_classes::BURSTY)?;
    let mut stream = player(&one, &playing, MS)?;
    let mut copying = copy.start(&["dperf", &path(&other.node), "2500", "/tmp/moved"])?;
    let holds = comes(PATIENCE, || Ok(other.count("active_bursty")? > 0 && other.count("queued")? > 0))?;
    report.check("a copy by one is held beside a player by the other", holds, "");
    // What the one lets go for its suspend is held again behind it.
    one.reload(Suspend::Flush, true)?;
    let again = comes(PATIENCE, || Ok(other.count("queued")? > 0))?;
    report.check("and still is when the other was suspended", again, "");
    let ended = wait(&mut copying, Instant::now() + PATIENCE)? && wait(&mut stream, Instant::now() + PATIENCE)?;
    report.check("both came to their end", ended, "");
    let left = other.count("queued")? + other.count("in_flight")?;
    report.check("and nothing is left", left == 0, left);
    one.forget(&playing)?;
    one.forget(&copy)?;
    other.remove()?;
    one.remove()?;
    disk.remove()
}

/// While nobody is time-sensitive no request takes the lock, and the disk's rate is found all the same.
fn passing_by(report: &Report) -> Outcome<()> {
    let disk = Disk { name: "free", mib: 16, mbps: 20 };
    let node = disk.make()?;
    let volume = Volume::direct("w", &node, sectors(&disk), "")?;
    let copy = App::make("free-copy")?;
    let mut copying = copy.start(&["dperf", &path(&volume.node), "1500", "/tmp/moved"])?;
    wait(&mut copying, Instant::now() + PATIENCE)?;
    let (arrived, cmax) = (volume.count("arrived")?, volume.count("cmax")?);
    let near = (10 << 20..40 << 20).contains(&cmax);
    report.check(
        "nothing is ordered, and the rate is found",
        arrived == 0 && near,
        format_args!("{arrived}, {cmax} bytes/s"),
    );
    volume.remove()?;
    disk.remove()
}
