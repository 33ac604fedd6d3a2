// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whatever the daemon did is in its journal with all that it depended on: decided again, it is the same.

use std::collections::BTreeMap;

use fovea_client::journal::Line;
use fovea_client::replay::Replay;
use fovea_policy::memory::PAPER_PAGES;
use fovea_policy::Config;
use fovea_scenario::{EventBody, Scenario};

/// The journals of a scenario's boots, by configuration and case.
fn journals(name: &str, settings: &[&str]) -> Vec<(String, Vec<Line>)> {
    let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
    let scenario = Scenario::load(name, &settings).unwrap();
    let (plans, events) = fovea_sim::simulate(&scenario, 2).unwrap();
    let line = |body: EventBody| match body {
        EventBody::Journal { entry } => Some(serde_json::from_value(entry).unwrap()),
        _ => None,
    };
    let named = plans.iter().map(|plan| format!("{} {}", plan.configuration.name(), plan.case));
    named.zip(events).map(|(name, events)| (name, events.into_iter().filter_map(|e| line(e.body)).collect())).collect()
}

fn same(name: &str, settings: &[&str], wanted: &[&str]) {
    let mut done: BTreeMap<String, u64> = BTreeMap::new();
    let mut differs = 0;
    let mut config = Config::default();
    config.memory.minfree_pages = Some(PAPER_PAGES.map(|pages| pages * 4));
    for (boot, lines) in journals(name, settings) {
        let (mut replay, mut another) = (Replay::new(None), Replay::new(Some(&config)));
        for line in lines {
            *done.entry(line.action.clone()).or_default() += 1;
            another.line(line.clone());
            if let Some(difference) = replay.line(line) {
                panic!("{name}, {boot}: {difference:?}");
            }
        }
        assert_eq!(replay.tally().unknown, 0, "{name}, {boot}");
        differs += another.tally().different;
    }
    for action in wanted {
        assert!(done.contains_key(*action), "{name}: nobody was to {action}: {done:?}");
    }
    assert!(differs > 0, "{name}: thresholds four times as high change nothing");
}

#[test]
fn the_journals_of_lowmem_give_the_same_actions_again() {
    same("lowmem", &["rounds=1"], &["rank", "compress", "kill"]);
}

#[test]
fn the_journals_of_a_workload_give_the_same_actions_again() {
    same("workload", &["launches=60"], &["rank", "freeze", "thaw", "compress", "kill"]);
}
