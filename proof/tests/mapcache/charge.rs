// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who pays for buffers: the cgroup of the process that allocates them, whose limit holds and which is named as the holder.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use fovea_contract::{HEAP_SHARED_FOLDER, SYSTEM_NODE};
use fovea_linux::{heap_module, Root};
use fovea_tests::kernel::{at, read_number, write_file, Outcome};
use rustix::mount::{mount, MountFlags};

use crate::bench::{Bench, MIB};
use crate::calls::{allocate, Allocation};

const CGROUPS: &str = "/sys/fs/cgroup";
const LIMIT: u64 = 24 * MIB;
const BUFFER: u64 = MIB;

/// What the child's exit status says: the first that is not as it should be.
const WRONG: [&str; 6] = [
    "nothing",
    "it cannot enter its cgroup",
    "a buffer within the limit is refused",
    "its cgroup pays for less than its buffers",
    "it is not named as the holder",
    "buffers beyond the limit are given, or refused with something else than ENOMEM",
];

fn buffer() -> io::Result<OwnedFd> {
    let heap = File::open(format!("/dev/{HEAP_SHARED_FOLDER}/{SYSTEM_NODE}"))?;
    allocate(&heap, Allocation { len: BUFFER, fd_flags: libc::O_RDWR as u32, ..Allocation::default() }, 0)
}

/// The process in the cgroup.
pub fn child(cgroup: &str) -> i32 {
    let Ok(()) = write_file(format!("{cgroup}/cgroup.procs"), "0") else { return 1 };
    let current = || read_number(format!("{cgroup}/memory.current")).unwrap_or(0);
    let before = current();
    let mut held = Vec::new();
    for _ in 0..8 {
        let Ok(buffer) = buffer() else { return 2 };
        held.push(buffer);
    }
    // The kernel charges in batches, so a part was charged before: 64 pages on each CPU at most.
    if current().saturating_sub(before) < 7 * BUFFER {
        return 3;
    }
    let id = fs::metadata(cgroup).map_or(0, |data| data.ino());
    let holders = heap_module::holders(&Root::at("/")).ok().flatten().unwrap_or_default();
    let named = holders.iter().find(|holder| holder.cgroup == id && holder.uid == 0);
    if named.map(|holder| (holder.buffers, holder.bytes)) != Some((8, 8 * BUFFER)) {
        println!("charge: cgroup {id}: {holders:?}");
        return 4;
    }
    while held.len() < 256 {
        match buffer() {
            Ok(buffer) => held.push(buffer),
            Err(e) if e.raw_os_error() == Some(libc::ENOMEM) && held.len() as u64 * BUFFER <= LIMIT => return 0,
            Err(_) => return 5,
        }
    }
    5
}

pub fn all(bench: &Bench) -> Outcome<()> {
    if !Path::new(CGROUPS).join("cgroup.procs").exists() {
        at(CGROUPS, mount("cgroup2", CGROUPS, "cgroup2", MountFlags::empty(), None))?;
    }
    write_file(format!("{CGROUPS}/cgroup.subtree_control"), "+memory")?;
    let cgroup = format!("{CGROUPS}/buffers");
    at("a cgroup", fs::create_dir(&cgroup))?;
    write_file(format!("{cgroup}/memory.max"), &LIMIT.to_string())?;
    let status = at("a process in a cgroup", Command::new("/proc/self/exe").args(["charge", &cgroup]).status())?;
    let wrong = status.code().and_then(|code| WRONG.get(code as usize)).unwrap_or(&"it was killed");
    bench.check("a cgroup pays for its buffers, up to its limit, and nobody is killed", status.success(), wrong);
    let events = at("memory.events", fs::read_to_string(format!("{cgroup}/memory.events")))?;
    bench.check("the kernel's killer was not called", events.contains("oom_kill 0\n"), events.replace('\n', " "));
    at("its end", fs::remove_dir(&cgroup))?;
    let left = at("holders", heap_module::holders(&Root::at("/")))?.unwrap_or_default();
    bench.check("nobody holds anything", left.is_empty(), format_args!("{left:?}"));
    sum(bench)
}

/// All together may have what one alone may have.
fn sum(bench: &Bench) -> Outcome<()> {
    let memory = rustix::system::sysinfo();
    let half = memory.totalram as u64 * u64::from(memory.mem_unit) / 2;
    let mut held = Vec::new();
    let refused = loop {
        match bench.system.allocate(half / 8) {
            Ok(buffer) if held.len() < 16 => held.push(buffer),
            Ok(_) => break None,
            Err(e) => break e.raw_os_error(),
        }
    };
    bench.check(
        "buffers of the system's pages take half of memory at most, together",
        refused == Some(libc::ENOMEM) && held.len() <= 8,
        format_args!("{refused:?} after {} eighths", held.len()),
    );
    Ok(())
}
