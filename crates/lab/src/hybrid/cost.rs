// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Table 1 of Hybrid15 as prices: what counts cost in time and energy.
//!
//! The table gives latencies per access and energies per bit. An access is taken as a line of 64 bytes, so a page costs 64
//! accesses and 32,768 bits. Where it gives a range, the middle is taken; where it gives a bound (PCM's static power, "<< 0.1 W"),
//! the bound, which is to PCM's disadvantage. It has no price of storage: that is flash of eCache12, table 8.

use super::{Class, Frames, Ledger};
use crate::PAGE_BYTES;

/// Bytes of an access.
const LINE_BYTES: f64 = 64.0;

/// Prices of one kind of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Of reading a line.
    pub read_ns: f64,
    /// Of writing a line.
    pub write_ns: f64,
    /// Of reading a bit.
    pub read_nj_per_bit: f64,
    /// Of writing a bit.
    pub write_nj_per_bit: f64,
    /// Of holding data.
    pub static_watt_per_gb: f64,
}

/// All prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// DRAM's.
    pub dram: Memory,
    /// PCM's.
    pub pcm: Memory,
    /// Of reading a page from storage.
    pub storage_read_ns: f64,
}

/// Table 1.
pub const TABLE_1: Prices = Prices {
    dram: Memory {
        read_ns: 50.0,
        write_ns: 35.0,
        read_nj_per_bit: 0.1,
        write_nj_per_bit: 0.1,
        static_watt_per_gb: 1.0,
    },
    pcm: Memory {
        read_ns: 75.0,
        write_ns: 1000.0,
        read_nj_per_bit: 0.1,
        write_nj_per_bit: 1.0,
        static_watt_per_gb: 0.1,
    },
    storage_read_ns: 1_510_000.0,
};

/// What a class of requests cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Time spent at memory.
    pub memory_ns: f64,
    /// Time spent at memory and waiting for reads from storage. Writing back is not waited for.
    pub elapsed_ns: f64,
    /// Energy of reading and writing memory.
    pub dynamic_nj: f64,
}

impl Prices {
    /// Page reads and writes of (DRAM, PCM) that the counts stand for: `[dram reads, dram writes, pcm reads, pcm writes]`.
    fn page_accesses(class: &Class) -> [u64; 4] {
        [
            class.dram_read_hits + class.demotions,
            class.dram_write_hits + class.dram_fills + class.promotions,
            class.pcm_read_hits + class.promotions,
            class.pcm_write_hits + class.pcm_fills + class.demotions,
        ]
    }

    /// What a class's counts cost. Moving a page reads it here and writes it there; a missing page is written where it comes in.
    pub fn of_class(&self, class: &Class) -> Cost {
        let lines = PAGE_BYTES as f64 / LINE_BYTES;
        let bits = PAGE_BYTES as f64 * 8.0;
        let ns = [self.dram.read_ns, self.dram.write_ns, self.pcm.read_ns, self.pcm.write_ns];
        let nj = [
            self.dram.read_nj_per_bit,
            self.dram.write_nj_per_bit,
            self.pcm.read_nj_per_bit,
            self.pcm.write_nj_per_bit,
        ];
        let pages = Self::page_accesses(class);
        let sum =
            |prices: [f64; 4], each: f64| pages.iter().zip(prices).map(|(&n, p)| n as f64 * p * each).sum::<f64>();
        let memory_ns = sum(ns, lines);
        Cost {
            memory_ns,
            elapsed_ns: memory_ns + class.read_misses as f64 * self.storage_read_ns,
            dynamic_nj: sum(nj, bits),
        }
    }

    /// Time spent at memory if nobody waits until a page that leaves DRAM is written to PCM, as nobody waits for those written back
    /// to storage; it is read first all the same.
    pub fn unwaited_ns(&self, class: &Class) -> f64 {
        let lines = PAGE_BYTES as f64 / LINE_BYTES;
        self.of_class(class).memory_ns - class.demotions as f64 * lines * self.pcm.write_ns
    }

    /// Energy of holding data in that memory for so long. Watts are nanojoules per nanosecond.
    pub fn static_nj(&self, frames: Frames, time_ns: f64) -> f64 {
        let gb = |pages: u32| f64::from(pages) * PAGE_BYTES as f64 / f64::from(1 << 30);
        (gb(frames.dram) * self.dram.static_watt_per_gb + gb(frames.pcm) * self.pcm.static_watt_per_gb) * time_ns
    }

    /// Energy of all requests, and of memory for the time that they took together.
    pub fn energy_nj(&self, ledger: &Ledger, frames: Frames) -> f64 {
        let cost = self.of_class(&ledger.all());
        cost.dynamic_nj + self.static_nj(frames, cost.elapsed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_those_of_the_table() {
        let class = Class { pcm_write_hits: 1, ..Class::default() };
        let cost = TABLE_1.of_class(&class);
        // 64 lines at 1 us; 32,768 bits at 1 nJ.
        assert_eq!((cost.memory_ns, cost.elapsed_ns, cost.dynamic_nj), (64_000.0, 64_000.0, 32_768.0));
        let class = Class { read_misses: 1, dram_fills: 1, ..Class::default() };
        assert_eq!(TABLE_1.of_class(&class).elapsed_ns, 1_510_000.0 + 64.0 * 35.0);
        let class = Class { promotions: 1, ..Class::default() };
        assert_eq!(TABLE_1.of_class(&class).memory_ns, 64.0 * (75.0 + 35.0));
    }

    #[test]
    fn held_memory_costs_by_kind_size_and_time() {
        let gb = (1u32 << 30) / 4096;
        // 1 W for 1 s is 10^9 nJ.
        assert_eq!(TABLE_1.static_nj(Frames { dram: gb, pcm: 0 }, 1e9), 1e9);
        assert_eq!(TABLE_1.static_nj(Frames { dram: 0, pcm: gb }, 1e9), 1e8);
    }
}
