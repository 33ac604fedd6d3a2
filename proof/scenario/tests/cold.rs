// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The scenario `cold`: what each launch of a round is compared with, and rounds in which somebody died.

mod events;

use events::launch;
use fovea_report::Document;
use fovea_scenario::{document, Boot, Catalog, Event, EventBody, LaunchKind, Plan, Provenance, Scenario, Step};

fn plan(overrides: &[&str]) -> (Scenario, Plan) {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load("cold", &overrides).unwrap();
    let plan = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap().remove(0);
    (scenario, plan)
}

/// A phone whose launches take these times, in the order of a round; the third of `unlucky` finds it dead.
fn results(times: [u64; 5], unlucky: Option<&str>) -> Document {
    let (scenario, plan) = plan(&["rounds=2"]);
    let mut bodies = Vec::new();
    let mut turns = std::collections::BTreeMap::<&str, usize>::new();
    for app in plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).filter_map(Step::app) {
        let turn = turns.entry(app).or_default();
        let kind = match (*turn, *turn % 5) {
            (0, _) => LaunchKind::Cold,
            (_, 1 | 3) if unlucky != Some(app) => LaunchKind::Resume,
            _ => LaunchKind::Restart,
        };
        bodies.push(launch(app, kind, times[*turn % 5]));
        *turn += 1;
    }
    bodies.push(EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 });
    let events: Vec<Event> = bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect();
    document(&scenario, &[Boot { plan: &plan, events: &events }], &Provenance::default())
}

fn holds(document: &Document, id: &str) -> bool {
    document.verdicts.iter().find(|verdict| verdict.id == id).unwrap().pass
}

const TIMES: [u64; 5] = [500, 100, 200, 110, 300];

#[test]
fn each_app_is_alone_and_the_page_cache_is_dropped_twice_in_a_round() {
    let (_, plan) = plan(&["rounds=3"]);
    let count = |wanted: fn(&Step) -> bool| plan.steps.iter().filter(|s| wanted(s)).count();
    let apps = count(|s| matches!(s, Step::Open { .. })) / 15;
    assert!(apps > 10, "{apps}");
    assert_eq!(count(|s| matches!(s, Step::DropCaches {})), 3 * 2 * apps);
    assert_eq!(count(|s| matches!(s, Step::Crash { .. })), 3 * 3 * apps);
    let mut alive = None;
    for step in &plan.steps {
        match step {
            Step::Open { app } => assert!(alive.replace(app).is_none_or(|before| before == app)),
            Step::Crash { app } => assert_eq!(alive.take(), Some(app)),
            _ => {}
        }
    }
}

#[test]
fn launches_without_files_are_set_against_those_with_them() {
    let d = results(TIMES, None);
    assert_eq!(d.figure("browser", "normal", "dead_slower_percent"), Some(50.0));
    assert!((d.figure("browser", "normal", "alive_slower_percent").unwrap() - 10.0).abs() < 1e-9);
    assert_eq!(d.figure("", "normal", "rounds_as_meant_percent"), Some(100.0));
    let ids = ["rounds-as-meant", "dead-slower", "alive-slower"];
    assert_eq!(ids.map(|id| holds(&d, id)), [true, true, true]);
    let [first, alive, dead, ..] = TIMES;
    let d = results([first, alive, dead, alive, dead * 118 / 100], None);
    assert_eq!(ids.map(|id| holds(&d, id)), [true, false, false]);
}

#[test]
fn a_round_in_which_the_app_died_does_not_count() {
    let d = results(TIMES, Some("browser"));
    assert_eq!(d.figure("browser", "normal", "dead_slower_percent"), None);
    assert_eq!(d.figure("camera", "normal", "dead_slower_percent"), Some(50.0));
    assert!(!holds(&d, "rounds-as-meant"));
}

#[test]
fn wrong_parameters_are_named() {
    for (wrong, word) in [("rounds=0", "rounds"), ("workload=X", "X"), ("footprint=none", "none")] {
        let error = Scenario::load("cold", &[wrong.to_owned()])
            .and_then(|scenario| scenario.plans(&Catalog::builtin().unwrap(), true).map(drop));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{error}");
    }
}
