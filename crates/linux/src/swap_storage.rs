// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Swap on storage: how much there is, and on what.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::device::StorageSwap;
use crate::file::{read, Root};
use crate::swap;

/// statfs's type of a file system in user space (linux/magic.h).
const FUSE_SUPER_MAGIC: u64 = 0x6573_5546;

/// Name of a disk that is an SD card or an eMMC.
const MMC: &str = "mmcblk";

/// What a disk is, faster ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Ssd,
    /// An SD card, an eMMC or a USB stick, or a disk behind a network: reading a page takes long.
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

/// Major and minor number of the block device that a swap area is, or whose file system has it as a
/// file; `None` for a file system in user space, which may keep it anywhere.
fn device_of(root: &Root, area: &Path) -> Option<(u32, u32)> {
    let path = root.join(area.strip_prefix("/").unwrap_or(area));
    let metadata = path.metadata().ok()?;
    if metadata.file_type().is_block_device() {
        return Some((major(metadata.rdev()), minor(metadata.rdev())));
    }
    let is_fuse = rustix::fs::statfs(&path).is_ok_and(|about| about.f_type as u64 == FUSE_SUPER_MAGIC);
    (!is_fuse).then(|| (major(metadata.dev()), minor(metadata.dev())))
}

/// The slowest of the disks that hold a block device; `None` if that is not known of each.
fn kind_of(root: &Root, (major, minor): (u32, u32)) -> Option<Kind> {
    let folder = root.join(format!("sys/dev/block/{major}:{minor}")).canonicalize().ok()?;
    disks_below(folder).iter().map(|disk| kind_of_disk(root, disk)).collect::<Option<Vec<Kind>>>()?.into_iter().max()
}

/// What a disk is by the bus it hangs on. `queue/rotational` alone says little: it is 0 for
/// whatever does not say that it turns (zvols, nbd, loop devices, rbd, network disks, USB sticks).
fn kind_of_disk(root: &Root, disk: &Path) -> Option<Kind> {
    let bus = bus_of(root, disk)?;
    if read(&disk.join("queue/rotational")).ok()?.first()? != &b'0' {
        return Some(Kind::Rotational);
    }
    Some(match bus {
        Bus::Own => Kind::Ssd,
        Bus::Slow => Kind::Card,
    })
}

/// How a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bus {
    /// To the machine's own bus; a virtual machine's disk is what its host makes of it.
    Own,
    /// By USB or as a card, or over a network.
    Slow,
}

/// `None` for what is no hardware (all below `devices/virtual` but NVMe with several paths) and for
/// what is not known: zvols, nbd, loop, rbd, ram disks.
fn bus_of(root: &Root, disk: &Path) -> Option<Bus> {
    let parts: Vec<&str> = disk.iter().filter_map(|part| part.to_str()).collect();
    let numbered = |prefix: &'static str| {
        move |part: &&&str| part.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let has = |prefix: &'static str| parts.iter().find(numbered(prefix)).copied();
    if has("mmc").is_some() || has(MMC).is_some() || has("usb").is_some() {
        return Some(Bus::Slow);
    }
    if let Some(transports) = nvme_transports(disk) {
        // nvme(4) of the kernel: pcie, and rdma, tcp, fc, loop over fabrics.
        let is_own = transports.iter().all(|transport| matches!(transport.as_str(), "pcie" | "apple-nvme"));
        return Some(if is_own { Bus::Own } else { Bus::Slow });
    }
    if parts.contains(&"virtual") {
        // A null_blk with a folder in configfs is memory behind a timer: storage as tests have it, and whoever made it said what it is.
        let made_by_hand =
            disk.file_name().is_some_and(|name| root.join("sys/kernel/config/nullb").join(name).exists());
        return made_by_hand.then_some(Bus::Own);
    }
    if let Some(host) = has("host") {
        let is_on_network =
            ["iscsi_host", "fc_host"].iter().any(|class| root.join("sys/class").join(class).join(host).exists());
        let is_remote = has("session").is_some() || parts.iter().any(|part| part.starts_with("rport-"));
        return Some(if is_on_network || is_remote { Bus::Slow } else { Bus::Own });
    }
    // Disks of a virtual machine: virtio, Xen.
    (has("virtio").is_some() || has("vbd-").is_some()).then_some(Bus::Own)
}

/// Of each path to an NVMe disk, how it is attached: the controller above it says so or, where
/// several lead to it, those of its subsystem.
fn nvme_transports(disk: &Path) -> Option<Vec<String>> {
    let transport = |controller: &Path| {
        let text = read(&controller.join("transport")).ok()?;
        Some(String::from_utf8_lossy(text.trim_ascii()).into_owned())
    };
    let above = disk.parent()?;
    if let Some(one) = transport(above) {
        return Some(vec![one]);
    }
    let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
    let paths: Vec<String> = entries.filter_map(|entry| transport(&entry.path())).collect();
    (!paths.is_empty()).then_some(paths)
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

    const SATA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";

    /// A machine with a disk of that path, which turns or not, a partition on it, and a LUKS volume
    /// on that, with a swap file on the volume.
    struct Machine {
        root: tempfile::TempDir,
        file: (u32, u32),
    }

    impl Machine {
        fn with(disk: &str, rotational: &str) -> Machine {
            let root = tempfile::tempdir().unwrap();
            let write = |path: &str, text: &str| capture(root.path(), path, text);
            write("swapfile", "");
            write(&format!("sys/devices/{disk}/queue/rotational"), rotational);
            write(&format!("sys/devices/{disk}/part/partition"), "1\n");
            // Of a controller that there may not be.
            write("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/transport", "pcie\n");
            write("sys/devices/virtual/nvme-fabrics/ctl/nvme1/transport", "tcp\n");
            write("sys/devices/virtual/nvme-subsystem/nvme-subsys2/nvme2/transport", "pcie\n");
            write("sys/class/fc_host/host8/port_name", "0x1\n");
            // A volume says of itself what is true of none of its disks, were it asked.
            write("sys/devices/virtual/block/dm-0/queue/rotational", if rotational == "0\n" { "1\n" } else { "0\n" });
            let metadata = root.path().join("swapfile").metadata().unwrap();
            let file = (major(metadata.dev()), minor(metadata.dev()));
            let machine = Machine { root, file };
            let part = format!("sys/devices/{disk}/part");
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

    /// What was true of a disk's flag was taken for what it is: zvols, nbd and loop counted as
    /// SSDs.
    #[test]
    fn a_disk_is_told_by_its_bus_through_partitions_and_volumes() {
        let usb = "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb";
        for (disk, rotational, kind) in [
            (SATA, "0\n", Some(Kind::Ssd)),
            (SATA, "1\n", Some(Kind::Rotational)),
            ("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", "0\n", Some(Kind::Ssd)),
            ("virtual/nvme-subsystem/nvme-subsys2/nvme2n1", "0\n", Some(Kind::Ssd)),
            ("virtual/nvme-fabrics/ctl/nvme1/nvme1n1", "0\n", Some(Kind::Card)),
            ("platform/soc/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda", "0\n", Some(Kind::Ssd)),
            ("pci0000:00/0000:00:05.0/virtio2/block/vda", "0\n", Some(Kind::Ssd)),
            ("vbd-51712/block/xvda", "0\n", Some(Kind::Ssd)),
            ("platform/soc/mmc_host/mmc0/mmc0:0001/block/mmcblk0", "0\n", Some(Kind::Card)),
            (usb, "0\n", Some(Kind::Card)),
            (usb, "1\n", Some(Kind::Rotational)),
            ("platform/host3/session1/target3:0:0/3:0:0:1/block/sdc", "0\n", Some(Kind::Card)),
            ("pci0000:00/0000:02:00.0/host8/target8:0:0/8:0:0:0/block/sdd", "0\n", Some(Kind::Card)),
            ("pci0000:00/0000:02:00.0/host5/rport-5:0-0/target5:0:0/5:0:0:0/block/sde", "0\n", Some(Kind::Card)),
            ("virtual/block/zd0", "0\n", None),
            ("virtual/block/nbd0", "0\n", None),
            ("virtual/block/loop0", "0\n", None),
            ("virtual/block/ram0", "0\n", None),
            ("rbd/0/block/rbd0", "0\n", None),
        ] {
            let machine = Machine::with(disk, rotational);
            for folder in [format!("sys/devices/{disk}/part"), "sys/devices/virtual/block/dm-0".into()] {
                let found = machine.swap(&folder);
                assert_eq!(found.size_bytes, 1000 << 10, "zram is no storage");
                let bytes_if = |is| if is { 1000 << 10 } else { 0 };
                let expected = (bytes_if(kind == Some(Kind::Ssd)), bytes_if(kind == Some(Kind::Rotational)));
                assert_eq!((found.ssd_bytes, found.rotational_bytes), expected, "{disk} {rotational:?} {folder}");
            }
        }
    }

    #[test]
    fn a_null_blk_is_what_whoever_made_it_says() {
        let disk = "virtual/block/n0";
        let machine = Machine::with(disk, "0\n");
        let ssd_bytes = || machine.swap(&format!("sys/devices/{disk}/part")).ssd_bytes;
        assert_eq!(ssd_bytes(), 0);
        capture(machine.root.path(), "sys/kernel/config/nullb/n0/completion_nsec", "100000\n");
        assert_eq!(ssd_bytes(), 1000 << 10);
    }

    #[test]
    fn a_volume_on_two_disks_is_on_ssd_only_if_both_are() {
        let machine = Machine::with(SATA, "0\n");
        let other = SATA.replace("ata1", "ata2").replace("sda", "sdb");
        capture(machine.root.path(), &format!("sys/devices/{other}/queue/rotational"), "1\n");
        machine.link("sys/devices/virtual/block/dm-0/slaves/sdb", &format!("sys/devices/{other}"));
        let found = machine.swap("sys/devices/virtual/block/dm-0");
        assert_eq!((found.ssd_bytes, found.rotational_bytes), (0, found.size_bytes));
    }

    #[test]
    fn what_nothing_is_known_of_is_no_ssd() {
        let machine = Machine::with(SATA, "0\n");
        // The file of a btrfs volume is on a device that has no number below /sys/dev/block.
        let found = machine.swap("sys/devices/nothing");
        assert_eq!((found.ssd_bytes, found.rotational_bytes, found.size_bytes), (0, 0, 1000 << 10));
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(find(&Root::at(empty.path())), StorageSwap::default());
    }

    #[test]
    fn zswap_counts_only_while_it_is_on() {
        let machine = Machine::with(SATA, "1\n");
        for (text, is_on) in [("N\n", false), ("Y\n", true)] {
            capture(machine.root.path(), "sys/module/zswap/parameters/enabled", text);
            assert_eq!(machine.swap(&format!("sys/devices/{SATA}/part")).has_zswap, is_on);
        }
    }
}
