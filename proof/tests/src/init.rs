// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Being the first process of a small machine: mounts what is needed, and says by the power switch how it went.

use std::fs::create_dir_all;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::mount::{mount, MountFlags};

use crate::kernel::Outcome;
use crate::report::Report;
use crate::words::Words;

pub fn is_init() -> bool {
    std::process::id() == 1
}

/// The life of a program that is the first process of a virtual phone, from its mounts to the power switch. `run` is given the words for it on
/// the kernel's command line.
pub fn live(program: &str, run: impl FnOnce(&Words, &Report) -> Outcome<()>) -> ! {
    if !is_init() {
        eprintln!(
            "{program}: is the first process of a virtual phone, and destroys what it finds on any other machine"
        );
        std::process::exit(2);
    }
    mount_all();
    let words = Words::of(program, &std::fs::read_to_string("/proc/cmdline").unwrap_or_default());
    let (began, report) = (Instant::now(), Report::default());
    // A defect in here must end the machine with a word, not as a kernel panic.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&words, &report))) {
        Ok(Ok(())) => {}
        Ok(Err(e)) => report.fail(e),
        Err(_) => report.fail("panicked: see the console"),
    }
    println!("     all in {:.1?}", began.elapsed());
    end(report.failures())
}

pub fn mount_all() {
    for (kind, target) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("cgroup2", "/sys/fs/cgroup"), ("tmpfs", "/tmp")]
    {
        // A folder that sysfs makes cannot be made, and need not be.
        let _ = create_dir_all(target);
        if let Err(e) = mount(kind, target, kind, MountFlags::empty(), None) {
            println!("FAIL mounting {target}: {e}");
        }
    }
}

/// The event that the virtual phone's host waits for.
#[cfg(target_arch = "x86_64")]
fn verdict(failures: u32) -> String {
    use fovea_scenario::{Event, EventBody};
    let body = match failures {
        0 => EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 },
        _ => EventBody::Failed { error: format!("{failures} checks failed: see the console") },
    };
    serde_json::to_string(&Event { t_ns: 0, body }).unwrap_or_default() + "\n"
}

/// Does what may never return where requests are lost: ends the machine with a failure then, as its first process cannot be stopped from without.
pub fn returns_within<T>(patience: Duration, what: &str, report: &Report, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (returned, waits) = channel::<()>();
        scope.spawn(move || {
            if waits.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                report.fail(format_args!("{what} does not return"));
                power_off(report.failures());
            }
        });
        let result = work();
        drop(returned);
        result
    })
}

/// Ends the machine once all is on its disks.
pub fn end(failures: u32) -> ! {
    if is_init() {
        rustix::fs::sync();
    }
    power_off(failures)
}

/// Ends the machine. QEMU's isa-debug-exit at port 0xf4 turns the value into its exit status; without one the power goes off.
fn power_off(failures: u32) -> ! {
    println!("the end: {failures} failures");
    if is_init() {
        // The serial line is slow, and what it has not sent goes with the machine.
        let _ = rustix::termios::tcdrain(std::io::stdout());
        // SAFETY: switching I/O ports on and writing to one affects the virtual machine only, which ends here.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if libc::iopl(3) == 0 {
                // The virtual phone's host wants to hear that the end was meant.
                for byte in verdict(failures).bytes() {
                    std::arch::asm!("out dx, al", in("dx") 0xe9u16, in("al") byte);
                }
                std::arch::asm!("out dx, eax", in("dx") 0xf4u16, in("eax") u32::from(failures > 0));
            }
            libc::reboot(libc::RB_POWER_OFF);
        }
    }
    std::process::exit(i32::from(failures > 0))
}
