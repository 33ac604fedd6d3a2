// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Table 1 of Hybrid15 as prices of DRAM and PCM: what counted pages cost in time and energy. The lab's replays and the scenario `tier` reckon by it.
//!
//! The table gives latencies per access and energies per bit. An access is taken as a line of 64 bytes, so a page costs 64
//! accesses and 32,768 bits. Where it gives a range, the middle is taken; where it gives a bound (PCM's static power, "<< 0.1 W"),
//! the bound, which is to PCM's disadvantage.

use crate::PAGE_BYTES;

/// Lines of a page: a line is what one access moves.
const PAGE_LINES: f64 = PAGE_BYTES as f64 / 64.0;

const PAGE_BITS: f64 = PAGE_BYTES as f64 * 8.0;

/// Prices of one kind of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    /// Of reading a line.
    read_ns: f64,
    /// Of writing a line.
    write_ns: f64,
    /// Of reading a bit.
    read_nj: f64,
    /// Of writing a bit.
    write_nj: f64,
    /// Of holding data.
    static_watt_per_gb: f64,
}

const DRAM: Memory = Memory { read_ns: 50.0, write_ns: 35.0, read_nj: 0.1, write_nj: 0.1, static_watt_per_gb: 1.0 };

const PCM: Memory = Memory { read_ns: 75.0, write_ns: 1000.0, read_nj: 0.1, write_nj: 1.0, static_watt_per_gb: 0.1 };

/// Whole pages that were read and written, in either kind of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageAccesses {
    /// Reads in DRAM.
    pub dram_reads: u64,
    /// Writes there.
    pub dram_writes: u64,
    /// Reads in PCM.
    pub pcm_reads: u64,
    /// Writes there.
    pub pcm_writes: u64,
}

impl PageAccesses {
    fn priced(&self, prices: [f64; 4], each: f64) -> f64 {
        let counts = [self.dram_reads, self.dram_writes, self.pcm_reads, self.pcm_writes];
        counts.iter().zip(prices).map(|(&count, price)| count as f64 * price * each).sum()
    }

    /// Time that they take.
    pub fn elapsed_ns(&self) -> f64 {
        self.priced([DRAM.read_ns, DRAM.write_ns, PCM.read_ns, PCM.write_ns], PAGE_LINES)
    }

    /// Energy that they take, without that of holding data.
    pub fn dynamic_nj(&self) -> f64 {
        self.priced([DRAM.read_nj, DRAM.write_nj, PCM.read_nj, PCM.write_nj], PAGE_BITS)
    }
}

/// Energy of holding data in memory of that size for so long. Watts are nanojoules a nanosecond.
pub fn static_nj(dram_bytes: u64, pcm_bytes: u64, time_ns: f64) -> f64 {
    let gb = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    (gb(dram_bytes) * DRAM.static_watt_per_gb + gb(pcm_bytes) * PCM.static_watt_per_gb) * time_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cost_what_the_table_says() {
        let none = PageAccesses::default();
        // 64 lines, 32,768 bits.
        let cost = |pages: PageAccesses| (pages.elapsed_ns() / 64.0, pages.dynamic_nj() / 32_768.0);
        assert_eq!(cost(PageAccesses { dram_reads: 1, ..none }), (50.0, 0.1));
        assert_eq!(cost(PageAccesses { dram_writes: 1, ..none }), (35.0, 0.1));
        assert_eq!(cost(PageAccesses { pcm_reads: 1, ..none }), (75.0, 0.1));
        assert_eq!(cost(PageAccesses { pcm_writes: 1, ..none }), (1000.0, 1.0));
    }

    #[test]
    fn held_memory_costs_by_kind_size_and_time() {
        // 1 W for 1 s is 10^9 nJ.
        assert_eq!(static_nj(1 << 30, 0, 1e9), 1e9);
        assert_eq!(static_nj(0, 1 << 30, 1e9), 1e8);
    }
}
