// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a flush promises: a write that had completed when it was asked for is on the disk before it answers. dm-log-writes below keeps a
//! log of what reaches the disk and in which order; a mark is set in it after each answer.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use fovea_contract::aciom_classes;
use fovea_linux::dm::device_number;
use fovea_tests::kernel::{at, open_direct, target, Outcome, SECTOR};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;

use crate::stack::{App, Disk, Volume};
use crate::Options;

const ROUNDS: u64 = 40;
/// Every other round writes with O_DSYNC and does not ask for a flush.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const MARK: u64 = 8;

#[derive(Debug)]
struct Entry {
    sector: u64,
    flags: u64,
    mark: String,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// The log: a sector that tells how many, then each entry's sector and the data behind it.
fn read_log(log: &File) -> Outcome<Vec<Entry>> {
    let mut bytes = vec![0; SECTOR as usize];
    at("the log", log.read_exact_at(&mut bytes, 0))?;
    if word(&bytes, 0) != MAGIC {
        return Err("no log of dm-log-writes".into());
    }
    let (count, mut place) = (word(&bytes, 16), SECTOR);
    let mut entries = Vec::new();
    for _ in 0..count {
        at("the log", log.read_exact_at(&mut bytes, place))?;
        let (sector, sectors, flags, data) = (word(&bytes, 0), word(&bytes, 8), word(&bytes, 16), word(&bytes, 24));
        let marked = if flags & MARK != 0 { &bytes[32..32 + data as usize] } else { &[] };
        let mark = String::from_utf8_lossy(marked).trim_end_matches('\0').to_owned();
        entries.push(Entry { sector, flags, mark });
        place += SECTOR + if flags & 4 == 0 { sectors * SECTOR } else { 0 };
    }
    Ok(entries)
}

pub fn all(options: &Options, report: &Report) -> Outcome<()> {
    let data = Disk { name: "n1", mib: 16, mbps: 40 }.make()?;
    let log = Disk { name: "n2", mib: 32, mbps: 0 }.make()?;
    let numbers = [at("n1", device_number(&data))?, at("n2", device_number(&log))?];
    let size = (16 << 20) / SECTOR;
    let below = vec![target("log-writes", 0, size, format!("{} {}", numbers[0], numbers[1]))];
    let volume = Volume::on("b", below, "cmax=4000000")?;
    // Load of a time-sensitive and a bursty app around it: what may be held is held.
    let [player, copy] = [App::make("barrier-player")?, App::make("barrier-copy")?];
    volume.class(&player, aciom_classes::TIME_SENSITIVE)?;
    volume.class(&copy, aciom_classes::BURSTY)?;
    let node = volume.node.to_string_lossy().into_owned();
    let mut load = [
        player.start(&["player", &node, "65536", "20000000", "3000", "/tmp/barrier"])?,
        copy.start(&["dperf", &node, "3000", "/tmp/barrier-moved"])?,
    ];
    let file = open_direct(&volume.node)?;
    let through = File::options().write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(&volume.node);
    let through = at("O_DSYNC", through)?;
    let mut pages = Pages::new(1);
    for round in 0..ROUNDS {
        pages.bytes(1).fill(round as u8 + 1);
        let place = round * PAGE as u64;
        if round % 2 == 0 {
            at("write", file.write_all_at(pages.bytes(1), place))?;
            at("flush", file.sync_data())?;
        } else {
            at("write through", through.write_all_at(pages.bytes(1), place))?;
        }
        at("mark", volume.mapper.message("lower-b", 0, &format!("mark round-{round}")))?;
    }
    for child in &mut load {
        let ended = at("the load", child.wait())?;
        report.check("the load came to its end", ended.success(), ended);
    }
    let _ = options;
    drop((file, through));
    volume.remove()?;
    let entries = read_log(&at("n2", File::open(&log))?)?;
    let mut kept = 0;
    for round in 0..ROUNDS {
        let mark = format!("round-{round}");
        let marked = entries.iter().position(|entry| entry.mark == mark);
        let Some(marked) = marked else { return Err(format!("no {mark} in the log of {}", entries.len())) };
        let sector = round * PAGE as u64 / SECTOR;
        let written =
            entries[..marked].iter().position(|entry| entry.sector == sector && entry.flags & (MARK | 4) == 0);
        // Permanent: by its own flag, or by a flush after it and before the mark.
        let permanent = written.is_some_and(|written| {
            entries[written].flags & FUA != 0 || entries[written..marked].iter().any(|entry| entry.flags & FLUSH != 0)
        });
        kept += u64::from(permanent);
    }
    match kept == ROUNDS {
        true => println!("ok   what was flushed was on the disk: {kept} rounds, {} entries", entries.len()),
        false => report.fail(format_args!("wrong content: only {kept} of {ROUNDS} flushes reached the disk")),
    }
    Ok(())
}
