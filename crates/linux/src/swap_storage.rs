// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Swap on storage: how much there is, and on what.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::device::StorageSwap;
use crate::file::{read, Root};
use crate::swap;

/// Name of a disk that is an SD card or an eMMC.
const MMC: &str = "mmcblk";

/// What a disk is, faster ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Ssd,
    /// An SD card or an eMMC.
    Card,
    Rotational,
}

/// What swap there is beside zram. What cannot be found out of an area's device is no error: the area counts as a card's.
pub(crate) fn find(root: &Root) -> StorageSwap {
    let mut found = StorageSwap { has_zswap: has_zswap(root), ..StorageSwap::default() };
    for area in swap::areas(root).iter().filter(|area| area.zram_number().is_none()) {
        found.size_bytes += area.size_bytes;
        match device_of(root, &area.path).and_then(|device| kind_of(root, device)) {
            Some(Kind::Ssd) => found.ssd_bytes += area.size_bytes,
            Some(Kind::Rotational) => found.rotational_bytes += area.size_bytes,
            Some(Kind::Card) | None => (),
        }
    }
    found
}

fn has_zswap(root: &Root) -> bool {
    read(&root.join("sys/module/zswap/parameters/enabled")).is_ok_and(|text| text.first() == Some(&b'Y'))
}

/// Major and minor number of the block device that a swap area is, or whose file system has it as a file.
fn device_of(root: &Root, area: &Path) -> Option<(u32, u32)> {
    let metadata = root.join(area.strip_prefix("/").unwrap_or(area)).metadata().ok()?;
    let number = if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() };
    Some((major(number), minor(number)))
}

/// The slowest of the disks that hold a block device; `None` if that is not known of each.
fn kind_of(root: &Root, (major, minor): (u32, u32)) -> Option<Kind> {
    let folder = root.join(format!("sys/dev/block/{major}:{minor}")).canonicalize().ok()?;
    let kind = |disk: &PathBuf| {
        let is_card = disk.file_name()?.to_str()?.starts_with(MMC);
        match read(&disk.join("queue/rotational")).ok()?.first()? {
            b'0' => Some(if is_card { Kind::Card } else { Kind::Ssd }),
            _ => Some(Kind::Rotational),
        }
    };
    disks_below(folder).iter().map(kind).collect::<Option<Vec<Kind>>>()?.into_iter().max()
}

/// Folders below /sys of the disks that a block device's blocks lie on: a partition's disk, and what is below each volume (LUKS, LVM, RAID).
fn disks_below(folder: PathBuf) -> BTreeSet<PathBuf> {
    let (mut seen, mut disks, mut next) = (BTreeSet::new(), BTreeSet::new(), vec![folder]);
    while let Some(folder) = next.pop() {
        if !seen.insert(folder.clone()) {
            continue;
        }
        if folder.join("partition").exists() {
            next.extend(folder.parent().map(Path::to_owned));
            continue;
        }
        let entries = std::fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
        let slaves: Vec<PathBuf> = entries.filter_map(|entry| entry.path().canonicalize().ok()).collect();
        if slaves.is_empty() {
            disks.insert(folder);
        }
        next.extend(slaves);
    }
    disks
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::file::capture;

    /// A machine with a disk of that name, which turns or not, a partition on it, and a LUKS volume on that, with a swap file on the volume.
    struct Machine {
        root: tempfile::TempDir,
        file: (u32, u32),
    }

    impl Machine {
        fn with(disk: &str, rotational: &str) -> Machine {
            let root = tempfile::tempdir().unwrap();
            let write = |path: &str, text: &str| capture(root.path(), path, text);
            write("swapfile", "");
            write(&format!("sys/devices/pci0/block/{disk}/queue/rotational"), rotational);
            write(&format!("sys/devices/pci0/block/{disk}/part/partition"), "1\n");
            // A volume says of itself what is true of none of its disks, were it asked.
            write("sys/devices/virtual/block/dm-0/queue/rotational", if rotational == "0\n" { "1\n" } else { "0\n" });
            let metadata = root.path().join("swapfile").metadata().unwrap();
            let file = (major(metadata.dev()), minor(metadata.dev()));
            let machine = Machine { root, file };
            let part = format!("sys/devices/pci0/block/{disk}/part");
            machine.link("sys/devices/virtual/block/dm-0/slaves/part", &part);
            machine
        }

        fn link(&self, at: &str, to: &str) {
            let (at, to) = (self.root.path().join(at), self.root.path().join(to));
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(to, at).unwrap();
        }

        /// With the swap file on the device of that folder.
        fn swap(&self, folder: &str) -> StorageSwap {
            let text =
                "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 1000 0 -2\n/dev/zram0 partition 500 0 100\n";
            capture(self.root.path(), "proc/swaps", text);
            let (major, minor) = self.file;
            let _ = std::fs::remove_file(self.root.path().join(format!("sys/dev/block/{major}:{minor}")));
            self.link(&format!("sys/dev/block/{major}:{minor}"), folder);
            find(&Root::at(self.root.path()))
        }
    }

    #[test]
    fn an_ssd_is_told_from_a_disk_that_turns_and_from_a_card_through_partitions_and_volumes() {
        for (disk, rotational, kind) in [
            ("sda", "0\n", Kind::Ssd),
            ("nvme0n1", "0\n", Kind::Ssd),
            ("sda", "1\n", Kind::Rotational),
            ("mmcblk0", "0\n", Kind::Card),
        ] {
            let machine = Machine::with(disk, rotational);
            let part = format!("sys/devices/pci0/block/{disk}/part");
            for folder in [part.as_str(), "sys/devices/virtual/block/dm-0"] {
                let found = machine.swap(folder);
                assert_eq!(found.size_bytes, 1000 << 10, "zram is no storage");
                let bytes_if = |is| if is { 1000 << 10 } else { 0 };
                let expected = (bytes_if(kind == Kind::Ssd), bytes_if(kind == Kind::Rotational));
                assert_eq!((found.ssd_bytes, found.rotational_bytes), expected, "{disk} {rotational:?} {folder}");
            }
        }
    }

    #[test]
    fn a_volume_on_two_disks_is_on_ssd_only_if_both_are() {
        let machine = Machine::with("sda", "0\n");
        capture(machine.root.path(), "sys/devices/pci0/block/sdb/queue/rotational", "1\n");
        machine.link("sys/devices/virtual/block/dm-0/slaves/sdb", "sys/devices/pci0/block/sdb");
        let found = machine.swap("sys/devices/virtual/block/dm-0");
        assert_eq!((found.ssd_bytes, found.rotational_bytes), (0, found.size_bytes));
    }

    #[test]
    fn what_nothing_is_known_of_is_no_ssd() {
        let machine = Machine::with("sda", "0\n");
        // The file of a btrfs volume is on a device that has no number below /sys/dev/block.
        let found = machine.swap("sys/devices/nothing");
        assert_eq!((found.ssd_bytes, found.rotational_bytes, found.size_bytes), (0, 0, 1000 << 10));
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(find(&Root::at(empty.path())), StorageSwap::default());
    }

    #[test]
    fn zswap_counts_only_while_it_is_on() {
        let machine = Machine::with("sda", "1\n");
        for (text, is_on) in [("N\n", false), ("Y\n", true)] {
            capture(machine.root.path(), "sys/module/zswap/parameters/enabled", text);
            assert_eq!(machine.swap("sys/devices/pci0/block/sda/part").has_zswap, is_on);
        }
    }
}
