// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Random operations on one file against a model in memory, as fsx does: reads and writes, mapped and direct ones, truncation, holes,
//! ranges that collapse, are inserted, zeroed, copied, cloned, deduplicated or exchanged, and eviction in between; and, as aio-dio does, several requests in flight
//! while other parts of the file are read and evicted. Each file has a thread of its own.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fovea_tests::content::Random;
use fovea_tests::kernel::{at, Outcome};
use fovea_tests::raw::{FileMapping, Pages, PAGE};
use fovea_tests::report::Report;
use rustix::fs::{copy_file_range, fadvise, fallocate, Advice as FileAdvice, FallocateFlags};
use rustix::mm::Advice;

use crate::aio::{beside, Request};
use crate::calls::{clone_range, dedupe_range, exchange_range, ReadMapping};
use crate::churn::{churn, Length};
use crate::filesystem::FileSystem;
use crate::tree::read_whole;
use crate::unmarked::is_unknown;
use crate::Lab;

const SIZE_MAX: usize = 384 << 10;
const OPERATION_MAX: usize = 48 << 10;
/// What direct requests are multiples of.
const SECTOR: usize = 512;
/// What ranges that collapse and are inserted are multiples of: a multiple of all blocks used.
const BLOCK: usize = PAGE;

/// Which operations a file sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Buffered,
    Direct,
    Mapped,
    Mixed,
    /// Direct requests, several in flight, beside buffered ones.
    Async,
}

const MODES: [Mode; 5] = [Mode::Buffered, Mode::Direct, Mode::Mapped, Mode::Mixed, Mode::Async];

struct Subject<'a> {
    path: PathBuf,
    file: File,
    direct: File,
    model: Vec<u8>,
    mode: Mode,
    random: Random,
    buffer: Pages,
    done: u64,
    /// Ranges that changed places.
    exchanged: u64,
    report: &'a Report,
}

/// A file a mode, all at once, and one more thread that makes, renames and removes.
pub fn all(lab: &mut Lab, system: &FileSystem) -> Outcome<()> {
    let disk = lab.bed.disk(system.disk_mib, 512)?;
    let volume = lab.bed.volume(&disk)?;
    system.make(&volume.node)?;
    let root = system.mount(lab, &volume.node)?;
    let (report, seed) = (lab.report, lab.seed);
    let length = Length { operations: lab.operations, until: Instant::now() + Duration::from_secs(lab.seconds) };
    std::thread::scope(|scope| {
        for (number, mode) in MODES.into_iter().enumerate() {
            let path = root.join(format!("{mode:?}"));
            let random = Random::new(seed, 1000 + number as u64);
            scope.spawn(move || {
                if let Err(e) = run(path, mode, random, length, report) {
                    report.fail(format_args!("fsx, {mode:?}: {e}"));
                }
            });
        }
        let length = Length { operations: length.operations / 4, ..length };
        let churned = churn(&root.join("churn"), Random::new(seed, 1100), length, report);
        if let Err(e) = churned {
            report.fail(format_args!("churn: {e}"));
        }
    });
    lab.compare(&volume)?;
    lab.bed.unmount(&root)?;
    lab.compare(&volume)?;
    system.check(&volume.node)
}

fn run(path: PathBuf, mode: Mode, random: Random, length: Length, report: &Report) -> Outcome<()> {
    let open =
        |flags| File::options().read(true).write(true).create(true).truncate(false).custom_flags(flags).open(&path);
    let (file, direct) = (at("open", open(0))?, at("open", open(libc::O_DIRECT))?);
    let buffer = Pages::new(OPERATION_MAX / PAGE + 2);
    let (model, done, exchanged) = (Vec::new(), 0, 0);
    let mut subject = Subject { path, file, direct, model, mode, random, buffer, done, exchanged, report };
    while length.goes_on(subject.done) {
        subject.done += 1;
        let choice = subject.random.below(100);
        let done = subject.operation(choice);
        done.map_err(|e| format!("operation {} ({choice}): {e}", subject.done))?;
        if subject.report.failures() > 0 {
            break;
        }
    }
    println!("     fsx, {mode:?}: {} operations, {} of them exchanges", subject.done, subject.exchanged);
    subject.file.sync_all().map_err(|e| e.to_string())?;
    subject.evict(true).map_err(|e| e.to_string())?;
    subject.look(0, subject.model.len(), false).map_err(|e| e.to_string())
}

impl Subject<'_> {
    fn operation(&mut self, choice: u64) -> std::io::Result<()> {
        let length = 1 + self.random.index(OPERATION_MAX);
        let start = self.random.index(SIZE_MAX - OPERATION_MAX);
        let direct = match self.mode {
            Mode::Direct => true,
            Mode::Mixed => self.random.below(3) == 0,
            _ => false,
        };
        let mapped = match self.mode {
            Mode::Mapped => true,
            Mode::Mixed => self.random.below(2) == 0,
            _ => false,
        };
        match choice {
            0..=54 if self.mode == Mode::Async && self.random.below(2) == 0 => self.at_once(),
            0..=29 if mapped => self.look_mapped(start, length),
            0..=29 => self.look(start, length, direct),
            30..=54 if mapped => self.write_mapped(start, length),
            30..=54 => self.write(start, length, direct),
            55..=61 => self.resize(self.random.clone().index(SIZE_MAX)),
            62..=67 => self.punch(start, length, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE),
            68..=72 => self.punch(start, length, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE),
            73..=75 => self.collapse(start, length),
            76..=78 => self.insert(start, length),
            79..=80 => self.copy(start, length),
            81 => self.share(start, length, false),
            82 => self.share(start, length, true),
            83 => self.exchange(start, length),
            84..=85 => self.file.sync_data(),
            86 => self.file.sync_all(),
            87..=93 => self.evict(false),
            _ => self.evict(true),
        }
    }

    fn fill(&mut self, length: usize) -> Vec<u8> {
        let word = self.random.draw() | 1;
        (0..length).map(|i| (word.rotate_left(i as u32 % 61) ^ (i as u64 >> 6)) as u8).collect()
    }

    /// In the model; what lies between its end and this is zeros.
    fn put(&mut self, start: usize, bytes: &[u8]) {
        self.model.resize(self.model.len().max(start + bytes.len()), 0);
        self.model[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn write(&mut self, start: usize, length: usize, direct: bool) -> std::io::Result<()> {
        if !direct {
            let bytes = self.fill(length);
            self.put(start, &bytes);
            return self.file.write_all_at(&bytes, start as u64);
        }
        let (start, length) = (start & !(SECTOR - 1), length.next_multiple_of(SECTOR));
        let bytes = self.fill(length);
        self.put(start, &bytes);
        let pages = length.div_ceil(PAGE);
        self.buffer.bytes(pages)[..length].copy_from_slice(&bytes);
        self.direct.write_all_at(&self.buffer.bytes(pages)[..length], start as u64)
    }

    /// Requests in some parts of the file, none of which overlaps another, and buffered reads and eviction of the others meanwhile.
    fn at_once(&mut self) -> std::io::Result<()> {
        const PART_BYTES: usize = OPERATION_MAX;
        const PARTS: usize = SIZE_MAX / PART_BYTES;
        let mut buffer = Pages::new(SIZE_MAX / PAGE);
        let mut plan = Vec::new();
        for part in 0..PARTS {
            let first = part * PART_BYTES + self.random.index(PART_BYTES / SECTOR) * SECTOR;
            let length = SECTOR * (1 + self.random.index((PART_BYTES - first % PART_BYTES) / SECTOR));
            let write = self.random.below(2) == 0;
            // A read past the end would come back short.
            if self.random.below(3) > 0 && (write || first + length <= self.model.len()) {
                plan.push((part, first, length, write, if write { self.fill(length) } else { Vec::new() }));
            }
        }
        if plan.is_empty() {
            return Ok(());
        }
        let others: Vec<usize> = (0..PARTS).filter(|part| plan.iter().all(|one| one.0 != *part)).collect();
        let mut requests = Vec::new();
        for (chunk, (_, first, length, write, bytes)) in buffer.bytes(SIZE_MAX / PAGE).chunks_mut(PART_BYTES).zip(&plan)
        {
            chunk[..bytes.len()].copy_from_slice(bytes);
            requests.push(Request { offset: *first as u64, bytes: &mut chunk[..*length], write: *write });
        }
        let direct = self.direct.try_clone()?;
        let evict_by_page_out = self.random.below(2) == 0;
        beside(&direct, &mut requests, || {
            for part in others {
                self.look(part * PART_BYTES, PART_BYTES, false)?;
            }
            self.evict(evict_by_page_out)
        })?;
        for request in &requests {
            let first = request.offset as usize;
            if request.write {
                self.put(first, request.bytes);
            } else {
                self.wrong("read in flight", request.bytes, first);
            }
        }
        Ok(())
    }

    fn write_mapped(&mut self, start: usize, length: usize) -> std::io::Result<()> {
        let length = length.min(self.model.len().saturating_sub(start));
        if length == 0 {
            return Ok(());
        }
        let bytes = self.fill(length);
        self.put(start, &bytes);
        let first = start & !(PAGE - 1);
        let mut mapping = FileMapping::new(&self.file, first as u64, start - first + length)?;
        mapping.bytes()[start - first..].copy_from_slice(&bytes);
        match self.random.below(3) {
            0 => mapping.sync(),
            _ => Ok(()),
        }
    }

    fn wrong(&self, what: &str, found: &[u8], start: usize) {
        let expected = &self.model[start..start + found.len()];
        if let Some(first) = found.iter().zip(expected).position(|(a, b)| a != b) {
            let count = found.iter().zip(expected).filter(|(a, b)| a != b).count();
            self.report.fail(format_args!(
                "wrong content: {}: {what} number {}: {count} bytes from {} on",
                self.path.display(),
                self.done,
                start + first
            ));
        }
    }

    fn look(&mut self, start: usize, length: usize, direct: bool) -> std::io::Result<()> {
        let start = if direct { start & !(SECTOR - 1) } else { start };
        let length = length.min(self.model.len().saturating_sub(start));
        for from in (start..start + length).step_by(OPERATION_MAX) {
            let length = OPERATION_MAX.min(start + length - from);
            let pages = length.div_ceil(PAGE);
            let file = if direct { &self.direct } else { &self.file };
            read_whole(file, &mut self.buffer.bytes(pages)[..length.next_multiple_of(SECTOR)], from as u64, length)?;
            let found = self.buffer.bytes(pages)[..length].to_vec();
            self.wrong(if direct { "direct read" } else { "read" }, &found, from);
        }
        Ok(())
    }

    fn look_mapped(&mut self, start: usize, length: usize) -> std::io::Result<()> {
        let length = length.min(self.model.len().saturating_sub(start));
        if length == 0 {
            return Ok(());
        }
        let mapping = ReadMapping::new(&self.file, self.model.len(), Advice::Random)?;
        let mut found = vec![0; length];
        mapping.read(start, &mut found)?;
        self.wrong("mapped read", &found, start);
        Ok(())
    }

    fn resize(&mut self, length: usize) -> std::io::Result<()> {
        self.random.draw();
        self.model.resize(length, 0);
        self.file.set_len(length as u64)
    }

    fn punch(&mut self, start: usize, length: usize, how: FallocateFlags) -> std::io::Result<()> {
        let length = length.min(self.model.len().saturating_sub(start));
        if length == 0 {
            return Ok(());
        }
        self.model[start..start + length].fill(0);
        fallocate(&self.file, how, start as u64, length as u64).map_err(Into::into)
    }

    fn collapse(&mut self, start: usize, length: usize) -> std::io::Result<()> {
        let (start, length) = (start & !(BLOCK - 1), length.next_multiple_of(BLOCK));
        // The end of the file must not be in it.
        if start + length >= self.model.len() {
            return Ok(());
        }
        if self.shift(start, length, FallocateFlags::COLLAPSE_RANGE)? {
            self.model.drain(start..start + length);
        }
        Ok(())
    }

    /// Moves what is behind a range; whether this file system can: btrfs cannot.
    fn shift(&mut self, start: usize, length: usize, how: FallocateFlags) -> std::io::Result<bool> {
        match fallocate(&self.file, how, start as u64, length as u64).map_err(std::io::Error::from) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn insert(&mut self, start: usize, length: usize) -> std::io::Result<()> {
        let (start, length) = (start & !(BLOCK - 1), length.next_multiple_of(BLOCK));
        if start >= self.model.len() || self.model.len() + length > SIZE_MAX {
            return Ok(());
        }
        if self.shift(start, length, FallocateFlags::INSERT_RANGE)? {
            self.model.splice(start..start, std::iter::repeat_n(0, length));
        }
        Ok(())
    }

    /// From one place of the file to another that does not overlap it.
    fn copy(&mut self, start: usize, length: usize) -> std::io::Result<()> {
        let to = self.random.index(SIZE_MAX - OPERATION_MAX);
        let length = length.min(self.model.len().saturating_sub(start)).min(start.abs_diff(to));
        let (mut from, mut into, mut left) = (start as u64, to as u64, length);
        while left > 0 {
            let copied = copy_file_range(&self.file, Some(&mut from), &self.file, Some(&mut into), left)?;
            if copied == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            left -= copied;
        }
        if length > 0 {
            let bytes = self.model[start..start + length].to_vec();
            self.put(to, &bytes);
        }
        Ok(())
    }

    /// Blocks at one place of the file come to be at another, too: by FICLONERANGE, or by FIDEDUPERANGE where both are equal first.
    fn share(&mut self, start: usize, length: usize, equal: bool) -> std::io::Result<()> {
        let (start, to) = (start & !(BLOCK - 1), self.random.index(SIZE_MAX - OPERATION_MAX) & !(BLOCK - 1));
        let length = length.min(self.model.len().saturating_sub(start)).min(start.abs_diff(to)) & !(BLOCK - 1);
        if length == 0 {
            return Ok(());
        }
        let (bytes, at) = (self.model[start..start + length].to_vec(), (start as u64, to as u64));
        let shared = match equal {
            true => {
                self.put(to, &bytes);
                self.file.write_all_at(&bytes, to as u64)?;
                dedupe_range(&self.file, &self.file, at, length as u64)
            }
            false => clone_range(&self.file, &self.file, at, length as u64),
        };
        match shared {
            // This file system has no blocks that files share.
            Err(e) if is_unknown(&e) => return Ok(()),
            done => done?,
        }
        self.put(to, &bytes);
        Ok(())
    }

    /// Two ranges of the file change places.
    fn exchange(&mut self, start: usize, length: usize) -> std::io::Result<()> {
        let (start, to) = (start & !(BLOCK - 1), self.random.index(SIZE_MAX - OPERATION_MAX) & !(BLOCK - 1));
        let (first, second) = (start.min(to), start.max(to));
        let length = length.min(self.model.len().saturating_sub(second)).min(second - first) & !(BLOCK - 1);
        if length == 0 {
            return Ok(());
        }
        match exchange_range(&self.file, &self.file, (first as u64, second as u64), length as u64) {
            // Neither is EINVAL, which would be a mistake of this test.
            Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => return Ok(()),
            done => done?,
        }
        self.exchanged += 1;
        let (before, behind) = self.model.split_at_mut(second);
        before[first..first + length].swap_with_slice(&mut behind[..length]);
        Ok(())
    }

    fn evict(&mut self, page_out: bool) -> std::io::Result<()> {
        if !page_out || self.model.is_empty() {
            return fadvise(&self.file, 0, None, FileAdvice::DontNeed).map_err(Into::into);
        }
        let mapping = ReadMapping::new(&self.file, self.model.len(), Advice::Normal)?;
        mapping.touch()?;
        mapping.page_out()
    }
}
