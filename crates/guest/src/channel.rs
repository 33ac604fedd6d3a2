// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The way out of the virtual phone: bytes to QEMU's isa-debugcon, and the exit status to isa-debug-exit.
//!
//! Ports instead of a serial line because a byte costs one instruction and no interrupt, so that reporting hardly changes what
//! it reports on.

use std::arch::asm;

use fovea_scenario::{Event, EventBody};

use crate::outcome::Outcome;
use crate::readings::now_ns;

const RESULTS_PORT: u16 = 0xe9;
const EXIT_PORT: u16 = 0xf4;

/// The results channel. Existing means that this process may use the ports.
pub struct Channel(());

impl Channel {
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

    /// Reports an event, stamped with the time of this call.
    pub fn emit(&self, body: EventBody) -> Outcome<()> {
        let mut line = serde_json::to_vec(&Event { t_ns: now_ns(), body })
            .map_err(|error| format!("writing an event: {error}"))?;
        line.push(b'\n');
        self.write(&line);
        Ok(())
    }

    fn write(&self, bytes: &[u8]) {
        // SAFETY: reads exactly `bytes` and changes no memory; the constructor made the port accessible. The ABI keeps the
        // direction flag clear. Without isa-debugcon the bytes go nowhere.
        unsafe {
            asm!("rep outsb", inout("rcx") bytes.len() => _, inout("rsi") bytes.as_ptr() => _, in("dx") RESULTS_PORT,
                 options(nostack, readonly, preserves_flags));
        }
    }

    /// Ends the machine: QEMU exits with 1 if the plan was followed, 3 if not.
    pub fn exit(&self, done: bool) -> ! {
        let value = u32::from(!done);
        // SAFETY: writes no memory; the constructor made the port accessible.
        unsafe { asm!("out dx, eax", in("dx") EXIT_PORT, in("eax") value, options(nostack, nomem, preserves_flags)) };
        // Without isa-debug-exit (somebody's own QEMU command line) the machine is switched off as any other is.
        let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
        loop {
            std::thread::park();
        }
    }
}
