// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Bad input: the documented errno, and nothing is left of it.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use fovea_contract::{heap_mapcache_statistics as statistics, HEAP_SHARED_FOLDER, SYSTEM_NODE};
use fovea_edu::Direction;
use fovea_tests::kernel::{at, read_number, Outcome};

use crate::bench::{edu, total, Bench, MIB, PAGE, SLOTS};
use crate::calls::{allocate, map_private, Allocation};

fn node() -> String {
    format!("/dev/{HEAP_SHARED_FOLDER}/{SYSTEM_NODE}")
}

/// What somebody else's process gets who opens the node.
pub fn stranger() -> i32 {
    File::open(node()).err().and_then(|e| e.raw_os_error()).unwrap_or(0)
}

pub fn all(bench: &Bench) -> Outcome<()> {
    let heap = at("the node", File::open(node()))?;
    let memory = rustix::system::sysinfo();
    let memory_bytes = memory.totalram as u64 * u64::from(memory.mem_unit);
    let one = Allocation { len: PAGE as u64, fd_flags: libc::O_RDWR as u32, ..Allocation::default() };
    for (what, allocation, number, due) in [
        ("nothing", Allocation { len: 0, ..one }, 0, libc::EINVAL),
        ("beyond numbers", Allocation { len: u64::MAX, ..one }, 0, libc::EINVAL),
        ("more than there can be", Allocation { len: 1 << 62, ..one }, 0, libc::ENOMEM),
        ("more than half of memory", Allocation { len: memory_bytes / 2 + PAGE as u64, ..one }, 0, libc::ENOMEM),
        ("unknown heap flags", Allocation { heap_flags: 1, ..one }, 0, libc::EINVAL),
        ("unknown flags", Allocation { fd_flags: 1 << 30, ..one }, 0, libc::EINVAL),
        ("a descriptor in its place", Allocation { fd: 3, ..one }, 0, libc::EINVAL),
        ("another call", one, 1, libc::ENOTTY),
    ] {
        let found = allocate(&heap, allocation, number).err().and_then(|e| e.raw_os_error());
        bench.check(format_args!("refused: {what}"), found == Some(due), format_args!("{found:?}, due {due}"));
    }
    let size = at("5000 bytes", allocate(&heap, Allocation { len: 5000, ..one }, 0)).and_then(|fd: OwnedFd| {
        let private = map_private(fd.as_fd(), PAGE).err().and_then(|e| e.raw_os_error());
        bench.check("refused: copies of a buffer's pages", private == Some(libc::EINVAL), format_args!("{private:?}"));
        at("its size", File::from(fd).seek(SeekFrom::End(0)))
    })?;
    bench.check("sizes are whole pages", size == 2 * PAGE as u64, format_args!("{size}"));

    let device = edu(SLOTS[0])?;
    let mut found = Vec::new();
    let other = at("another file", File::open("/proc/self/exe"))?;
    found.push(device.touch(other.as_fd(), Direction::ToDevice, 1).err().and_then(|e| e.raw_os_error()));
    bench.check("refused: a file that is no buffer", found == [Some(libc::EINVAL)], format_args!("{found:?}"));
    let buffer = bench.buffer(MIB)?;
    let beyond = device.transfer(buffer.as_fd(), Direction::ToDevice, MIB, 8, false).err();
    bench.check("refused: DMA beyond a buffer", beyond.is_some(), format_args!("{beyond:?}"));
    drop(buffer);

    let mut child = Command::new("/proc/self/exe");
    let status = at("a stranger", child.arg("stranger").uid(1000).gid(1000).status())?;
    bench.check("refused: whoever is not root", status.code() == Some(libc::EACCES), format_args!("{status}"));
    let held = read_number(format!("/sys/class/misc/{HEAP_SHARED_FOLDER}!{SYSTEM_NODE}/held_bytes"))?;
    let left = (total(statistics::MAPPINGS)?, held);
    bench.check("nothing is left of what was refused", left == (0, 0), format_args!("{left:?}"));
    Ok(())
}
