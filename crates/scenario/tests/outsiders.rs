// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Outsiders: their plans, and what figures and verdicts make of events.

mod events;

use events::{launch, sample};
use fovea_report::Document;
use fovea_scenario::outsider::{LEAKER, SIBLINGS};
use fovea_scenario::{document, Boot, Catalog, Event, EventBody, LaunchKind, Plan, Provenance, Scenario, Step, Swap};

const S: u64 = 1_000_000_000;

fn scenario(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Scenario::load("outsiders", &overrides).unwrap()
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

#[test]
fn every_case_is_planned_under_every_configuration() {
    let plans = plans(&scenario(&[]));
    assert_eq!(plans.len(), 29 * 4);
    for group in plans.chunks(4) {
        assert!(group.iter().all(|plan| plan.steps == group[0].steps && plan.desktop.is_some()));
        let outsiders = group[0].steps.iter().filter(|step| matches!(step, Step::Outsider(_))).count();
        assert_eq!(outsiders, 1, "{}", group[0].case);
    }
    let slab: Vec<&Plan> = plans.iter().filter(|plan| plan.case == "slab").collect();
    assert!(slab.iter().all(|plan| plan.desktop == Some(Swap::None)));
    let fovea = slab.iter().find(|plan| plan.configuration.name() == "fovea").unwrap();
    assert!(fovea.daemon_config.ends_with("enabled = false\n") && fovea.daemon_config.starts_with("[zram]\n"));
}

#[test]
fn a_leak_that_stops_does_so_at_five_times_the_largest_app() {
    let plan = &plans(&scenario(&["cases=vte-stops"]))[0];
    let largest = plan.apps.iter().map(|app| app.anon_bytes / 4096).max().unwrap();
    let most = plan.steps.iter().find_map(|step| match step {
        Step::Outsider(outsider) => Some(outsider.growth.most_pages),
        _ => None,
    });
    assert_eq!(most, Some(5 * largest));
}

#[test]
fn bad_parameters_are_named() {
    for (parameter, word) in [("cases=xterm", "xterm"), ("cases=[]", "cases"), ("interactions=0", "interactions")] {
        let error = Scenario::load("outsiders", &[parameter.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word), "{parameter}: {error}");
    }
}

/// A boot in which these died, the leaker among them after so long.
fn events(killed: &[&str], end_s: u64, oom: bool) -> Vec<Event> {
    let mut bodies = vec![
        (0, EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 1 << 30, user_memory_bytes: 1 << 29 }),
        (0, sample("begin", 1, 1, 0)),
        (1, launch("web", LaunchKind::Cold, 1)),
        (1, launch("mail", LaunchKind::Cold, 1)),
        (2, EventBody::Leaking { app: LEAKER.into() }),
    ];
    bodies.extend(killed.iter().map(|app| (2 + end_s, EventBody::Killed { app: (*app).into(), oom })));
    let siblings_lost = killed.iter().filter(|app| SIBLINGS.contains(app)).count() as u32;
    bodies.push((90, sample("end", 1, 1, 0)));
    bodies.push((
        90,
        EventBody::Outsider {
            watched_ns: 88 * S,
            leaker_ended: killed.contains(&LEAKER),
            siblings_lost,
            scores_changed: 0,
            scores: Default::default(),
            scores_below: 0,
        },
    ));
    bodies.push((91, EventBody::Done { oom_kills: u64::from(oom), kills: 1, daemon_cpu_ns: 0 }));
    bodies.into_iter().map(|(t, body)| Event { t_ns: t * S, body }).collect()
}

fn judged(case: &str, kernel: &[Event], fovea: &[Event]) -> Document {
    let scenario = scenario(&[&format!("cases={case}"), "configurations=kernel,fovea"]);
    let plans = plans(&scenario);
    let boots: Vec<Boot> = plans.iter().zip([kernel, fovea]).map(|(plan, events)| Boot { plan, events }).collect();
    document(&scenario, &boots, &Provenance::default())
}

fn failing(document: &Document) -> Vec<&str> {
    document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect()
}

#[test]
fn an_app_or_a_sibling_that_dies_is_wrong_and_so_is_a_leaker_that_lives_or_dies_late() {
    let kernel = events(&[LEAKER], 10, true);
    assert_eq!(failing(&judged("vte", &kernel, &events(&[LEAKER], 11, false))), [""; 0]);
    assert_eq!(failing(&judged("vte", &kernel, &events(&["mail", LEAKER], 11, false))), ["wrong-kills-vte"]);
    assert_eq!(failing(&judged("vte", &kernel, &events(&[LEAKER, "shell"], 11, false))), ["siblings-vte"]);
    assert_eq!(failing(&judged("vte", &kernel, &events(&[LEAKER], 13, false))), ["leaker-end-vte"]);
    assert_eq!(failing(&judged("vte", &kernel, &events(&[], 0, false))), ["leaker-ends-vte", "leaker-end-vte"]);
}

#[test]
fn where_the_session_leaks_apps_in_the_background_may_die_and_it_may_not() {
    let kernel = events(&[LEAKER], 10, true);
    // Mail is in front.
    assert_eq!(failing(&judged("session-part", &kernel, &events(&["web"], 9, false))), [""; 0]);
    for wrong in ["mail", LEAKER] {
        let of = judged("session-part", &kernel, &events(&[wrong], 9, false));
        assert_eq!(failing(&of), ["wrong-kills-session-part"], "{wrong}");
    }
}

#[test]
fn a_control_under_which_nobody_has_to_die_is_said_to_prove_nothing() {
    let verdict = |kernel: &[Event]| {
        let document = judged("vte", kernel, &events(&[LEAKER], 10, false));
        document.verdicts.into_iter().find(|v| v.id == "wrong-kills-vte").unwrap()
    };
    let nothing = verdict(&events(&[], 0, false));
    assert!(!nothing.pass && nothing.not_shown.is_some(), "{nothing:?}");
    let proof = verdict(&events(&[LEAKER, "shell"], 10, true));
    assert!(proof.pass && proof.claim.contains("1 siblings, 1 by its OOM killer"), "{proof:?}");
}
