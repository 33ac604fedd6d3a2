// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of a video played (MapCache15), and the model of what was not played: decoding, drawing and the rest of the player.

use fovea_report::verdict::{ratio, verdict, Bound};

use super::{Mapcache, Variant, BOTH};
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
            let kept = configuration == super::ON.name();
            let is_it = |played: &&Played| played.label == variant.label() && played.mapcache == kept;
            let mut figures = Figures::new();
            if let Some((boot, played)) = boot.and_then(|boot| Some((boot, boot.played.iter().find(is_it)?))) {
                fill(&mut figures, played, variant.frames_per_s, boot.exact);
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

pub(super) fn verdicts(parameters: &Mapcache, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
    let exact = boots.iter().all(|b| b.plan.exact);
    let mut verdicts = Vec::new();
    for case in &parameters.cases {
        let Some(variant) = Variant::of(case) else { continue };
        let get = |configuration: &str, name: &str| figure(cases, case, configuration, name);
        if compares(scenario, &["on"]) {
            verdicts.push(verdict(
                &id("iommu-maps", case),
                "once each buffer has been used, nothing is mapped for a frame",
                "MapCache15, performance evaluation; this project counts them",
                get("on", "iommu_maps_per_frame"),
                Bound::Equal(0.0),
            ));
        }
        if exact {
            costs(case, variant, compares(scenario, &["off"]), compares(scenario, &["on"]), &get, &mut verdicts);
        }
        verdicts.extend(correctness(scenario, cases, case));
    }
    verdicts
}

fn costs(
    case: &str,
    variant: Variant,
    off: bool,
    on: bool,
    get: &dyn Fn(&str, &str) -> Option<f64>,
    verdicts: &mut Vec<Verdict>,
) {
    if on {
        verdicts.push(verdict(
            &id("hit", case),
            "a use of a buffer that is mapped takes at most so many instructions, attach to detach, whatever its size",
            "this project",
            get("on", "hit_insns"),
            Bound::AtMost(1400.0),
        ));
    }
    if !variant.fragmented {
        if off && on {
            verdicts.push(verdict(
                &id("unfragmented-no-slower", case),
                "without fragmentation mapping with the cache takes no more than without it (with / without)",
                "MapCache15, performance evaluation: 10 % against 10.2 %",
                ratio(get("on", "map_frame_insns"), get("off", "map_frame_insns")),
                Bound::AtMost(1.0),
            ));
        }
        return;
    }
    if variant.frames_per_s == 60.0 {
        for (configuration, there, bound) in [("off", off, Bound::AtLeast(10.0)), ("on", on, Bound::AtMost(0.4))] {
            if there {
                verdicts.push(verdict(
                    &id(&format!("map-share-{configuration}"), case),
                    &format!("share of the CPU that mapping takes, the cache {configuration}, in percent"),
                    "MapCache15, introduction: 13.5 %, and about 0 with the cache",
                    get(configuration, "map_share_percent"),
                    bound,
                ));
            }
        }
    }
    // What the paper played.
    if variant.frames_per_s == REST_FRAMES_PER_S && off && on {
        let left = ratio(get("on", "playback_frame_insns"), get("off", "playback_frame_insns"));
        verdicts.push(verdict(
            &id("playback-saved", case),
            "the cache takes off this share of all that playback takes of the CPU, by the model of the rest of playback",
            "MapCache15, performance evaluation: ~64 %",
            left.map(|left| 1.0 - left),
            Bound::AtLeast(0.6),
        ));
    }
}
