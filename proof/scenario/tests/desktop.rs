// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The desktop: its plans, and what its figures and verdicts make of events.

mod events;

use events::{launch, sample};
use fovea_report::Document;
use fovea_scenario::kinds::desktop::{BESIDE_EARLYOOM, BESIDE_SYSTEMD_OOMD, EARLYOOM, FOVEA, KERNEL, SYSTEMD_OOMD};
use fovea_scenario::{
    document, Boot, Catalog, Event, EventBody, LaunchKind, Load, Plan, Provenance, Scenario, Step, Swap,
};

fn scenario(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Scenario::load("desktop", &overrides).unwrap()
}

fn plans(scenario: &Scenario) -> Vec<Plan> {
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

#[test]
fn what_is_compared_differs_in_the_configuration_alone() {
    let plans = plans(&scenario(&[]));
    assert_eq!(plans.len(), 8);
    for (group, swap) in plans.chunks(4).zip([Swap::Zram, Swap::Disk]) {
        let names: Vec<_> = group.iter().map(|p| p.configuration.name()).collect();
        assert_eq!(names, ["kernel", "earlyoom", "systemd-oomd", "fovea"]);
        for plan in group {
            assert_eq!((plan.desktop, plan.case.as_str()), (Some(swap), swap.name()));
            // 2 GiB less what a kernel keeps: what stands for the disks is no memory of the laptop's.
            let told = if plan.configuration == FOVEA { "[zram]\nuser_memory_bytes = 2065694720\n" } else { "" };
            assert_eq!(plan.daemon_config, told, "else as shipped");
            let same = Plan { configuration: KERNEL, daemon_config: String::new(), ..plan.clone() };
            assert_eq!(same, group[0]);
        }
        assert_eq!(group[0].steps, plans[0].steps, "the cases differ in what is swapped to");
    }
}

#[test]
fn twelve_apps_are_used_before_anything_goes_wrong_and_each_switch_leads_to_another() {
    let plan = &plans(&scenario(&[]))[0];
    let opened: Vec<&str> =
        plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).filter_map(Step::app).collect();
    let mut first: Vec<&str> = opened[..12].to_vec();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), 12);
    assert_eq!(opened.len(), 12 + 4 + 1 + 10 + 10);
    assert!(opened.windows(2).all(|two| two[0] != two[1]), "{opened:?}");
    let at = |name: &str| plan.steps.iter().position(|s| s.app() == Some(name)).unwrap();
    assert!(at("build") < at("leaker") && at("leaker") < at("bomb"));
    let load = |name: &str| plan.apps.iter().find(|a| a.name == name).unwrap().load.unwrap();
    assert!(load("leaker").is_culprit() && load("bomb").is_culprit() && !load("build").is_culprit());
    assert!(matches!(load("bomb"), Load::Bomb { processes: 200, .. }));
    assert!(plan.apps.iter().filter(|a| a.load.is_none()).count() == 12);
}

#[test]
fn only_what_is_compared_has_a_unit() {
    assert_eq!(KERNEL.guard, None);
    let units = [EARLYOOM, SYSTEMD_OOMD, FOVEA].map(|c| c.guard);
    assert!(units.iter().flatten().all(|unit| unit.ends_with(".service")), "{units:?}");
    assert!(units.iter().all(Option::is_some) && units[0] != units[1] && units[1] != units[2]);
    let each = |c: fovea_scenario::Configuration| c.guards().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(each(BESIDE_EARLYOOM), ["fovea.service", "earlyoom.service"]);
    assert_eq!(each(BESIDE_SYSTEMD_OOMD), ["fovea.service", "systemd-oomd.service"]);
    assert_eq!(each(EARLYOOM), ["earlyoom.service"]);
    assert!(each(KERNEL).is_empty());
}

#[test]
fn another_seed_is_another_day() {
    assert_ne!(plans(&scenario(&["seed=2"]))[0].steps, plans(&scenario(&[]))[0].steps);
}

#[test]
fn bad_parameters_are_named() {
    for (parameter, word) in [("cases=floppy", "floppy"), ("interactions=0", "interactions"), ("cases=[]", "cases")] {
        let error = Scenario::load("desktop", &[parameter.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word), "{parameter}: {error}");
    }
}

/// A boot in which these were killed, and each interaction took so long and waited so long, in ms.
fn events(plan: &Plan, killed: &[&str], interactions: &[(u64, u64)], launch_ms: u64) -> Vec<Event> {
    let mut bodies =
        vec![EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 2 << 30, user_memory_bytes: 1 << 30 }];
    bodies.push(sample("begin", 1, 1, 0));
    for app in plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).filter_map(Step::app) {
        bodies.push(launch(app, LaunchKind::Resume, launch_ms * 1_000_000));
    }
    let ns = |part: fn(&(u64, u64)) -> u64| interactions.iter().map(|i| part(i) * 1_000_000).collect();
    bodies.push(EventBody::Interacted {
        app: "browser".into(),
        elapsed_ns: ns(|i| i.0),
        stall_ns: ns(|i| i.1),
        wrong_pages: 0,
    });
    bodies.extend(killed.iter().map(|app| EventBody::Killed { app: (*app).into(), oom: false }));
    bodies.extend([sample("end", 1, 1, 0), EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 }]);
    bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect()
}

/// Results of the four in the case `zram`, of which fovea's are told.
fn results(fovea: (&[&str], &[(u64, u64)], u64)) -> Document {
    let scenario = scenario(&["cases=zram"]);
    let plans = plans(&scenario);
    let of = |plan: &Plan| match plan.configuration.name() {
        "kernel" => events(plan, &["leaker", "bomb", "browser", "build"], &[(50, 10), (900, 700)], 100),
        "earlyoom" => events(plan, &["leaker", "browser", "mail"], &[(50, 20), (60, 30)], 90),
        "systemd-oomd" => events(plan, &["leaker", "bomb", "chat"], &[(70, 25), (90, 45)], 80),
        _ => events(plan, fovea.0, fovea.1, fovea.2),
    };
    let all: Vec<Vec<Event>> = plans.iter().map(of).collect();
    let boots: Vec<Boot> = plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events }).collect();
    document(&scenario, &boots, &Provenance::default())
}

fn failing(document: &Document) -> Vec<&str> {
    document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect()
}

#[test]
fn kills_of_the_culprits_are_right_and_all_others_wrong() {
    let document = results((&["leaker", "bomb"], &[(40, 5)], 80));
    let figure = |configuration, name| document.figure("zram", configuration, name).unwrap();
    assert_eq!([figure("kernel", "kills"), figure("kernel", "wrong_kills")], [4.0, 2.0]);
    assert_eq!([figure("fovea", "kills"), figure("fovea", "wrong_kills")], [2.0, 0.0]);
    // Of 12 apps one was killed; neither leaker, bomb nor build is one of them.
    assert_eq!(["kernel", "earlyoom", "fovea"].map(|c| figure(c, "kept_apps")), [11.0, 10.0, 12.0]);
    assert_eq!([figure("kernel", "psi_full_ns"), figure("kernel", "longest_stall_ns")], [710e6, 700e6]);
    assert_eq!([figure("earlyoom", "longest_step_ns"), figure("earlyoom", "step_p95_ns")], [60e6, 60e6]);
    assert_eq!(failing(&document), [""; 0]);
}

#[test]
fn each_verdict_fails_where_another_is_better() {
    let good: &[(u64, u64)] = &[(40, 5)];
    let fails = |fovea, id: &str| {
        let document = results(fovea);
        assert!(failing(&document).contains(&id), "{id}: {:?}", failing(&document));
    };
    fails((&["browser", "mail"], good, 80), "wrong-kills-zram");
    fails((&[], &[(40, 30), (40, 30)], 80), "stalls-zram");
    fails((&[], &[(40, 46)], 80), "longest-stall-zram");
    fails((&[], &[(61, 5)], 80), "longest-step-zram");
    fails((&[], good, 89), "behind-launch-geomean-zram");
    fails((&[], good, 89), "behind-relaunch-p95-zram");
    fails((&[], &[(67, 5)], 80), "behind-step-p95-zram");
}

#[test]
fn zram_above_swap_on_an_ssd_is_told() {
    let scenario = scenario(&["cases=disk", "configurations=fovea"]);
    let plans = plans(&scenario);
    for (took_bytes, failing_ids) in [(0, &[][..]), (4096, &["no-zram-fovea-disk"])] {
        let mut events = events(&plans[0], &["leaker", "bomb"], &[(40, 5)], 80);
        for event in &mut events {
            if let EventBody::Sample { zram_bytes, .. } = &mut event.body {
                *zram_bytes = took_bytes;
            }
        }
        let document = document(&scenario, &[Boot { plan: &plans[0], events: &events }], &Provenance::default());
        assert_eq!(failing(&document), failing_ids);
        assert_eq!(document.figure("disk", "fovea", "zram_most_bytes"), Some(took_bytes as f64));
    }
}

#[test]
fn what_was_not_measured_passes_nothing() {
    let scenario = scenario(&["cases=zram"]);
    let plans = plans(&scenario);
    let measured: Vec<Vec<Event>> = plans
        .iter()
        .map(|plan| match plan.configuration.name() {
            "earlyoom" => Vec::new(),
            _ => events(plan, &[], &[(40, 5)], 80),
        })
        .collect();
    let boots: Vec<Boot> = plans.iter().zip(&measured).map(|(plan, events)| Boot { plan, events }).collect();
    let document = document(&scenario, &boots, &Provenance::default());
    for id in ["boots-completed", "wrong-kills-zram", "stalls-zram", "longest-step-zram", "behind-launch-geomean-zram"]
    {
        assert!(failing(&document).contains(&id), "{id}");
    }
}
