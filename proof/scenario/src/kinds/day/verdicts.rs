// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is claimed of a day: ours first or near it in all rows, far ahead in two, and each part worth its place.

use fovea_report::verdict::{ratio, verdict, Bound};

use crate::figures::{compares, correctness, figure};
use crate::scenario::Scenario;
use crate::{Case, Verdict};

const OURS: &str = "fovea";
/// Those that ours is compared with.
const OTHERS: [&str; 2] = ["debian", "android"];

/// Figures of which less is better, and none of which may be none.
const LESS: [&str; 9] = [
    "launch_geomean_ns",
    "launch_p95_ns",
    "cold_geomean_ns",
    "warm_geomean_ns",
    "alloc_mfc_insns",
    "read_bytes",
    // Not the bytes themselves: update and mail have a fixed time, and whoever gets further in it writes more.
    "written_per_load_byte",
    "cpu_busy_ns",
    "energy_nj",
];
/// The same where none is best: the difference counts.
const LESS_OR_NONE: [&str; 4] = ["kills", "wrong_kills", "missed_frames", "degraded_ns"];
/// Figures of which more is better. Stream and download count together: what a download gets beyond its half it takes from the stream.
const MORE: [&str; 2] = ["update_bytes_per_s", "link_bytes_per_s"];

/// How far from the best a row may be.
const NEAR: f64 = 0.02;
/// Of the best other's, in launches and frames missed.
const LAUNCH_SHARE: f64 = 0.8;
const MISSED_SHARE: f64 = 0.1;
/// Frames that others must miss for it to show anything.
const MISSED_MIN: f64 = 10.0;

/// A part: the configuration without it, its own row, and how much worse that is to be without it.
struct Part {
    without: &'static str,
    row: &'static str,
    claim: &'static str,
    by: By,
}

enum By {
    /// So many times as much.
    Times(f64),
    /// So much more.
    More(f64),
    /// So much less.
    Less(f64),
}

const PARTS: [Part; 6] = [
    Part {
        without: "no-ecache",
        row: "launch_geomean_ns",
        claim: "without the eCache launches take at least 5 % longer",
        by: By::Times(1.05),
    },
    Part {
        without: "no-policy",
        // All launches, and not those of apps that live alone: without it the apps that are slow to come back have died, and the rest look quick.
        row: "launch_geomean_ns",
        claim: "without the memory policy launches take at least 5 % longer",
        by: By::Times(1.05),
    },
    Part {
        without: "no-merge",
        row: "merged_bytes",
        claim: "without merging at least 1 MiB more is taken by pages that are alike",
        by: By::Less((1 << 20) as f64),
    },
    Part {
        without: "no-disk",
        row: "missed_frames",
        claim: "without the disk's ordering at least 10 frames more are missed",
        by: By::More(MISSED_MIN),
    },
    Part {
        without: "no-net",
        row: "degraded_ns",
        claim: "without receive windows the stream stands still for at least 3 s more",
        by: By::More(3e9),
    },
    Part {
        without: "no-mapcache",
        row: "map_frame_insns",
        claim: "without the mapping cache handing a frame on takes at least three times as many instructions",
        by: By::Times(3.0),
    },
];

/// All verdicts; `opened` apps are to come to the screen.
pub(super) fn all(scenario: &Scenario, cases: &[Case], opened: u32) -> Vec<Verdict> {
    let get = |configuration: &str, name: &str| figure(cases, "", configuration, name);
    let mut verdicts = Vec::new();
    if compares(scenario, &[OURS]) {
        verdicts.push(verdict(
            "launches",
            "every app that the user opens comes to the screen",
            "this project",
            get(OURS, "launches"),
            Bound::Equal(f64::from(opened)),
        ));
        for (id, name, claim) in [
            ("oom-kills", "oom_kills", "the kernel's OOM killer is never reached"),
            ("alloc-failures", "alloc_failures", "no allocation within a device's reservation fails"),
        ] {
            verdicts.push(verdict(id, claim, "this project", get(OURS, name), Bound::Equal(0.0)));
        }
    }
    if compares(scenario, &[OURS, OTHERS[0], OTHERS[1]]) {
        verdicts.extend(beside_others(&get));
    }
    let parts = PARTS.iter().filter(|part| compares(scenario, &[OURS, part.without]));
    verdicts.extend(parts.flat_map(|part| [own_row(part, &get), harms_none(part, &get)]));
    verdicts.extend(correctness(scenario, cases, ""));
    verdicts
}

type Get<'a> = &'a dyn Fn(&str, &str) -> Option<f64>;

/// The best of the others, if all were measured.
fn best(get: Get<'_>, name: &str, better: fn(f64, f64) -> f64) -> Option<f64> {
    let all: Option<Vec<f64>> = OTHERS.iter().map(|other| get(other, name)).collect();
    all?.into_iter().reduce(better)
}

fn beside_others(get: Get<'_>) -> Vec<Verdict> {
    let row_id = |name: &str| format!("row-{}", name.replace('_', "-"));
    let mut verdicts = Vec::new();
    for name in LESS {
        verdicts.push(verdict(
            &row_id(name),
            &format!("{name}: at most 2 % more than the best of debian and android (ratio)"),
            "this project",
            ratio(get(OURS, name), best(get, name, f64::min)),
            Bound::AtMost(1.0 + NEAR),
        ));
    }
    for name in LESS_OR_NONE {
        verdicts.push(verdict(
            &row_id(name),
            &format!("{name}: no more than the best of debian and android (difference)"),
            "this project",
            get(OURS, name).zip(best(get, name, f64::min)).map(|(ours, best)| ours - best),
            Bound::AtMost(0.0),
        ));
    }
    for name in MORE {
        verdicts.push(verdict(
            &row_id(name),
            &format!("{name}: at most 2 % less than the best of debian and android (ratio)"),
            "this project",
            ratio(get(OURS, name), best(get, name, f64::max)),
            Bound::AtLeast(1.0 - NEAR),
        ));
    }
    let launches = "launch_geomean_ns";
    verdicts.push(verdict(
        "first-launches",
        "launches take a fifth less time than under the best of debian and android (ratio)",
        "this project",
        ratio(get(OURS, launches), best(get, launches, f64::min)),
        Bound::AtMost(LAUNCH_SHARE),
    ));
    let missed = best(get, "missed_frames", f64::min);
    verdicts.push(
        verdict(
            "first-frames",
            "of a film beside an update a tenth of the frames are missed that the best of debian and android misses (ratio)",
            "this project",
            ratio(get(OURS, "missed_frames"), missed),
            Bound::AtMost(MISSED_SHARE),
        )
        .against("debian or android, the better", missed, Bound::AtLeast(MISSED_MIN)),
    );
    verdicts
}

/// The part's own row is worse without it.
fn own_row(part: &Part, get: Get<'_>) -> Verdict {
    let (without, ours) = (get(part.without, part.row), get(OURS, part.row));
    let difference = || without.zip(ours).map(|(without, ours)| without - ours);
    let (figure, bound) = match part.by {
        By::Times(times) => (ratio(without, ours), Bound::AtLeast(times)),
        By::More(more) => (difference(), Bound::AtLeast(more)),
        By::Less(less) => (difference().map(|more| -more), Bound::AtLeast(less)),
    };
    verdict(&format!("worth-{}", part.without), part.claim, "this project", figure, bound)
}

/// No other row is better without it, but for a little: the worst ratio of all.
fn harms_none(part: &Part, get: Get<'_>) -> Verdict {
    let rows = LESS.iter().filter(|row| **row != part.row);
    let ratios: Option<Vec<f64>> = rows.map(|row| ratio(get(OURS, row), get(part.without, row))).collect();
    let worst = ratios.and_then(|ratios| ratios.into_iter().reduce(f64::max));
    verdict(
        &format!("harm-of-{}", part.without),
        &format!("no row of the others is more than 2 % better under {} (worst ratio)", part.without),
        "this project",
        worst,
        Bound::AtMost(1.0 + NEAR),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(configuration: &str, change: &[(&str, f64)]) -> Case {
        let same = LESS.iter().chain(&LESS_OR_NONE).chain(&MORE).chain(&["merged_bytes", "map_frame_insns"]);
        let mut figures: std::collections::BTreeMap<String, f64> = same.map(|name| ((*name).into(), 100.0)).collect();
        figures
            .extend([("launches", 27.0), ("oom_kills", 0.0), ("alloc_failures", 0.0), ("wrong_pages", 0.0)].map(own));
        figures.extend(change.iter().copied().map(own));
        Case { case: String::new(), configuration: configuration.into(), figures }
    }

    fn own((name, value): (&str, f64)) -> (String, f64) {
        (name.to_owned(), value)
    }

    fn failing(configurations: &str, cases: &[Case]) -> Vec<String> {
        let scenario = Scenario::load("day", &[format!("configurations={configurations}")]).unwrap();
        all(&scenario, cases, 27).into_iter().filter(|v| !v.pass).map(|v| v.id).collect()
    }

    const THREE: &str = "debian,android,fovea";

    fn three(ours: &[(&str, f64)]) -> Vec<Case> {
        vec![case("debian", &[]), case("android", &[("launch_geomean_ns", 90.0)]), case("fovea", ours)]
    }

    #[test]
    fn ours_is_near_the_best_in_all_rows_and_far_ahead_in_two() {
        let good = [("launch_geomean_ns", 72.0), ("missed_frames", 10.0)];
        assert_eq!(failing(THREE, &three(&good)), [""; 0]);
        let slower = [("launch_geomean_ns", 73.0), ("missed_frames", 11.0)];
        assert_eq!(failing(THREE, &three(&slower)), ["first-launches", "first-frames"]);
        let worse = |name| failing(THREE, &three(&[good[0], good[1], (name, 103.0)]));
        assert_eq!(worse("read_bytes"), ["row-read-bytes"]);
        assert_eq!(worse("kills"), ["row-kills"]);
        assert_eq!(worse("update_bytes_per_s"), [""; 0], "more is better");
        let less = failing(THREE, &three(&[good[0], good[1], ("update_bytes_per_s", 97.0)]));
        assert_eq!(less, ["row-update-bytes-per-s"]);
        assert_eq!(failing(THREE, &three(&good)[1..]).len(), LESS.len() + LESS_OR_NONE.len() + MORE.len() + 3);
    }

    #[test]
    fn where_nobody_misses_frames_nothing_is_shown() {
        let none = [("missed_frames", 0.0)];
        let cases =
            [case("debian", &none), case("android", &none), case("fovea", &[none[0], ("launch_geomean_ns", 70.0)])];
        let scenario = Scenario::load("day", &[format!("configurations={THREE}")]).unwrap();
        let verdicts = all(&scenario, &cases, 27);
        let first = verdicts.iter().find(|v| v.id == "first-frames").unwrap();
        assert!(!first.pass && first.not_shown.is_some());
        assert!(verdicts.iter().find(|v| v.id == "row-missed-frames").unwrap().pass);
    }

    #[test]
    fn each_part_is_worth_its_own_row_and_harms_no_other() {
        for part in &PARTS {
            let value = match part.by {
                By::Times(times) => 100.0 * times,
                By::More(more) => 100.0 + more,
                By::Less(_) => 0.0,
            };
            let two = format!("fovea,{}", part.without);
            let ours = |more: &[(&str, f64)]| {
                let own = match part.by {
                    By::Less(less) => (part.row, less),
                    _ => (part.row, 100.0),
                };
                case("fovea", &[&[own], more].concat())
            };
            let without = case(part.without, &[(part.row, value)]);
            assert_eq!(failing(&two, &[ours(&[]), without.clone()]), [""; 0], "{}", part.without);
            let nothing = case(part.without, &[(part.row, ours(&[]).figures[part.row])]);
            assert_eq!(failing(&two, &[ours(&[]), nothing]), [format!("worth-{}", part.without)]);
            let harmed = ours(&[("written_per_load_byte", 103.0)]);
            assert_eq!(failing(&two, &[harmed, without]), [format!("harm-of-{}", part.without)]);
        }
    }
}
