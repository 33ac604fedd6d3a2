// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Every way in which the kernel changes a page of a file without marking it dirty (the table in docs/design/ecache.md), with its pages evicted
//! all the while in each of four ways. What is then read of a clone that nobody touched, of the file after its journal ended, and
//! of every block must be what is on disk.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fovea_tests::kernel::{at, write_file, Outcome};
use fovea_tests::pressure::Hog;
use fovea_tests::raw::{FileMapping, Pages, PAGE};
use rustix::fs::{fadvise, fallocate, Advice, FallocateFlags};

use crate::calls::{clone_file, clone_range, dedupe_range, exchange_range, shut_down};
use crate::exchange::is_kernel_since;
use crate::filesystem::FileSystem;
use crate::Lab;

/// What is written at once, so that there are large folios where the file system has them.
const CHUNK: usize = 2 << 20;
const CHUNKS: usize = 3;
const SIZE: usize = CHUNKS * CHUNK;
/// Within each chunk: its first and last page stay.
const BORDER: usize = PAGE;
const INNER: usize = CHUNK - 2 * BORDER;
/// What is inserted.
const INSERTED: usize = 64 << 10;
/// Left to the page cache by the hog: less than the files and what the kernel needs beside them.
const LEFT_BYTES: u64 = 20 << 20;

/// A way to change pages that does not mark them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Punch,
    Zero,
    Collapse,
    Insert,
    Unshare,
    CloneTarget,
    DedupeTarget,
    Exchange,
    Truncate,
    /// A direct read into the file's own mapping: its pages are marked after they have changed.
    DirectIntoMapping,
}

pub const WAYS: [Way; 10] = [
    Way::Punch,
    Way::Zero,
    Way::Collapse,
    Way::Insert,
    Way::Unshare,
    Way::CloneTarget,
    Way::DedupeTarget,
    Way::Exchange,
    Way::Truncate,
    Way::DirectIntoMapping,
];

/// Who has the file's pages leave the page cache meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evictor {
    Fadvise,
    DropCaches,
    /// `memory.reclaim` of the cgroup that the test is in.
    Reclaim,
    /// All other memory is taken, again and again.
    Hog,
}

pub const EVICTORS: [Evictor; 4] = [Evictor::Fadvise, Evictor::DropCaches, Evictor::Reclaim, Evictor::Hog];

/// Where a program is if it is in no other cgroup.
const ROOT: &str = "/sys/fs/cgroup";
const GROUP: &str = "/sys/fs/cgroup/evicted";

impl Evictor {
    fn once(self, file: &File) -> Outcome<()> {
        match self {
            // What is inside of the range as a whole goes: a large folio only once it is split.
            Evictor::Fadvise => (0..CHUNKS).try_for_each(|chunk| {
                let length = std::num::NonZeroU64::new(INNER as u64);
                at("fadvise", fadvise(file, (chunk * CHUNK + BORDER) as u64, length, Advice::DontNeed))
            }),
            Evictor::DropCaches => write_file("/proc/sys/vm/drop_caches", "1"),
            Evictor::Reclaim => match fs::write(format!("{GROUP}/memory.reclaim"), "8M") {
                // Less than asked for.
                Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
                done => at("memory.reclaim", done),
            },
            Evictor::Hog => {
                Hog::default().squeeze(LEFT_BYTES);
                Ok(())
            }
        }
    }
}

/// Never zero: what was cleared shows. The same for both files where the way wants that.
fn content(seed: u64, file: usize, way: Way) -> Vec<u8> {
    let file = if way == Way::DedupeTarget { 0 } else { file };
    let word = |i: usize| (seed << 48 | (file as u64) << 40 | 1 << 32 | i as u64).to_le_bytes();
    (0..SIZE / 8).flat_map(word).collect()
}

fn fill(path: &Path, bytes: &[u8]) -> Outcome<File> {
    let mut options = File::options();
    let file = at(path.display(), options.read(true).write(true).create(true).truncate(true).open(path))?;
    let written =
        bytes.chunks(CHUNK).enumerate().try_for_each(|(i, chunk)| file.write_all_at(chunk, (i * CHUNK) as u64));
    at(path.display(), written.and_then(|()| file.sync_all()))?;
    Ok(file)
}

/// A file and another one, and what they must hold.
struct Pair {
    one: File,
    other: File,
    one_bytes: Vec<u8>,
    other_bytes: Vec<u8>,
    /// What the first was after each step.
    stages: Vec<Vec<u8>>,
}

impl Pair {
    /// Does it to both, and to what is known of them.
    fn apply(&mut self, way: Way) -> io::Result<()> {
        let mut buffer = Pages::new(CHUNK / PAGE);
        for start in (0..CHUNKS).map(|chunk| chunk * CHUNK + BORDER) {
            let (from, length) = (start as u64, INNER as u64);
            // Whoever evicts has left nothing that could be changed.
            let _ = self.one.read_at(buffer.bytes(CHUNK / PAGE), from - BORDER as u64);
            let flags = |flags| fallocate(&self.one, flags, from, length);
            match way {
                Way::Punch | Way::Zero => {
                    let how = if way == Way::Punch { FallocateFlags::PUNCH_HOLE } else { FallocateFlags::ZERO_RANGE };
                    flags(how | FallocateFlags::KEEP_SIZE)?;
                    self.one_bytes[start..start + INNER].fill(0);
                }
                Way::Collapse => {
                    // The end of the file must not be in it.
                    if self.one_bytes.len() <= start + INNER {
                        break;
                    }
                    flags(FallocateFlags::COLLAPSE_RANGE)?;
                    self.one_bytes.drain(start..start + INNER);
                }
                Way::Insert => {
                    fallocate(&self.one, FallocateFlags::INSERT_RANGE, from, INSERTED as u64)?;
                    self.one_bytes.splice(start..start, std::iter::repeat_n(0, INSERTED));
                }
                Way::Unshare => flags(FallocateFlags::UNSHARE_RANGE)?,
                Way::CloneTarget => {
                    clone_range(&self.other, &self.one, (from, from), length)?;
                    self.one_bytes[start..start + INNER].copy_from_slice(&self.other_bytes[start..start + INNER]);
                }
                Way::DedupeTarget => dedupe_range(&self.other, &self.one, (from, from), length)?,
                Way::Exchange => {
                    exchange_range(&self.one, &self.other, (from, from), length)?;
                    let range = start..start + INNER;
                    self.one_bytes[range.clone()].swap_with_slice(&mut self.other_bytes[range]);
                }
                Way::Truncate => {
                    // From the end on, each time into the middle of a page.
                    let length = SIZE - start / CHUNK * CHUNK - CHUNK / 2 + 100;
                    self.one.set_len(length as u64)?;
                    self.one_bytes.truncate(length);
                }
                Way::DirectIntoMapping => {
                    let direct = File::options()
                        .read(true)
                        .custom_flags(libc::O_DIRECT)
                        .open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.other)))?;
                    let mut mapping = FileMapping::new(&self.one, from, INNER)?;
                    direct.read_exact_at(mapping.bytes(), from)?;
                    self.one_bytes[start..start + INNER].copy_from_slice(&self.other_bytes[start..start + INNER]);
                }
            }
            self.stages.push(self.one_bytes.clone());
        }
        Ok(())
    }
}

/// Wrong pages of a file.
#[derive(Debug, Default)]
struct Wrong {
    pages: usize,
    /// Of them, those that hold zeroes, and the first.
    zero: usize,
    first: Option<usize>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first.unwrap_or_default();
        write!(f, "{} of {} pages, {} of them zero, the first {first}", self.pages, SIZE / PAGE, self.zero)
    }
}

/// Each page may be as in any of some contents; bytes behind a content's end are not there in it.
fn wrong_pages(path: &Path, contents: &[&[u8]]) -> Outcome<Wrong> {
    let file = at(path.display(), File::open(path))?;
    let length = at(path.display(), file.metadata())?.len() as usize;
    let (mut wrong, mut buffer) = (Wrong::default(), Pages::new(64));
    for start in (0..length).step_by(64 * PAGE) {
        let found = &mut buffer.bytes(64)[..(length - start).min(64 * PAGE)];
        at(path.display(), file.read_exact_at(found, start as u64))?;
        for (i, page) in found.chunks(PAGE).enumerate() {
            let first = start + i * PAGE;
            let is = |content: &&[u8]| {
                let rest = content.get(first..).unwrap_or_default();
                let known = rest.len().min(page.len());
                page[..known] == rest[..known] && page[known..].iter().all(|&byte| byte == 0)
            };
            if !contents.iter().any(is) {
                wrong.pages += 1;
                wrong.zero += usize::from(page.iter().all(|&byte| byte == 0));
                wrong.first = wrong.first.or(Some(first / PAGE));
            }
        }
    }
    Ok(wrong)
}

/// What this kernel and file system do not do.
pub fn is_unknown(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL | libc::ENOSYS))
}

/// One way with one evictor on a file system that is mounted; whether the file system knows the way.
fn one(lab: &Lab, root: &Path, way: Way, evictor: Evictor, seed: u64) -> Outcome<bool> {
    let path = |name: &str| root.join(name);
    let (one_bytes, other_bytes) = (content(seed, 0, way), content(seed, 1, way));
    let mut pair = Pair {
        one: fill(&path("one"), &one_bytes)?,
        other: fill(&path("other"), &other_bytes)?,
        one_bytes: one_bytes.clone(),
        other_bytes,
        stages: Vec::new(),
    };
    // Shares the blocks, where that can be: the frames of those that leave the file are looked at there.
    let clone = at("clone", File::create(path("clone")))?;
    let cloned = clone_file(&pair.one, &clone).is_ok();
    at("clone", clone.sync_all())?;
    let over = AtomicBool::new(false);
    let evicted = at("one", File::open(path("one")))?;
    let applied = std::thread::scope(|scope| {
        let thread = scope.spawn(|| -> Outcome<u32> {
            let mut rounds = 0u32;
            while !over.load(Ordering::Relaxed) {
                evictor.once(&evicted)?;
                rounds += 1;
            }
            Ok(rounds)
        });
        let applied = pair.apply(way);
        over.store(true, Ordering::Relaxed);
        thread.join().unwrap_or_else(|_| Err("the evictor panicked".into())).map(|_| applied)
    })?;
    match applied {
        Err(e) if is_unknown(&e) => return Ok(false),
        done => at(format_args!("{way:?}"), done)?,
    }
    let look = |name: &str, contents: &[&[u8]]| -> Outcome<()> {
        let wrong = wrong_pages(&path(name), contents)?;
        if wrong.pages > 0 {
            lab.report.fail(format_args!("wrong content: {name} after {way:?}, evicted by {evictor:?}: {wrong}"));
        }
        Ok(())
    };
    if cloned {
        look("clone", &[&one_bytes])?;
    }
    look("one", &[&pair.one_bytes])?;
    look("other", &[&pair.other_bytes])?;
    Ok(true)
}

/// f2fs copies what an insertion moves up and frees the old blocks. A checkpoint in between has neither, and then pages are zero: 491 of 1,536 on
/// dm-linear, too.
fn zeroes_what_it_moves(system: &FileSystem, way: Way) -> bool {
    system.kind == "f2fs" && way == Way::Insert
}

/// The journal ends before it has anything of what was done last: each page is as it was, or as it is.
fn abort(lab: &mut Lab, system: &FileSystem, node: &Path, root: &Path, way: Way) -> Outcome<()> {
    let before = content(9, 0, way);
    let other_bytes = content(9, 1, way);
    let one = fill(&root.join("one"), &before)?;
    let mut pair = Pair {
        one,
        other: fill(&root.join("other"), &other_bytes)?,
        one_bytes: before.clone(),
        other_bytes,
        stages: Vec::new(),
    };
    rustix::fs::sync();
    let over = AtomicBool::new(false);
    let evicted = at("one", File::open(root.join("one")))?;
    let applied = std::thread::scope(|scope| {
        scope.spawn(|| loop {
            if over.load(Ordering::Relaxed) || Evictor::Fadvise.once(&evicted).is_err() {
                break;
            }
        });
        let applied = pair.apply(way);
        over.store(true, Ordering::Relaxed);
        applied
    });
    let known = match applied {
        Err(e) if is_unknown(&e) => false,
        done => at(format_args!("{way:?}"), done).map(|()| true)?,
    };
    // A step of which the disk has the data and not the file's new length counts as well.
    let stages = std::mem::take(&mut pair.stages);
    drop((pair, evicted));
    match shut_down(root) {
        Err(e) if is_unknown(&e) => return lab.bed.unmount(root),
        done => at("shutdown", done)?,
    }
    lab.bed.unmount(root)?;
    let root = system.mount(lab, node)?;
    if known {
        let mut contents: Vec<&[u8]> = std::iter::once(&before).chain(&stages).map(Vec::as_slice).collect();
        if zeroes_what_it_moves(system, way) {
            contents.push(&[]);
        }
        let wrong = wrong_pages(&root.join("one"), &contents)?;
        if wrong.pages > 0 {
            lab.report.fail(format_args!("wrong content: {way:?}, and the journal ended: {wrong}"));
        }
    }
    lab.bed.unmount(&root)
}

/// Since when direct requests pin the pages that they write to, so that reclaim leaves them alone. Before, it writes back such a page and
/// takes its buffers; what the request writes afterwards is dirty without them, and ext4 drops it with a warning, on dm-linear too.
const PINNED_SINCE: (u32, u32) = (6, 5);

/// After how many rounds every block is compared with the disk.
const COMPARED: u32 = 8;

/// All the ways that the file system has, by all evictors, so many times; then each with an aborted journal.
pub fn all(lab: &mut Lab, system: &FileSystem, ways: &[Way], evictors: &[Evictor], rounds: u32) -> Outcome<()> {
    let disk = lab.bed.disk(system.disk_mib, system.sector_bytes)?;
    let volume = lab.bed.volume(&disk)?;
    system.make(&volume.node)?;
    // What is read and written from here on is this cgroup's.
    let _ = fs::create_dir(GROUP);
    let _ = fs::write(format!("{ROOT}/cgroup.subtree_control"), "+memory");
    at(GROUP, fs::write(format!("{GROUP}/cgroup.procs"), "0"))?;
    let mut unknown = Vec::new();
    let lost = system.kind == "ext4" && !is_kernel_since(PINNED_SINCE)?;
    let ways: Vec<Way> = ways.iter().copied().filter(|&way| !(lost && way == Way::DirectIntoMapping)).collect();
    if lost {
        println!("     left out, for this kernel itself loses data: {:?}", Way::DirectIntoMapping);
    }
    let root = system.mount(lab, &volume.node)?;
    for seed in 1..=rounds {
        for &way in &ways {
            for &evictor in evictors {
                if lab.report.failures() == 0 && !one(lab, &root, way, evictor, u64::from(seed))? {
                    unknown.push(way);
                    break;
                }
            }
        }
        // That takes far longer than what may go wrong in between, which the clone shows at once.
        if seed % COMPARED == 0 || rounds < COMPARED {
            lab.compare(&volume)?;
        }
    }
    lab.bed.unmount(&root)?;
    lab.compare(&volume)?;
    unknown.dedup();
    println!("     not on this file system and kernel: {unknown:?}");
    for &way in ways.iter().filter(|way| !unknown.contains(way)) {
        if lab.report.failures() == 0 {
            let root = system.mount(lab, &volume.node)?;
            abort(lab, system, &volume.node, &root, way)?;
            lab.compare(&volume)?;
        }
    }
    at(ROOT, fs::write(format!("{ROOT}/cgroup.procs"), "0"))?;
    Ok(())
}
