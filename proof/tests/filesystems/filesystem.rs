// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What every file system goes through: files written, read in every way, evicted in every way, changed, moved about in memory, with
//! device buffers taken meanwhile; and at the end every block and every file once more, cold.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use fovea_heap::Heap;
use fovea_linux::{module, Root};
use fovea_tests::audit;
use fovea_tests::kernel::{at, load_module, run, write_file, Outcome};
use fovea_tests::pressure::drop_caches;
use rustix::mount::MountFlags;

use crate::bed::Volume;
use crate::calls::trim;
use crate::exchange;
use crate::tree::{Evict, Read, Tree};
use crate::Lab;

/// What the trees hold: little enough to be cached as a whole, so that every page can come from the cache.
pub const TREE_KIB: usize = 2500;

/// How a file system is made, mounted and checked; each program is given the device as its last argument.
#[derive(Clone, Copy, Debug)]
pub struct FileSystem {
    pub kind: &'static str,
    pub make: &'static [&'static str],
    pub options: &'static str,
    pub check: &'static [&'static str],
    pub disk_mib: u64,
    /// Of the disk.
    pub sector_bytes: u64,
    /// XFS with the feature that lets files exchange ranges.
    pub exchange: bool,
}

/// Modules by the name of the file system that is in them.
pub fn load(kind: &str) -> Outcome<()> {
    let modules: &[&'static str] = match kind {
        // Built into the cloud's kernel, and not into that of PCs; crypto is asked for by name, which no dependency says.
        "ext4" if module::is_available(&Root::at("/"), "ext4") => &["crc32c_generic", "ext4"],
        "f2fs" => &["crc32_generic", "f2fs"],
        "jfs" => &["jfs"],
        "ntfs3" => &["ntfs3"],
        "udf" => &["udf"],
        "xfs" => &["xfs"],
        "btrfs" => &["btrfs"],
        "vfat" => &["nls_cp437", "nls_ascii", "vfat"],
        "exfat" => &["exfat"],
        "erofs" => &["erofs"],
        "squashfs" => &["squashfs"],
        "overlay" => &["overlay"],
        _ => &[],
    };
    modules.iter().try_for_each(|name| load_module(name))
}

fn program(words: &[&str], node: &Path) -> Outcome<()> {
    let (name, args) = words.split_first().ok_or("no program")?;
    let node = node.to_string_lossy();
    run(&format!("/bin/{name}"), &args.iter().copied().chain([node.as_ref()]).collect::<Vec<_>>())
}

impl FileSystem {
    pub fn make(&self, node: &Path) -> Outcome<()> {
        load(self.kind)?;
        program(self.make, node)?;
        if self.exchange {
            exchange::set(node, true)?;
        }
        Ok(())
    }

    pub fn mount(&self, lab: &mut Lab, node: &Path) -> Outcome<PathBuf> {
        load(self.kind)?;
        lab.bed.mount(node, self.kind, MountFlags::NOATIME, self.options)
    }

    pub fn check(&self, node: &Path) -> Outcome<()> {
        if self.exchange {
            exchange::set(node, false)?;
        }
        program(self.check, node)
    }

    /// A volume of its own with this file system on it, through all of it.
    pub fn test(&self, lab: &mut Lab) -> Outcome<()> {
        let disk = lab.bed.disk(self.disk_mib, self.sector_bytes)?;
        self.test_above(lab, &disk)
    }

    /// The same, with files that stay as they are.
    pub fn test_unchanged(&self, lab: &mut Lab) -> Outcome<()> {
        let disk = lab.bed.disk(self.disk_mib, self.sector_bytes)?;
        let volume = lab.bed.volume(&disk)?;
        self.test_by(lab, &volume, &volume.node, |lab, tree| {
            rustix::fs::sync();
            read_all_ways(lab, tree)?;
            at_once(tree)?;
            move_about(lab, tree)
        })
    }

    /// On a volume above a device.
    pub fn test_above(&self, lab: &mut Lab, below: &Path) -> Outcome<()> {
        let volume = lab.bed.volume(below)?;
        self.test_on(lab, &volume, &volume.node)
    }

    /// On a device that is the volume or lies above it.
    pub fn test_on(&self, lab: &mut Lab, volume: &Volume, node: &Path) -> Outcome<()> {
        self.test_by(lab, volume, node, work)
    }

    fn test_by(
        &self,
        lab: &mut Lab,
        volume: &Volume,
        node: &Path,
        work: impl Fn(&mut Lab, &mut Tree) -> Outcome<()>,
    ) -> Outcome<()> {
        self.make(node)?;
        let mount_point = self.mount(lab, node)?;
        let mut tree = Tree::new(&mount_point, lab.seed, TREE_KIB, lab.report);
        tree.write()?;
        work(lab, &mut tree)?;
        lab.compare(volume)?;
        tree.verify(Read::Mapped, "after all blocks were compared");
        lab.bed.unmount(&mount_point)?;
        lab.compare(volume)?;
        if !self.check.is_empty() {
            self.check(node)?;
        }
        tree.root = self.mount(lab, node)?;
        tree.verify(Read::Buffered, "mounted again");
        tree.evict(Evict::DropCaches)?;
        tree.verify(Read::Mapped, "mounted again and evicted");
        lab.bed.unmount(&tree.root)
    }
}

/// Everything that is done to files while they are mounted.
pub fn work(lab: &mut Lab, tree: &mut Tree) -> Outcome<()> {
    read_all_ways(lab, tree)?;
    for round in 0..2 {
        tree.change(round)?;
        tree.verify(Read::Buffered, "just changed");
        // Without a sync: what is clean goes, what is dirty stays.
        tree.evict(Evict::PageOut)?;
        tree.evict(Evict::DontNeed)?;
        tree.verify(Read::Mapped, "changed and evicted unsynced");
        rustix::fs::sync();
        tree.evict(Evict::DontNeed)?;
        tree.verify(Read::Buffered, "changed, synced and evicted");
        // Where there is nothing to trim, nothing is.
        let _ = trim(&tree.root);
        tree.evict(Evict::DontNeed)?;
        tree.verify(Read::Mapped, "after what is unused was discarded");
    }
    at_once(tree)?;
    move_about(lab, tree)
}

/// Several readers of the same files while their pages are evicted.
pub fn at_once(tree: &Tree) -> Outcome<()> {
    std::thread::scope(|scope| {
        let readers =
            [Read::Buffered, Read::Mapped].map(|how| scope.spawn(move || tree.verify(how, "read by several at once")));
        while readers.iter().any(|reader| !reader.is_finished()) {
            for evict in [Evict::DontNeed, Evict::PageOut] {
                tree.evict(evict)?;
            }
        }
        Ok(())
    })
}

/// Cold, from the cache and past it, after each way of leaving the page cache.
pub fn read_all_ways(lab: &mut Lab, tree: &Tree) -> Outcome<()> {
    for (evict, read) in [
        (Evict::DropCaches, Read::Buffered),
        (Evict::PageOut, Read::Mapped),
        (Evict::DontNeed, Read::Direct),
        (Evict::DropCaches, Read::Mapped),
        (Evict::Hog, Read::Buffered),
    ] {
        tree.evict(evict)?;
        let when = format!("evicted by {evict:?}");
        tree.verify(read, &when);
        if read != Read::Buffered {
            tree.verify(Read::Buffered, &when);
        }
    }
    buffers(lab, tree)
}

/// A device takes most of the cache's memory while files are read, and gives it back.
fn buffers(lab: &mut Lab, tree: &Tree) -> Outcome<()> {
    if !lab.has_module() {
        return Ok(());
    }
    let (name, size_bytes) = crate::DEVICES[0];
    let heap = at(name, Heap::open(format!("/dev/ecache/{name}")))?;
    let buffer = at(name, heap.allocate(size_bytes))?;
    let mapping = at(name, buffer.map())?;
    mapping.words().iter().for_each(|word| word.store(!0, Ordering::Relaxed));
    tree.verify(Read::Mapped, "with a device's buffer taken");
    tree.evict(Evict::DontNeed)?;
    tree.verify(Read::Buffered, "evicted with a device's buffer taken");
    let foreign = mapping.words().iter().filter(|word| word.load(Ordering::Relaxed) != !0).count();
    if foreign > 0 {
        lab.report.fail(format_args!("wrong content: {foreign} words of {name}'s buffer were changed"));
    }
    Ok(())
}

/// Pages move to another place in memory, on request and by compaction.
fn move_about(lab: &mut Lab, tree: &Tree) -> Outcome<()> {
    tree.verify(Read::Buffered, "before they are moved");
    let moved = tree.migrate(1)?;
    write_file("/proc/sys/vm/compact_memory", "1")?;
    tree.verify(Read::Mapped, "moved");
    for evict in [Evict::PageOut, Evict::DropCaches] {
        tree.evict(evict)?;
        tree.verify(Read::Mapped, "moved and evicted");
    }
    lab.moved += moved;
    Ok(())
}

impl Lab<'_> {
    /// Each block through the target against the disk below, with everything put that can be.
    pub fn compare(&self, volume: &Volume) -> Outcome<()> {
        drop_caches()?;
        audit::compare(&volume.sides(), self.contents, self.report)
    }
}
