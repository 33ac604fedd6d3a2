// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What counts cost in time and energy, by table 1 of Hybrid15 ([`fovea_scenario::hybrid_prices`]). The table has no price of storage: that is
//! flash of eCache12, table 8.

use fovea_scenario::hybrid_prices::{self, PageAccesses};

use super::{Class, Frames, Ledger};
use crate::PAGE_BYTES;

/// All prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of reading a page from storage; those of memory are table 1's.
    pub storage_read_ns: f64,
}

/// Table 1, and a storage to it.
pub const TABLE_1: Prices = Prices { storage_read_ns: 1_510_000.0 };

/// What a class of requests cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Time that requests spend at memory. Nobody waits until a page that leaves DRAM is written to PCM, as nobody waits for those written
    /// back to storage: "there is no performance degradation by page migration" (section 3). It is read first all the same.
    pub memory_ns: f64,
    /// The same if whoever needs the frame waits for that too.
    pub waited_memory_ns: f64,
    /// Time spent at memory and waiting for reads from storage.
    pub elapsed_ns: f64,
    /// Time for which memory or storage is at work, whoever waits.
    pub busy_ns: f64,
    /// Energy of reading and writing memory.
    pub dynamic_nj: f64,
}

/// Page reads and writes that the counts stand for. Moving a page reads it here and writes it there; a missing page is written where it comes in.
fn pages(class: &Class) -> PageAccesses {
    PageAccesses {
        dram_reads: class.dram_read_hits + class.demotions,
        dram_writes: class.dram_write_hits + class.dram_fills + class.promotions,
        pcm_reads: class.pcm_read_hits + class.promotions,
        pcm_writes: class.pcm_write_hits + class.pcm_fills + class.demotions,
    }
}

impl Prices {
    /// What a class's counts cost.
    pub fn of_class(&self, class: &Class) -> Cost {
        let waited_memory_ns = pages(class).elapsed_ns();
        let demotions = PageAccesses { pcm_writes: class.demotions, ..PageAccesses::default() };
        let memory_ns = waited_memory_ns - demotions.elapsed_ns();
        let storage_ns = class.read_misses as f64 * self.storage_read_ns;
        Cost {
            memory_ns,
            waited_memory_ns,
            elapsed_ns: memory_ns + storage_ns,
            busy_ns: waited_memory_ns + storage_ns,
            dynamic_nj: pages(class).dynamic_nj(),
        }
    }

    /// Energy of holding data in that memory for so long.
    pub fn static_nj(&self, frames: Frames, time_ns: f64) -> f64 {
        let [dram, pcm] = [frames.dram, frames.pcm].map(|pages| u64::from(pages) * PAGE_BYTES);
        hybrid_prices::static_nj(dram, pcm, time_ns)
    }

    /// Energy of all requests, and of memory for the time that they took together.
    pub fn energy_nj(&self, ledger: &Ledger, frames: Frames) -> f64 {
        let cost = self.of_class(&ledger.all());
        cost.dynamic_nj + self.static_nj(frames, cost.busy_ns)
    }

    /// The same for all of a trace's time: memory is held whether somebody asks or not. Requests cannot be served sooner than they are.
    pub fn energy_by_clock_nj(&self, ledger: &Ledger, frames: Frames, span_ns: u64) -> f64 {
        let cost = self.of_class(&ledger.all());
        cost.dynamic_nj + self.static_nj(frames, cost.busy_ns.max(span_ns as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_costs_energy_for_all_of_a_traces_time() {
        let ledger =
            Ledger { foreground: Class { requests: 1, pcm_read_hits: 1, ..Class::default() }, ..Ledger::default() };
        let frames = Frames { dram: 1, pcm: 19 };
        let (busy, second) = (TABLE_1.energy_nj(&ledger, frames), 1_000_000_000);
        // A trace without times, or one that asks faster than memory serves, costs what it takes to serve.
        assert_eq!(TABLE_1.energy_by_clock_nj(&ledger, frames, 0), busy);
        let held = TABLE_1.energy_by_clock_nj(&ledger, frames, second)
            - TABLE_1.energy_by_clock_nj(&ledger, frames, second / 2);
        let half = TABLE_1.static_nj(frames, 0.5e9);
        assert!(half > 0.0 && (held / half - 1.0).abs() < 1e-9, "{held} and {half}");
        // DRAM alone is the dearer one to hold.
        let dram = TABLE_1.energy_by_clock_nj(&ledger, Frames { dram: 20, pcm: 0 }, second);
        assert!(dram > 2.0 * TABLE_1.energy_by_clock_nj(&ledger, frames, second));
    }

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
        // Read from DRAM, and written to PCM while others go on.
        let cost = TABLE_1.of_class(&Class { demotions: 1, ..Class::default() });
        assert_eq!((cost.memory_ns, cost.waited_memory_ns), (64.0 * 50.0, 64.0 * 50.0 + 64_000.0));
        assert_eq!((cost.elapsed_ns, cost.busy_ns), (cost.memory_ns, cost.waited_memory_ns));
    }
}
