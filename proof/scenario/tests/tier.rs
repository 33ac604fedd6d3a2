// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Fast and slow memory: the plans, and what figures make of events.

use fovea_scenario::{
    document, Boot, Catalog, Event, EventBody, Plan, Provenance, Requests, Scenario, Step, TierApp, TierUse,
};

fn plans(overrides: &[&str]) -> (Scenario, Vec<Plan>) {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load("tier", &overrides).unwrap();
    let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
    (scenario, plans)
}

#[test]
fn each_ratio_and_size_of_fast_memory_is_a_case() {
    let (_, plans) = plans(&[]);
    // Five configurations each.
    let cases: Vec<_> = plans.iter().step_by(5).map(|plan| plan.case.as_str()).collect();
    assert_eq!(cases, ["15-5", "15-10", "15-25", "3-5", "3-10", "3-25"]);
    for plan in &plans {
        assert!(plan.phone.tiers.is_some());
        let [Step::Tier(load)] = &plan.steps[..] else { panic!("{:?}", plan.steps) };
        assert_eq!(plan.case, format!("{}-{}", load.ratio, load.fast_percent));
        assert_eq!(load.switch_ns == 0, load.ratio == 15, "only the second trace's apps change places");
    }
}

#[test]
fn an_app_behind_that_takes_new_memory_is_a_case_of_its_own() {
    let (_, plans) = plans(&["fast_percent=5", "ratio=15,3", "taken_per_s=0,128", "configurations=fovea"]);
    let cases: Vec<_> = plans.iter().map(|plan| plan.case.as_str()).collect();
    assert_eq!(cases, ["15-5", "3-5", "15-5-takes-128", "3-5-takes-128"]);
    let [Step::Tier(load)] = &plans[3].steps[..] else { panic!("{:?}", plans[3].steps) };
    assert_eq!(load.taken(0, false, 2_000_000_000), 256);
    assert_eq!((load.taken(0, true, 2_000_000_000), load.taken(1, false, 2_000_000_000)), (0, 0));
}

#[test]
fn bad_parameters_are_named() {
    for (parameter, word) in [
        ("fast_percent=0", "fast_percent"),
        ("ratio=[]", "ratio"),
        ("switch_ns=1", "switch_ns"),
        ("taken_per_s=[]", "taken_per_s"),
        ("taken_per_s=2000000", "taken_per_s"),
    ] {
        let error = Scenario::load("tier", &[parameter.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word), "{parameter}: {error}");
    }
}

#[test]
fn requests_cost_what_table_1_says() {
    let (scenario, plans) = plans(&["fast_percent=5", "ratio=15", "configurations=default"]);
    let front = Requests { fast_reads: 3, fast_writes: 0, slow_reads: 0, slow_writes: 1 };
    let settled = Requests { slow_writes: 0, ..front };
    let back = Requests { slow_reads: 2, ..Requests::default() };
    let app = TierApp { front, settled, back, wrong_pages: 1 };
    let used =
        TierUse { apps: [("app-0".to_owned(), app)].into(), moved_pages: 2, fast_bytes: 1 << 30, ..TierUse::default() };
    let ready = EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 1, user_memory_bytes: 1 };
    let done = EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 7 };
    let events: Vec<_> = [ready, EventBody::Tier(used), done].map(|body| Event { t_ns: 0, body }).into();
    let document = document(&scenario, &[Boot { plan: &plans[0], events: &events }], &Provenance::default());
    let figures = &document.cases[0].figures;
    // A page is 64 lines: 50 ns each to read in DRAM, 1 us to write and 75 ns to read in PCM.
    assert_eq!(figures["foreground_elapsed_ns"], 64.0 * (3.0 * 50.0 + 1000.0));
    assert_eq!(figures["background_elapsed_ns"], 64.0 * 2.0 * 75.0);
    assert_eq!(figures["fast_touch_percent"], 100.0);
    assert_eq!(figures["moved_bytes"], 8192.0);
    // 32,768 bits; two moves are one either way; 1 W for a GB of DRAM.
    let dynamic = 32_768.0 * (0.3 + 1.0 + 0.2 + 1.3);
    let held = figures["foreground_elapsed_ns"] + figures["background_elapsed_ns"];
    assert!((figures["energy_nj"] - dynamic - held).abs() < 1e-6 * held);
    assert!(document.verdicts.iter().any(|v| v.id == "content-default-15-5" && !v.pass));
}

#[test]
fn each_claim_of_the_daemons_can_fail() {
    let (scenario, plans) = plans(&["fast_percent=5", "ratio=15", "configurations=default,numa-balancing-often,fovea"]);
    let failing = |fast_percent: u64, slow_back: u64, left: &[&str]| {
        let events_of = |plan: &Plan| -> Vec<Event> {
            let is_ours = plan.configuration.name() == "fovea";
            let fast = match plan.configuration.name() {
                "fovea" => fast_percent,
                "numa-balancing-often" => 95,
                _ => 50,
            };
            let front = Requests { fast_reads: fast, slow_reads: 100 - fast, ..Requests::default() };
            let back = Requests { slow_reads: if is_ours { slow_back } else { 100 }, ..Requests::default() };
            let app = TierApp { front, settled: front, back, wrong_pages: 0 };
            let used = TierUse { apps: [("app-0".to_owned(), app)].into(), ..TierUse::default() };
            let settings = left.iter().map(|&path| path.to_owned()).collect();
            let killed = EventBody::AfterKill { frozen: 0, adjusted: 0, zram_left: 0, settings };
            let ready = EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 1, user_memory_bytes: 1 };
            let done = EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 7 };
            let bodies = [ready].into_iter().chain(is_ours.then_some(killed)).chain([EventBody::Tier(used), done]);
            bodies.map(|body| Event { t_ns: 0, body }).collect()
        };
        let events: Vec<_> = plans.iter().map(events_of).collect();
        let boots: Vec<_> = plans.iter().zip(&events).map(|(plan, events)| Boot { plan, events }).collect();
        let document = document(&scenario, &boots, &Provenance::default());
        let failing = document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.trim_end_matches("-15-5").to_owned());
        failing.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(failing(95, 100, &[]), "");
    assert_eq!(failing(80, 100, &[]), "fast-touches elapsed-alone");
    assert_eq!(failing(95, 111, &[]), "energy energy-alone background", "what they do more costs energy");
    assert_eq!(failing(95, 100, &["apps/app-0/cpuset.mems"]), "as-it-was");
    assert_eq!(failing(40, 120, &[]), "fast-touches elapsed elapsed-alone energy energy-alone background");
}
