// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The scenario `prefetch`: which starts are measured, and what they are compared with.

mod events;

use events::{launch, sample};
use fovea_report::Document;
use fovea_scenario::{
    document, merge, Boot, Catalog, CpuTimes, Event, EventBody, LaunchKind, Plan, Provenance, Scenario, StartScore,
    Step,
};

fn plans() -> (Scenario, Vec<Plan>) {
    let scenario = Scenario::load("prefetch", &[]).unwrap();
    let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
    (scenario, plans)
}

/// Starts of which half is computing, and that take these times at first, where they are measured, and of the likely apps at the end.
fn events(plan: &Plan, [first, measured, likely]: [u64; 3], slow: Option<&str>) -> Vec<Event> {
    let opened: Vec<&str> =
        plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).filter_map(Step::app).collect();
    let apps = (opened.len() - 15) / 3;
    let sample = |read_bytes| sample("rested", 0, 0, read_bytes);
    let mut bodies = vec![sample(0)];
    for (nth, app) in opened.iter().enumerate() {
        let time = match nth {
            _ if nth < 2 * apps => first,
            _ if nth < 3 * apps => measured + u64::from(slow == Some(app)) * measured,
            _ if nth < 3 * apps + 10 => first,
            _ => likely,
        };
        let EventBody::Launch { app, kind, elapsed_ns, read_bytes, wrong_pages, verified_pages, .. } =
            launch(app, LaunchKind::Restart, time)
        else {
            unreachable!()
        };
        let cpu = Some(CpuTimes { user_ns: 150, system_ns: 50, ..CpuTimes::default() });
        bodies.push(EventBody::Launch { app, kind, elapsed_ns, read_bytes, wrong_pages, verified_pages, cpu });
        bodies.push(sample(nth as u64 * 1000));
    }
    if plan.configuration.prefetch.is_some_and(fovea_scenario::Prefetch::has_program) {
        let score = StartScore { app: "call".into(), prefetched_bytes: 100, wasted_bytes: 5, ..StartScore::default() };
        bodies.push(EventBody::Prefetched { starts: vec![score] });
    }
    bodies.push(EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 });
    bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect()
}

fn results(fovea: u64, ahead: u64, slow: Option<&str>) -> Document {
    let (scenario, plans) = plans();
    let events: Vec<Vec<Event>> = plans.iter().map(|plan| played(plan, fovea, ahead, slow)).collect();
    let boots: Vec<Boot> = plans.iter().zip(&events).map(|(plan, events)| Boot { plan, events }).collect();
    document(&scenario, &boots, &Provenance::default())
}

fn played(plan: &Plan, fovea: u64, ahead: u64, slow: Option<&str>) -> Vec<Event> {
    match plan.configuration.name() {
        "in-memory" => events(plan, [200, 200, 200], None),
        "fovea" => events(plan, [500, fovea, fovea], slow),
        "fovea-ahead" => events(plan, [500, fovea, ahead], None),
        _ => events(plan, [500; 3], None),
    }
}

fn value(document: &Document, id: &str) -> (f64, bool) {
    let verdict = document.verdicts.iter().find(|verdict| verdict.id == id).unwrap();
    (verdict.figure.round(), verdict.pass)
}

#[test]
fn each_start_finds_no_file_in_memory_and_the_likely_ones_come_after_a_pause() {
    let (_, plans) = plans();
    let steps = &plans[0].steps;
    let opens: Vec<usize> = (0..steps.len()).filter(|&at| matches!(steps[at], Step::Open { .. })).collect();
    let dropped = |at: usize| matches!(steps[at], Step::DropCaches {});
    assert_eq!(opens.iter().filter(|&&at| dropped(at - 1)).count(), opens.len() - 5);
    let waited = opens.iter().filter(|&&at| matches!(steps[at - 1], Step::Wait { .. }) && dropped(at - 2));
    let waited: Vec<_> = waited.filter_map(|&at| steps[at].app()).collect();
    assert_eq!(waited, ["call", "gmail", "sms", "market", "calendar"], "the likeliest of workload N");
}

#[test]
fn gains_are_measured_against_what_reading_and_computing_at_once_would_take() {
    // 500 of which 200 compute: 300 at best.
    let document = results(330, 260, None);
    assert_eq!(value(&document, "overlap"), (85.0, true));
    assert_eq!(value(&document, "ahead"), (80.0, true));
    assert_eq!(value(&document, "slower"), (-34.0, true));
    assert_eq!(value(&document, "wasted"), (5.0, true));
    assert_eq!(value(&document, "read-more"), (0.0, true));
    let document = results(400, 350, Some("sms"));
    assert_eq!(value(&document, "ahead"), (50.0, false));
    assert_eq!(value(&document, "slower"), (60.0, false));
    assert!(!value(&document, "overlap").1);
}

#[test]
fn configurations_that_were_run_apart_are_judged_as_those_of_one_run() {
    let whole = results(330, 260, None);
    let part = |configuration: &str| {
        let parameters = [format!("configurations={configuration}")];
        let scenario = Scenario::load("prefetch", &parameters).unwrap();
        let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
        let events = played(&plans[0], 330, 260, None);
        let words = ["phone", "run", "prefetch"].map(str::to_owned).into_iter();
        let command = words.chain(parameters).chain(["--exact".to_owned()]).collect();
        let boots = [Boot { plan: &plans[0], events: &events }];
        document(&scenario, &boots, &Provenance { command, ..Provenance::default() })
    };
    let merged = merge(&["none", "fovea-ahead", "in-memory", "fovea", "cat-all"].map(part)).unwrap();
    assert_eq!(merged.verdicts, whole.verdicts);
    assert_eq!(merged.command.join(" "), "phone run prefetch --exact", "an app is no case that can be named");
}
