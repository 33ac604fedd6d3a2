// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app does, as a process in its cgroup: `aciom child CGROUP JOB ARGUMENT...`.
//!
//! ```text
//! blocks NODE FIRST COUNT MS SEED      random requests to blocks of its own, every read compared; all of them at the end
//! player NODE BYTES PERIOD_NS MS FILE  one read a period; when each was answered
//! files FOLDER MS SEED                 files as `files` has them
//! dirty FILE BYTES                     a file through the page cache, and nothing of it on the disk (`writeback`)
//! readers NODE THREADS MS              4 KiB at random places, as fast as it goes
//! memory NODE MS SEED                  more memory than it may keep (`swap`)
//! dperf NODE MS FILE                   128 KiB at random places, three of four are reads, 16 at once
//! ```

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_tests::content::{Contents, Random, State};
use fovea_tests::kernel::{at, open_direct, write_file, Outcome};
use fovea_tests::raw::{Pages, PAGE};

/// What makes of this program a child.
pub const WORD: &str = "child";
/// And of one that is to fail: the console says so.
pub const FAILING: &str = "failing-child";

/// Requests under way at once.
const BLOCK_THREADS: u64 = 4;
const OPERATION_BLOCKS: u64 = 32;
const DPERF_THREADS: u64 = 16;
const DPERF_BYTES: u64 = 128 << 10;

/// Returns the exit code.
pub fn main(word: &str, args: &[String]) -> i32 {
    match job(args) {
        Ok(()) => 0,
        Err(e) => {
            println!("{} {e}", if word == FAILING { "     as is meant:" } else { "FAIL" });
            1
        }
    }
}

fn number(args: &[String], nth: usize) -> Outcome<u64> {
    args.get(nth).and_then(|word| word.parse().ok()).ok_or_else(|| format!("argument {nth} of {args:?} is no number"))
}

fn job(args: &[String]) -> Outcome<()> {
    let [group, what, node, ..] = args else { return Err(format!("{args:?}: CGROUP JOB NODE")) };
    write_file(Path::new(group).join("cgroup.procs"), "0")?;
    let (node, rest) = (Path::new(node), &args[3..]);
    match what.as_str() {
        "blocks" => {
            let (first, count, ms, seed) = (number(rest, 0)?, number(rest, 1)?, number(rest, 2)?, number(rest, 3)?);
            let share = count / BLOCK_THREADS;
            threads(BLOCK_THREADS, |nth| blocks(node, first + nth * share, share, ms, seed))
        }
        "player" | "reader" => {
            let file = rest.get(3).ok_or("no FILE")?;
            let answers = if what == "player" { Answers::SinceDue } else { Answers::SinceAsked };
            player(node, number(rest, 0)?, number(rest, 1)?, number(rest, 2)?, Path::new(file), answers)
        }
        "dperf" => dperf(node, number(rest, 0)?, Path::new(rest.get(1).ok_or("no FILE")?)),
        "dirty" => crate::writeback::dirty(node, number(rest, 0)? as usize),
        "readers" => {
            let end = Instant::now() + Duration::from_millis(number(rest, 1)?);
            threads(number(rest, 0)?, |nth| read_at_random(node, nth, end))
        }
        "memory" => crate::swap::use_memory(number(rest, 0)?, number(rest, 1)?),
        "files" => crate::files::write(node, number(rest, 0)?, number(rest, 1)?),
        _ => Err(format!("{what}: no such job")),
    }
}

fn threads(count: u64, work: impl Fn(u64) -> Outcome<()> + Sync) -> Outcome<()> {
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..count).map(|nth| (nth, &work)).map(|(nth, work)| scope.spawn(move || work(nth))).collect();
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "panicked".to_owned())?)
    })
}

fn blocks(node: &Path, first: u64, count: u64, ms: u64, seed: u64) -> Outcome<()> {
    let file = open_direct(node)?;
    let contents = Contents::new(seed);
    let mut random = Random::new(seed, first);
    let mut versions = vec![0; count as usize];
    let mut pages = Pages::new(OPERATION_BLOCKS as usize);
    let end = Instant::now() + Duration::from_millis(ms);
    let state = |block: u64, version| State { file: 1, page: block as u32, version };
    let compare = |from: u64, bytes: &[u8], versions: &[u32]| {
        for (nth, found) in bytes.chunks_exact(PAGE).enumerate() {
            let (block, version) = (from + nth as u64, versions[from as usize + nth]);
            // Version 0 is whatever was there.
            if version > 0 && !contents.holds(state(first + block, version), found) {
                let is = contents.recognise(found);
                return Err(format!("wrong content: block {} version {version} is {is}", first + block));
            }
        }
        Ok(())
    };
    let mut version = 0;
    while Instant::now() < end {
        let from = random.below(count);
        let length = (random.below(OPERATION_BLOCKS) + 1).min(count - from);
        let bytes = pages.bytes(length as usize);
        let place = (first + from) * PAGE as u64;
        if random.below(2) == 0 {
            at(format_args!("reading block {}", first + from), file.read_exact_at(bytes, place))?;
            compare(from, bytes, &versions)?;
        } else {
            version += 1;
            for (nth, page) in (0..).zip(bytes.chunks_exact_mut(PAGE)) {
                contents.write(state(first + from + nth, version), page);
                versions[(from + nth) as usize] = version;
            }
            at(format_args!("writing block {}", first + from), file.write_all_at(bytes, place))?;
        }
    }
    for from in (0..count).step_by(OPERATION_BLOCKS as usize) {
        let bytes = pages.bytes(OPERATION_BLOCKS.min(count - from) as usize);
        at("reading at the end", file.read_exact_at(bytes, (first + from) * PAGE as u64))?;
        compare(from, bytes, &versions)?;
    }
    Ok(())
}

/// What an answer's time is counted from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// A frame that began late counts as late.
    SinceDue,
    /// A read is not charged with those before it.
    SinceAsked,
}

/// Answers' times, a line each.
fn player(node: &Path, bytes: u64, period_ns: u64, ms: u64, to: &Path, answers: Answers) -> Outcome<()> {
    let file = open_direct(node)?;
    let mut pages = Pages::new(bytes as usize / PAGE);
    let size = at(node.display(), size_of_node(node))?;
    let begin = Instant::now();
    let mut lines = String::new();
    for frame in 0..ms * 1_000_000 / period_ns {
        let due = begin + Duration::from_nanos(frame * period_ns);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let place = frame * bytes % (size / 2 / bytes * bytes);
        let since = if answers == Answers::SinceDue { due } else { Instant::now() };
        at("a frame", file.read_exact_at(pages.bytes(bytes as usize / PAGE), place))?;
        lines += &format!("{}\n", since.elapsed().as_nanos());
    }
    write_file(to, &lines)
}

fn read_at_random(node: &Path, seed: u64, end: Instant) -> Outcome<()> {
    let file = open_direct(node)?;
    let blocks = at(node.display(), size_of_node(node))? / PAGE as u64;
    let mut random = Random::new(seed, 11);
    let mut pages = Pages::new(1);
    while Instant::now() < end {
        at("reading", file.read_exact_at(pages.bytes(1), random.below(blocks) * PAGE as u64))?;
    }
    Ok(())
}

fn size_of_node(node: &Path) -> std::io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    fs::File::open(node)?.seek(SeekFrom::End(0))
}

/// Bytes moved.
fn dperf(node: &Path, ms: u64, to: &Path) -> Outcome<()> {
    let size = at(node.display(), size_of_node(node))?;
    let moved = std::sync::atomic::AtomicU64::new(0);
    let end = Instant::now() + Duration::from_millis(ms);
    threads(DPERF_THREADS, |nth| {
        let file = open_direct(node)?;
        let mut random = Random::new(7, nth);
        let mut pages = Pages::new(DPERF_BYTES as usize / PAGE);
        while Instant::now() < end {
            let place = size / 2 + random.below(size / 2 / DPERF_BYTES) * DPERF_BYTES;
            let bytes = pages.bytes(DPERF_BYTES as usize / PAGE);
            match random.below(4) {
                0 => at("dperf", file.write_all_at(bytes, place))?,
                _ => at("dperf", file.read_exact_at(bytes, place))?,
            }
            moved.fetch_add(DPERF_BYTES, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    })?;
    write_file(to, &moved.into_inner().to_string())
}
