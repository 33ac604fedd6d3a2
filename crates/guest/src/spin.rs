// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Computing time of an app, as a loop of a known number of instructions.

use std::arch::asm;

/// Runs `insns` instructions (in exact mode: nanoseconds), to within a few.
pub fn spin(insns: u64) {
    let turns = insns / 2;
    if turns == 0 {
        return;
    }
    // SAFETY: touches one register and the flags. Two instructions a turn, which is the calibration.
    unsafe { asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) turns => _, options(nomem, nostack)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_spins_end() {
        for insns in [0, 1, 2, 3, 1_000_001] {
            spin(insns);
        }
    }
}
