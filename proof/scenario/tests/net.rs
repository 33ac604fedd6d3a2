// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The network: its plans, and what its figures and verdicts make of events.

use fovea_report::Document;
use fovea_scenario::{document, Boot, Catalog, Event, EventBody, Plan, Provenance, Scenario, Step};

fn scenario(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Scenario::load("net", &overrides).unwrap()
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

#[test]
fn what_is_compared_differs_in_the_configuration_and_the_daemons_file_alone() {
    let plans = plans(&scenario(&[]));
    assert_eq!(plans.len(), 8);
    for (group, flows) in plans.chunks(4).zip([4, 8]) {
        let names: Vec<_> = group.iter().map(|p| p.configuration.name()).collect();
        assert_eq!(names, ["pfifo", "fq_codel", "cake", "fovea"]);
        for plan in group {
            let first = &group[0];
            let configuration = first.configuration.clone();
            let same = Plan { configuration, daemon_config: first.daemon_config.clone(), ..plan.clone() };
            assert_eq!(same, *first);
            let [Step::Traffic(traffic)] = &plan.steps[..] else { panic!("{:?}", plan.steps) };
            assert_eq!((traffic.bulk_flows, traffic.frames(), traffic.seconds()), (flows, 2250, 100));
            let config: toml::Table = plan.daemon_config.parse().unwrap();
            assert_eq!(config["net"]["enabled"].as_bool(), Some(plan.configuration.name() == "fovea"));
            assert_eq!(config["net"]["capacity_bytes_per_s"].as_integer(), Some(300_000));
        }
    }
    let untold = self::plans(&scenario(&["told=false"]));
    assert!(untold[0].daemon_config.ends_with("capacity_bytes_per_s = 0\n"));
}

#[test]
fn bad_parameters_are_named() {
    for (parameter, word) in [("flows=0", "flows"), ("flows=[]", "flows")] {
        let error = Scenario::load("net", &[parameter.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word), "{parameter}: {error}");
    }
}

/// A boot in which the download received so much a second beside the film, and after it.
fn events(degraded_ns: u64, beside: u64, after: u64) -> Vec<Event> {
    let seconds = |of: &dyn Fn(usize) -> u64| (0..100).map(of).collect();
    let traffic = EventBody::Traffic {
        degraded_ns,
        stream_bytes: seconds(&|second| if second < 90 { 125_000 } else { 0 }),
        bursty_bytes: seconds(&|second| match second {
            0..10 => 0,
            10..90 => beside,
            // Five seconds to recover do not count.
            90..95 => 0,
            _ => after,
        }),
    };
    let ready = EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 1, user_memory_bytes: 1 };
    let done = EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 7 };
    [ready, traffic, done].into_iter().map(|body| Event { t_ns: 0, body }).collect()
}

fn result(fovea: &[Event]) -> Document {
    let scenario = scenario(&["flows=8", "configurations=pfifo,fovea"]);
    let plans = plans(&scenario);
    let pfifo = events(60_000_000_000, 240_000, 280_000);
    let boots = [Boot { plan: &plans[0], events: &pfifo }, Boot { plan: &plans[1], events: fovea }];
    document(&scenario, &boots, &Provenance::default())
}

fn failing(document: &Document) -> Vec<&str> {
    document.verdicts.iter().filter(|verdict| !verdict.pass).map(|verdict| verdict.id.as_str()).collect()
}

#[test]
fn the_figures_are_of_the_times_that_they_are_about() {
    let document = result(&events(1_000_000_000, 130_000, 280_000));
    let figures = &document.cases[1].figures;
    assert_eq!(figures["stream_bytes_per_s"], 125_000.0);
    assert_eq!(figures["bursty_bytes_per_s"], 130_000.0);
    assert_eq!(figures["bursty_after_bytes_per_s"], 280_000.0);
    // 300,000 bytes/s in packets of 1514 bytes with 1448 of payload, less the film.
    assert_eq!(figures["left_bytes_per_s"].round(), 161_922.0);
    assert_eq!(failing(&document), [""; 0]);
}

#[test]
fn each_claim_can_fail() {
    assert_eq!(failing(&result(&events(3_000_000_001, 130_000, 280_000))), ["degraded-flows-8"]);
    assert_eq!(failing(&result(&events(0, 129_000, 280_000))), ["bursty-flows-8"]);
    assert_eq!(failing(&result(&events(0, 130_000, 265_000))), ["recovery-flows-8"]);
}

#[test]
fn a_film_that_stands_still_under_nobody_shows_nothing() {
    let scenario = scenario(&["flows=8", "configurations=pfifo,fovea"]);
    let plans = plans(&scenario);
    let [pfifo, fovea] = [events(0, 240_000, 280_000), events(0, 130_000, 280_000)];
    let boots = [Boot { plan: &plans[0], events: &pfifo }, Boot { plan: &plans[1], events: &fovea }];
    let document = document(&scenario, &boots, &Provenance::default());
    let degraded = document.verdicts.iter().find(|v| v.id.starts_with("degraded")).unwrap();
    assert!(!degraded.pass && degraded.not_shown.is_some(), "{degraded:?}");
}
