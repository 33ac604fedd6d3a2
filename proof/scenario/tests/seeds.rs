// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A scenario with several seeds: its plans are those of each, and its document is folded from theirs.

use fovea_report::seeds::SeedList;
use fovea_report::verdict::Seeds;
use fovea_report::Document;
use fovea_scenario::{builtin_scenarios, document, Boot, Catalog, Error, Event, EventBody, Plan, Provenance, Scenario};

fn load(name: &str, overrides: &[&str]) -> Result<Scenario, Error> {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Scenario::load(name, &overrides)
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

#[test]
fn every_scenario_is_booted_with_each_seed_as_with_that_seed_alone() {
    for name in builtin_scenarios() {
        let both = load(name, &["seeds=21,22"]).unwrap();
        assert_eq!((both.seed, &both.seeds[..]), (21, &[21, 22][..]), "{name}");
        let alone = |seed: u64| {
            let scenario = load(name, &[&format!("seed={seed}")]).unwrap();
            let of_seed = Some(seed);
            plans(&scenario).into_iter().map(move |plan| Plan { of_seed, ..plan })
        };
        let all: Vec<Plan> = alone(21).chain(alone(22)).collect();
        assert!(plans(&both) == all, "{name}");
    }
}

#[test]
fn one_seed_in_a_list_is_that_seed() {
    let (list, alone) = (load("pair", &["seeds=21"]).unwrap(), load("pair", &["seed=21"]).unwrap());
    assert_eq!(list.seeds, alone.seeds);
    assert_eq!(plans(&list), plans(&alone));
    assert!(plans(&list).iter().all(|plan| !plan.names().iter().any(|name| name.contains("seed"))));
}

#[test]
fn the_guest_is_told_nothing_of_other_seeds() {
    let told = |parameter: &str| {
        let plan = plans(&load("pair", &[parameter]).unwrap()).remove(0);
        serde_json::to_string(&plan).unwrap()
    };
    assert_eq!(told("seeds=21,22"), told("seed=21"));
}

#[test]
fn the_command_line_takes_the_place_of_what_the_file_says() {
    assert_eq!(load("monkey", &["seeds=7,8"]).unwrap().seeds, [7, 8], "its file names one seed");
    let file = "kind = \"pair\"\nseeds = [3, 4]\n";
    let of = |overrides: &[String]| Scenario::from_text("mine.toml", file, overrides).unwrap().seeds;
    assert_eq!(of(&[]), [3, 4]);
    assert_eq!(of(&["seed=5".into()]), [5]);
    assert_eq!(of(&["seeds=5,6".into(), "seeds=[7, 8]".into()]), [7, 8], "the last word counts");
    assert_eq!(load("pair", &[]).unwrap().seeds, [1]);
}

#[test]
fn wrong_seeds_are_told_in_one_line_with_the_parameter() {
    let many = format!("seeds={}", (0..32).map(|seed: u32| seed.to_string()).collect::<Vec<_>>().join(","));
    for (parameters, word) in [
        (&["seeds="][..], "no seed"),
        (&["seeds=[]"], "no seed"),
        (&["seeds=21,22,21"], "seed 21 stands there twice"),
        (&[&many], "32 seeds; name at most 31"),
        (&["seeds=a,b"], "u64"),
        (&["seeds=1,-2"], "-2"),
        (&["seeds=1,"], "u64"),
        (&["seeds=1.5"], "u64"),
        (&["seed=1,2"], "u64"),
        (&["seed=1", "seeds=2,3"], "named both"),
        (&["seeds=2,3", "seed=1"], "named both"),
    ] {
        let error = load("pair", parameters).unwrap_err();
        let line = error.to_string();
        assert!(matches!(error, Error::Parameter { .. }), "{line}");
        let last = parameters.last().unwrap();
        assert!(line.contains(word) && line.contains(last) && !line.contains('\n'), "{parameters:?}: {line}");
    }
}

#[test]
fn wrong_seeds_in_a_file_are_told_with_their_line() {
    for (seeds, word) in [
        ("seeds = []", "no seed"),
        ("seeds = 21", "21"),
        ("seeds = [21, 21]", "twice"),
        ("seed = 1\nseeds = [2]", "named both"),
    ] {
        let file = format!("kind = \"pair\"\n{seeds}\n");
        let line = Scenario::from_text("mine.toml", &file, &[]).unwrap_err().to_string();
        assert!(line.starts_with("mine.toml:2") || line.starts_with("mine.toml:3"), "{line}");
        assert!(line.contains(word) && !line.contains('\n'), "{line}");
    }
}

fn event(body: EventBody) -> Event {
    Event { t_ns: 1, body }
}

/// A boot in which so many die.
fn boot(kills: u64) -> Vec<Event> {
    let ready =
        EventBody::Ready { kernel: "6.12.1".into(), memory_total_bytes: 420 << 20, user_memory_bytes: 380 << 20 };
    vec![event(ready), event(EventBody::Done { oom_kills: kills, kills, daemon_cpu_ns: kills * 1000 })]
}

/// `steps`, for it has the fewest figures; `events` gives the boot of each seed.
fn found(seeds: &str, events: impl Fn(u64) -> Vec<Event>) -> Document {
    let scenario = load("no-psi", &[seeds]).unwrap();
    let plans = plans(&scenario);
    let events: Vec<Vec<Event>> = plans.iter().map(|plan| events(plan.seed)).collect();
    let boots: Vec<Boot> = plans.iter().zip(&events).map(|(plan, events)| Boot { plan, events }).collect();
    document(&scenario, &boots, &Provenance { qemu: "7.2".into(), ..Provenance::default() })
}

#[test]
fn figures_are_means_over_the_seeds_and_verdicts_are_on_them() {
    let all = found("seeds=2,8", boot);
    assert_eq!((all.seed, all.seeds.clone()), (2, Some(SeedList::Named(vec![2, 8]))));
    let configuration = &all.cases[0].configuration;
    let of = |name: &str| all.figure("", configuration, name).unwrap();
    assert_eq!(of("oom_kills"), 5.0, "a count: the arithmetic mean");
    assert!((of("daemon_cpu_ns") - 4000.0).abs() < 1e-9, "a time: the geometric mean of 2000 and 8000");
    let single = found("seed=2", boot);
    assert_eq!(single.seeds, None);
    let ids = |d: &Document| d.verdicts.iter().map(|v| v.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&all), ids(&single));
    assert!(all.verdicts.iter().all(|v| v.seeds.is_some_and(|s| s.of == 2)));
}

#[test]
fn a_boot_that_failed_with_one_seed_leaves_its_figures_out() {
    let failed = || vec![event(EventBody::Failed { error: "no such app".into() })];
    let all = found("seeds=2,3,8", |seed| if seed == 3 { failed() } else { boot(seed) });
    assert_eq!(all.cases.len(), 1);
    assert!(all.cases[0].figures.is_empty(), "{:?}", all.cases);
    let completed = all.verdicts.iter().find(|v| v.id == "boots-completed").unwrap();
    assert!(!completed.pass && completed.seeds == Some(Seeds { holds: 2, of: 3 }), "{completed:?}");
    assert!((completed.figure - 200.0 / 3.0).abs() < 1e-9);
    assert_eq!(all.kernel, "6.12.1");
}
