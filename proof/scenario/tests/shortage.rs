// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `burst`, `incompressible` and a leak outside of apps: their plans, and what figures and verdicts make of events.

mod events;

use events::{launch, sample};
use fovea_report::Document;
use fovea_scenario::{document, Boot, Catalog, Event, EventBody, LaunchKind, Load, Plan, Provenance, Scenario, Step};

fn scenario(name: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Scenario::load(name, &overrides).unwrap()
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

fn passes(document: &Document, id: &str) -> bool {
    document.verdicts.iter().find(|v| v.id == id).unwrap_or_else(|| panic!("no verdict {id}")).pass
}

/// A boot in which each open takes so long, and these are killed after the step that opens or starts an app of that name first.
fn events(plan: &Plan, launch_ms: u64, killed: &[(&str, &str)], psi_full_ms: u64) -> Vec<Event> {
    let mut bodies =
        vec![EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 2 << 20, user_memory_bytes: 1 << 20 }];
    let mut left: Vec<_> = killed.to_vec();
    for (index, step) in plan.steps.iter().enumerate() {
        bodies.push(EventBody::Step { index });
        match step {
            Step::Sample { label } => bodies.push(sample(label, 1, 1, 0)),
            Step::Open { app } => bodies.push(launch(app, LaunchKind::Cold, launch_ms * 1_000_000)),
            _ => {}
        }
        left.retain(|(after, app)| {
            let now = step.app() == Some(after);
            if now {
                bodies.push(EventBody::Killed { app: (*app).into(), oom: false });
            }
            !now
        });
    }
    assert!(left.is_empty(), "{left:?}");
    bodies.push(EventBody::Stalled { full_ns: psi_full_ms * 1_000_000 });
    bodies.push(EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 });
    bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect()
}

fn results(scenario: &Scenario, of: impl Fn(&Plan) -> Vec<Event>) -> Document {
    let plans = plans(scenario);
    let all: Vec<Vec<Event>> = plans.iter().map(of).collect();
    let boots: Vec<Boot> = plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events }).collect();
    document(scenario, &boots, &Provenance::default())
}

#[test]
fn the_cases_of_burst_differ_in_the_job_alone() {
    let usual = plans(&scenario("burst", &["configurations=fovea"]));
    assert_eq!(usual.len(), 3);
    let all = plans(&scenario("burst", &["cases=unloaded,compile,processes,wide,editor", "configurations=fovea"]));
    let (unloaded, loaded) = all.split_first().unwrap();
    assert_eq!(loaded.len(), 4);
    for (plan, job) in loaded.iter().zip(["compiler", "spawner", "wide-build", "editor"]) {
        let without: Vec<Step> = plan.steps.iter().filter(|s| s.app() != Some(job)).cloned().collect();
        assert_eq!(without, unloaded.steps);
        let app = plan.apps.iter().find(|app| app.name == job).unwrap();
        assert!(matches!(app.load, Some(Load::Build { .. })) && app.role == "service");
    }
    let opened = unloaded.steps.iter().filter(|s| matches!(s, Step::Open { .. })).count();
    assert_eq!(opened, 8 * 3);
}

#[test]
fn services_and_apps_in_front_are_wrong_victims_and_others_are_not() {
    let scenario = scenario("burst", &["cases=unloaded,compile", "configurations=zram,fovea"]);
    let of = |fovea: &'static [(&'static str, &'static str)], ms: u64| {
        results(&scenario, move |plan| match (plan.configuration.name(), plan.case.as_str()) {
            ("fovea", "compile") => events(plan, ms, fovea, 5),
            _ => events(plan, 100, &[("maps", "compiler")], 5),
        })
    };
    // The job dies, and an app that was left.
    let fine = of(&[("compiler", "compiler"), ("maps", "browser")], 109);
    assert!(passes(&fine, "wrong-victims-compile") && passes(&fine, "launch-unloaded-compile"));
    assert!(!passes(&fine, "job-kills-compile"));
    assert_eq!(fine.figure("compile", "fovea", "job_kills"), Some(1.0));
    assert!(!passes(&fine, "launch-best-compile") && passes(&fine, "launch-best-unloaded"));
    assert_eq!(fine.figure("compile", "fovea", "kills"), Some(2.0));
    assert_eq!(fine.figure("compile", "fovea", "wrong_kills"), None);
    let front = of(&[("maps", "maps")], 111);
    assert!(passes(&front, "job-kills-compile"));
    assert!(!passes(&front, "wrong-victims-compile") && !passes(&front, "launch-unloaded-compile"));
    let service = of(&[("maps", "launcher")], 100);
    assert_eq!(service.figure("compile", "fovea", "wrong_victims"), Some(1.0));
    assert!(passes(&service, "launch-best-compile"));
}

#[test]
fn only_the_apps_of_incompressible_do_not_compress() {
    let scenario = scenario("incompressible", &[]);
    let plan = &plans(&scenario)[0];
    for app in &plan.apps {
        let is_opened = plan.steps.iter().any(|s| matches!(s, Step::Open { app: name } if *name == app.name));
        assert_eq!(app.mix.random_percent == 100, is_opened, "{}", app.name);
    }
    let of = |ours: u64| {
        results(&scenario, move |plan| {
            let psi_ms = if plan.configuration.name() == "fovea" { ours } else { 20 };
            events(plan, 100, &[], psi_ms)
        })
    };
    assert!(passes(&of(20), "stall-best") && !passes(&of(21), "stall-best"));
    assert!(passes(&of(20), "kills-zram") && passes(&of(20), "relaunch-best"));
}

#[test]
fn a_leak_outside_of_apps_is_played_where_it_is_asked_for() {
    let usual = plans(&scenario("leak", &["configurations=fovea"]));
    assert_eq!(usual.len(), 4);
    assert!(usual.iter().all(|plan| plan.apps.iter().all(|app| !app.is_outside())));
    let scenario = scenario("leak", &["cases=outside", "configurations=fovea"]);
    let plan = &plans(&scenario)[0];
    let outside: Vec<&str> = plan.apps.iter().filter(|app| app.is_outside()).map(|app| app.name.as_str()).collect();
    assert_eq!(outside, ["stray"]);
    assert!(plan.steps.iter().any(|step| matches!(step, Step::Leak { app, .. } if app == "stray")));
    assert!(plan.steps.iter().all(|step| !matches!(step, Step::Open { app } if app == "stray")));
    let document = results(&scenario, |plan| events(plan, 100, &[("stray", "stray"), ("maps", "maps")], 0));
    assert!(!passes(&document, "wrong-kills-outside"));
    // What is nobody's app is the kernel's to end.
    assert!(document.verdicts.iter().all(|v| !v.id.starts_with("oom-kills")));
}
