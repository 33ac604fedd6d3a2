// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The power goes: what fsync(2) has promised must be on disk, whatever lies above it. dm-log-writes, between the target and the disk,
//! writes down which blocks the disk had made permanent by when; each of these moments is played to another disk, and read there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use fovea_tests::kernel::{at, open_direct, Outcome};
use fovea_tests::raw::{Pages, PAGE};

use crate::filesystem::FileSystem;
use crate::tree::{Evict, Read, Tree};
use crate::Lab;

/// After how many promises the power goes.
const CUTS: usize = 20;
const TREE_KIB: usize = 600;
/// Of all that is written, metadata included. It lies in the guest's memory, what is used of it.
const LOG_MIB: u64 = 128;

/// A file changed in one of the ways there are, and made permanent.
fn change(tree: &mut Tree, number: usize) -> Outcome<()> {
    let names: Vec<String> = tree.files.iter().filter(|(_, b)| b.len() > 5000).map(|(name, _)| name.clone()).collect();
    let name = names[tree.random.index(names.len())].clone();
    let new: Vec<u8> = (0..3000 + tree.random.index(30_000)).map(|i| (1 + (i * 7 + number * 13) % 255) as u8).collect();
    let path = tree.path(&name);
    let other = tree.path("other");
    let open = || at(path.display(), File::options().write(true).open(&path));
    let folder = at(tree.root.display(), File::open(&tree.root))?;
    let bytes = tree.files.get_mut(&name).ok_or("no such file")?;
    match number % 5 {
        // In place, from the middle of a page on.
        0 => {
            let start = tree.random.index(bytes.len() - 4000);
            let part = &new[..new.len().min(bytes.len() - start)];
            bytes[start..start + part.len()].copy_from_slice(part);
            let file = open()?;
            at(&name, file.write_all_at(part, start as u64).and_then(|()| file.sync_data()))
        }
        1 => {
            let file = open()?;
            let end = bytes.len() as u64;
            bytes.extend_from_slice(&new);
            at(&name, file.write_all_at(&new, end).and_then(|()| file.sync_all()))
        }
        2 => {
            bytes.truncate(bytes.len() / 2);
            let file = open()?;
            at(&name, file.set_len(bytes.len() as u64).and_then(|()| file.sync_all()))
        }
        3 => {
            let made = format!("made{number}");
            let file = at(&made, File::create(tree.path(&made)))?;
            at(&made, file.write_all_at(&new, 0).and_then(|()| file.sync_all()).and_then(|()| folder.sync_all()))?;
            tree.files.insert(made, new);
            Ok(())
        }
        // As programs save.
        _ => {
            let file = at("other", File::create(&other))?;
            at("other", file.write_all_at(&new, 0).and_then(|()| file.sync_all()))?;
            at("other", fs::rename(&other, &path).and_then(|()| folder.sync_all()))?;
            *bytes = new;
            Ok(())
        }
    }
}

/// Files are changed and synced, and the power goes after each time.
pub fn power(lab: &mut Lab, system: &FileSystem) -> Outcome<()> {
    let disk = lab.bed.disk(system.disk_mib, system.sector_bytes)?;
    let log = lab.bed.disk(LOG_MIB, system.sector_bytes)?;
    let disks = lab.bed.made();
    let (logged, node) = lab.bed.log_writes(&disk, &log)?;
    let volume = lab.bed.volume(&node)?;
    system.make(&volume.node)?;
    let mount_point = system.mount(lab, &volume.node)?;
    let mut tree = Tree::new(&mount_point, lab.seed, TREE_KIB, lab.report);
    tree.write()?;
    let mut promised = Vec::new();
    for number in 0..CUTS {
        change(&mut tree, number)?;
        lab.bed.message(&logged, &format!("mark {number}"))?;
        promised.push(tree.files.clone());
        if number % 4 == 1 {
            // So that the cache has blocks that are written next.
            tree.evict(Evict::PageOut)?;
            tree.evict(Evict::DropCaches)?;
            tree.verify(Read::Buffered, "while the power is on");
        }
    }
    lab.compare(&volume)?;
    lab.bed.unmount(&mount_point)?;
    lab.bed.take_down(disks)?;
    after(lab, system, tree, &log, &promised)
}

fn after(
    lab: &mut Lab,
    system: &FileSystem,
    mut tree: Tree,
    log: &Path,
    promised: &[BTreeMap<String, Vec<u8>>],
) -> Outcome<()> {
    let played = lab.bed.disk(system.disk_mib, system.sector_bytes)?;
    let tried = lab.bed.disk(system.disk_mib, system.sector_bytes)?;
    let mut log = Log::open(log)?;
    for (number, files) in promised.iter().enumerate() {
        log.play(&number.to_string(), &played)?;
        copy(&played, &tried)?;
        let when = format!("after the power went, {number} changes later");
        tree.root = match system.mount(lab, &tried) {
            Ok(root) => root,
            Err(e) => {
                lab.report.fail(format_args!("wrong content: all, {when}: {e}"));
                return Ok(());
            }
        };
        tree.files = files.clone();
        tree.verify(Read::Buffered, &when);
        lab.bed.unmount(&tree.root)?;
        system.check(&tried)?;
    }
    println!("     {} writes were played", log.done);
    Ok(())
}

/// All of a disk to another of the same size.
fn copy(from: &Path, to: &Path) -> Outcome<()> {
    const CHUNK_PAGES: usize = 256;
    let size = crate::bed::size_bytes(from)?;
    let (from, to) = (open_direct(from)?, open_direct(to)?);
    let mut pages = Pages::new(CHUNK_PAGES);
    for start in (0..size).step_by(CHUNK_PAGES * PAGE) {
        let bytes = pages.bytes(CHUNK_PAGES);
        let length = bytes.len().min((size - start) as usize);
        at("copying", from.read_exact_at(&mut bytes[..length], start))?;
        at("copying", to.write_all_at(&bytes[..length], start))?;
    }
    Ok(())
}

/// What dm-log-writes has written: a block that says how many entries there are, then entries, each followed by what it wrote. Numbers
/// of 64 bits, little endian; places and lengths in the disk's sectors (Documentation/admin-guide/device-mapper/log-writes.rst).
struct Log {
    file: File,
    sector_bytes: u64,
    at: u64,
    left: u64,
    /// Entries played.
    done: u64,
}

impl Log {
    const MAGIC: u64 = 0x006a_7366_7773_6872;
    const DISCARD: u64 = 1 << 2;
    const MARK: u64 = 1 << 3;

    fn open(path: &Path) -> Outcome<Log> {
        let file = at(path.display(), File::open(path))?;
        let mut log = Log { file, sector_bytes: 512, at: 0, left: 0, done: 0 };
        let [magic, _version, entries, sector_bytes] = log.words(0)?;
        if magic != Log::MAGIC {
            return Err(format!("{} is no log of dm-log-writes: {magic:#x}", path.display()));
        }
        log.sector_bytes = sector_bytes & 0xffff_ffff;
        (log.at, log.left) = (log.sector_bytes, entries);
        Ok(log)
    }

    fn words(&self, offset: u64) -> Outcome<[u64; 4]> {
        let mut bytes = [0; 32];
        at("the log", self.file.read_exact_at(&mut bytes, offset))?;
        Ok(std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]))))
    }

    /// Writes to a disk what was permanent by a mark, from where this came to before.
    fn play(&mut self, mark: &str, disk: &Path) -> Outcome<()> {
        let disk = at(disk.display(), File::options().write(true).open(disk))?;
        while self.left > 0 {
            let [sector, sectors, flags, length] = self.words(self.at)?;
            let data = self.at + self.sector_bytes;
            (self.left, self.done) = (self.left - 1, self.done + 1);
            self.at = data;
            let mut bytes = vec![0; if flags & Log::MARK != 0 { length } else { sectors * self.sector_bytes } as usize];
            if flags & Log::MARK != 0 {
                at("the log", self.file.read_exact_at(&mut bytes, data - self.sector_bytes + 32))?;
                if bytes.split(|&byte| byte == 0).next() == Some(mark.as_bytes()) {
                    return at("disk", disk.sync_all());
                }
                continue;
            }
            // What is discarded reads as zeros.
            if flags & Log::DISCARD == 0 {
                at("the log", self.file.read_exact_at(&mut bytes, data))?;
                self.at += bytes.len() as u64;
            }
            at("disk", disk.write_all_at(&bytes, sector * self.sector_bytes))?;
        }
        Err(format!("the log ends before mark {mark}"))
    }
}
