// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! eCache12's figures 6 to 9: the eCache against the same phone whose reserved memory lies idle.

use crate::figures::id;
use crate::Verdict;
use fovea_report::verdict::{ratio, verdict, Bound};

/// A figure by configuration and name.
pub(super) type Get<'a> = &'a dyn Fn(&str, &str) -> Option<f64>;

/// Workloads of one app: its launch time, and the most that may be of normal's (figure 8(b)).
const SOLO: [(&str, &str, f64); 2] =
    [("solo-movies", "launch_movies_ns", 1.02), ("solo-camera", "launch_camera_ns", 1.01)];

/// Whether the workload is of one app.
pub(super) fn is_solo(case: &str) -> bool {
    SOLO.iter().any(|(name, ..)| *name == case)
}

/// A figure under the eCache, of the same under normal.
fn of_normal(get: Get<'_>, name: &str) -> Option<f64> {
    ratio(get("ecache", name), get("normal", name))
}

/// Whether both have the figure: not every workload opens every app.
fn both(get: Get<'_>, name: &str) -> bool {
    get("ecache", name).is_some() && get("normal", name).is_some()
}

/// What is read from flash.
pub(super) fn reads(case: &str, get: Get<'_>, verdicts: &mut Vec<Verdict>) {
    // The names of the paper's workloads with more multimedia end in M; for other workloads no bound is stated.
    let bound = match case {
        "L" | "N" | "H" => Some((0.76, "eCache12, section 5.3 and figure 6(a): 76 to 85 %")),
        "LM" | "NM" | "HM" => Some((0.5, "eCache12, sections 1 and 5.3: 50 to 70 % of read I/O served")),
        _ => None,
    };
    if let Some((bound, source)) = bound {
        let claim = "the eCache saves this share of what normal reads from flash";
        let saved = of_normal(get, "read_bytes").map(|of| 1.0 - of);
        verdicts.push(verdict(&id("read-saved", case), claim, source, saved, Bound::AtLeast(bound)));
    }
    verdicts.push(verdict(
        &id("read-never-worse", case),
        "the eCache reads no more from flash than normal",
        "this project",
        of_normal(get, "read_bytes"),
        Bound::AtMost(1.0),
    ));
    if both(get, "launch_movies_read_bytes") {
        verdicts.push(verdict(
            &id("movies-read", case),
            "while Movies launches, the eCache reads no more from flash than normal",
            "eCache12, section 5.3 and figure 9",
            of_normal(get, "launch_movies_read_bytes"),
            Bound::AtMost(1.0),
        ));
    }
}

/// How long launches take. Only in exact mode is that the phone's time.
pub(super) fn launches(case: &str, get: Get<'_>, verdicts: &mut Vec<Verdict>) {
    if let Some((_, figure, bound)) = SOLO.into_iter().find(|(name, ..)| *name == case) {
        verdicts.push(verdict(
            &id("launch", case),
            "an app with device memory, alone on the phone, launches no slower than under normal but for so much",
            "eCache12, section 5.3 and figure 8(b): Movies 2 %, Camera 1 %",
            of_normal(get, figure),
            Bound::AtMost(bound),
        ));
        return;
    }
    verdicts.push(verdict(
        &id("launch-saved", case),
        "launches take less time than under normal, by this share (geometric mean)",
        "eCache12, section 5.3 and figure 6(b): 8 to 16 %",
        of_normal(get, "launch_geomean_ns").map(|of| 1.0 - of),
        Bound::AtLeast(0.08),
    ));
    if ["L", "N", "H"].contains(&case) {
        let waits = |configuration: &str| {
            Some(get(configuration, "launch_system_ns")? + get(configuration, "launch_io_wait_ns")?)
        };
        verdicts.push(verdict(
            &id("launch-waits-saved", case),
            "system and I/O-wait time of launches are less than under normal, by this share",
            "eCache12, section 5.3 and figure 7: 22 to 42 %, but for Call",
            ratio(waits("ecache"), waits("normal")).map(|of| 1.0 - of),
            Bound::AtLeast(0.22),
        ));
    }
    for app in ["movies", "camera"] {
        let figure = format!("launch_{app}_ns");
        if both(get, &figure) {
            verdicts.push(verdict(
                &id(&format!("launch-{app}"), case),
                "an app with device memory launches no slower than under normal",
                "eCache12, section 5.3 and figure 8(a)",
                of_normal(get, &figure),
                Bound::AtMost(1.0),
            ));
        }
    }
}
