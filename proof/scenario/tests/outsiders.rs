// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Outsiders: their plans, and what figures and verdicts make of events.

mod events;

use events::{launch, sample};
use fovea_report::Document;
use fovea_scenario::outsider::{LEAKER, SIBLINGS};
use fovea_scenario::{
    document, merge, Boot, Catalog, Event, EventBody, LaunchKind, Plan, Provenance, Scenario, Step, Swap,
};

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
    assert_eq!(plans.len(), 30 * 4);
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

/// A run of one case, in which the leaker ended after so long under each of these configurations.
fn part(case: &str, commit: &str, ends_s: &[(&str, u64)]) -> Document {
    let names: Vec<&str> = ends_s.iter().map(|(name, _)| *name).collect();
    let parameters = [format!("cases={case}"), format!("configurations={}", names.join(","))];
    let scenario = Scenario::load("outsiders", &parameters).unwrap();
    let plans = plans(&scenario);
    let all: Vec<Vec<Event>> = ends_s.iter().map(|&(_, end_s)| events(&[LEAKER], end_s, true)).collect();
    let boots: Vec<Boot> = plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events }).collect();
    let words = ["phone", "run", "outsiders"].map(str::to_owned).into_iter();
    let command = words.chain(parameters).chain(["--exact".to_owned()]).collect();
    document(&scenario, &boots, &Provenance { commit: commit.into(), command, ..Provenance::default() })
}

#[test]
fn what_was_run_in_parts_is_judged_as_what_was_run_at_once() {
    let peers = [("kernel", 10), ("earlyoom", 8), ("systemd-oomd", 9)];
    let all = [("kernel", 10), ("earlyoom", 8), ("systemd-oomd", 9), ("fovea", 11)];
    let parts = [part("vte", "b", &[("fovea", 11)]), part("vte", "a", &peers)];
    assert!(parts.iter().all(|part| part.verdicts.iter().all(|v| v.id != "leaker-end-vte" || v.pass)));
    let merged = merge(&parts).unwrap();
    let whole = part("vte", "a", &all);
    assert_eq!(failing(&merged), ["leaker-end-vte"], "11 s less 8 s");
    assert_eq!((&merged.verdicts, &merged.cases), (&whole.verdicts, &whole.cases));
    assert_eq!(merged.command.join(" "), "phone run outsiders cases=vte --exact", "all configurations");
    assert_eq!((merged.commit.as_str(), merged.parts.len()), ("b, a", 2));
    let read: Document = serde_json::from_str(&serde_json::to_string(&merged).unwrap()).unwrap();
    assert_eq!(read, merged);
}

#[test]
fn cases_of_several_parts_come_in_the_scenarios_order() {
    let of = |case| part(case, "a", &[("kernel", 10), ("fovea", 11)]);
    let merged = merge(&["vte-fits", "ssh", "vte"].map(of)).unwrap();
    assert_eq!(merged.command[3..5], ["cases=vte,ssh,vte-fits", "configurations=kernel,fovea"]);
    assert_eq!(
        merged.cases.iter().map(|c| c.case.as_str()).collect::<Vec<_>>(),
        ["vte", "vte", "ssh", "ssh", "vte-fits", "vte-fits"]
    );
    assert_eq!((merged.commit.as_str(), merged.verdicts[0].figure), ("a", 100.0));
}

#[test]
fn parts_that_do_not_fit_are_refused_in_one_line() {
    let of = |case| part(case, "a", &[("kernel", 10), ("fovea", 11)]);
    let with = |change: &dyn Fn(&mut Document)| {
        let mut other = of("ssh");
        change(&mut other);
        merge(&[of("vte"), other]).unwrap_err().to_string()
    };
    for (what, error) in [
        ("another scenario", with(&|d| d.scenario = "leak".into())),
        ("another mode", with(&|d| d.mode = "fast".into())),
        ("another seed", with(&|d| d.seed = 2)),
        ("another kernel", with(&|d| d.kernel = "6.1".into())),
        ("another qemu", with(&|d| d.qemu = "8.0".into())),
        ("another command", with(&|d| d.command.insert(3, "interactions=2".into()))),
        ("another command", with(&|d| d.command.extend(["--machine".into(), "virt-arm64".into()]))),
        ("how it was run", with(&|d| d.command.clear())),
        ("no part has \"ssh\" under fovea", with(&|d| d.cases.truncate(1))),
        ("two parts have \"vte\" under kernel", merge(&[of("vte"), of("vte")]).unwrap_err().to_string()),
        ("--exact", {
            let fast = |case| Document { mode: "fast".into(), ..of(case) };
            merge(&[fast("vte"), fast("ssh")]).unwrap_err().to_string()
        }),
        ("no document", merge(&[]).unwrap_err().to_string()),
        ("need the boots", {
            let one = |d: Document| Document { command: vec!["phone".into(), "run".into(), "workload".into()], ..d };
            merge(&[one(of("vte")), one(of("ssh"))]).unwrap_err().to_string()
        }),
    ] {
        assert!(error.contains(what) && !error.contains('\n'), "{what}: {error}");
    }
}
