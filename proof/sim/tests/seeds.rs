// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A scenario with several seeds on the simulated phone: one document, folded from those of each seed; and files of each.

use std::collections::{BTreeMap, BTreeSet};

use fovea_report::seeds::SeedList;
use fovea_report::Document;
use fovea_scenario::{Event, EventBody, Plan, Scenario};

fn simulated(parameters: &[&str]) -> (Scenario, Vec<Plan>, Vec<Vec<Event>>) {
    let parameters: Vec<String> = parameters.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load("workload", &parameters).unwrap();
    let (plans, events) = fovea_sim::simulate(&scenario, 2).unwrap();
    (scenario, plans, events)
}

fn found(parameters: &[&str]) -> Document {
    let (scenario, plans, events) = simulated(parameters);
    fovea_sim::results(&scenario, &plans, &events)
}

/// A scene in which apps die under both, so that figures differ by the seed.
const SCENE: [&str; 4] = ["workload=H", "scale=1.6", "launches=40", "configurations=zram,fovea"];

fn with(seeds: &str) -> Document {
    found(&[&SCENE[..], &[seeds]].concat())
}

/// The mean of a figure, as docs/guide/scenarios.md says it.
fn mean(name: &str, [a, b]: [f64; 2]) -> f64 {
    let ratio = ["_ns", "_bytes", "_nj", "_bytes_per_s", "_insns"].iter().any(|end| name.ends_with(end));
    if ratio && a > 0.0 && b > 0.0 {
        (a * b).sqrt()
    } else {
        (a + b) / 2.0
    }
}

#[test]
fn the_document_of_two_seeds_is_folded_from_those_of_each() {
    let (all, alone) = (with("seeds=21,22"), [with("seed=21"), with("seed=22")]);
    assert_eq!((all.seed, all.seeds.clone()), (21, Some(SeedList::Named(vec![21, 22]))));
    assert_eq!(all.cases.len(), 2);
    let mut differ = 0;
    for case in &all.cases {
        let own = alone.each_ref().map(|d| d.cases.iter().find(|c| c.configuration == case.configuration).unwrap());
        let mut expected = BTreeMap::new();
        for (name, &value) in &own[0].figures {
            if let Some(&other) = own[1].figures.get(name) {
                expected.insert(name, mean(name, [value, other]));
                differ += u32::from(value != other);
            }
        }
        assert_eq!(case.figures.keys().collect::<Vec<_>>(), expected.keys().copied().collect::<Vec<_>>());
        for (name, value) in expected {
            let ours = case.figures[name];
            assert!((ours - value).abs() <= 1e-9 * value.abs(), "{name}: {ours} for {value}");
        }
    }
    assert!(differ > 10, "the seeds change {differ} figures: another scene is needed");
    let ids = |d: &Document| d.verdicts.iter().map(|v| v.id.clone()).collect::<BTreeSet<_>>();
    assert_eq!(ids(&all), alone.iter().flat_map(ids).collect());
    for verdict in &all.verdicts {
        let own: Vec<bool> =
            alone.iter().flat_map(|d| &d.verdicts).filter(|v| v.id == verdict.id).map(|v| v.pass).collect();
        let seeds = verdict.seeds.unwrap();
        let holds = own.iter().filter(|pass| **pass).count();
        assert_eq!((seeds.holds as usize, seeds.of as usize), (holds, own.len()), "{}", verdict.id);
    }
}

#[test]
fn one_seed_in_a_list_makes_the_document_of_that_seed() {
    assert_eq!(with("seeds=21"), with("seed=21"));
}

#[test]
fn the_results_folder_has_the_files_of_every_seed() {
    let folder = tempfile::tempdir().unwrap();
    let names = |seeds: &str| {
        let (_, plans, events) = simulated(&["launches=5", "configurations=zram,fovea", seeds]);
        let folder = folder.path().join(seeds);
        fovea_sim::write_events(&folder, &plans, &events).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                assert!(entry.path().join("events.jsonl").is_file());
                entry.file_name().into_string().unwrap()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names("seeds=21,22"),
        [
            "00-workload-N-zram-seed-21-simulated",
            "01-workload-N-fovea-seed-21-simulated",
            "02-workload-N-zram-seed-22-simulated",
            "03-workload-N-fovea-seed-22-simulated",
        ]
    );
    assert_eq!(names("seed=21"), ["00-workload-N-zram-simulated", "01-workload-N-fovea-simulated"]);
}

#[test]
fn a_boot_that_failed_is_named_with_its_seed_and_its_figures_are_left_out() {
    let (scenario, plans, mut events) = simulated(&["launches=5", "configurations=zram,fovea", "seeds=21,22"]);
    let at = plans.iter().position(|p| p.of_seed == Some(22) && p.configuration.name() == "zram").unwrap();
    events[at] = vec![Event { t_ns: 0, body: EventBody::Failed { error: "no such app".into() } }];
    assert_eq!(fovea_sim::failures(&plans, &events), ["workload/N/zram/seed-22: no such app"]);
    let document = fovea_sim::results(&scenario, &plans, &events);
    let figures =
        |configuration: &str| document.cases.iter().find(|c| c.configuration == configuration).unwrap().figures.len();
    assert!(figures("zram") == 0 && figures("fovea") > 5);
    assert!(!document.passed());
}
