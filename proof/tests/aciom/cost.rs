// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the module adds to a request: reads of 4 KiB, one after the other, of a disk that answers at once, beside dm-linear on the same disk. In
//! exact mode, where a nanosecond is an instruction.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_contract::aciom_classes;
use fovea_linux::dm::device_number;
use fovea_tests::kernel::{at, busy_ns, make_disk, open_direct, target, write_file, Outcome, SECTOR};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;

use crate::phases::{wait, PATIENCE};
use crate::stack::{App, Volume};

const MIB: u64 = 8;
const READS: u64 = 2000;
const HELD: u64 = 50;
/// What the module may add.
const MOST: u64 = 2000;

pub fn all(report: &Report) -> Outcome<()> {
    let disk = make_disk("cost", MIB, 512, 0, 0)?;
    let size = (MIB << 20) / SECTOR;
    let number = at("cost", device_number(&disk))?;
    let volume = Volume::on("v", vec![target("linear", 0, size, format!("{number} 0"))], "cmax=1000000000")?;
    let below = at("lower-v", volume.mapper.resume("lower-v"))?.node();
    let number = at("lower-v", device_number(&below))?;
    at("linear", volume.mapper.create("linear"))?;
    at("linear", volume.mapper.load("linear", &[target("linear", 0, size, format!("{number} 0"))]))?;
    let linear = at("linear", volume.mapper.resume("linear"))?.node();

    let [player, copy, nobody] = [App::make("player")?, App::make("copy")?, App::make("nobody")?];
    let enter = |app: &App| write_file(app.path.join("cgroup.procs"), "0");
    enter(&nobody)?;
    // Twice: whatever is allocated at first use is.
    let mut without = 0;
    for _ in 0..2 {
        without = per_read(&linear, READS)?;
        per_read(&volume.node, READS)?;
    }
    println!("     measured dm-linear: {without} instructions a read, all in all");
    let added = |what: &str| -> Outcome<()> {
        let more = per_read(&volume.node, READS)?.saturating_sub(without);
        report.check(format_args!("instructions more than dm-linear: {what}"), more <= MOST, more);
        Ok(())
    };
    for (rate, message) in [("given", "cmax 1000000000"), ("to be found", "cmax 0")] {
        volume.message(message)?;
        per_read(&volume.node, READS)?;
        let more = per_read(&volume.node, READS)?.saturating_sub(without);
        let what = format_args!("nobody is time-sensitive, cmax {rate}: at most 3 % more than dm-linear");
        report.check(what, more * 100 <= without * 3, format_args!("{more} of {without} instructions"));
    }
    volume.message("cmax 1000000000")?;
    volume.class(&player, aciom_classes::TIME_SENSITIVE)?;
    volume.class(&copy, aciom_classes::BURSTY)?;
    enter(&player)?;
    added("time-sensitive")?;
    enter(&nobody)?;
    added("plain, beside one")?;
    enter(&player)?;
    per_read(&volume.node, 1)?;
    enter(&copy)?;
    added("bursty, beside one")?;
    // So little is left by a player of 2 MB/s that all are held, and so short are its periods that nothing goes early.
    volume.message("cmax 2500000")?;
    volume.forget(&player)?;
    volume.class(&player, aciom_classes::TIME_SENSITIVE)?;
    beside_player(&volume, &linear, &player)?;
    let unheld = beside_player(&volume, &linear, &player)?;
    let before = [volume.count("held")?, volume.count("early")?];
    let held_ns = beside_player(&volume, &volume.node, &player)?;
    let [held, early] = [volume.count("held")? - before[0], volume.count("early")? - before[1]];
    report.check("they were held", held >= HELD - 2 && early <= 2, format_args!("{held}, {early} of them went early"));
    // No bound: it is what sleep and waking up cost, of its submitter, the work and an idle CPU.
    let more = held_ns.saturating_sub(unheld) / HELD;
    println!("     measured {more} instructions for one that is held, with all that wakes up for it");
    write_file("/sys/fs/cgroup/cgroup.procs", "0")?;
    at("linear", volume.mapper.remove("linear"))?;
    volume.remove()
}

/// Instructions.
fn per_read(node: &Path, reads: u64) -> Outcome<u64> {
    let file = open_direct(node)?;
    let mut pages = Pages::new(1);
    let start = Instant::now();
    for nth in 0..reads {
        at("reading", file.read_exact_at(pages.bytes(1), nth % (MIB << 8) * PAGE as u64))?;
    }
    Ok(start.elapsed().as_nanos() as u64 / reads)
}

/// What the CPU works in three seconds in which a player plays and, from the second on, this process reads.
fn beside_player(volume: &Volume, node: &Path, player: &App) -> Outcome<u64> {
    let before = busy_ns()?;
    let playing = volume.node.to_string_lossy();
    let mut child = player.start(&["player", &playing, "4096", "2000000", "3000", "/tmp/stream"])?;
    std::thread::sleep(Duration::from_secs(1));
    per_read(node, HELD)?;
    wait(&mut child, Instant::now() + PATIENCE)?;
    Ok(busy_ns()? - before)
}
