// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What Hybrid15's savings hang on that it does not say: its figure 4 under every reading of its words.

use std::collections::BTreeMap;

use fovea_report::chart::{Chart, Kind, Origin};
use fovea_report::document::Case;
use fovea_report::experiment::Findings;
use fovea_report::verdict::Bound;

use super::entry::{Entry, Settings};
use super::hybrid_grid::{check, requests, DRAM_PERCENT, SIZES_PERCENT, TRACES_NOTE};
use crate::{
    hybrid::{cost::TABLE_1, Frames, HybridTrace, Ledger, Mix, Place, Policy, Readings},
    parallel, Result,
};

/// The entry.
pub static READINGS: Entry = Entry {
    id: "hybrid-readings",
    title: "foreground time saved, by how the paper is read",
    source: "Hybrid15, sections 3 and 4",
    claim: "53 % less foreground time on average (in the text: up to 53 %)",
    run,
};

/// Reads from storage where their price is not that of eCache12's flash, but of faster flash.
const FAST_FLASH_NS: f64 = 50_000.0;

/// Who waits for what.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    /// Nobody, for pages that leave DRAM, as nobody waits for those written back: ours, and the paper's. Section 3 says of this very move:
    /// "Accordingly, there is no performance degradation by page migration."
    Nobody,
    /// The foreground, for each page that its requests move.
    Demotions,
    /// Nobody again, and reads from storage take 50 us, of which the paper has no price.
    NobodyFastFlash,
}

const WAITS: [(Waits, &str); 3] = [
    (Waits::Nobody, "unwaited_saving_percent"),
    (Waits::Demotions, "waited_saving_percent"),
    (Waits::NobodyFastFlash, "unwaited_50us_storage_saving_percent"),
];

fn time_ns(ledger: &Ledger, waits: Waits) -> f64 {
    let (class, cost) = (&ledger.foreground, TABLE_1.of_class(&ledger.foreground));
    match waits {
        Waits::Nobody => cost.memory_ns,
        Waits::Demotions => cost.waited_memory_ns,
        Waits::NobodyFastFlash => cost.memory_ns + class.read_misses as f64 * FAST_FLASH_NS,
    }
}

/// Baselines by where their pages lie; where there is no such 2Q, LRU alone.
const BASELINES: [(&str, &[Policy]); 3] = [
    ("baseline-free", &[Policy::Lru(Place::Free), Policy::TwoQueue(Place::Free)]),
    ("baseline-pcm", &[Policy::Lru(Place::Pcm), Policy::TwoQueue(Place::Pcm)]),
    ("baseline-top", &[Policy::Lru(Place::Top)]),
];

fn run(settings: &Settings) -> Result<Findings> {
    let length = requests(settings);
    let traces = [Mix::first(length).trace(settings.seed), Mix::second(length).trace(settings.seed)];
    let mut places: Vec<(&HybridTrace, Frames)> = Vec::new();
    for trace in &traces {
        for percent in SIZES_PERCENT {
            let frames = Frames::split(u64::from(trace.pages) * u64::from(percent) / 100, DRAM_PERCENT)?;
            places.push((trace, frames));
        }
    }
    let readings = Readings::all();
    let policies: Vec<Policy> = readings
        .iter()
        .map(|&r| Policy::Seed(r))
        .chain(BASELINES.iter().flat_map(|(_, policies)| policies.iter().copied()))
        .collect();
    let ledgers: Vec<Vec<Ledger>> = parallel::map(
        &policies,
        settings.threads,
        |policy| places.iter().map(|(trace, frames)| policy.run(trace, *frames)).collect(),
        |_| {},
    );
    let of = |policy: &Policy| &ledgers[policies.iter().position(|p| p == policy).expect("it was run")];
    let saving = |ours: Policy, baselines: &[Policy], waits: Waits| {
        let pairs = baselines.iter().flat_map(|theirs| of(&ours).iter().zip(of(theirs)));
        let savings = pairs.map(|(a, b)| 100.0 * (1.0 - time_ns(a, waits) / time_ns(b, waits)));
        savings.sum::<f64>() / (baselines.len() * places.len()) as f64
    };
    let (mut cases, mut all) = (Vec::new(), Vec::<(f64, String)>::new());
    for (baseline, baselines) in BASELINES {
        for &reading in &readings {
            let ours = Policy::Seed(reading);
            let figures = WAITS.map(|(waits, name)| (name.to_owned(), saving(ours, baselines, waits)));
            all.extend(figures.iter().map(|(name, value)| {
                let name = name.trim_end_matches("_saving_percent").replace('_', "-");
                (*value, format!("{ours} against {baseline}, {name}"))
            }));
            // One thing read otherwise, or all; those between say no more.
            if matches!(changes(&reading), 0 | 1 | 5) {
                let figures = BTreeMap::from(figures);
                cases.push(Case { case: baseline.into(), configuration: ours.to_string(), figures });
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let reaching = all.iter().filter(|(value, _)| *value >= 53.0).count();
    let ours = saving(Policy::Seed(Readings::OURS), BASELINES[0].1, Waits::Nobody);
    let waited = saving(Policy::Seed(Readings::OURS), BASELINES[0].1, Waits::Demotions);
    let fast = saving(Policy::Seed(Readings::OURS), BASELINES[0].1, Waits::NobodyFastFlash);
    let mut chart = Chart::new("Foreground time saved, one thing read otherwise", Kind::Bars, "", "saving, %");
    chart.bars("paper", Origin::Paper, [("paper", 53.0)]);
    chart.bars("ours", Origin::Ours, one_at_a_time(&saving));
    Ok(Findings {
        verdicts: vec![
            check("ours", "mean saving of foreground time at memory, where nobody waits for pages that leave DRAM (section 3), percent", "Hybrid15, abstract", ours, Bound::AtLeast(53.0)),
            check("waited", "the same if the foreground waits for them, percent", "this project", waited, Bound::AtLeast(53.0)),
            check("least", "mean saving of foreground time, least over all readings and baselines, percent", "this project", all.last().map_or(f64::NAN, |l| l.0), Bound::AtLeast(0.0)),
        ],
        charts: vec![chart],
        notes: vec![
            TRACES_NOTE.into(),
            format!(
                "what decides is who waits for the 64 us in which a page that leaves DRAM is written to PCM: {ours:.1} % if nobody does, as \
                 section 3 has it (\"there is no performance degradation by page migration\"), {waited:.1} % if the foreground does; \
                 {fast:.1} % if nobody does and a read from storage is added that takes 50 us"
            ),
            format!("{reaching} of {} readings reach 53 %; the most is {:.1} % ({}), the least {:.1} % ({})",
                all.len(), all[0].0, all[0].1, all[all.len() - 1].0, all[all.len() - 1].1),
            "how it would be on phones' own traces: docs/results/lab.md".into(),
        ],
        cases,
        ..Findings::default()
    })
}

/// How many things are read otherwise than ours.
fn changes(reading: &Readings) -> usize {
    reading.name().matches(':').count()
}

/// Our reading, and each part of it otherwise.
fn one_at_a_time(saving: &dyn Fn(Policy, &[Policy], Waits) -> f64) -> Vec<(String, f64)> {
    let ours = Policy::Seed(Readings::OURS);
    let mut bars = vec![("our reading".to_owned(), saving(ours, BASELINES[0].1, Waits::Nobody))];
    for reading in Readings::all().into_iter().filter(|reading| changes(reading) == 1) {
        let name = reading.name().trim_start_matches(':').to_owned();
        bars.push((name, saving(Policy::Seed(reading), BASELINES[0].1, Waits::Nobody)));
    }
    for (name, baselines) in &BASELINES[1..] {
        bars.push(((*name).to_owned(), saving(ours, baselines, Waits::Nobody)));
    }
    bars.push(("demotions waited for".to_owned(), saving(ours, BASELINES[0].1, Waits::Demotions)));
    bars.push(("50 us of storage".to_owned(), saving(ours, BASELINES[0].1, Waits::NobodyFastFlash)));
    bars
}
