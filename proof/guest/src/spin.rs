// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Computing time of an app, as a loop of a known number of instructions.

use std::arch::asm;

/// Instructions of one turn of the long loop: as many as QEMU translates as one block at most (TCG_MAX_INSNS).
const BLOCK_INSNS: u64 = 512;

/// Runs `insns` instructions (in exact mode: nanoseconds), to within a few.
///
/// In exact mode most of them do nothing: they are counted all the same, and translated code has none of them, so that the host computes a hundredth
/// as long. Where time is the host's they would be no computing time at all.
pub fn spin(insns: u64, exact: bool) {
    let blocks = if exact { insns / BLOCK_INSNS } else { 0 };
    if blocks > 0 {
        long_loop(blocks);
    }
    let turns = (insns - blocks * BLOCK_INSNS) / 2;
    if turns > 0 {
        short_loop(turns);
    }
}

/// So many turns of a whole block.
#[cfg(target_arch = "x86_64")]
fn long_loop(turns: u64) {
    // SAFETY: touches one register and the flags. The block begins where no page can end within it, for a translated block ends there.
    unsafe {
        asm!(
            ".balign 1024",
            "2:",
            ".fill {nops}, 1, 0x90",
            "dec {n}",
            "jnz 2b",
            nops = const BLOCK_INSNS - 2,
            n = inout(reg) turns => _,
            options(nomem, nostack)
        );
    }
}

/// So many turns of two instructions, which is the calibration.
#[cfg(target_arch = "x86_64")]
fn short_loop(turns: u64) {
    // SAFETY: touches one register and the flags.
    unsafe { asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) turns => _, options(nomem, nostack)) };
}

#[cfg(target_arch = "aarch64")]
fn long_loop(turns: u64) {
    // SAFETY: touches one register and the flags. As on x86; an instruction takes four bytes.
    unsafe {
        asm!(
            ".balign 2048",
            "2:",
            ".rept {nops}",
            "nop",
            ".endr",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            nops = const BLOCK_INSNS - 2,
            n = inout(reg) turns => _,
            options(nomem, nostack)
        );
    }
}

#[cfg(target_arch = "aarch64")]
fn short_loop(turns: u64) {
    // SAFETY: touches one register and the flags.
    unsafe { asm!("2:", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) turns => _, options(nomem, nostack)) };
}

/// A register holds 32 bits, and figures of such phones are of one kind of loop.
#[cfg(target_arch = "arm")]
fn long_loop(turns: u64) {
    short_loop(turns.saturating_mul(BLOCK_INSNS / 2));
}

#[cfg(target_arch = "arm")]
fn short_loop(mut turns: u64) {
    while turns > 0 {
        let some = turns.min(u64::from(u32::MAX)) as u32;
        // SAFETY: touches one register and the flags.
        unsafe { asm!("2:", "subs {n}, {n}, #1", "bne 2b", n = inout(reg) some => _, options(nomem, nostack)) };
        turns -= u64::from(some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_spins_end() {
        for insns in [0, 1, 2, 3, 511, 512, 513, 1_000_001] {
            spin(insns, false);
            spin(insns, true);
        }
    }
}
