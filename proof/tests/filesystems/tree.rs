// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Files on a file system, and what must be in them, kept in memory: they are read in every way there is, and compared byte by byte.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fovea_tests::content::Random;
use fovea_tests::kernel::{at, write_file, Outcome};
use fovea_tests::pressure::{drop_caches, Hog};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;
use rustix::fs::{fadvise, Advice as FileAdvice};
use rustix::mm::Advice;

use crate::calls::ReadMapping;

const CHUNK_PAGES: usize = 16;
/// Left to the page cache by the hog: less than all files of a tree and what the kernel needs beside them.
const LEFT_BYTES: u64 = 24 << 20;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    Buffered,
    /// Page by page through a mapping, without read-ahead.
    Mapped,
    /// Past the page cache, where the file system does that.
    Direct,
}

/// How pages leave the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evict {
    DropCaches,
    /// MADV_PAGEOUT.
    PageOut,
    /// POSIX_FADV_DONTNEED.
    DontNeed,
    /// All other memory is taken.
    Hog,
}

/// Files by name, with their content.
pub struct Tree<'a> {
    pub root: PathBuf,
    pub files: BTreeMap<String, Vec<u8>>,
    pub random: Random,
    report: &'a Report,
}

/// Text of few words, which compresses; numbers, which do so by half; noise, which does not; and files of all of them in turns.
fn content(random: &mut Random, kind: usize, size: usize) -> Vec<u8> {
    const WORDS: [&str; 12] =
        ["page", "block", "cache", "frame", "the", "of", "and", "device", "memory", "is", "a", "reserved"];
    let mut bytes = Vec::with_capacity(size + 8);
    let mut number = random.below(1 << 20);
    while bytes.len() < size {
        let mixed = kind % 4 == 3;
        match if mixed { bytes.len() / 6000 % 3 } else { kind % 4 } {
            0 => {
                bytes.extend_from_slice(WORDS[random.index(WORDS.len())].as_bytes());
                bytes.push(if random.below(9) == 0 { b'\n' } else { b' ' });
            }
            1 => {
                number += 1 + random.below(7);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            _ => bytes.extend_from_slice(&random.draw().to_le_bytes()),
        }
    }
    bytes.truncate(size);
    bytes
}

impl<'a> Tree<'a> {
    /// Content for files that are not written yet, about `kib` of it.
    pub fn new(root: &Path, seed: u64, kib: usize, report: &'a Report) -> Tree<'a> {
        let mut random = Random::new(seed, 700);
        let mut files = BTreeMap::new();
        // What ends at, before and after the borders of blocks and pages, and what fits beside the inode.
        for (number, size) in [0, 1, 60, 511, 512, 1025, 2048, 4095, 4096, 4097, 6145, 8192].into_iter().enumerate() {
            files.insert(format!("small{number}"), content(&mut random, number, size));
        }
        let mut left = kib << 10;
        while left > 0 {
            let size = (20_000 + random.index(500_000)).min(left);
            let number = files.len();
            let mut bytes = content(&mut random, number, size);
            // A hole of whole pages, where the file system has holes.
            if number % 5 == 0 && size > 60_000 {
                bytes[16_384..49_152].fill(0);
            }
            files.insert(format!("file{number}"), bytes);
            left -= size;
        }
        Tree { root: root.to_owned(), files, random, report }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes all files; runs of zeros are left out, and are holes if the file system has any.
    pub fn write(&self) -> Outcome<()> {
        for (name, bytes) in &self.files {
            let path = self.path(name);
            let write = || {
                let mut file = File::create(&path)?;
                for (number, part) in bytes.chunks(PAGE).enumerate() {
                    if part.iter().any(|&byte| byte != 0) {
                        file.write_all_at(part, (number * PAGE) as u64)?;
                    }
                }
                file.set_len(bytes.len() as u64)?;
                file.flush()
            };
            at(path.display(), write())?;
        }
        rustix::fs::sync();
        Ok(())
    }

    /// Compares every file with what it must hold; says of each that does not how much of it is wrong.
    pub fn verify(&self, how: Read, when: &str) {
        self.verify_pages(how, when, |_| true);
    }

    /// The same of some pages only, which works with mappings.
    pub fn verify_pages(&self, how: Read, when: &str, which: impl Fn(usize) -> bool) {
        let mut buffer = Pages::new(CHUNK_PAGES);
        for (name, bytes) in &self.files {
            match self.wrong_pages(name, bytes, how, &which, &mut buffer) {
                Ok((0, 0, _)) => {}
                Ok((wrong, unreadable, first)) => self.report.fail(format_args!(
                    "wrong content: {} {when}, read {how:?}: of {} pages {wrong} wrong, {unreadable} unreadable, from {first} on",
                    self.path(name).display(),
                    bytes.len().div_ceil(PAGE)
                )),
                Err(e) => self.report.fail(format_args!("{} {when}, read {how:?}: {e}", self.path(name).display())),
            }
        }
        let listed = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let listed = listed.filter(|entry| entry.file_name() != "lost+found").count();
        if listed != self.files.len() {
            let (root, count) = (self.root.display(), self.files.len());
            self.report.fail(format_args!("wrong content: {root} {when}: {listed} files, not {count}"));
        }
    }

    /// How many pages are wrong, how many cannot be read, and the first of either.
    fn wrong_pages(
        &self,
        name: &str,
        bytes: &[u8],
        how: Read,
        which: &impl Fn(usize) -> bool,
        buffer: &mut Pages,
    ) -> Outcome<(u64, u64, usize)> {
        let path = self.path(name);
        let flags = if how == Read::Direct { libc::O_DIRECT } else { 0 };
        let file = match File::options().read(true).custom_flags(flags).open(&path) {
            // This file system does not, or not for this file.
            Err(e) if how == Read::Direct && e.raw_os_error() == Some(libc::EINVAL) => return Ok((0, 0, 0)),
            file => at("open", file)?,
        };
        let length = at("length", file.metadata())?.len();
        if length != bytes.len() as u64 {
            return Err(format!("wrong content: {length} bytes long, not {}", bytes.len()));
        }
        if bytes.is_empty() {
            return Ok((0, 0, 0));
        }
        let mapping = match how {
            Read::Mapped => Some(at("mmap", ReadMapping::new(&file, bytes.len(), Advice::Random))?),
            _ => None,
        };
        let step = if mapping.is_some() { 1 } else { CHUNK_PAGES };
        let (mut wrong, mut unreadable, mut first) = (0, 0, usize::MAX);
        for start in (0..bytes.len()).step_by(step * PAGE).filter(|start| step > 1 || which(start / PAGE)) {
            let expected = &bytes[start..bytes.len().min(start + step * PAGE)];
            let found = buffer.bytes(step);
            let read = match &mapping {
                Some(mapping) => mapping.read(start, &mut found[..expected.len()]),
                None => read_whole(&file, found, start as u64, expected.len()),
            };
            if read.is_ok() && &found[..expected.len()] == expected {
                continue;
            }
            for (number, page) in expected.chunks(PAGE).enumerate() {
                let there = &found[number * PAGE..][..page.len()];
                if read.is_err() || there != page {
                    *if read.is_err() { &mut unreadable } else { &mut wrong } += 1;
                    first = first.min(start / PAGE + number);
                }
            }
        }
        Ok((wrong, unreadable, first))
    }

    /// Has all clean pages of the files leave the page cache. What is dirty stays: nobody syncs here but `DropCaches`.
    pub fn evict(&self, how: Evict) -> Outcome<()> {
        match how {
            Evict::DropCaches => return drop_caches(),
            Evict::Hog => {
                let mut hog = Hog::default();
                hog.squeeze(LEFT_BYTES);
                drop(hog);
                // What reclaim has left.
                return write_file("/proc/sys/vm/drop_caches", "1");
            }
            _ => {}
        }
        for (name, bytes) in self.files.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let file = at(name, File::open(self.path(name)))?;
            if how == Evict::DontNeed {
                at(name, fadvise(&file, 0, None, FileAdvice::DontNeed))?;
                continue;
            }
            let mapping = at(name, ReadMapping::new(&file, bytes.len(), Advice::Normal))?;
            // What cannot be read is told of by `verify`.
            let _ = mapping.touch();
            at(name, mapping.page_out())?;
        }
        Ok(())
    }

    /// Moves all pages to the second node and back, as often as said; returns how many moves there were.
    pub fn migrate(&self, rounds: u32) -> Outcome<u64> {
        let mut moved = 0;
        for (name, bytes) in self.files.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let file = at(name, File::open(self.path(name)))?;
            let mapping = at(name, ReadMapping::new(&file, bytes.len(), Advice::Normal))?;
            let _ = mapping.touch();
            for _ in 0..rounds {
                for node in [1, 0] {
                    moved += at(format_args!("move_pages of {name}"), mapping.move_to(node))?;
                }
            }
        }
        Ok(moved)
    }
}

/// O_DIRECT reads whole blocks, and gets less at a file's end.
pub fn read_whole(file: &File, into: &mut [u8], offset: u64, wanted: usize) -> std::io::Result<()> {
    let mut done = 0;
    while done < wanted {
        match file.read_at(&mut into[done..], offset + done as u64)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => done += length,
        }
    }
    Ok(())
}
