// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Shared memory that outlives its processes: files on a tmpfs, and System V segments that nobody
//! has removed. memory.stat counts both as shmem, with memfd and `MAP_SHARED` memory, which go with
//! the last process that holds them. The kernel keeps those on a mount of its own (mm/shmem.c,
//! shm_mnt), so that no tmpfs that anybody sees counts them. What the tmpfs and segments hold in
//! all is therefore the most that may stay of any app's shared memory, at one statfs a mount.
//!
//! A tmpfs of an app's own mount namespace goes with the app, so that only the mounts of the first
//! process count. A file that was deleted and is still open counts as one that stays: what a kill
//! gives is rather reckoned too small than too large.
//!
//! Where files lie on a tmpfs in number (/tmp is one on Debian 13), that bound says nothing of a
//! unit with much shared memory. Then its processes are asked which objects of the kernel's own
//! mount they have mapped or open, and how large each is, in swap too ([`going`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use memchr::memmem;
use rustix::fs::{statx, AtFlags, MemfdFlags, StatxFlags, CWD};
use rustix::time::{clock_gettime, ClockId};

use crate::file::{read_into, Root};
use crate::probe::inspect::Inspect;
use crate::probe::watched;
use crate::proc;

/// Less shared memory is not worth the look.
pub(crate) const LEAST_SHARED_BYTES: u64 = 16 << 20;

/// Files that are less than such a part of a unit's shared memory do not change whom it is.
const SHARE: u64 = 8;

/// Units of which a look is remembered, at most.
const LOOKS_MAX: usize = 64;

/// How old what was found may be.
const FRESH_NS: u64 = 200_000_000;

/// statfs's type of a tmpfs (linux/magic.h, TMPFS_MAGIC).
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Mode of a segment that goes with its last user (linux/shm.h, SHM_DEST).
const SHM_DEST: u64 = 0o1000;

/// What was last found.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    found: Option<(u64, u64)>,
    /// By unit: its shared memory when its processes were last asked, and what of that stays.
    looks: BTreeMap<String, (u64, u64)>,
}

impl Lasting {
    /// What of a unit's resident shared memory may outlive it.
    pub fn of_unit(&mut self, inspect: &mut Inspect<'_>, unit: &str, pids: &[u32], shmem_bytes: u64) -> u64 {
        let most_bytes = self.bytes(inspect).min(shmem_bytes);
        if shmem_bytes < LEAST_SHARED_BYTES || most_bytes < shmem_bytes / SHARE {
            return most_bytes;
        }
        match self.looks.get(unit) {
            Some(&(then_bytes, stays_bytes)) if then_bytes.abs_diff(shmem_bytes) <= then_bytes / SHARE => {
                most_bytes.min(stays_bytes)
            }
            _ => {
                // Of those that cannot be looked into all may stay.
                let going_bytes: u64 = inspect.going(unit, pids).unwrap_or_default().iter().sum();
                let stays_bytes = shmem_bytes.saturating_sub(going_bytes);
                if self.looks.len() >= LOOKS_MAX {
                    self.looks.clear();
                }
                self.looks.insert(unit.to_owned(), (shmem_bytes, stays_bytes));
                most_bytes.min(stays_bytes)
            }
        }
    }

    /// Bytes of shared memory that may stay whoever dies.
    pub fn bytes(&mut self, inspect: &mut Inspect<'_>) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        match self.found {
            Some((then_ns, bytes)) if now_ns.saturating_sub(then_ns) < FRESH_NS => bytes,
            _ => {
                // What was found before is nearer than nothing.
                let before_bytes = self.found.map_or(0, |(_, bytes)| bytes);
                let bytes = inspect.lasting_bytes().unwrap_or(before_bytes);
                self.found = Some((now_ns, bytes));
                bytes
            }
        }
    }
}

/// Bytes of shared memory that may stay whoever dies. A tmpfs is asked by its path, over which a user may have mounted a
/// file system of the user's own since: this may wait.
pub(crate) fn find_bytes(root: &Root) -> u64 {
    find(root, &mut Vec::new(), |mount| used_bytes(&root.join("proc/1/root").join(mount)))
}

/// What each of some processes has of the shared memory that ends with its last user: memfd and
/// `MAP_SHARED` memory, in swap too. What several have mapped or open counts for each in part.
///
/// The kernel keeps these objects on one mount, whose number a memfd of ours tells. The links that
/// are followed name that mount, or say that they are a memfd, so that no file system is asked that
/// might not answer; AT_STATX_DONT_SYNC holds should a link have changed since.
pub(crate) fn going(root: &Root, pids: &[u32], buffer: &mut Vec<u8>) -> Vec<u64> {
    let mut of_each = vec![0; pids.len()];
    let Some(device) = kernels_mount() else { return of_each };
    // Object, whose, bytes.
    let mut found: Vec<(u64, usize, u64)> = Vec::new();
    for (at, pid) in pids.iter().enumerate() {
        if !watched::touch(*pid) {
            continue;
        }
        let folder = root.join(format!("proc/{pid}"));
        let mut look = |link: PathBuf| {
            let wanted = StatxFlags::INO | StatxFlags::BLOCKS;
            let Ok(about) = statx(CWD, link, AtFlags::STATX_DONT_SYNC, wanted) else { return };
            if (about.stx_dev_major, about.stx_dev_minor) == device {
                found.push((about.stx_ino, at, about.stx_blocks * 512));
            }
        };
        let ranges = folder.join("map_files");
        if read_into(&folder.join("maps"), buffer).is_ok() {
            mapped_on(buffer, device).for_each(|range| look(ranges.join(range)));
        }
        for entry in std::fs::read_dir(folder.join("fd")).into_iter().flatten().flatten() {
            let link = entry.path();
            if std::fs::read_link(&link).is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:")) {
                look(link);
            }
        }
    }
    found.sort_unstable();
    found.dedup_by_key(|&mut (object, at, _)| (object, at));
    for users in found.chunk_by(|a, b| a.0 == b.0) {
        users.iter().for_each(|&(_, at, bytes)| of_each[at] += bytes / users.len() as u64);
    }
    of_each
}

/// The number of the kernel's own mount of tmpfs.
fn kernels_mount() -> Option<(u32, u32)> {
    let memfd = rustix::fs::memfd_create("fovea", MemfdFlags::CLOEXEC).ok()?;
    let device = rustix::fs::fstat(memfd).ok()?.st_dev;
    Some((rustix::fs::major(device), rustix::fs::minor(device)))
}

/// Of /proc/PID/maps the ranges of what is mapped on a device, each object once in a row, but for
/// System V segments, which stay.
fn mapped_on(maps: &[u8], device: (u32, u32)) -> impl Iterator<Item = &str> {
    let device = format!("{:02x}:{:02x}", device.0, device.1);
    let mut last = ("", "");
    maps.split(|&b| b == b'\n').filter_map(move |line| {
        let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        let range = fields.next()?;
        let object = (fields.nth(2)?, fields.next()?);
        let is_segment = fields.next().is_some_and(|name| name.starts_with("/SYSV"));
        let is_another = std::mem::replace(&mut last, object) != object;
        (object.0 == device && is_another && !is_segment).then_some(range)
    })
}

/// Of the first process's mounts and the segments of our IPC namespace; what cannot be read holds
/// nothing.
fn find(root: &Root, buffer: &mut Vec<u8>, used_bytes: impl Fn(&Path) -> Option<u64>) -> u64 {
    let mounts = match read_into(&root.join("proc/1/mountinfo"), buffer) {
        Ok(()) => tmpfs(buffer),
        Err(_) => Vec::new(),
    };
    let files_bytes = mounts.iter().filter_map(|mount| used_bytes(mount)).fold(0, u64::saturating_add);
    let segments_bytes = match read_into(&root.join("proc/sysvipc/shm"), buffer) {
        Ok(()) => segments(buffer),
        Err(_) => 0,
    };
    files_bytes.saturating_add(segments_bytes)
}

/// What a tmpfs holds, in swap too.
fn used_bytes(mount: &Path) -> Option<u64> {
    let about = rustix::fs::statfs(mount).ok()?;
    let used_blocks = about.f_blocks.saturating_sub(about.f_bfree);
    (about.f_type as u64 == TMPFS_MAGIC).then(|| used_blocks.saturating_mul(about.f_bsize as u64))
}

/// Where each tmpfs is mounted, below the root, each file system once (mountinfo: ID, parent,
/// device, root, mount point, …, "-", type).
fn tmpfs(mountinfo: &[u8]) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let mount = |line: &[u8]| {
        let dash = memmem::find(line, b" - ")?;
        let kind = line[dash + 3..].split(|&b| b == b' ').next()?;
        if !matches!(kind, b"tmpfs" | b"devtmpfs" | b"rootfs") {
            return None;
        }
        let mut fields = line[..dash].split(|&b| b == b' ');
        let (device, point) = (fields.nth(2)?.to_vec(), fields.nth(1)?);
        let point = point.strip_prefix(b"/").unwrap_or(point);
        seen.insert(device).then(|| PathBuf::from(OsString::from_vec(proc::unescape(point))))
    };
    mountinfo.split(|&b| b == b'\n').filter_map(mount).collect()
}

/// What the segments hold that do not go with their last user (ipc/shm.c, sysvipc_shm_proc_show):
/// the third field is the mode, the last two are resident bytes and bytes in swap.
fn segments(shm: &[u8]) -> u64 {
    let bytes = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect();
        let mode = u64::from_str_radix(std::str::from_utf8(fields.get(2)?).ok()?, 8).ok()?;
        let [.., resident, swapped] = fields[..] else { return None };
        (mode & SHM_DEST == 0).then(|| Some(proc::number(resident)?.saturating_add(proc::number(swapped)?)))?
    };
    shm.split(|&b| b == b'\n').skip(1).filter_map(bytes).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;
    use proptest::prelude::*;

    const MOUNTS: &str = "\
21 27 0:20 / /proc rw - proc proc rw
25 24 0:23 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw,size=24684084k
26 27 0:24 / /run rw shared:5 - tmpfs tmpfs rw,mode=755
40 26 0:24 /user /srv/a\\040b rw shared:5 - tmpfs tmpfs rw,mode=755
41 27 8:1 / / rw - ext4 /dev/sda1 rw
";

    const SEGMENTS: &str = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
         0          5  1600               4194304   100   200      2  1000  1000  1000  1000 1700000000          0 1700000000               4194304                     0
         7          6   666               8192000   100   200      0  1000  1000  1000  1000          0          0 1700000000               8192000                  4096
";

    #[test]
    fn files_on_every_tmpfs_and_segments_that_nobody_removed_may_stay() {
        let root = tempfile::tempdir().unwrap();
        let found = |used_bytes: fn(&Path) -> Option<u64>| find(&Root::at(root.path()), &mut Vec::new(), used_bytes);
        assert_eq!(found(|_| Some(1)), 0, "nothing is known");
        capture(root.path(), "proc/1/mountinfo", MOUNTS);
        capture(root.path(), "proc/sysvipc/shm", SEGMENTS);
        let used_bytes = |mount: &Path| match mount.to_str()? {
            "dev/shm" => Some(100),
            "run" => Some(20),
            "srv/a b" => panic!("the same as /run"),
            _ => None,
        };
        assert_eq!(found(used_bytes), 100 + 20 + 8_192_000 + 4096);
    }

    #[test]
    fn what_a_tmpfs_holds_is_asked_of_it() {
        assert_eq!(used_bytes(Path::new("/proc")), None, "no tmpfs");
        let is_tmpfs = rustix::fs::statfs("/dev/shm").is_ok_and(|about| about.f_type as u64 == TMPFS_MAGIC);
        assert_eq!(used_bytes(Path::new("/dev/shm")).is_some(), is_tmpfs);
    }

    const MAPS: &str = "\
7f0000000000-7f0000400000 rw-s 00000000 00:01 1025                       /dev/zero (deleted)
7f0000400000-7f0000800000 r--s 00000000 00:01 1025                       /dev/zero (deleted)
7f0001000000-7f0001400000 rw-s 00000000 00:01 2050                       /memfd:doublemapper (deleted)
7f0002000000-7f0002400000 rw-s 00000000 00:01 5                          /SYSV00000000 (deleted)
7f0003000000-7f0003400000 rw-s 00000000 00:1a 77                         /dev/shm/file
7f0004000000-7f0004400000 rw-p 00000000 00:00 0
";

    #[test]
    fn what_goes_is_mapped_on_the_kernels_own_mount_and_no_segment() {
        let found: Vec<_> = mapped_on(MAPS.as_bytes(), (0, 1)).collect();
        assert_eq!(found, ["7f0000000000-7f0000400000", "7f0001000000-7f0001400000"]);
    }

    #[test]
    fn a_memfd_that_nobody_maps_goes_with_who_has_it_open() {
        let own = std::process::id();
        let held = || going(&Root::at("/"), &[own], &mut Vec::new())[0];
        let before_bytes = held();
        let memfd = rustix::fs::memfd_create("held", MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&memfd, &vec![1; 3 << 20], 0).unwrap();
        assert!(held() >= before_bytes + (3 << 20), "{} {before_bytes}", held());
    }

    /// 100 MB of a unit's shared memory are files that stay: whoever leaks beside them is no smaller for it.
    #[test]
    fn beside_many_files_the_processes_are_asked_and_a_look_is_remembered() {
        let root = tempfile::tempdir().unwrap();
        capture(root.path(), "proc/sysvipc/shm", "key shmid perms rss swap\n0 5 666 100000000 0\n");
        let root = Root::at(root.path());
        let mut lasting = Lasting::default();
        let mut stays = |shmem_bytes| lasting.of_unit(&mut Inspect::Here(&root), "a.scope", &[], shmem_bytes);
        assert_eq!(stays(LEAST_SHARED_BYTES - 1), LEAST_SHARED_BYTES - 1);
        assert_eq!(stays(900_000_000), 100_000_000, "a small part: nobody is asked");
        assert_eq!(stays(20_000_000), 20_000_000, "nobody has it");
        lasting.looks.insert("a.scope".into(), (300_000_000, 5_000_000));
        let mut stays = |shmem_bytes| lasting.of_unit(&mut Inspect::Here(&root), "a.scope", &[], shmem_bytes);
        assert_eq!((stays(310_000_000), stays(400_000_000)), (5_000_000, 100_000_000));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300), lines in "(\n[ 0-9]{0,40} - tmpfs | [0-7]{0,5} [0-9]{0,22}){0,6}") {
            let _ = (tmpfs(&text), segments(&text), tmpfs(lines.as_bytes()), segments(lines.as_bytes()));
            let _ = (mapped_on(&text, (0, 1)).count(), mapped_on(lines.as_bytes(), (0, 1)).count());
        }
    }
}
