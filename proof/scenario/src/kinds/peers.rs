// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is to come of a day beside the programs that people would install instead.

use fovea_report::verdict::{ratio, verdict, Bound};

use super::managed::{best_among, nobody_wrong, FOVEA, PEERS_AND_KERNEL};
use crate::figures::{figure, id};
use crate::scenario::Scenario;
use crate::{Case, Configuration, Verdict};

/// Of the best peer's time, where memory decides it.
const SHARE: f64 = 0.9;

/// Of the best peer's time to open any app, most of which flash takes.
const OPENING_SHARE: f64 = 1.05;

/// Figure, name of its verdict, what is claimed, and how much of the best peer's it may be.
const CLAIMS: [(&str, &str, &str, f64); 6] = [
    ("relaunch_geomean_ns", "relaunch-best", "an app used before comes back a tenth sooner than under any peer", SHARE),
    ("relaunch_p95_ns", "relaunch-p95-best", "95 % of them come back a tenth sooner than under any peer", SHARE),
    (
        "resume_geomean_ns",
        "resume-best",
        "an app that is still there comes back a tenth sooner than under any peer",
        SHARE,
    ),
    ("launch_geomean_ns", "launch-best", "opening an app takes at most 5 % longer than under any peer", OPENING_SHARE),
    ("read_bytes", "read-best", "no more is read from flash than under any peer", 1.0),
    (STALLS, "stalls-best", "everybody waits for memory less than under any peer with swap", 1.0),
];

const STALLS: &str = "psi_full_ns";

/// Where peers are compared, ours beside the best of those that end nobody wrongly, figure by figure.
pub(super) fn verdicts(scenario: &Scenario, cases: &[Case], case: &str) -> Vec<Verdict> {
    let is_peer = |c: &Configuration| PEERS_AND_KERNEL.iter().any(|peer| peer.name() == c.name());
    let has_ours = scenario.configurations.iter().any(|c| c.name() == FOVEA.name());
    if !has_ours || !scenario.configurations.iter().any(is_peer) {
        return Vec::new();
    }
    let claims = CLAIMS.iter().map(|&(of, name, claim, share)| {
        let ours = figure(cases, case, FOVEA.name(), of);
        let claim = format!("{claim} that ends nobody wrongly (ratio to the best)");
        verdict(
            &id(name, case),
            &claim,
            "this project",
            ratio(ours, best(scenario, cases, case, of)),
            Bound::AtMost(share),
        )
    });
    let [_, nobody] = nobody_wrong(cases, case);
    claims.chain([nobody]).collect()
}

/// The least under the others that ended nobody wrongly.
fn best(scenario: &Scenario, cases: &[Case], case: &str, of: &str) -> Option<f64> {
    let ends_wrongly =
        |c: &Configuration| figure(cases, case, c.name(), "wrong_victims").is_some_and(|wrong| wrong > 0.0);
    best_among(scenario, cases, case, of, |c| (of != STALLS || c.zram) && !ends_wrongly(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(configuration: &str, wrong_victims: f64, ms: f64) -> Case {
        let mut figures: std::collections::BTreeMap<String, f64> =
            CLAIMS.iter().map(|claim| (claim.0.into(), ms * 1e6)).collect();
        figures.insert("wrong_victims".into(), wrong_victims);
        Case { case: "H".into(), configuration: configuration.into(), figures }
    }

    fn scenario(configurations: &str) -> Scenario {
        let words = [format!("configurations={configurations}"), "cases=H".to_owned()];
        Scenario::load("workload", &words).unwrap()
    }

    fn failing(verdicts: &[Verdict]) -> Vec<&str> {
        verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect()
    }

    #[test]
    fn the_best_is_who_ends_nobody_wrongly() {
        let scenario = scenario("stock,earlyoom-adj,systemd-oomd-adj,fovea");
        let cases = [
            case("stock", 0.0, 120.0),
            case("earlyoom-adj", 0.0, 100.0),
            case("systemd-oomd-adj", 0.3, 50.0),
            case("fovea", 0.0, 89.0),
        ];
        assert_eq!(failing(&verdicts(&scenario, &cases, "H")), [""; 0]);
        let slower = [&cases[..3], &[case("fovea", 0.0, 93.0)]].concat();
        let fail = ["relaunch-best-H", "relaunch-p95-best-H", "resume-best-H"];
        assert_eq!(failing(&verdicts(&scenario, &slower, "H")), fail);
        // Without swap nobody waits for it.
        let stalls = [&[case("stock", 0.0, 10.0)], &cases[1..]].concat();
        assert!(!failing(&verdicts(&scenario, &stalls, "H")).contains(&"stalls-best-H"));
    }

    #[test]
    fn what_was_not_measured_holds_nothing_and_without_peers_nothing_is_claimed() {
        let compared = scenario("earlyoom-adj,fovea");
        let cases = [case("fovea", 0.0, 89.0)];
        assert_eq!(failing(&verdicts(&compared, &cases, "H")).len(), CLAIMS.len());
        assert!(verdicts(&scenario("stock,zram,fovea"), &cases, "H").is_empty());
    }
}
