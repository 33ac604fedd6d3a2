// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The scenario `disk`: its plans, and what is made of what boots report.

use std::collections::BTreeMap;

use fovea_report::Document;
use fovea_scenario::{
    document, Boot, Catalog, DiskLoad, DiskUse, Event, EventBody, OpenLoop, Plan, Provenance, Scenario, Step,
};

fn scenario(parameters: &[&str]) -> Scenario {
    let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
    Scenario::load("disk", &parameters).unwrap()
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

#[test]
fn each_configuration_is_a_boot_and_only_two_have_the_daemon_see_to_the_disk() {
    let plans = plans(&scenario(&[]));
    let names: Vec<_> = plans.iter().map(|plan| plan.configuration.name()).collect();
    let all = ["none", "mq-deadline", "kyber", "bfq", "bfq-weights", "io-max", "fovea-cgroup", "fovea-dm"];
    assert_eq!(names, all);
    for plan in &plans {
        let config: toml::Table = plan.daemon_config.parse().unwrap();
        let managed = plan.configuration.name().starts_with("fovea");
        assert_eq!(config["disk"]["enabled"].as_bool(), Some(managed));
        assert_eq!(config["disk"]["cmax_bytes_per_s"].as_integer(), Some(10_850_331));
        assert!(config.get("freeze").is_none(), "a copy that is frozen disturbs nobody");
        let labels = plan.steps.iter().map(|step| match step {
            Step::Disk { load } => load.label.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(labels.collect::<Vec<_>>(), [DiskLoad::FILM, DiskLoad::ALONE, DiskLoad::DEATH]);
    }
    let unknown = self::plans(&scenario(&["rate_known=false"]));
    assert!(unknown.iter().all(|plan| plan.daemon_config.contains("cmax_bytes_per_s = 0")));
}

#[test]
fn bad_parameters_are_named() {
    for (parameter, word) in [
        ("frame_bytes=5000", "frame_bytes"),
        ("command_bytes=100", "command_bytes"),
        ("queue_depth=0", "queue_depth"),
        ("play_ns=1", "play_ns"),
        ("copy_threads=0", "copy_threads"),
    ] {
        let error = Scenario::load("disk", &[parameter.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word), "{parameter}: {error}");
    }
}

/// A boot in which so many frames were missed, each read took so long, and dperf got so much, in MB a second.
fn events(missed: u64, read_ms: u64, copy_mb: u64, wrong: u64, left: u64) -> Vec<Event> {
    events_with_worst(missed, read_ms, copy_mb, wrong, left, 200)
}

/// The same, where the worst read of the app of no class took so long.
fn events_with_worst(missed: u64, read_ms: u64, copy_mb: u64, wrong: u64, left: u64, worst_ms: u64) -> Vec<Event> {
    const SECONDS: u64 = 20;
    let elapsed_ns = SECONDS * 1_000_000_000;
    let player = DiskUse {
        bytes: SECONDS * 2_000_000,
        elapsed_ns,
        read_ns: (1..=540).map(|nth| if nth > 500 { 2 * read_ms } else { read_ms } * 1_000_000).collect(),
        frames: 600,
        missed,
        wrong_blocks: wrong,
        ..DiskUse::default()
    };
    let copy = DiskUse { bytes: SECONDS * copy_mb * 1_000_000, elapsed_ns, ..DiskUse::default() };
    let writer = DiskUse { longest_stall_ns: 500_000_000, elapsed_ns, ..DiskUse::default() };
    let plain = DiskUse { read_ns: vec![1_000_000, worst_ms * 1_000_000], elapsed_ns, ..DiskUse::default() };
    let apps = [("player", player.clone()), ("dperf", copy.clone()), ("plain", plain.clone()), ("writer", writer)];
    let all: BTreeMap<_, _> = apps.map(|(n, u)| (n.to_owned(), u)).into();
    let open: BTreeMap<_, _> = [("player", player), ("plain", plain)].map(|(n, u)| (n.to_owned(), u)).into();
    let alone: BTreeMap<_, _> = [("dperf".to_owned(), copy)].into();
    let volume: BTreeMap<_, _> = [("bursty".to_owned(), 9)].into();
    let load = |label: &str, apps, classes_left| EventBody::DiskLoad {
        label: label.into(),
        apps,
        volume: volume.clone(),
        classes_left,
    };
    let bodies = vec![
        EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 2 << 30, user_memory_bytes: 1 << 30 },
        load(DiskLoad::FILM, all, None),
        load(DiskLoad::ALONE, alone, None),
        load(OpenLoop::Sync.label(), open, None),
        load(DiskLoad::DEATH, BTreeMap::new(), Some(left)),
        EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 },
    ];
    bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect()
}

/// Every configuration but ours misses many frames, and the copy has 7 MB a second there.
fn results(ours: &[Event]) -> Document {
    let scenario = scenario(&[]);
    let plans = plans(&scenario);
    let others = events(300, 100, 7, 0, 0);
    let of = |plan: &Plan| if plan.configuration.name() == "fovea-dm" { ours } else { &others[..] };
    let boots: Vec<_> = plans.iter().map(|plan| Boot { plan, events: of(plan) }).collect();
    document(&scenario, &boots, &Provenance::default())
}

fn failing(document: &Document) -> Vec<&str> {
    document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect()
}

#[test]
fn figures_are_what_the_apps_report() {
    let document = results(&events(0, 10, 7, 0, 0));
    let figures = &document.cases.iter().find(|c| c.configuration == "fovea-dm").unwrap().figures;
    for (name, value) in [
        ("missed_frames", 0.0),
        ("p80_read_ns", 10e6),
        ("p99_read_ns", 20e6),
        ("player_bytes_per_s", 2e6),
        ("total_bytes_per_s", 9e6),
        ("bursty_alone_bytes_per_s", 7e6),
        ("longest_stall_ns", 5e8),
        ("wrong_blocks", 0.0),
        ("classes_left", 0.0),
    ] {
        assert_eq!(figures[name], value, "{name}");
    }
    assert_eq!(failing(&document), [""; 0]);
}

#[test]
fn each_verdict_fails_for_what_it_is_about() {
    for (ours, id) in [
        (events(1, 10, 7, 0, 0), "missed-frames-fovea-dm"),
        (events(0, 60, 7, 0, 0), "p99-read-best-stock"),
        (events(0, 10, 7, 1, 0), "wrong-blocks-fovea-dm"),
        (events(0, 10, 7, 0, 1), "left-after-kill-fovea-dm"),
        (events_with_worst(0, 10, 7, 0, 0, 450), "plain-worst-bare-film"),
    ] {
        assert_eq!(failing(&results(&ours)), [id]);
    }
    assert_eq!(failing(&results(&events(0, 10, 6, 0, 0))), ["total-throughput", "bursty-alone"]);
}

#[test]
fn what_is_not_compared_is_not_claimed() {
    let scenario = scenario(&[r#"configurations=["none", "fovea-dm"]"#]);
    let plans = plans(&scenario);
    let events = events(0, 10, 7, 0, 0);
    let boots: Vec<_> = plans.iter().map(|plan| Boot { plan, events: &events }).collect();
    let document = document(&scenario, &boots, &Provenance::default());
    let ids: Vec<_> = document.verdicts.iter().map(|v| v.id.as_str()).collect();
    assert!(!ids.contains(&"p99-read-best-stock") && ids.contains(&"bursty-alone"), "{ids:?}");
}

#[test]
fn open_loops_are_stretches_of_their_own_with_verdicts_of_their_own() {
    let scenario = scenario(&[r#"configurations=["none", "fovea-dm"]"#, r#"open_loops=["sync", "front-copy"]"#]);
    let plans = plans(&scenario);
    let labels = plans[0].steps.iter().map(|step| match step {
        Step::Disk { load } => (load.label.as_str(), load.apps()),
        other => panic!("{other:?}"),
    });
    let labels: Vec<_> = labels.collect();
    assert_eq!(labels[2], ("sync", &["player", "syncer", "plain"][..]));
    assert_eq!(labels[3], ("front-copy", &["front", "plain"][..]));
    assert_eq!(labels[1], (DiskLoad::ALONE, &["dperf"][..]));
    let [bare, ours] = [events(300, 100, 7, 0, 0), events_with_worst(0, 10, 7, 0, 0, 501)];
    let boots = [Boot { plan: &plans[0], events: &bare }, Boot { plan: &plans[1], events: &ours }];
    let document = document(&scenario, &boots, &Provenance::default());
    let failing = failing(&document);
    for id in ["plain-worst-sync", "plain-worst-bare-sync", "plain-worst-film", "plain-worst-front-copy"] {
        assert!(failing.contains(&id), "{id}: {failing:?}");
    }
    assert!(!failing.contains(&"missed-frames-sync"), "{failing:?}");
}

#[test]
fn a_film_that_nobody_disturbs_shows_nothing() {
    let scenario = scenario(&[r#"configurations=["none", "fovea-dm"]"#]);
    let plans = plans(&scenario);
    let events = events(0, 10, 7, 0, 0);
    let boots: Vec<_> = plans.iter().map(|plan| Boot { plan, events: &events }).collect();
    let document = document(&scenario, &boots, &Provenance::default());
    let missed = document.verdicts.iter().find(|v| v.id == "missed-frames-fovea-dm").unwrap();
    assert!(!missed.pass && missed.not_shown.as_ref().is_some_and(|why| why.contains("none")), "{missed:?}");
}
