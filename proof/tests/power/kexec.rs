// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One kernel started by another, with no firmware in between: memory, the carve-out's too, is as the first one left it.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;

use fovea_tests::content::Contents;
use fovea_tests::report::Report;

use crate::device::{self, Held};
use crate::stack::{at, drop_caches, load_module, pool, read_text, run, Outcome, Stack};
use crate::work::{check_as_written, Work, SEED};
use crate::Options;

/// The kernel as its package has it; the phone's host puts it there.
const KERNEL: &str = "/vmlinuz";
const INITRD: &str = "/tmp/initrd";
/// An image like the one that this boot began with.
const MAKE_INITRD: &str = "mkdir -p /tmp/root/dev && cd /tmp/root && cp -a /init /bin /modules /lib /lib64 . && \
    mkdir -p proc sys tmp mnt run && mknod -m 600 dev/console c 5 1 && find . | cpio -o -H newc >/tmp/initrd";

/// The first kernel: fills the cache, and leaves.
pub fn go(options: &Options, report: &Report) -> Outcome<()> {
    load_module(options)?;
    let stack = Stack::build(options)?;
    stack.make_file_system()?;
    let contents = Contents::new(SEED);
    let work = Work::begin(&stack, &contents, options, report)?;
    work.fill_cache()?;
    let held = Held::new(options)?;
    run("/bin/busybox", &["sh", "-c", MAKE_INITRD])?;
    let line = format!("{} fovea.power.after=kexec", read_text("/proc/cmdline")?);
    load(&line)?;
    println!("     {} blocks cached, on to the next kernel", pool("cached"));
    if report.failures() == 0 {
        rustix::fs::sync();
        // SAFETY: ends this kernel, and with it this program; the virtual machine is its own.
        unsafe { libc::reboot(libc::LINUX_REBOOT_CMD_KEXEC) };
    }
    drop(held);
    Err(format!("the next kernel was not started: {}", std::io::Error::last_os_error()))
}

fn load(command_line: &str) -> Outcome<()> {
    let (kernel, initrd) = (at(KERNEL, File::open(KERNEL))?, at(INITRD, File::open(INITRD))?);
    let line = CString::new(command_line).map_err(|e| e.to_string())?;
    // SAFETY: two open files and a string with its length, its NUL included; the kernel only reads them.
    let done = unsafe {
        libc::syscall(
            libc::SYS_kexec_file_load,
            kernel.as_raw_fd(),
            initrd.as_raw_fd(),
            line.as_bytes_with_nul().len(),
            line.as_ptr(),
            0,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(format!("kexec_file_load: {}", std::io::Error::last_os_error())),
    }
}

/// The second kernel: nothing of the first one's cache may show.
pub fn after(options: &Options, report: &Report) -> Outcome<()> {
    load_module(options)?;
    if options.has_module() {
        report.check("an empty cache", pool("cached") == 0, pool("cached"));
        device::check_new("kexec", report)?;
    }
    let stack = Stack::build(options)?;
    stack.mount()?;
    let contents = Contents::new(SEED);
    for _ in 0..3 {
        check_as_written(&contents, report)?;
        drop_caches()?;
    }
    if options.has_module() {
        report.check("kexec: it serves", pool("hits") > 3000, format_args!("{} hits", pool("hits")));
    }
    fovea_tests::audit::compare(&stack.volume.sides(), &contents, report)?;
    stack.take_away(options)
}
