// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What once was served wrong, each as it was found: a page's tail cut off without the dirty flag, a journal that ends before its
//! commit, pages moved while nobody is told, one huge write.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use fovea_tests::kernel::{at, open_direct, write_file, Outcome};
use rustix::mount::MountFlags;

use crate::calls::{shut_down, Memory};
use crate::cases::{ext4_of, EXT4};
use crate::filesystem::FileSystem;
use crate::tree::{Evict, Read, Tree};
use crate::Lab;

/// Files of one size, many.
fn many<'a>(lab: &Lab<'a>, root: &std::path::Path, count: usize, size: usize) -> Tree<'a> {
    let mut tree = Tree::new(root, lab.seed, 0, lab.report);
    tree.files.clear();
    for number in 0..count {
        // Never zero: a cut shows.
        let bytes = (0..size).map(|i| (1 + (i * 7 + number * 13) % 255) as u8).collect();
        tree.files.insert(format!("file{number:03}"), bytes);
    }
    tree
}

/// Cut inside of pages, the tail is cleared in memory without the page's dirty flag where blocks are smaller than pages. The pages
/// are evicted; then the file system ends before it has written that the files are shorter: as they were is how they must be read.
pub fn truncation(lab: &mut Lab, block: u32) -> Outcome<()> {
    // Never zero: a cut shows.
    cut_off(lab, block, |number| (0..CUT_BYTES).map(|i| (1 + (i * 7 + number * 13) % 255) as u8).collect())
}

const CUT_BYTES: usize = 64 << 10;

fn cut_off(lab: &mut Lab, block: u32, content: impl Fn(usize) -> Vec<u8>) -> Outcome<()> {
    let system = FileSystem { options: "commit=600", ..ext4_of(block) };
    let disk = lab.bed.disk(32, 512)?;
    let volume = lab.bed.volume(&disk)?;
    system.make(&volume.node)?;
    let mount_point = system.mount(lab, &volume.node)?;
    let mut tree = many(lab, &mount_point, 160, CUT_BYTES);
    tree.files.values_mut().enumerate().for_each(|(number, bytes)| *bytes = content(number));
    tree.write()?;
    tree.evict(Evict::DropCaches)?;
    tree.verify(Read::Buffered, "before it is cut");
    for (number, name) in tree.files.keys().enumerate().filter(|(number, _)| number % 2 == 0) {
        // In the middle of a page, and at a quarter and three: of a block of 2 KiB, nowhere and inside.
        let length = 4096 * (number as u64 % 15) + 1024 * [2, 1, 3][number / 2 % 3];
        at(name, File::options().write(true).open(tree.path(name)).and_then(|file| file.set_len(length)))?;
    }
    // No sync, which would write the journal.
    write_file("/proc/sys/vm/drop_caches", "3")?;
    fovea_tests::audit::compare(&volume.sides(), lab.contents, lab.report)?;
    at("shutdown", shut_down(&mount_point))?;
    lab.bed.unmount(&mount_point)?;
    tree.root = system.mount(lab, &volume.node)?;
    let cut = tree.files.iter_mut().filter_map(|(name, bytes)| {
        let length = fs::metadata(tree.root.join(name)).ok()?.len() as usize;
        (length < bytes.len()).then(|| bytes.truncate(length))
    });
    println!("     {} of 160 files were cut in the journal already", cut.count());
    tree.verify(Read::Buffered, "after the file system ended before its commit");
    lab.compare(&volume)?;
    lab.bed.unmount(&tree.root)?;
    lab.compare(&volume)
}

/// Pages whose second half is words and their CRC-32C, so that a CRC of every other word does not tell when they are cleared.
fn chosen_page(seed: u64) -> Vec<u8> {
    let crc = |word: u64| {
        word.to_le_bytes().iter().fold(0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
        })
    };
    let mut words = vec![0u64; 512];
    words.iter_mut().enumerate().take(256).for_each(|(i, word)| *word = (seed << 16) | (i as u64 + 1));
    let word = 0x4141_4141_4141_4141 ^ (seed << 8);
    (words[256], words[257]) = (word, word + 1);
    (words[258], words[259]) = (crc(word).into(), crc(word + 1).into());
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The same with content that somebody chose who knows how two CRC-32C are made.
pub fn chosen(lab: &mut Lab) -> Outcome<()> {
    cut_off(lab, 2048, |number| (0..16).flat_map(|page| chosen_page(number as u64 * 16 + page)).collect())
}

/// Data that goes through the journal, changed, and the journal stopped before it is written: the pages are clean afterwards, and
/// hold what never was on disk.
pub fn journal_abort(lab: &mut Lab, options: &'static str) -> Outcome<()> {
    let system = FileSystem { options, ..EXT4 };
    let disk = lab.bed.disk(32, 512)?;
    let volume = lab.bed.volume(&disk)?;
    system.make(&volume.node)?;
    let mount_point = system.mount(lab, &volume.node)?;
    let mut tree = many(lab, &mount_point, 32, 128 << 10);
    tree.write()?;
    tree.evict(Evict::DropCaches)?;
    tree.verify(Read::Buffered, "before it is changed");
    for name in tree.files.keys() {
        let file = at(name, File::options().read(true).write(true).open(tree.path(name)))?;
        for page in [1, 5, 9] {
            at(name, file.write_all_at(&[0xee; 4096], page * 4096))?;
        }
    }
    at("shutdown", shut_down(&mount_point))?;
    write_file("/proc/sys/vm/drop_caches", "3")?;
    lab.bed.unmount(&mount_point)?;
    lab.compare(&volume)?;
    tree.root = lab.bed.mount(&volume.node, "ext4", MountFlags::NOATIME, options)?;
    // Each page is what it was or what it was changed to: nobody had synced.
    for (name, old) in &tree.files {
        let found = at(name, fs::read(tree.root.join(name)))?;
        let right = |(is, was): &(&[u8], &[u8])| is == was || is.iter().all(|&byte| byte == 0xee);
        let wrong = found.chunks(4096).zip(old.chunks(4096)).filter(|pair| !right(pair)).count();
        if wrong > 0 || found.len() != old.len() {
            lab.report.fail(format_args!(
                "wrong content: {name} after the journal ended: {wrong} pages, {} bytes",
                found.len()
            ));
        }
    }
    lab.compare(&volume)?;
    lab.bed.unmount(&tree.root)?;
    lab.compare(&volume)
}

/// Which switch makes the kernel silent about pages that move.
#[derive(Clone, Copy, Debug)]
pub enum Switch {
    Ftrace,
    Kprobes,
}

impl Switch {
    fn path(self) -> &'static str {
        match self {
            Switch::Ftrace => "/proc/sys/kernel/ftrace_enabled",
            Switch::Kprobes => "/sys/kernel/debug/kprobes/enabled",
        }
    }
}

/// Pages move between memory nodes while the hook that tells of it is switched off.
pub fn silent_moves(lab: &mut Lab, switch: Switch) -> Outcome<()> {
    let disk = lab.bed.disk(32, 512)?;
    let volume = lab.bed.volume(&disk)?;
    EXT4.make(&volume.node)?;
    let mount_point = EXT4.mount(lab, &volume.node)?;
    let tree = Tree::new(&mount_point, lab.seed, 4 << 10, lab.report);
    tree.write()?;
    tree.evict(Evict::DropCaches)?;
    tree.verify(Read::Buffered, "before it is moved");
    // A module that needs the hook may refuse to lose it, and a kernel (7.3) has no switch: as good.
    let off = fs::write(switch.path(), "0");
    match &off {
        Ok(()) => println!("     {} is off", switch.path()),
        Err(e) => println!("     {} stays on: {e}", switch.path()),
    }
    let moved = tree.migrate(3);
    let evicted = tree.evict(Evict::PageOut).and_then(|()| tree.evict(Evict::DropCaches));
    tree.verify(Read::Buffered, "moved unheard");
    tree.evict(Evict::DropCaches)?;
    tree.verify(Read::Mapped, "moved unheard, once more");
    if off.is_ok() {
        write_file(switch.path(), "1")?;
    }
    evicted?;
    let moved = moved?;
    lab.report.check("pages were moved", moved > 1000, format_args!("{moved}"));
    lab.moved += moved;
    lab.compare(&volume)?;
    lab.bed.unmount(&mount_point)?;
    lab.compare(&volume)
}

/// One write of 64 MiB past the page cache, of huge pages: one bio of 16,384 blocks. Over blocks that are cached.
pub fn big_write(lab: &mut Lab) -> Outcome<()> {
    const BYTES: usize = 64 << 20;
    let disk = lab.bed.disk(64, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    let mut warm = vec![0; 8 << 20];
    for _ in 0..2 {
        let reader = at("volume", File::open(&volume.node))?;
        at("read", reader.read_exact_at(&mut warm, 0))?;
        write_file("/proc/sys/vm/drop_caches", "1")?;
    }
    let mut memory = at("64 MiB of huge pages (hugepages=33 on the kernel's command line)", Memory::huge(BYTES))?;
    memory.bytes().chunks_exact_mut(4096).enumerate().for_each(|(page, bytes)| {
        bytes[..8].copy_from_slice(&(page as u64 + 1).to_le_bytes());
        bytes[4088..].copy_from_slice(&(!page as u64).to_le_bytes());
    });
    let direct = open_direct(&volume.node)?;
    let written = at("write", direct.write_at(memory.bytes(), 0))?;
    lab.report.check("one write of 64 MiB", written == BYTES, format_args!("{written} bytes"));
    let mut found = vec![0; 1 << 20];
    let mut wrong = 0;
    let reader = at("volume", File::open(&volume.node))?;
    for start in (0..BYTES).step_by(found.len()) {
        at("read", reader.read_exact_at(&mut found, start as u64))?;
        wrong += found.chunks(4096).zip(memory.bytes()[start..].chunks(4096)).filter(|(a, b)| a != b).count();
    }
    if wrong > 0 {
        lab.report.fail(format_args!("wrong content: {wrong} blocks after a write of 64 MiB"));
    }
    lab.compare(&volume)
}
