// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A video played as MapCache15 does: each frame's buffers are mapped for player, decoder and display, and whether they stay mapped is compared.

mod figures;

use fovea_report::panel::{Form, Panel};
use rand::Rng;
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::Folded;
use crate::scenario::Scenario;
use crate::script::{close, draw, find, generator, in_range, open, start, BadParameter, Script};
use crate::{Boot, Case, Catalog, Configuration, Daemon, Error, Exporter, Importers, Play, Step, Verdict};

/// All boots have the same settings: the cache is switched while they run.
const fn settings(name: &'static str) -> Configuration {
    Configuration::new(name, Daemon::Ladder)
}

/// A buffer is mapped for each use, as drivers do by themselves.
pub const OFF: Configuration = settings("off");

/// It stays mapped, for devices by the exporter (`kmod/heap`), for the player because it keeps its mapping.
pub const ON: Configuration = settings("on");

/// The kernel's own system heap, which maps for each use.
pub const STOCK_HEAP: Configuration = settings("stock-heap");

/// The same with `fovea-heap-wrap`.
pub const WRAPPED: Configuration = settings("wrapped");

/// What is compared with what: without the cache, and with it.
const PAIRS: [(&str, &str); 2] = [("off", "on"), ("stock-heap", "wrapped")];

/// Whose buffers, and whether they stay mapped.
fn meaning(configuration: &str) -> (Exporter, bool) {
    match configuration {
        "on" => (Exporter::Ours, true),
        "stock-heap" => (Exporter::Stock, false),
        "wrapped" => (Exporter::Wrapped, true),
        _ => (Exporter::Ours, false),
    }
}

/// A boot that plays with each.
const BOTH: Configuration = settings("both");

pub(super) const ABOUT: About = About {
    configurations: &[OFF, ON, STOCK_HEAP, WRAPPED],
    scenarios: builtin!["scenarios/mapcache.toml"],
    lists: &["cases"],
    panels: &[Panel {
        scenario: "mapcache",
        title: "Share of the CPU, while a video plays",
        form: Form::Bars,
        figures: &[("map_share_percent", "mapping buffers"), ("playback_share_percent", "all of it")],
    }],
    ..About::NONE
};

/// Parameters, explained in `profiles/scenarios/mapcache.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mapcache {
    /// Memory, what the devices are behind, frames a second.
    pub cases: Vec<String>,
    /// Frames measured.
    pub frames: u32,
    /// Buffers for decoded frames.
    pub frame_buffers: u32,
    /// Size of each.
    pub frame_bytes: u64,
    /// Buffers for compressed frames.
    pub video_buffers: u32,
    /// Size of each.
    pub video_bytes: u64,
    /// What the player writes for a frame.
    pub compressed_bytes: u64,
    /// Where memory is aged: apps opened before anything is played,
    pub aged_launches: u32,
    /// of these every so manieth is followed by a look at what is free,
    pub aged_look_launches: u32,
    /// by whose proportions, and
    pub aged_workload: String,
    /// how often an app is closed and not merely left.
    pub aged_close_percent: u32,
}

impl Default for Mapcache {
    fn default() -> Self {
        let case = |importers: Importers| {
            [Memory::Fragmented, Memory::Unfragmented]
                .iter()
                .flat_map(move |m| [30, 60].map(|fps| format!("{}-{}-{fps}", m.name(), importers.name())))
        };
        Mapcache {
            cases: Importers::ALL.into_iter().flat_map(case).collect(),
            frames: 30,
            frame_buffers: 15,
            frame_bytes: 3_110_400,
            video_buffers: 4,
            video_bytes: 4 << 20,
            compressed_bytes: 42_000,
            aged_launches: 1000,
            aged_look_launches: 100,
            aged_workload: "N".into(),
            aged_close_percent: 40,
        }
    }
}

/// The state of memory that buffers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// No two pages of a buffer are neighbours, as in the paper's measurements.
    Fragmented,
    /// As it is after the start.
    Unfragmented,
    /// As apps that were opened and closed for long have left it (MapCache15, figure 2).
    Aged,
}

impl Memory {
    /// In the order in which a boot plays from them: what has aged stays so.
    const ALL: [Memory; 3] = [Memory::Fragmented, Memory::Unfragmented, Memory::Aged];

    fn name(self) -> &'static str {
        match self {
            Memory::Fragmented => "fragmented",
            Memory::Unfragmented => "unfragmented",
            Memory::Aged => "aged",
        }
    }
}

/// What a case's name says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Variant {
    memory: Memory,
    importers: Importers,
    frames_per_s: f64,
}

impl Variant {
    fn of(case: &str) -> Option<Variant> {
        let mut words = case.split('-');
        let name = words.next()?;
        let memory = Memory::ALL.into_iter().find(|memory| memory.name() == name)?;
        let name = words.next()?;
        let importers = Importers::ALL.into_iter().find(|importers| importers.name() == name)?;
        let frames_per_s: u32 = words.next()?.parse().ok().filter(|fps| (1..=240).contains(fps))?;
        words.next().is_none().then_some(Variant { memory, importers, frames_per_s: frames_per_s.into() })
    }

    /// Label of what is played for it.
    fn label(self, configuration: &str) -> String {
        label(self.memory, configuration)
    }
}

/// Ours are told apart by whether buffers stayed mapped.
fn label(memory: Memory, configuration: &str) -> String {
    match meaning(configuration) {
        (Exporter::Ours, _) => memory.name().into(),
        _ => format!("{}-{configuration}", memory.name()),
    }
}

impl Parameters for Mapcache {
    fn check(&self) -> Result<(), BadParameter> {
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        if let Some(case) = self.cases.iter().find(|case| Variant::of(case).is_none()) {
            let form = "(fragmented|unfragmented|aged)-(strict|lazy|virtio)-FRAMES_A_SECOND";
            return Err(("cases", format!("{case:?} is not of the form {form}")));
        }
        in_range("frames", self.frames, 1, 100_000)?;
        // The display shows one while the decoder writes another.
        in_range("frame_buffers", self.frame_buffers, 2, 1000)?;
        in_range("video_buffers", self.video_buffers, 1, 1000)?;
        in_range("frame_bytes", self.frame_bytes, 1 << 13, 1 << 28)?;
        in_range("video_bytes", self.video_bytes, 1 << 13, 1 << 28)?;
        in_range("compressed_bytes", self.compressed_bytes, 1, self.video_bytes)?;
        in_range("aged_launches", self.aged_launches, 1, 1_000_000)?;
        in_range("aged_look_launches", self.aged_look_launches, 1, 1_000_000)?;
        in_range("aged_close_percent", self.aged_close_percent, 0, 100)
    }

    /// One boot for each thing that devices can be behind.
    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let variants: Vec<Variant> = self.cases.iter().filter_map(|case| Variant::of(case)).collect();
        let mut scripts = Vec::new();
        for importers in Importers::ALL {
            let of_boot = |memory: &Memory| variants.iter().any(|v| v.importers == importers && v.memory == *memory);
            let memories: Vec<Memory> = Memory::ALL.into_iter().filter(of_boot).collect();
            if !memories.is_empty() {
                scripts.push(Script {
                    case: importers.name().into(),
                    seed: scenario.seed,
                    steps: self.steps(scenario, &memories, catalog)?,
                    importers: Some(importers),
                    all_in_one: Some(BOTH),
                    ..Script::default()
                });
            }
        }
        Ok(scripts)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        figures::cases(self, scenario, folded)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
        figures::verdicts(self, scenario, cases, boots)
    }
}

impl Mapcache {
    fn steps(&self, scenario: &Scenario, memories: &[Memory], catalog: &Catalog) -> Result<Vec<Step>, Error> {
        let one = |memory: Memory, configuration: &Configuration| {
            let (exporter, mapcache) = meaning(configuration.name());
            Step::Play(Play {
                label: label(memory, configuration.name()),
                scatter: memory == Memory::Fragmented,
                mapcache,
                exporter,
                frames: self.frames,
                frame_buffers: self.frame_buffers,
                frame_bytes: self.frame_bytes,
                video_buffers: self.video_buffers,
                video_bytes: self.video_bytes,
                compressed_bytes: self.compressed_bytes,
            })
        };
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        for &memory in memories {
            if memory == Memory::Aged {
                self.age(scenario, catalog, &mut steps)?;
            }
            steps.extend(scenario.configurations.iter().map(|c| one(memory, c)));
        }
        Ok(steps)
    }

    /// Apps come and go; what is free is looked at on the way.
    fn age(&self, scenario: &Scenario, catalog: &Catalog, steps: &mut Vec<Step>) -> Result<(), Error> {
        let workload = find(catalog, &scenario.name, &self.aged_workload)?;
        let mut rng = generator(scenario.seed, "aging", 0);
        steps.push(Step::Pieces { launches: 0 });
        for launch in 1..=self.aged_launches {
            let app = draw(workload, &mut rng);
            steps.push(open(app));
            steps.push(if rng.gen_range(0..100) < self.aged_close_percent { close(app) } else { Step::Home {} });
            if launch % self.aged_look_launches == 0 || launch == self.aged_launches {
                steps.push(Step::Pieces { launches: launch });
            }
        }
        Ok(())
    }
}
