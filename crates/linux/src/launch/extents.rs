// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where a file's pages lie on its storage (FIEMAP, Documentation/filesystems/fiemap.rst).

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use crate::file::{read_into, Root};

/// `FS_IOC_FIEMAP`: _IOWR('f', 11, struct fiemap).
const FS_IOC_FIEMAP: u32 = 0xc020_660b;

/// Extents of a file that are asked for; what is beyond is read last.
const EXTENTS_MAX: usize = 512;

const LAST: u32 = 0x1;
/// Unknown place, not allocated yet, not aligned to blocks, inside the inode.
const NOWHERE: u32 = 0x2 | 0x4 | 0x100 | 0x200;

/// Pages in a row on the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalExtent {
    /// Which.
    pub pages: Range<u32>,
    /// Where the first lies on its file system's device, in pages.
    pub at: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS_MAX],
}

/// The extents of a file, in the file's order. None where the file system does not tell.
pub fn extents(file: impl AsFd) -> io::Result<Vec<PhysicalExtent>> {
    let mut map = Box::new(Fiemap {
        start: 0,
        length: u64::MAX,
        flags: 0,
        mapped_extents: 0,
        extent_count: EXTENTS_MAX as u32,
        reserved: 0,
        extents: [Extent::default(); EXTENTS_MAX],
    });
    // SAFETY: the argument is a `struct fiemap` with room for as many extents as it says, borrowed for writing; integers only.
    let done = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), FS_IOC_FIEMAP as libc::Ioctl, &raw mut *map) };
    if done != 0 {
        let error = io::Error::last_os_error();
        let cannot = [Some(libc::ENOTTY), Some(libc::EOPNOTSUPP), Some(libc::EINVAL)];
        return if cannot.contains(&error.raw_os_error()) { Ok(Vec::new()) } else { Err(error) };
    }
    Ok(told(&map.extents[..(map.mapped_extents as usize).min(EXTENTS_MAX)], super::page_bytes()))
}

fn told(extents: &[Extent], page: u64) -> Vec<PhysicalExtent> {
    let mut found: Vec<PhysicalExtent> = Vec::new();
    for extent in extents {
        let end = extent.logical.saturating_add(extent.length).div_ceil(page);
        let start = (extent.logical / page).max(found.last().map_or(0, |last| u64::from(last.pages.end)));
        let ahead = start - extent.logical / page;
        if let (true, Ok(start), Ok(end)) = (extent.flags & NOWHERE == 0, u32::try_from(start), u32::try_from(end)) {
            if start < end {
                found.push(PhysicalExtent { pages: start..end, at: extent.physical / page + ahead });
            }
        }
        if extent.flags & LAST != 0 {
            break;
        }
    }
    found
}

/// Pages of the largest command of a device, of stat(2)'s number; `None` if it is no block device.
pub fn command_pages(root: &Root, device: u64) -> Option<u32> {
    Some((queue(root, device, "max_sectors_kb")? * 1024 / super::page_bytes()).clamp(1, 4096) as u32)
}

/// Whether it costs a device time to go from one place to another; `None` if it is no block device.
pub fn is_rotational(root: &Root, device: u64) -> Option<bool> {
    Some(queue(root, device, "rotational")? != 0)
}

/// A setting of a block device's queue.
fn queue(root: &Root, device: u64, setting: &str) -> Option<u64> {
    let folder = root.join(format!("sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device)));
    let mut text = Vec::new();
    // A partition has its queue in the disk's folder.
    ["queue", "../queue"].iter().find_map(|queue| {
        read_into(&folder.join(queue).join(setting), &mut text).ok()?;
        std::str::from_utf8(&text).ok()?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!((size_of::<Extent>(), size_of::<Fiemap>()), (56, 32 + 56 * EXTENTS_MAX));
    }

    #[test]
    fn extents_without_a_place_are_left_out_and_none_overlap() {
        let extent = |logical: u64, physical: u64, length: u64, flags: u32| Extent {
            logical: logical << 12,
            physical: physical << 12,
            length,
            flags,
            ..Extent::default()
        };
        let all = [
            extent(0, 100, 8192, 0),
            extent(2, 0, 4096, 0x2),
            // Blocks smaller than pages: the page that both share counts once.
            extent(3, 50, 6144, 0),
            Extent { logical: (4 << 12) + 2048, ..extent(4, 90, 8192, 0) },
            extent(20, 7, 4096, LAST),
            extent(30, 7, 4096, 0),
        ];
        let found: Vec<_> = told(&all, 4096).into_iter().map(|e| (e.pages, e.at)).collect();
        assert_eq!(found, [(0..2, 100), (3..5, 50), (5..7, 91), (20..21, 7)]);
    }

    #[test]
    fn a_partition_has_its_disks_largest_command_and_its_head() {
        let root = tempfile::tempdir().unwrap();
        crate::file::capture(root.path(), "sys/dev/block/8:0/queue/max_sectors_kb", "1280\n");
        crate::file::capture(root.path(), "sys/dev/block/8:0/queue/rotational", "1\n");
        crate::file::capture(root.path(), "sys/dev/block/259:0/queue/rotational", "0\n");
        let device = rustix::fs::makedev(8, 0);
        let pages = 1280 * 1024 / super::super::page_bytes() as u32;
        assert_eq!(command_pages(&Root::at(root.path()), device), Some(pages));
        let [disk, flash, none] = [(8, 0), (259, 0), (0, 40)].map(|(major, minor)| rustix::fs::makedev(major, minor));
        assert_eq!(command_pages(&Root::at(root.path()), none), None);
        let turns = |device| is_rotational(&Root::at(root.path()), device);
        assert_eq!((turns(disk), turns(flash), turns(none)), (Some(true), Some(false), None));
    }
}
