// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the operations cost. Under `-icount shift=0` nanoseconds are instructions.

use std::time::Instant;

use fovea_linux::device_traits::*;
use fovea_linux::process::Process;
use fovea_linux::CompressCursor;

use crate::child::{mix, Child, Content, Order};
use crate::compress::to_the_end;
use crate::{Bench, Table};

const PAGES: usize = 4096;

fn report(name: &str, began: Instant, per: u64) {
    println!("cost {name}: {} ns", began.elapsed().as_nanos() as u64 / per.max(1));
}

pub fn run(bench: &mut Bench) {
    for (name, mix) in [("compressible", mix(100, 0)), ("zero", mix(0, 100)), ("random", mix(0, 0))] {
        let (cgroup, folder) = bench.cgroup();
        let mut child = Child::app(&folder, Content::new(PAGES, mix));
        bench.system.set_frozen(&cgroup, true).expect("freeze");
        let began = Instant::now();
        let (outcome, calls) = to_the_end(bench, &cgroup, PAGES as u64);
        report(
            &format!("compress per {name} page ({} swapped, {calls} calls)", outcome.swapped_pages),
            began,
            PAGES as u64,
        );
        if name == "compressible" {
            // Everything that compresses is out: what is left is the walk over swapped pages.
            let began = Instant::now();
            to_the_end(bench, &cgroup, PAGES as u64);
            report("compress per page already out", began, PAGES as u64);
            let began = Instant::now();
            let asked = bench.system.prefetch(&cgroup, None, PAGES as u64).expect("prefetch");
            report("prefetch per page", began, asked);
        }
        bench.system.set_frozen(&cgroup, false).expect("thaw");
        let (touch, faults) = child.tell(Order::Touch);
        println!("cost touch afterwards per {name} page: {} ns, {faults} major faults", touch / PAGES as u64);
    }

    let (cgroup, folder) = bench.cgroup();
    let child = Child::app(&folder, Content::new(PAGES, mix(100, 0)));
    let began = Instant::now();
    let mut cursor = CompressCursor::default();
    let mut pages = 0;
    for _ in 0..64 {
        let outcome = bench.system.compress(&cgroup, cursor, 32, 500).expect("compress");
        pages += outcome.swapped_pages;
        cursor = outcome.next.unwrap_or_default();
    }
    report("compress per page, 32 a call", began, pages);

    // The floor: the kernel's own work when it is handed everything at once, unjudged.
    let (floor_cgroup, floor_folder) = bench.cgroup();
    let mut floor = Child::app(&floor_folder, Content::new(PAGES, mix(100, 0)));
    let process = Process::open_in(bench.system.root(), &floor_cgroup, floor.pid).expect("open").expect("alive");
    let began = Instant::now();
    page_out_all(&process);
    report("MADV_PAGEOUT alone per page", began, PAGES as u64);
    let (touch, faults) = floor.tell(Order::Touch);
    println!("cost touch of a swapped page: {} ns, {faults} major faults", touch / PAGES as u64);

    for (name, repeat) in [("memory", 100), ("usage", 100), ("rank", 100)] {
        let began = Instant::now();
        for _ in 0..repeat {
            match name {
                "memory" => drop(bench.system.memory()),
                "usage" => drop(bench.system.usage(&cgroup)),
                _ => drop(bench.system.rank(&cgroup, 700, &mut Table::default())),
            }
        }
        report(&format!("{name} per call"), began, repeat);
    }
    let began = Instant::now();
    let outcome = bench.system.kill(&cgroup).expect("kill");
    report(&format!("kill of an app of {PAGES} pages ({} released)", outcome.released), began, 1);
    child.end();
}

/// Pages out the largest mapping of a process, whatever it holds.
fn page_out_all(process: &Process) {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.pid)).expect("maps");
    let ranges = maps.lines().filter(|line| line.contains(" rw-p ")).filter_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
    });
    let (start, end) = ranges.max_by_key(|(start, end)| end - start).expect("a mapping");
    let range = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: end - start };
    // SAFETY: the vector is read by the kernel; its address belongs to the other process.
    let done = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            std::os::fd::AsRawFd::as_raw_fd(&process.pidfd().expect("a pidfd")),
            &range,
            1,
            libc::MADV_PAGEOUT,
            0,
        )
    };
    assert!(done > 0, "process_madvise: {}", std::io::Error::last_os_error());
}
