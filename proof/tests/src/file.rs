// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A file that is written and read in every way there is, with what each of its pages must hold kept in memory.
//!
//! A file may be allowed to fail (its blocks are flakey). A page of such a file may then hold its last content or an older one, until
//! a write of it has certainly reached the disk.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{fadvise, fallocate, Advice, FallocateFlags};

use crate::content::{Contents, State};
use crate::raw::{FileMapping, Pages, PAGE};
use crate::report::Report;

/// Most pages of one operation.
pub const OPERATION_PAGES: usize = 16;

/// How a write or a read is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Through the page cache.
    Buffered,
    /// The same in two halves a page (writes).
    Halves,
    /// Past the page cache.
    Direct,
    /// The same in two halves a page, where the disk has sectors that small (writes).
    DirectHalves,
    /// Through a mapping.
    Mapped,
    /// The same, written to disk at once (writes).
    MappedSync,
}

/// What a page may hold.
#[derive(Clone, Debug, Default)]
struct Page {
    /// Its last write, or another file's page that was copied here.
    state: State,
    /// What it may hold instead, in a file that may fail.
    older: Vec<State>,
    /// Written since the last fsync.
    pending: bool,
}

pub struct TestFile<'a> {
    id: u32,
    path: PathBuf,
    buffered: File,
    direct: File,
    pages: Vec<Page>,
    next_version: u32,
    may_fail: bool,
    contents: &'a Contents,
    report: &'a Report,
}

impl<'a> TestFile<'a> {
    /// Makes an empty file.
    pub fn create(
        path: &Path,
        id: u32,
        may_fail: bool,
        contents: &'a Contents,
        report: &'a Report,
    ) -> io::Result<TestFile<'a>> {
        let (buffered, direct) = open(path)?;
        let path = path.to_owned();
        Ok(TestFile { id, path, buffered, direct, pages: Vec::new(), next_version: 1, may_fail, contents, report })
    }

    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    pub fn file(&self) -> &File {
        &self.buffered
    }

    fn state(&self, page: usize, version: u32) -> State {
        State { file: self.id, page: page as u32, version }
    }

    /// Whether an error is one of those to be expected; reports it if not.
    fn tolerates(&self, what: &str, error: &io::Error) {
        if !(self.may_fail && error.raw_os_error() == Some(libc::EIO)) {
            self.report.fail(format_args!("{what} of {}: {error}", self.path.display()));
        }
    }

    /// Writes pages with new content.
    pub fn write(&mut self, first: usize, count: usize, how: How, buffer: &mut Pages) {
        let end = first + count;
        if end > self.pages() {
            self.pages.resize(end, Page::default());
        }
        let version = self.next_version;
        self.next_version += 1;
        let bytes = buffer.bytes(count);
        for (page, bytes) in (first..).zip(bytes.chunks_exact_mut(PAGE)) {
            self.contents.write(self.state(page, version), bytes);
        }
        let written = self.write_bytes(first, bytes, how);
        let file = self.id;
        for (number, page) in (first as u32..).zip(&mut self.pages[first..end]) {
            if self.may_fail {
                page.older.push(page.state);
            }
            page.state = State { file, page: number, version };
            // What failed at once is not what fsync tells of: it stays uncertain until it is written again. And a direct write that
            // succeeded is not certain before fsync either: where dirty pages could not be written first, ext4 takes it through the
            // page cache, and drops the error of writing that back.
            page.pending = written.is_ok();
        }
        if let Err(e) = written {
            self.tolerates(&format!("{how:?} write of pages {first} to {end}"), &e);
        }
    }

    fn write_bytes(&mut self, first: usize, bytes: &[u8], how: How) -> io::Result<()> {
        let at = (first * PAGE) as u64;
        let halves = |file: &File| {
            (at..).step_by(PAGE / 2).zip(bytes.chunks(PAGE / 2)).try_for_each(|(at, half)| file.write_all_at(half, at))
        };
        match how {
            How::Buffered => self.buffered.write_all_at(bytes, at),
            How::Halves => halves(&self.buffered),
            How::Direct => self.direct.write_all_at(bytes, at),
            How::DirectHalves => halves(&self.direct),
            How::Mapped | How::MappedSync => {
                // The pages are there in the model already; the file may be shorter.
                if self.buffered.metadata()?.len() < at + bytes.len() as u64 {
                    self.buffered.set_len(at + bytes.len() as u64)?;
                }
                let mut mapping = FileMapping::new(&self.buffered, at, bytes.len())?;
                mapping.bytes().copy_from_slice(bytes);
                match how {
                    How::MappedSync => mapping.sync(),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Reads pages and compares them with what they must hold.
    pub fn read(&self, first: usize, count: usize, how: How, buffer: &mut Pages) {
        let count = count.min(self.pages().saturating_sub(first));
        if count == 0 {
            return;
        }
        let at = (first * PAGE) as u64;
        let bytes = buffer.bytes(count);
        let read = match how {
            How::Direct | How::DirectHalves => self.direct.read_exact_at(bytes, at),
            How::Mapped | How::MappedSync => FileMapping::new(&self.buffered, at, bytes.len())
                .map(|mut mapping| bytes.copy_from_slice(mapping.bytes())),
            _ => self.buffered.read_exact_at(bytes, at),
        };
        if let Err(e) = read {
            return self.tolerates(&format!("{how:?} read of pages {first} to {}", first + count), &e);
        }
        for (page, found) in (first..).zip(bytes.chunks_exact(PAGE)) {
            let expected = &self.pages[page];
            let holds = |state: &State| self.contents.holds(*state, found);
            if !holds(&expected.state) && !expected.older.iter().any(holds) {
                self.report.fail(format_args!(
                    "wrong content: {how:?} read of {}, page {page}: file {} page {} version {} is {}",
                    self.path.display(),
                    expected.state.file,
                    expected.state.page,
                    expected.state.version,
                    self.contents.recognise(found)
                ));
            }
        }
    }

    /// Reads all of it.
    pub fn verify(&self, how: How, buffer: &mut Pages) {
        for first in (0..self.pages()).step_by(OPERATION_PAGES) {
            self.read(first, OPERATION_PAGES, how, buffer);
        }
    }

    /// Copies pages between two files past one's page cache, from or into a mapping of the other: so the pages of one file's cache
    /// are in requests for the other's blocks. `out`: from the mapping of `self`; else into it.
    pub fn copy(&mut self, first: usize, count: usize, other: &mut TestFile, other_first: usize, out: bool) {
        let within = |file: &TestFile, first: usize| file.pages().saturating_sub(first);
        let count = count.min(within(self, first)).min(within(other, other_first));
        if count == 0 {
            return;
        }
        let at = (other_first * PAGE) as u64;
        let copied =
            FileMapping::new(&self.buffered, (first * PAGE) as u64, count * PAGE).and_then(|mut mapping| match out {
                true => other.direct.write_all_at(mapping.bytes(), at),
                false => other.direct.read_exact_at(mapping.bytes(), at),
            });
        if let Err(e) = copied {
            self.report.fail(format_args!("copying {} and {}: {e}", self.path.display(), other.path.display()));
        }
        for (page, theirs) in self.pages[first..].iter_mut().zip(&mut other.pages[other_first..]).take(count) {
            match out {
                true => theirs.state = page.state,
                false => page.state = theirs.state,
            }
        }
    }

    /// fsync(2).
    pub fn sync(&mut self) {
        let synced = self.buffered.sync_all();
        for page in self.pages.iter_mut().filter(|page| page.pending) {
            page.pending = false;
            // After an error a page counts as clean, with content that may be on the disk or not.
            if synced.is_ok() {
                page.older.clear();
            }
        }
        if let Err(e) = synced {
            self.tolerates("fsync", &e);
        }
    }

    /// Has clean pages leave the page cache: by fadvise, or by paging a mapping of them out.
    pub fn evict(&self, first: usize, count: usize, by_page_out: bool) {
        let count = count.min(self.pages().saturating_sub(first));
        let (at, size) = ((first * PAGE) as u64, count * PAGE);
        let done = match std::num::NonZeroU64::new(size as u64) {
            None => Ok(()),
            Some(_) if by_page_out => {
                FileMapping::new(&self.buffered, at, size).and_then(|mut mapping| {
                    // Paging out goes by the page tables, so the pages must be in them.
                    let touched = (0..size).step_by(PAGE).fold(0u8, |sum, at| sum ^ mapping.bytes()[at]);
                    std::hint::black_box(touched);
                    mapping.page_out()
                })
            }
            Some(size) => fadvise(&self.buffered, at, Some(size), Advice::DontNeed).map_err(io::Error::from),
        };
        if let Err(e) = done {
            self.tolerates("evicting", &e);
        }
    }

    /// Cuts or extends it; `ragged`: by way of a size in the middle of a page, whose rest the file system clears.
    pub fn resize(&mut self, count: usize, ragged: bool, buffer: &mut Pages) {
        let size = (count * PAGE) as u64;
        let done = match ragged {
            true => self.buffered.set_len(size + 100).and_then(|()| self.buffered.set_len(size)),
            false => self.buffered.set_len(size),
        };
        if let Err(e) = done {
            self.report.fail(format_args!("resizing {}: {e}", self.path.display()));
        }
        self.pages.resize(count, Page::default());
        if ragged && count > 0 {
            self.write(count - 1, 1, How::Halves, buffer);
        }
    }

    /// Makes a hole.
    pub fn punch(&mut self, first: usize, count: usize) {
        let count = count.min(self.pages().saturating_sub(first));
        if count == 0 {
            return;
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.buffered, flags, (first * PAGE) as u64, (count * PAGE) as u64) {
            Ok(()) => self.pages[first..first + count].fill(Page::default()),
            Err(e) => self.report.fail(format_args!("punching {}: {e}", self.path.display())),
        }
    }

    /// Deletes it and begins anew under the same name.
    pub fn renew(&mut self) {
        match fs::remove_file(&self.path).and_then(|()| open(&self.path)) {
            Ok((buffered, direct)) => (self.buffered, self.direct) = (buffered, direct),
            Err(e) => self.report.fail(format_args!("renewing {}: {e}", self.path.display())),
        }
        self.pages.clear();
    }

    /// Gives it another name, on the same file system.
    pub fn rename(&mut self, to: PathBuf) {
        match fs::rename(&self.path, &to) {
            Ok(()) => self.path = to,
            Err(e) => self.report.fail(format_args!("renaming {}: {e}", self.path.display())),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn open(path: &Path) -> io::Result<(File, File)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let buffered = options.open(path)?;
    Ok((buffered, options.custom_flags(libc::O_DIRECT).open(path)?))
}
