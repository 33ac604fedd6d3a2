// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The whole product in one table and one picture: for each system what a person has of it, without it and with it, and what its paper has.

use super::tables::{cell, row};
use crate::chart::{Chart, Kind, Origin};
use crate::document::Document;
use crate::experiment::REPRODUCE;
use crate::page::{panels as drawn_panels, picture as drawn};
use crate::panel::Panel;
use crate::plot::paper_twin;
use crate::units::{in_time, number, Unit};

/// Where a row's two figures are.
enum Figures {
    /// The same figure under two configurations.
    Of { case: &'static str, figure: &'static str, without: &'static str, with: &'static str },
    /// Two figures of one configuration.
    Two { case: &'static str, configuration: &'static str, without: &'static str, with: &'static str },
    /// What is saved of all, in percent, as a verdict has it; and what it is saved of.
    Saved { verdict: &'static str, of: &'static str },
}

struct Row {
    /// What a person calls the system, and the page that tells of it.
    system: (&'static str, &'static str),
    scenario: &'static str,
    measured: &'static str,
    figures: Figures,
    /// The paper's figure, in its words.
    paper: &'static str,
}

/// In the order of the table. Another system adds its own here.
const ROWS: [Row; 14] = [
    Row {
        system: ("Low memory", "results/lowmem.md"),
        scenario: "lowmem",
        measured: "an app comes back when memory is short",
        figures: Figures::Of { case: "", figure: "restart_ns", without: "zram", with: "fovea" },
        // Beside a phone without swap.
        paper: "6.7 (2061, 306 ms)",
    },
    Row {
        system: ("Low memory", "results/lowmem.md"),
        scenario: "workload",
        measured: "apps killed over a day",
        figures: Figures::Of { case: "N", figure: "kills", without: "stock", with: "fovea" },
        paper: "fewer",
    },
    Row {
        system: ("Desktop", "results/desktop.md"),
        scenario: "desktop",
        measured: "apps killed beside the leaking one and the fork bomb",
        figures: Figures::Of { case: "zram", figure: "wrong_kills", without: "systemd-oomd", with: "fovea" },
        paper: "",
    },
    Row {
        system: ("eCache", "results/ecache.md"),
        scenario: "ecache",
        measured: "70 MB for the video decoder, at worst",
        figures: Figures::Of { case: "HM", figure: "alloc_mfc_worst_insns", without: "migrate", with: "ecache" },
        paper: "27 at least (0.3 s, 11 ms)",
    },
    Row {
        system: ("eCache", "results/ecache.md"),
        scenario: "ecache",
        measured: "opening an app, geometric mean",
        figures: Figures::Of { case: "HM", figure: "launch_geomean_ns", without: "migrate", with: "ecache" },
        paper: "",
    },
    Row {
        system: ("Mapping cache", "results/mapping-cache.md"),
        scenario: "mapcache",
        measured: "CPU time of playing a video, memory fragmented",
        figures: Figures::Of {
            case: "fragmented-strict-30",
            figure: "playback_share_percent",
            without: "off",
            with: "on",
        },
        paper: "2.8 (64 % less)",
    },
    Row {
        system: ("Disk", "results/disk.md"),
        scenario: "disk",
        measured: "a film's frames missed beside a copy, of 540",
        figures: Figures::Of { case: "", figure: "missed_frames", without: "none", with: "fovea-dm" },
        paper: "no degradation",
    },
    Row {
        system: ("Network", "results/network.md"),
        scenario: "net",
        measured: "a film stands still beside eight downloads, of 90 s",
        figures: Figures::Of { case: "flows-8", figure: "degraded_ns", without: "cake", with: "fovea" },
        paper: "21 at least (64, 2 to 3 s)",
    },
    Row {
        system: ("Merging", "results/merging.md"),
        scenario: "ksm",
        measured: "CPU time for merging pages that are alike",
        figures: Figures::Of { case: "session", figure: "ksmd_cpu_ns", without: "always", with: "fovea" },
        paper: "50 (98 % less)",
    },
    Row {
        system: ("Fast and slow memory", "results/tiers.md"),
        scenario: "tier",
        measured: "the app in front waits for memory",
        figures: Figures::Of {
            case: "15-5",
            figure: "foreground_elapsed_ns",
            without: "numa-balancing",
            with: "fovea",
        },
        paper: "2.1 (53 % less, on traces)",
    },
    Row {
        system: ("eCache, on traces", "results/lab.md"),
        scenario: REPRODUCE,
        measured: "read from flash, workload N",
        figures: Figures::Two {
            case: "ecache-fig6a/N",
            configuration: "shipped",
            without: "normal_read_bytes",
            with: "read_bytes",
        },
        paper: "4.2 to 6.7 (76 to 85 % less)",
    },
    Row {
        system: ("DRAM and PCM, on traces", "results/lab.md"),
        scenario: REPRODUCE,
        measured: "the foreground's time at memory",
        figures: Figures::Saved { verdict: "hybrid-fig4/memory-mean", of: "LRU, 2QLRU" },
        paper: "2.1 (53 % less)",
    },
    Row {
        system: ("DRAM and PCM, on traces", "results/lab.md"),
        scenario: REPRODUCE,
        measured: "energy of memory",
        figures: Figures::Saved { verdict: "hybrid-energy/mean", of: "LRU, 2QLRU" },
        paper: "1.3 (23 % less)",
    },
    Row {
        system: ("DRAM and PCM, on traces", "results/lab.md"),
        scenario: REPRODUCE,
        measured: "energy of memory, of all of a phone's time",
        figures: Figures::Saved { verdict: "hybrid-energy/against-dram", of: "DRAM alone" },
        paper: "1.3 (23 % less)",
    },
];

/// What a configuration is, where its name alone does not say it.
fn in_words(configuration: &str) -> &str {
    match configuration {
        "stock" => "no swap",
        "migrate" => "as CMA does",
        "off" => "no cache",
        "none" => "no scheduler",
        "always" => "KSM always on",
        "numa-balancing" => "NUMA balancing",
        name => name,
    }
}

/// What is left of all, in percent, where a verdict says how much is saved.
fn left_percent(document: &Document, verdict: &str) -> Option<f64> {
    document.verdicts.iter().find(|v| v.id == verdict).map(|v| 100.0 - v.figure)
}

/// A row's figures: what is shown, and how many times the second goes into the first.
struct Pair {
    without: String,
    with: String,
    ratio: Option<f64>,
}

impl Row {
    fn pair(&self, document: &Document) -> Option<Pair> {
        let shown = |name: &str, (without, of): (f64, &str), (with, by): (f64, &str)| {
            let show = |figure: f64| Unit::of(&in_time(name, &document.mode), [figure]).show(figure);
            let remark = |text: &str| if text.is_empty() { String::new() } else { format!(" ({})", cell(text)) };
            Pair {
                without: show(without) + &remark(of),
                with: show(with) + &remark(by),
                ratio: (with > 0.0).then(|| without / with),
            }
        };
        match self.figures {
            Figures::Of { case, figure, without, with } => {
                let of = |configuration: &str| document.figure(case, configuration, figure);
                Some(shown(figure, (of(without)?, in_words(without)), (of(with)?, "")))
            }
            Figures::Two { case, configuration, without, with } => {
                let of = |figure: &str| document.figure(case, configuration, figure);
                Some(shown(with, (of(without)?, ""), (of(with)?, "")))
            }
            Figures::Saved { verdict, of } => {
                Some(shown("_percent", (100.0, of), (left_percent(document, verdict)?, "")))
            }
        }
    }
}

/// The table.
pub(super) fn table(documents: &[Document], folder: &str) -> Result<String, String> {
    let mut text = "| system | what is measured | without | with Fovea | ratio | the paper's ratio |\n".to_owned();
    text += "|---|---|--:|--:|--:|--:|\n";
    let mut rows = 0;
    for entry in &ROWS {
        let document = documents.iter().find(|d| d.scenario == entry.scenario);
        let Some(pair) = document.and_then(|d| entry.pair(d)) else { continue };
        rows += 1;
        let (name, page) = entry.system;
        text += &row([
            format!("[{name}]({folder}{page})"),
            cell(entry.measured),
            pair.without,
            pair.with,
            pair.ratio.map_or("–".into(), short_ratio),
            if entry.paper.is_empty() { "–".into() } else { cell(entry.paper) },
        ]);
    }
    if rows == 0 {
        return Err("has no system's figures; name a scenario's results".into());
    }
    Ok(text)
}

fn short_ratio(ratio: f64) -> String {
    match ratio {
        r if r < 2.0 => format!("{r:.2}"),
        r if r < 10.0 => format!("{r:.1}"),
        r => number(r.round()),
    }
}

/// What the lab finds of memory of two kinds, of what there is without it.
fn tiers(document: &Document) -> Option<Chart> {
    let [time, energy, alone] = ["foreground's time", "energy", "energy, of DRAM alone"];
    let ours = [
        (time, left_percent(document, "hybrid-fig4/memory-mean")?),
        (energy, left_percent(document, "hybrid-energy/mean")?),
        (alone, left_percent(document, "hybrid-energy/against-dram")?),
    ];
    let mut chart = Chart::new("Memory of DRAM and PCM, on traces", Kind::Bars, "", "% of what it is without");
    chart.bars("without", Origin::Ours, ours.map(|(place, _)| (place, 100.0)));
    chart.bars("fovea", Origin::Ours, ours);
    chart.bars(paper_twin("fovea"), Origin::Paper, [(time, 47.0), (energy, 77.0), (alone, 77.0)]);
    Some(chart)
}

/// The picture and what it is called.
pub(super) fn picture(documents: &[Document], panels: &[Panel]) -> Result<(String, String), String> {
    let mut charts = drawn_panels(panels, documents.iter());
    charts.extend(documents.iter().filter(|d| d.scenario == REPRODUCE).filter_map(tiers));
    if charts.is_empty() {
        return Err("no figures that a person would notice; name a scenario's results behind the picture".into());
    }
    let title = "What a person notices without Fovea and with it: shorter bars are better".to_owned();
    let picture = drawn(&title, &charts);
    Ok((title, picture))
}
