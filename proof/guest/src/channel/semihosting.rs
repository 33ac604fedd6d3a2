// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! On ARM: semihosting (Arm's "Semihosting for AArch32 and AArch64", version 3), which QEMU's `userspace=on` lets a process call. One
//! instruction hands QEMU a whole buffer. It could open the host's files as well, so no program but this one runs in such a phone.

use std::arch::asm;

use crate::outcome::Outcome;

const SYS_OPEN: usize = 0x01;
const SYS_WRITE: usize = 0x05;
const SYS_EXIT_EXTENDED: usize = 0x20;

/// Mode "w" of `SYS_OPEN`; the file named `:tt` is then QEMU's console for semihosting, which is the event stream.
const MODE_WRITE: usize = 4;
const CONSOLE: &[u8; 4] = b":tt\0";
/// `ADP_Stopped_ApplicationExit`: the word behind it is the exit status.
const APPLICATION_EXIT: usize = 0x20026;

/// Tries to hand a buffer over. QEMU reads it without faulting pages in, so one may have been swapped out meanwhile.
const TRIES: u32 = 100;

/// An open handle of the console.
pub struct Host(usize);

impl Host {
    pub fn open() -> Outcome<Self> {
        fault_in(CONSOLE);
        let block = [CONSOLE.as_ptr() as usize, MODE_WRITE, CONSOLE.len() - 1];
        // SAFETY: the block and the name outlive the call.
        match unsafe { call(SYS_OPEN, &block) } {
            handle if handle as isize >= 0 => Ok(Self(handle)),
            _ => Err("semihosting: no console: run in the virtual phone".into()),
        }
    }

    /// There is nothing to give up: semihosting belongs to the machine and not to a process.
    pub fn renounce() {}

    pub fn write(&self, bytes: &[u8]) {
        let mut left = bytes;
        for _ in 0..TRIES {
            fault_in(left);
            let block = [self.0, left.as_ptr() as usize, left.len()];
            // SAFETY: the buffer outlives the call, which only reads it and returns how many bytes it did not take.
            let refused = unsafe { call(SYS_WRITE, &block) }.min(left.len());
            left = &left[left.len() - refused..];
            if left.is_empty() {
                return;
            }
        }
    }

    /// Ends QEMU with 1 if the plan was followed, 3 if not, as on x86.
    pub fn exit(&self, done: bool) {
        let block = [APPLICATION_EXIT, if done { 1 } else { 3 }];
        // SAFETY: the block outlives the call.
        unsafe { call(SYS_EXIT_EXTENDED, &block) };
    }
}

/// Has the kernel map what QEMU is to read: a page of the program's own file is not there before its first use either.
fn fault_in(bytes: &[u8]) {
    bytes.iter().step_by(1024).chain(bytes.last()).for_each(|byte| {
        // SAFETY: a reference is valid for reading.
        unsafe { (byte as *const u8).read_volatile() };
    });
}

/// # Safety
/// The block is what the operation wants, and what it points to is valid for it.
#[cfg(target_arch = "aarch64")]
unsafe fn call(operation: usize, block: &[usize]) -> usize {
    let mut result = operation;
    // SAFETY: the caller's; QEMU changes no register but the result's.
    unsafe { asm!("hlt #0xf000", inout("x0") result, in("x1") block.as_ptr(), options(nostack)) };
    result
}

/// # Safety
/// As on 64 bits.
#[cfg(target_arch = "arm")]
unsafe fn call(operation: usize, block: &[usize]) -> usize {
    let mut result = operation;
    // HLT #0xf000 of Armv8's 32-bit instruction set, as a number for assemblers of Armv7; Thumb code has another.
    // SAFETY: the caller's; QEMU changes no register but the result's.
    unsafe {
        asm!(".arm", ".inst 0xe10f0070", inout("r0") result, in("r1") block.as_ptr(), options(nostack));
    }
    result
}
