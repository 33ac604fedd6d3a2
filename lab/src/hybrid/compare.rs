// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A trace through buffer caches at several sizes of memory, side by side.

use std::collections::BTreeMap;

use fovea_report::document::{Case, Document};

use super::{cost::TABLE_1, Frames, HybridTrace, Ledger, Policy};
use crate::{parallel, replay, size::Footprint, Error, Result, Size, Weight, PAGE_BYTES};

/// The figures of one run.
/// `span_ns` is the trace's time by its own clock, 0 if it tells none.
pub fn figures(ledger: &Ledger, frames: Frames, span_ns: u64) -> BTreeMap<String, f64> {
    let (all, front) = (ledger.all(), TABLE_1.of_class(&ledger.foreground));
    let figures = [
        ("requests", all.requests as f64),
        ("hit_percent", 100.0 * all.hit_ratio()),
        ("foreground_hit_percent", 100.0 * ledger.foreground.hit_ratio()),
        ("background_hit_percent", 100.0 * ledger.background.hit_ratio()),
        ("foreground_elapsed_ns", front.elapsed_ns),
        ("foreground_memory_ns", front.memory_ns),
        ("foreground_waited_memory_ns", front.waited_memory_ns),
        ("background_elapsed_ns", TABLE_1.of_class(&ledger.background).elapsed_ns),
        ("dynamic_energy_nj", TABLE_1.of_class(&all).dynamic_nj),
        ("energy_nj", TABLE_1.energy_nj(ledger, frames)),
        ("pcm_page_writes", all.pcm_page_writes() as f64),
        ("migrations", (all.promotions + all.demotions) as f64),
        ("write_backs", all.write_backs as f64),
    ];
    let by_clock = [
        ("energy_by_clock_nj", TABLE_1.energy_by_clock_nj(ledger, frames, span_ns)),
        ("requests_per_s", all.requests as f64 / (span_ns.max(1) as f64 / 1e9)),
    ];
    let by_clock = by_clock.into_iter().filter(|_| span_ns > 0);
    figures.into_iter().chain(by_clock).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The results document of every policy at every size: a case per size, a configuration per policy.
///
/// # Errors
/// If a size makes no sense for this trace, or the share of DRAM none at all.
pub fn compare(trace: &HybridTrace, policies: &[Policy], sizes: &[Size], dram_percent: f64) -> Result<Document> {
    if !(dram_percent > 0.0 && dram_percent <= 100.0) {
        return Err(Error::Usage(format!("--dram-percent {dram_percent}: take more than 0 and at most 100")));
    }
    let pages = u64::from(trace.pages);
    let footprint = Footprint { objects: pages, bytes: pages * PAGE_BYTES };
    let mut cells = Vec::new();
    for &size in sizes {
        let capacity = size.resolve(footprint)?;
        let total = if capacity.weight == Weight::Bytes { capacity.amount / PAGE_BYTES } else { capacity.amount };
        let frames = Frames::split(total, dram_percent)?;
        cells.extend(policies.iter().map(|&policy| (size, frames, policy)));
    }
    let ledgers = parallel::map(&cells, parallel::threads(None), |(_, frames, p)| p.run(trace, *frames), |_| {});
    let case = |((size, frames, policy), ledger): (&(Size, Frames, Policy), &Ledger)| Case {
        case: size.to_string(),
        configuration: policy.to_string(),
        figures: figures(ledger, *frames, trace.span_ns),
    };
    Ok(replay::document("lab hybrid", cells.iter().zip(&ledgers).map(case).collect()))
}
