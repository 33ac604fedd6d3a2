// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Hibernation to disk, over two boots: memory of this one is written to swap, and the next one goes on in it.

use fovea_tests::content::Contents;
use fovea_tests::report::Report;

use crate::device::Held;
use crate::stack::{drop_caches, load_module, swap_off, swap_on, write_file, Disk, Outcome, Stack};
use crate::work::{Work, SEED};
use crate::Options;

/// The first boot up to the image, and the second from there.
pub fn go(options: &Options, report: &Report) -> Outcome<()> {
    load_module(options)?;
    let stack = Stack::build(options)?;
    stack.make_file_system()?;
    swap_on()?;
    let contents = Contents::new(SEED);
    let mut work = Work::begin(&stack, &contents, options, report)?;
    let held = Held::new(options)?;
    work.fill_cache()?;
    write_file("/sys/power/disk", "shutdown")?;
    println!("     hibernating");
    work.through(|| write_file("/sys/power/state", "disk"))?;
    println!("ok   resumed");
    held.tell("hibernation");
    work.check("hibernation")?;
    held.finish("hibernation", report)?;
    // The next one, by whatever the first has left behind, and back at once.
    work.renew();
    work.fill_cache()?;
    write_file("/sys/power/disk", "test_resume")?;
    work.through(|| write_file("/sys/power/state", "disk"))?;
    work.check("hibernating once more")?;
    drop(work);
    swap_off()?;
    stack.take_away(options)?;
    report.check("all taken away", true, "target, module, swap");
    again(options, report)
}

/// The module comes and goes once more.
fn again(options: &Options, report: &Report) -> Outcome<()> {
    load_module(options)?;
    let stack = Stack::build(options)?;
    stack.mount()?;
    stack.take_away(options)?;
    report.check("and back once more", true, "mounted, checked, unloaded");
    Ok(())
}

/// The second boot: goes on in the image, and never comes back from that.
pub fn resume(options: &Options, early: bool) -> Outcome<()> {
    if early {
        // As an initramfs does where the root file system is on a target: module and target are there and in use, but nothing is mounted.
        load_module(options)?;
        let stack = Stack::build(options)?;
        for _ in 0..2 {
            run_through(&stack)?;
        }
        println!("     {} blocks cached before the image is looked for", crate::stack::pool("cached"));
        std::mem::forget(stack);
    }
    let swap = Disk::Swap.says("dev")?;
    println!("     resuming from {swap}");
    write_file("/sys/power/resume", &swap)?;
    Err("no image was resumed".into())
}

/// Reads the whole device through the page cache, from its end, so that frames hold other blocks than in the image.
fn run_through(stack: &Stack) -> Outcome<()> {
    use std::os::unix::fs::FileExt;
    const CHUNK: u64 = 1 << 20;
    let device = std::fs::File::open(&stack.volume.node).map_err(|e| e.to_string())?;
    let mut bytes = vec![0; CHUNK as usize];
    for chunk in (0..stack.volume.size_bytes / CHUNK).rev() {
        device.read_exact_at(&mut bytes, chunk * CHUNK).map_err(|e| e.to_string())?;
    }
    drop_caches()
}
