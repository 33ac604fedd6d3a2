// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The apps of the scenario `disk`. Each is a process `fovea-guest disk-app NAME START_NS LOAD`
//! that prints a `DiskUse` at its end.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fovea_scenario::{DiskLoad, DiskUse};

use super::volume::ROOT;
use crate::hash::mix64;
use crate::outcome::{At, Outcome};
use crate::readings::now_ns;

/// The first argument that makes this program one of the apps.
pub const WORD: &str = "disk-app";

const BLOCK: usize = 4096;
const COPY_BYTES: usize = 128 << 10;
/// `plain`: bytes of a read, and the time between reads.
const PLAIN_BYTES: usize = 16 << 10;
const PLAIN_PERIOD_NS: u64 = 50_000_000;
/// `writer`: bytes of a save, the time between saves, and bytes of a write.
const SAVE_BYTES: usize = 1 << 20;
const SAVE_PERIOD_NS: u64 = 1_000_000_000;
const WRITE_BYTES: usize = 64 << 10;

/// Sizes of the files in MiB. Each is written in full before the apps start, so that no metadata is
/// written beside them.
const FILES: [(&str, usize); 5] = [("player", 24), ("dperf", 50), ("plain", 8), ("writer", 8), ("swapper", 16)];

/// Memory aligned for O_DIRECT.
pub(super) struct Blocks(Vec<Aligned>);

#[derive(Clone)]
#[repr(C, align(4096))]
struct Aligned([u64; BLOCK / 8]);

impl Blocks {
    pub(super) fn new(bytes: usize) -> Blocks {
        Blocks(vec![Aligned([0; BLOCK / 8]); bytes / BLOCK])
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let size = size_of_val(self.0.as_slice());
        // SAFETY: an exclusive slice of arrays of plain numbers without padding, seen as bytes.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size) }
    }

    /// Fills the blocks with what belongs at this offset of the file in this version.
    pub(super) fn write(&mut self, file: u64, offset: u64, version: u64) {
        for (block, content) in (offset / BLOCK as u64..).zip(&mut self.0) {
            let first = first_word(file, block, version);
            (0u64..).zip(&mut content.0).for_each(|(nth, word)| *word = first.wrapping_add(nth));
        }
    }

    /// Compares a block with what belongs there, and writes it again. Returns 1 if it differed,
    /// else 0.
    pub(super) fn rewrite(&mut self, file: u64, block: u64, version: u64) -> u64 {
        let first = first_word(file, block, version);
        let content = &mut self.0[block as usize].0;
        let right = (0u64..).zip(content.iter()).all(|(nth, &word)| word == first.wrapping_add(nth));
        (0u64..).zip(content).for_each(|(nth, word)| *word = first.wrapping_add(nth));
        u64::from(!right)
    }

    /// How many blocks differ from what belongs there.
    pub(super) fn wrong(&self, file: u64, offset: u64, version: u64) -> u64 {
        let is_wrong = |(block, content): &(u64, &Aligned)| {
            let first = first_word(file, *block, version);
            !(0u64..).zip(&content.0).all(|(nth, &word)| word == first.wrapping_add(nth))
        };
        (offset / BLOCK as u64..).zip(&self.0).filter(is_wrong).count() as u64
    }
}

fn first_word(file: u64, block: u64, version: u64) -> u64 {
    mix64((file << 56) ^ (version << 32) ^ block)
}

/// Pseudo-random numbers, the same in every boot.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = mix64(self.0);
        self.0 % bound
    }
}

pub(super) fn id_of(app: &str) -> u64 {
    FILES.iter().position(|(name, _)| *name == app).unwrap_or(0) as u64
}

pub(super) fn bytes_of(app: &str) -> u64 {
    FILES.iter().find(|(name, _)| *name == app).map_or(0, |(_, mib)| (*mib as u64) << 20)
}

pub(super) fn open(app: &str, direct: bool) -> Outcome<File> {
    let path = Path::new(ROOT).join(app);
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
    opened.at(|| format!("opening {}", path.display()))
}

/// Makes all files, with their content of version 0.
pub fn fill(root: &Path) -> Outcome<()> {
    let mut blocks = Blocks::new(1 << 20);
    for (name, mib) in FILES {
        let path = root.join(name);
        let mut file = File::create(&path).at(|| format!("making {}", path.display()))?;
        for nth in 0..mib as u64 {
            blocks.write(id_of(name), nth << 20, 0);
            file.write_all(blocks.bytes()).at(|| format!("filling {}", path.display()))?;
        }
    }
    Ok(())
}

/// Runs as one of the apps.
pub fn main() -> ! {
    let args: Vec<String> = std::env::args().collect();
    let done = match args.as_slice() {
        [_, _, app, start_ns, load] => run(app, start_ns, load),
        other => Err(format!("{other:?}: NAME START_NS LOAD")),
    };
    crate::spawn::end_with(done)
}

fn run(app: &str, start_ns: &str, load: &str) -> Outcome<String> {
    let start_ns = start_ns.parse().at(|| format!("{start_ns:?} as a time"))?;
    let load: DiskLoad = serde_json::from_str(load).at(|| format!("{load:?}"))?;
    sleep_until(start_ns);
    let end_ns = start_ns + load.ns;
    let mut done = match app {
        "player" => player(&load, start_ns, end_ns)?,
        "dperf" | "front" => copy(&load, end_ns)?,
        "syncer" => super::open::sync(end_ns)?,
        "installer" => super::open::install("writer", end_ns)?,
        "updater" => super::open::install("dperf", end_ns)?,
        "swapper" => super::open::swap(end_ns)?,
        "plain" => plain(start_ns, end_ns)?,
        "writer" => writer(start_ns, end_ns)?,
        other => return Err(format!("{other}: no such app")),
    };
    done.elapsed_ns = now_ns() - start_ns;
    serde_json::to_string(&done).at(|| "a result as text".into())
}

pub(super) fn sleep_until(at_ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(at_ns.saturating_sub(now_ns())));
}

/// Reads each frame when it is due. A frame is missed if it is not there when the next is due. If
/// that time has passed before it is read, it is skipped, as players do.
fn player(load: &DiskLoad, start_ns: u64, end_ns: u64) -> Outcome<DiskUse> {
    let file = open("player", true)?;
    let mut frame = Blocks::new(load.disk.frame_bytes as usize);
    let frames = (end_ns - start_ns) / load.disk.frame_ns;
    let places = bytes_of("player") / load.disk.frame_bytes;
    let mut done = DiskUse { frames, ..DiskUse::default() };
    for nth in 0..frames {
        let due_ns = start_ns + nth * load.disk.frame_ns;
        let late_ns = due_ns + load.disk.frame_ns;
        let mut missed = now_ns() >= late_ns;
        if !missed {
            sleep_until(due_ns);
            let place = nth % places * load.disk.frame_bytes;
            let began_ns = now_ns();
            file.read_exact_at(frame.bytes(), place).at(|| format!("frame {nth}"))?;
            let ended_ns = now_ns();
            missed = ended_ns > late_ns;
            if nth >= DiskUse::FIRST_FRAMES {
                done.read_ns.push(ended_ns - began_ns);
            }
            done.wrong_blocks += frame.wrong(id_of("player"), place, 0);
            done.bytes += load.disk.frame_bytes;
        }
        let first = nth < DiskUse::FIRST_FRAMES;
        done.missed_first += u64::from(missed && first);
        done.missed += u64::from(missed && !first);
    }
    Ok(done)
}

/// `dperf`: reads at random places as fast as it can, and writes one time in four.
fn copy(load: &DiskLoad, end_ns: u64) -> Outcome<DiskUse> {
    let (moved, wrong, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let one = |thread: u64| -> Outcome<()> {
        let file = open("dperf", true)?;
        let mut draw = Draw(thread);
        let mut blocks = Blocks::new(COPY_BYTES);
        while now_ns() < end_ns {
            let place = draw.below(bytes_of("dperf") / COPY_BYTES as u64) * COPY_BYTES as u64;
            if draw.below(4) == 0 {
                blocks.write(id_of("dperf"), place, 0);
                file.write_all_at(blocks.bytes(), place).at(|| "dperf writes".into())?;
            } else {
                file.read_exact_at(blocks.bytes(), place).at(|| "dperf reads".into())?;
                wrong.fetch_add(blocks.wrong(id_of("dperf"), place, 0), Ordering::Relaxed);
            }
            moved.fetch_add(COPY_BYTES as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for thread in 0..load.disk.copy_threads {
            let (one, failed) = (&one, &failed);
            scope.spawn(move || {
                if let Err(error) = one(thread) {
                    eprintln!("fovea-guest: {error}");
                    failed.store(true, Ordering::Relaxed);
                }
            });
        }
    });
    match failed.into_inner() {
        true => Err("dperf failed".into()),
        false => Ok(DiskUse { bytes: moved.into_inner(), wrong_blocks: wrong.into_inner(), ..DiskUse::default() }),
    }
}

/// `plain`: reads at a random place every [`PLAIN_PERIOD_NS`].
fn plain(start_ns: u64, end_ns: u64) -> Outcome<DiskUse> {
    let file = open("plain", true)?;
    let mut draw = Draw(77);
    let mut blocks = Blocks::new(PLAIN_BYTES);
    let mut done = DiskUse::default();
    let mut next_ns = start_ns;
    while next_ns < end_ns {
        sleep_until(next_ns);
        let place = draw.below(bytes_of("plain") / PLAIN_BYTES as u64) * PLAIN_BYTES as u64;
        let began_ns = now_ns();
        file.read_exact_at(blocks.bytes(), place).at(|| "reading".into())?;
        done.read_ns.push(now_ns() - began_ns);
        done.wrong_blocks += blocks.wrong(id_of("plain"), place, 0);
        done.bytes += PLAIN_BYTES as u64;
        next_ns = now_ns().max(next_ns + PLAIN_PERIOD_NS);
    }
    Ok(done)
}

/// `writer`: saves a file through the page cache every [`SAVE_PERIOD_NS`] and flushes it. At the
/// end the disk must hold the last save.
fn writer(start_ns: u64, end_ns: u64) -> Outcome<DiskUse> {
    let mut file = open("writer", false)?;
    let mut blocks = Blocks::new(WRITE_BYTES);
    let mut done = DiskUse::default();
    let parts = (SAVE_BYTES / WRITE_BYTES) as u64;
    let (mut version, mut next_ns) = (0, start_ns);
    while next_ns < end_ns {
        sleep_until(next_ns);
        version += 1;
        file.seek(SeekFrom::Start(0)).at(|| "seeking".into())?;
        for part in 0..parts {
            blocks.write(id_of("writer"), part * WRITE_BYTES as u64, version);
            let began_ns = now_ns();
            file.write_all(blocks.bytes()).at(|| "saving".into())?;
            done.longest_stall_ns = done.longest_stall_ns.max(now_ns() - began_ns);
        }
        let began_ns = now_ns();
        file.sync_data().at(|| "flushing".into())?;
        done.longest_stall_ns = done.longest_stall_ns.max(now_ns() - began_ns);
        done.bytes += SAVE_BYTES as u64;
        next_ns = now_ns().max(next_ns + SAVE_PERIOD_NS);
    }
    let mut direct = open("writer", true)?;
    for part in 0..parts {
        direct.read_exact(blocks.bytes()).at(|| "reading what was saved".into())?;
        done.wrong_blocks += blocks.wrong(id_of("writer"), part * WRITE_BYTES as u64, version);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_holds_what_no_other_does_and_a_flipped_bit_shows() {
        let mut blocks = Blocks::new(4 * BLOCK);
        blocks.write(1, 8 * BLOCK as u64, 3);
        assert_eq!(blocks.wrong(1, 8 * BLOCK as u64, 3), 0);
        assert_eq!(blocks.wrong(1, 9 * BLOCK as u64, 3), 4, "another place");
        assert_eq!(blocks.wrong(1, 8 * BLOCK as u64, 2), 4, "another version");
        assert_eq!(blocks.wrong(2, 8 * BLOCK as u64, 3), 4, "another file");
        blocks.bytes()[BLOCK + 77] ^= 1;
        assert_eq!(blocks.wrong(1, 8 * BLOCK as u64, 3), 1);
    }
}
