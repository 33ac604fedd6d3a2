// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Merging: its plans, and what its figures and verdicts make of events.

mod events;

use events::sample;
use fovea_report::Document;
use fovea_scenario::{document, Boot, Catalog, Event, EventBody, Plan, Provenance, Scenario, Spawn, Step};

fn scenario(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Scenario::load("ksm", &overrides).unwrap()
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

#[test]
fn what_is_compared_differs_in_the_configuration_and_the_daemons_file_alone() {
    let plans = plans(&scenario(&[]));
    let names = |case: &str| -> Vec<&str> {
        plans.iter().filter(|plan| plan.case == case).map(|plan| plan.configuration.name()).collect()
    };
    assert_eq!(names("session"), ["off", "always", "advisor", "background", "kin", "both", "fovea"]);
    assert_eq!(names("tight"), ["off", "always", "fovea"]);
    assert_eq!(names("killed"), ["fovea"]);
    for plan in &plans {
        let first = plans.iter().find(|first| first.case == plan.case).unwrap();
        let configuration = first.configuration.clone();
        let same = Plan { configuration, daemon_config: first.daemon_config.clone(), ..plan.clone() };
        assert_eq!(same, *first);
        let forked = plan.apps.iter().filter(|app| app.spawn == Spawn::Zygote).count();
        if plan.case == "killed" {
            assert!(plan.steps.contains(&Step::KillDaemon {}));
            continue;
        }
        assert_eq!((plan.apps.len(), forked), (13, 10));
        let config: toml::Table = plan.daemon_config.parse().unwrap();
        let by_us = ["background", "both", "fovea"].contains(&plan.configuration.name());
        assert_eq!(config["merge"]["enabled"].as_bool(), Some(by_us));
        let waits = plan.steps.iter().filter_map(|step| match step {
            Step::Wait { ns } => Some(ns),
            _ => None,
        });
        // Ten minutes in steps of 10 and 20 s, and twice two minutes.
        assert!((820..=840).contains(&(waits.sum::<u64>() / 1_000_000_000)));
    }
    let bytes = |plan: &Plan| plan.apps.iter().map(|app| app.anon_bytes).sum::<u64>();
    assert!(bytes(&plans[7]) > bytes(&plans[0]) * 3 / 2, "the second case's apps are larger");
}

#[test]
fn bad_parameters_are_named() {
    for (parameter, word) in
        [("cases=[]", "cases"), ("cases=sesion", "tight"), ("apps=1", "apps"), ("use_ns=0", "use_ns")]
    {
        let error = Scenario::load("ksm", &[parameter.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word), "{parameter}: {error}");
    }
}

/// A boot in which so much was free, and ksmd took so long until the end, and afterwards.
fn events(free_bytes: u64, cpu_ns: u64, still_cpu_ns: u64, wrong_pages: u64) -> Vec<Event> {
    let ready = EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 1, user_memory_bytes: 1 };
    let sample = |label: &str| sample(label, free_bytes, 0, 0);
    let merging = |label: &str, cpu_ns: u64| EventBody::Merging {
        label: label.into(),
        values: [("cpu_ns".to_owned(), cpu_ns), ("scanned_pages".to_owned(), cpu_ns / 10)].into(),
    };
    let used = EventBody::Used { app: "app-0".into(), read_bytes: 0, wrong_pages, verified_pages: 100 };
    let done = EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 7 };
    let body = [
        ready,
        merging("begin", 5),
        sample("session"),
        sample("session"),
        merging("end", cpu_ns + 5),
        merging("quiet", cpu_ns + 9),
        merging("still", cpu_ns + 9 + still_cpu_ns),
        used,
        done,
    ];
    body.into_iter().map(|body| Event { t_ns: 0, body }).collect()
}

fn result(fovea: &[Event]) -> Document {
    let scenario = scenario(&["cases=session", "configurations=off,always,fovea"]);
    let plans = plans(&scenario);
    let (off, always) = (events(1_000, 0, 0, 0), events(2_000, 100_000, 900, 0));
    let boots = [
        Boot { plan: &plans[0], events: &off },
        Boot { plan: &plans[1], events: &always },
        Boot { plan: &plans[2], events: fovea },
    ];
    document(&scenario, &boots, &Provenance::default())
}

fn failing(document: &Document) -> Vec<&str> {
    document.verdicts.iter().filter(|verdict| !verdict.pass).map(|verdict| verdict.id.as_str()).collect()
}

#[test]
fn saved_is_what_is_free_beside_a_session_without_merging() {
    let document = result(&events(1_960, 5_000, 0, 0));
    assert_eq!(failing(&document), [""; 0]);
    let figures = &document.cases[2].figures;
    assert_eq!((figures["saved_bytes"], figures["ksmd_cpu_ns"], figures["ksmd_page_cpu_ns"]), (960.0, 5_000.0, 10.0));
}

#[test]
fn each_claim_can_fail() {
    assert_eq!(failing(&result(&events(1_960, 5_001, 0, 0))), ["ksmd-cpu-session"]);
    assert_eq!(failing(&result(&events(1_949, 5_000, 0, 0))), ["saved-session"]);
    // A window that never closes.
    assert_eq!(failing(&result(&events(1_960, 5_000, 1, 0))), ["ksmd-rests-fovea-session"]);
    assert_eq!(failing(&result(&events(1_960, 5_000, 0, 1))), ["wrong-pages-fovea-session"]);
}
