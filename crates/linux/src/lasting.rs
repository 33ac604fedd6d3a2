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

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use memchr::memmem;
use rustix::time::{clock_gettime, ClockId};

use crate::file::{read_into, Root};
use crate::proc;

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
}

impl Lasting {
    /// Bytes of shared memory that may stay whoever dies.
    pub fn bytes(&mut self, root: &Root, buffer: &mut Vec<u8>) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        match self.found {
            Some((then_ns, bytes)) if now_ns.saturating_sub(then_ns) < FRESH_NS => bytes,
            _ => {
                let bytes = find(root, buffer, |mount| used_bytes(&root.join("proc/1/root").join(mount)));
                self.found = Some((now_ns, bytes));
                bytes
            }
        }
    }
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

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300), lines in "(\n[ 0-9]{0,40} - tmpfs | [0-7]{0,5} [0-9]{0,22}){0,6}") {
            let _ = (tmpfs(&text), segments(&text), tmpfs(lines.as_bytes()), segments(lines.as_bytes()));
        }
    }
}
