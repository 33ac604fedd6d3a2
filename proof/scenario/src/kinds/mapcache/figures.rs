// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of a video played (MapCache15), and the model of what was not played: decoding, drawing and the rest of the player.

use fovea_report::verdict::{ratio, verdict, Bound};

use super::{meaning, Mapcache, Memory, Variant, BOTH, PAIRS};
use crate::figures::fold::{select, Folded};
use crate::figures::{compares, correctness, figure, id, Boot, Figures};
use crate::{Case, Played, Scenario, Verdict};

/// Instructions a second of the phone's one CPU in exact mode.
const CPU_INSNS_PER_S: f64 = 1e9;

/// The model of the rest of playback: a frame takes what the paper's phone took for one beside mapping, as a share of its CPU. Playing
/// 1080p at 30 frames a second without fragmentation took 10.2 % of it, of which mapping was 0.18 %.
const REST_PERCENT: f64 = 10.2 - 0.18;
const REST_FRAMES_PER_S: f64 = 30.0;

/// The model of power: linear in the CPU's share, through the paper's two averages without the cache (10.2 % and 3254, 26.5 % and 3912;
/// the paper prints microwatts, and a phone's display alone takes more than that).
fn power_mw(share_percent: f64) -> f64 {
    3254.0 + (3912.0 - 3254.0) / (26.5 - 10.2) * (share_percent - 10.2)
}

pub(super) fn cases(parameters: &Mapcache, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in &parameters.cases {
        let Some(variant) = Variant::of(case) else { continue };
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            let boot = select(folded, variant.importers.name(), BOTH.name()).and_then(|boots| boots.first().copied());
            let (_, kept) = meaning(configuration);
            let label = variant.label(configuration);
            let is_it = |played: &&Played| played.label == label && played.mapcache == kept;
            let mut figures = Figures::new();
            if let Some((boot, played)) = boot.and_then(|boot| Some((boot, boot.played.iter().find(is_it)?))) {
                fill(&mut figures, played, variant.frames_per_s, boot.exact);
                if variant.memory == Memory::Aged {
                    put_unusable(&mut figures, &boot.pieces);
                }
            }
            cases.push(Case { case: case.clone(), configuration: configuration.into(), figures });
        }
    }
    cases
}

fn fill(figures: &mut Figures, played: &Played, frames_per_s: f64, exact: bool) {
    let mut put = |name: &str, value: f64| {
        figures.insert(name.into(), value);
    };
    put("iommu_maps_per_frame", played.iommu_maps as f64 / f64::from(played.counted_frames.max(1)));
    put("wrong_pages", played.wrong_pages as f64);
    // Else nanoseconds are the host's.
    if !exact {
        return;
    }
    let frames = f64::from(played.frames.max(1));
    let (devices, player) = (played.devices_ns as f64 / frames, played.player_ns as f64 / frames);
    let rest = REST_PERCENT / 100.0 * CPU_INSNS_PER_S / REST_FRAMES_PER_S;
    let share = |insns: f64| insns * frames_per_s / CPU_INSNS_PER_S * 100.0;
    put("devices_frame_insns", devices);
    put("player_frame_insns", player);
    put("map_frame_insns", devices + player);
    put("map_share_percent", share(devices + player));
    put("playback_frame_insns", devices + player + rest);
    put("playback_share_percent", share(devices + player + rest));
    put("power_mw", power_mw(share(devices + player + rest)));
    if let Some(&longest) = played.use_ns.iter().max() {
        put(if played.mapcache { "hit_insns" } else { "use_insns" }, longest as f64);
    }
}

/// Orders of 16 KiB and of 1 MiB, the super-pages of MapCache15, figure 2.
const SUPER_PAGES: [(&str, usize); 2] = [("16k", 2), ("1m", 8)];

/// What share of free memory is of no use to whoever wants a super-page, in percent, after so many launches.
fn put_unusable(figures: &mut Figures, pieces: &[(u32, Vec<u64>)]) {
    for (launches, free) in pieces {
        for (name, order) in SUPER_PAGES {
            if let Some(share) = unusable(free, order) {
                figures.insert(format!("unusable_{name}_percent_after_{launches}"), share * 100.0);
            }
        }
    }
}

/// The unusable free space index (Gorman and Whitcroft 2006, which the paper cites): the share of what is free that lies in smaller pieces; `free`
/// are pieces of each order.
fn unusable(free: &[u64], order: usize) -> Option<f64> {
    let pages = |from: usize| -> u64 { free.iter().enumerate().skip(from).map(|(order, count)| count << order).sum() };
    let all = pages(0);
    (all > 0).then(|| 1.0 - pages(order) as f64 / all as f64)
}

pub(super) fn verdicts(parameters: &Mapcache, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
    let exact = boots.iter().all(|b| b.plan.exact);
    let mut verdicts = Vec::new();
    for case in &parameters.cases {
        let Some(variant) = Variant::of(case) else { continue };
        for (without, with) in PAIRS {
            let pair = Pair { case, variant, without, with, scenario, cases };
            pair.maps(&mut verdicts);
            if exact {
                pair.costs(&mut verdicts);
            }
        }
        verdicts.extend(correctness(scenario, cases, case));
    }
    verdicts
}

/// A case without the cache and with it.
struct Pair<'a> {
    case: &'a str,
    variant: Variant,
    without: &'a str,
    with: &'a str,
    scenario: &'a Scenario,
    cases: &'a [Case],
}

impl Pair<'_> {
    /// The kernel's exporter is named in its verdicts.
    fn id(&self, what: &str) -> String {
        match self.with {
            "on" => id(what, self.case),
            _ => id(&format!("{what}-{}", self.with), self.case),
        }
    }

    fn get(&self, configuration: &str, name: &str) -> Option<f64> {
        figure(self.cases, self.case, configuration, name)
    }

    fn ratio(&self, name: &str) -> Option<f64> {
        ratio(self.get(self.with, name), self.get(self.without, name))
    }

    fn maps(&self, verdicts: &mut Vec<Verdict>) {
        if compares(self.scenario, &[self.with]) {
            verdicts.push(verdict(
                &self.id("iommu-maps"),
                "once each buffer has been used, nothing is mapped for a frame",
                "MapCache15, performance evaluation; this project counts them",
                self.get(self.with, "iommu_maps_per_frame"),
                Bound::Equal(0.0),
            ));
        }
    }

    fn costs(&self, verdicts: &mut Vec<Verdict>) {
        let there = |configuration: &str| compares(self.scenario, &[configuration]);
        let both = there(self.without) && there(self.with);
        if there(self.with) {
            verdicts.push(verdict(
                &self.id("hit"),
                "a use of a buffer that is mapped takes at most so many instructions, attach to detach, whatever its size",
                "this project",
                self.get(self.with, "hit_insns"),
                Bound::AtMost(1400.0),
            ));
        }
        if self.variant.memory == Memory::Unfragmented {
            if both {
                verdicts.push(verdict(
                    &self.id("unfragmented-no-slower"),
                    "without fragmentation mapping with the cache takes no more than without it (with / without)",
                    "MapCache15, performance evaluation: 10 % against 10.2 %",
                    self.ratio("map_frame_insns"),
                    Bound::AtMost(1.0),
                ));
            }
            return;
        }
        if self.variant.frames_per_s == 60.0 {
            let bounds = [(self.without, Bound::AtLeast(10.0)), (self.with, Bound::AtMost(0.4))];
            for (configuration, bound) in bounds {
                // What it costs without is claimed of memory that was fragmented on purpose.
                let claimed = self.variant.memory == Memory::Fragmented || configuration == self.with;
                if claimed && there(configuration) {
                    verdicts.push(verdict(
                        &id(&format!("map-share-{configuration}"), self.case),
                        &match self.with {
                            "on" => {
                                format!("share of the CPU that mapping takes, the cache {configuration}, in percent")
                            }
                            _ => format!("share of the CPU that mapping takes, {configuration}, in percent"),
                        },
                        "MapCache15, introduction: 13.5 %, and about 0 with the cache",
                        self.get(configuration, "map_share_percent"),
                        bound,
                    ));
                }
            }
        }
        // What the paper played.
        if self.variant.memory == Memory::Fragmented && self.variant.frames_per_s == REST_FRAMES_PER_S && both {
            verdicts.push(verdict(
                &self.id("playback-saved"),
                "the cache takes off this share of all that playback takes of the CPU, by the model of the rest of playback",
                "MapCache15, performance evaluation: ~64 %",
                self.ratio("playback_frame_insns").map(|left| 1.0 - left),
                Bound::AtLeast(0.6),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_smaller_pieces_is_unusable() {
        assert_eq!(unusable(&[], 2), None);
        assert_eq!(unusable(&[0, 0, 0], 2), None, "nothing is free");
        assert_eq!(unusable(&[4, 2, 2], 2), Some(0.5));
        assert_eq!(unusable(&[4, 2, 2], 0), Some(0.0));
        assert_eq!(unusable(&[4, 2], 8), Some(1.0));
    }
}
