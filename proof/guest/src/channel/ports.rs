// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! On x86: bytes to QEMU's isa-debugcon, and the exit status to isa-debug-exit. Ports instead of a serial line because a byte costs one
//! instruction and no interrupt.

use std::arch::asm;

use crate::outcome::Outcome;

const RESULTS_PORT: u16 = 0xe9;
const EXIT_PORT: u16 = 0xf4;

/// Access to the ports.
pub struct Host(());

impl Host {
    /// Asks the kernel for access to the ports; needs CAP_SYS_RAWIO.
    pub fn open() -> Outcome<Self> {
        // SAFETY: iopl takes no pointer. It lets this process use I/O ports; only the two above are ever used.
        if unsafe { libc::syscall(libc::SYS_iopl, 3) } != 0 {
            return Err(format!("iopl(3): {}: run as root in the virtual phone", std::io::Error::last_os_error()));
        }
        Ok(Self(()))
    }

    /// Gives access up again, in a process forked from one that had it.
    pub fn renounce() {
        // SAFETY: as in `open`; lowering the level cannot fail.
        unsafe { libc::syscall(libc::SYS_iopl, 0) };
    }

    pub fn write(&self, bytes: &[u8]) {
        // SAFETY: reads exactly `bytes` and changes no memory; the constructor made the port accessible. The ABI keeps the
        // direction flag clear. Without isa-debugcon the bytes go nowhere.
        unsafe {
            asm!("rep outsb", inout("rcx") bytes.len() => _, inout("rsi") bytes.as_ptr() => _, in("dx") RESULTS_PORT,
                 options(nostack, readonly, preserves_flags));
        }
    }

    /// Ends QEMU with 1 if the plan was followed, 3 if not: isa-debug-exit makes 2v+1 of v.
    pub fn exit(&self, done: bool) {
        let value = u32::from(!done);
        // SAFETY: writes no memory; the constructor made the port accessible.
        unsafe { asm!("out dx, eax", in("dx") EXIT_PORT, in("eax") value, options(nostack, nomem, preserves_flags)) };
    }
}
