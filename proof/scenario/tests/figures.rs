// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures from event lists written by hand, and verdicts that can fail.

mod events;

use fovea_report::{Document, Verdict};
use fovea_scenario::kinds::papers;
use fovea_scenario::{document, Boot, Catalog, CpuTimes, Event, EventBody, LaunchKind, Plan, Provenance, Scenario};

const MIB: u64 = 1 << 20;

fn event(t_ns: u64, body: EventBody) -> Event {
    Event { t_ns, body }
}

fn ready() -> Event {
    event(0, EventBody::Ready { kernel: "6.12.1".into(), memory_total_bytes: 420 * MIB, user_memory_bytes: 380 * MIB })
}

fn launch(app: &str, kind: LaunchKind, elapsed_ns: u64, wrong_pages: u64) -> Event {
    let body = EventBody::Launch {
        app: app.into(),
        kind,
        elapsed_ns,
        read_bytes: 0,
        wrong_pages,
        verified_pages: 100,
        cpu: None,
    };
    event(1, body)
}

fn sample(label: &str, free_bytes: u64, read_bytes: u64) -> Event {
    event(2, events::sample(label, free_bytes, free_bytes + MIB, read_bytes))
}

fn done(kills: u64, oom_kills: u64) -> Event {
    event(9, EventBody::Done { oom_kills, kills, daemon_cpu_ns: 1000 })
}

fn scenario(name: &str, overrides: &[&str]) -> (Scenario, Vec<Plan>) {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load(name, &overrides).unwrap();
    let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
    (scenario, plans)
}

fn results(scenario: &Scenario, plans: &[Plan], events: &[Vec<Event>]) -> Document {
    let boots: Vec<_> = plans.iter().zip(events).map(|(plan, events)| Boot { plan, events }).collect();
    document(scenario, &boots, &Provenance { qemu: "7.2".into(), commit: "abc-dirty".into(), command: Vec::new() })
}

/// As it is printed.
fn render(document: &Document) -> String {
    fovea_report::text::render(document, &papers())
}

/// Every verdict, by id.
fn find<'a>(document: &'a Document, id: &str) -> &'a Verdict {
    document.verdicts.iter().find(|v| v.id == id).unwrap_or_else(|| panic!("no verdict {id}"))
}

/// Events of a lowmem boot in which all goes as in the seed; `round` moves times so that averages show.
fn lowmem_boot(plan: &Plan, round: u64) -> Vec<Event> {
    let configuration = plan.configuration.name();
    let pick = |stock: u64, zram: u64, fovea: u64| match configuration {
        "stock" => stock,
        "zram" => zram,
        _ => fovea,
    };
    let ms = 1_000_000;
    let mut events = vec![ready(), sample("tick", 1, 1)];
    match plan.case.as_str() {
        "free-memory" => {
            events.push(sample("initial", 9 * MIB, 0));
            events.push(sample("after-idle", pick(9, 9, 69) * MIB, 0));
        }
        "start-normal" => {
            events.extend([sample("initial", 40 * MIB, 0), launch("gmail", LaunchKind::Cold, 5, 0)]);
            events.push(launch("fish-demo", LaunchKind::Cold, 2080 * ms, 0));
            events.push(launch("fish-demo", LaunchKind::Resume, 267 * ms, 0));
        }
        _ => {
            events.push(launch("fish-demo", LaunchKind::Cold, (pick(2315, 2730, 2014) + round * 10) * ms, 0));
            let kind = if configuration == "stock" { LaunchKind::Restart } else { LaunchKind::Resume };
            events.push(launch("fish-demo", kind, (pick(2061, 298, 306) + round * 10) * ms, 0));
        }
    }
    events.push(done(pick(2, 1, 0), 0));
    events
}

fn lowmem(change: impl Fn(&Plan, &mut Vec<Event>)) -> Document {
    let (scenario, plans) = scenario("lowmem", &["rounds=2"]);
    let events: Vec<_> = plans
        .iter()
        .map(|p| {
            let mut events = lowmem_boot(p, p.seed - scenario.seed);
            change(p, &mut events);
            events
        })
        .collect();
    results(&scenario, &plans, &events)
}

#[test]
fn lowmem_figures_are_means_over_rounds() {
    let d = lowmem(|_, _| {});
    let get = |c: &str, n: &str| d.figure("", c, n).unwrap_or_else(|| panic!("no {n}"));
    assert_eq!(get("fovea", "user_memory_bytes"), (380 * MIB) as f64);
    assert_eq!(get("fovea", "free_after_idle_bytes"), (69 * MIB) as f64);
    assert_eq!(get("stock", "start_lowmem_ns"), 2320e6);
    assert_eq!(get("zram", "restart_ns"), 303e6);
    assert_eq!(get("fovea", "start_normal_ns"), 2080e6);
    assert_eq!(get("fovea", "restart_normal_ns"), 267e6);
    assert_eq!(get("zram", "free_normal_initial_bytes"), (40 * MIB) as f64);
    assert_eq!(get("stock", "kills"), 6.0, "two in each of a round's three boots");
    assert_eq!(get("stock", "oom_kills"), 0.0);
    assert_eq!(get("stock", "killed_before_restart_percent"), 100.0);
    assert!(d.passed(), "{}", render(&d));
    assert!((find(&d, "free-after-idle").figure - 60.0 / 380.0).abs() < 1e-12);
    assert_eq!((d.kernel.as_str(), d.mode.as_str(), d.commit.as_str()), ("6.12.1", "exact", "abc-dirty"));
}

/// Changes every event of one configuration and case.
fn with(configuration: &str, case: &str, change: impl Fn(&mut EventBody)) -> Document {
    lowmem(|plan, events| {
        if plan.configuration.name() == configuration && plan.case == case {
            events.iter_mut().for_each(|e| change(&mut e.body));
        }
    })
}

fn failing(d: &Document) -> Vec<&str> {
    d.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect()
}

/// Sets the time of starts (cold) or of restarts of the fish demo.
fn time(body: &mut EventBody, restart: bool, ms: u64) {
    if let EventBody::Launch { app, kind, elapsed_ns, .. } = body {
        if app == "fish-demo" && (*kind != LaunchKind::Cold) == restart {
            *elapsed_ns = ms * 1_000_000;
        }
    }
}

#[test]
fn each_lowmem_verdict_fails_on_a_bad_value() {
    let d = with("zram", "free-memory", |b| {
        if let EventBody::Sample { free_bytes, .. } = b {
            *free_bytes = 20 * MIB;
        }
    });
    assert_eq!(failing(&d), ["free-after-idle"]);
    let d = with("fovea", "start-lowmem", |b| time(b, false, 2400));
    assert_eq!(failing(&d), ["start-lowmem-stock"]);
    let d = with("zram", "start-lowmem", |b| time(b, false, 1900));
    assert_eq!(failing(&d), ["start-lowmem-zram"]);
    let d = with("stock", "start-lowmem", |b| time(b, true, 1500));
    assert_eq!(failing(&d), ["restart-stock"]);
    let d = with("zram", "start-lowmem", |b| time(b, true, 200));
    assert_eq!(failing(&d), ["restart-zram"]);
    let d = lowmem(|p, events| {
        // In one of two rounds only.
        if p.configuration.name() == "stock" && p.seed == 2 {
            for e in events {
                if let EventBody::Launch { kind, .. } = &mut e.body {
                    if *kind == LaunchKind::Restart {
                        *kind = LaunchKind::Resume;
                    }
                }
            }
        }
    });
    assert_eq!(failing(&d), ["restart-valid"]);
    let d = with("fovea", "start-normal", |b| {
        if let EventBody::Done { oom_kills, .. } = b {
            *oom_kills = 1;
        }
    });
    assert_eq!(failing(&d), ["oom-kills-fovea"]);
    for configuration in ["stock", "zram", "fovea"] {
        let d = with(configuration, "start-normal", |b| {
            if let EventBody::Launch { app, wrong_pages, .. } = b {
                *wrong_pages = u64::from(app == "gmail");
            }
        });
        assert_eq!(failing(&d), [format!("wrong-pages-{configuration}")]);
    }
}

#[test]
fn a_missing_figure_fails_its_verdict() {
    let (scenario, plans) = scenario("lowmem", &[]);
    let nothing = vec![Vec::new(); plans.len()];
    let d = results(&scenario, &plans, &nothing);
    assert_eq!(failing(&d).len(), d.verdicts.len());
    assert_eq!(results(&scenario, &[], &[]).verdicts.iter().filter(|v| v.pass).count(), 0);
    // One label is missing in one round: the mean over the other would be no result.
    let d = lowmem(|p, events| {
        if p.configuration.name() == "zram" && p.case == "free-memory" && p.seed == 2 {
            events.retain(|e| !matches!(&e.body, EventBody::Sample { label, .. } if label == "after-idle"));
        }
    });
    assert_eq!(failing(&d), ["free-after-idle"]);
    assert!(find(&d, "free-after-idle").figure.is_nan());
    assert!(render(&d).contains("not measured"));
}

#[test]
fn a_boot_that_fails_or_stops_gives_no_figures() {
    for drop_end in [true, false] {
        let d = lowmem(|p, events| {
            if p.configuration.name() == "stock" && p.case == "start-lowmem" && p.seed == 1 {
                if drop_end {
                    events.pop();
                } else {
                    events.insert(1, event(1, EventBody::Failed { error: "x".into() }));
                }
            }
        });
        assert_eq!(d.figure("", "stock", "restart_ns"), None);
        assert_eq!(d.figure("", "stock", "kills"), None);
        assert!(d.figure("", "fovea", "restart_ns").is_some());
        let failing = failing(&d);
        for id in ["boots-completed", "start-lowmem-stock", "restart-stock", "restart-valid", "wrong-pages-stock"] {
            assert!(failing.contains(&id), "{id} of {failing:?}");
        }
    }
}

fn workload_boot(relaunch_ns: u64, kills: u64) -> Vec<Event> {
    vec![
        ready(),
        sample("begin", MIB, 4096),
        launch("a", LaunchKind::Cold, 1000, 0),
        launch("b", LaunchKind::Cold, 1000, 0),
        launch("a", LaunchKind::Restart, relaunch_ns, 0),
        launch("a", LaunchKind::Resume, relaunch_ns * 4, 0),
        sample("end", MIB, 4096 * 5),
        event(8, EventBody::Stalled { full_ns: 7 }),
        event(8, EventBody::Worked(CpuTimes { user_ns: 2, system_ns: 3, idle_ns: 11, io_wait_ns: 13 })),
        done(kills, 0),
    ]
}

#[test]
fn workload_figures_and_verdicts() {
    let (scenario, plans) = scenario("workload", &["launches=4"]);
    let good = [workload_boot(100, 4), workload_boot(90, 3), workload_boot(50, 2)];
    let d = results(&scenario, &plans, &good);
    assert!(d.passed(), "{}", render(&d));
    let get = |n: &str| d.figure("N", "fovea", n).unwrap();
    assert!((get("relaunch_geomean_ns") - 100.0).abs() < 1e-9, "geometric mean of 50 and 200");
    assert!((get("launch_geomean_ns") - (1000.0f64 * 1000.0 * 50.0 * 200.0).powf(0.25)).abs() < 1e-6);
    assert_eq!((get("launches"), get("kills"), get("oom_kills")), (4.0, 2.0, 0.0));
    assert_eq!((get("psi_full_ns"), get("cpu_busy_ns"), get("wrong_victims")), (7.0, 5.0, 0.0));
    assert_eq!((get("launch_longest_ns"), get("relaunch_p95_ns")), (1000.0, 200.0));
    assert!((get("resume_geomean_ns") - 200.0).abs() < 1e-9, "of what still ran");
    assert_eq!((get("read_bytes"), get("wrong_pages"), get("daemon_cpu_ns")), (4.0 * 4096.0, 0.0, 1000.0));
    let fovea = |boot: Vec<Event>| results(&scenario, &plans, &[good[0].clone(), good[1].clone(), boot]);
    assert_eq!(failing(&fovea(workload_boot(50, 3))), ["kills-N"]);
    assert_eq!(failing(&fovea(workload_boot(90, 2))), ["relaunch-zram-N"], "equal is not faster");
    assert_eq!(failing(&fovea(workload_boot(100, 2))), ["relaunch-stock-N", "relaunch-zram-N"]);
    let mut boot = workload_boot(50, 2);
    boot.pop();
    boot.push(done(2, 1));
    assert_eq!(failing(&fovea(boot.clone())), ["oom-kills-fovea-N"]);
    boot.pop();
    boot.extend([launch("b", LaunchKind::Resume, 50, 7), done(2, 0)]);
    assert_eq!(failing(&fovea(boot)), ["launches-fovea-N", "wrong-pages-fovea-N"]);
    let all = fovea(Vec::new());
    for v in &all.verdicts {
        let other = v.id.starts_with("launches-stock") || v.id.starts_with("launches-zram");
        assert_eq!(v.pass, other || v.id == "wrong-pages-stock-N" || v.id == "wrong-pages-zram-N", "{}", v.id);
    }
}

#[test]
fn what_the_papers_claim_is_not_claimed_of_other_devices() {
    let (scenario, plans) = scenario("workload", &["launches=4", "profile=handheld"]);
    // Slower than stock and zram, and hardly fewer kills: that would fail on the papers' phone.
    let with = |fovea: Vec<Event>| {
        let boots = [workload_boot(100, 4), workload_boot(90, 3), fovea];
        results(&scenario, &plans, &boots)
    };
    let d = with(workload_boot(200, 3));
    assert!(d.passed(), "{}", render(&d));
    assert!(d.verdicts.iter().all(|v| v.source == "this project" || v.id == "oom-kills-fovea-N"), "{}", render(&d));
    assert_eq!(failing(&with(workload_boot(50, 4))), ["kills-zram-N"]);
    let mut boot = workload_boot(50, 3);
    boot.pop();
    boot.push(done(3, 1));
    assert_eq!(failing(&with(boot)), ["oom-kills-fovea-N"]);

    let (scenario, plans) = self::scenario("lowmem", &["profile=laptop"]);
    let boots: Vec<_> = plans.iter().map(|plan| lowmem_boot(plan, plan.seed - 1)).collect();
    let d = results(&scenario, &plans, &boots);
    assert!(d.passed(), "{}", render(&d));
    assert!(find(&d, "kills-zram").pass && d.verdicts.iter().all(|v| !v.id.starts_with("restart")));
}

fn monkey_boot(events: u64) -> Vec<Event> {
    let mut all = vec![ready()];
    all.extend((0..events).map(|i| event(i, EventBody::Step { index: i as usize })));
    all.extend([
        event(3, EventBody::AfterKill { frozen: 0, adjusted: 0, zram_left: 0, settings: vec![] }),
        event(3, EventBody::FrozenCheck { stray: 0 }),
        event(4, EventBody::DaemonIdle { wakeups: 0, cpu_ns: 0, resident_bytes: 3 * MIB, watched_ns: 1 }),
        done(1, 0),
    ]);
    all
}

#[test]
fn monkey_figures_and_verdicts() {
    let (scenario, plans) = scenario("monkey", &["events=20"]);
    let ok = |boot: Vec<Event>| results(&scenario, &plans, &[boot]);
    let d = ok(monkey_boot(25));
    assert!(d.passed(), "{}", render(&d));
    assert_eq!(d.figure("", "fovea", "resident_bytes"), Some((3 * MIB) as f64));
    for (bad, id) in [
        (
            EventBody::AfterKill { frozen: 0, adjusted: 0, zram_left: 0, settings: vec!["ksm".into()] },
            "left-after-kill",
        ),
        (EventBody::AfterKill { frozen: 1, adjusted: 0, zram_left: 0, settings: vec![] }, "left-after-kill"),
        (EventBody::FrozenCheck { stray: 1 }, "stray-frozen"),
        (EventBody::DaemonIdle { wakeups: 1, cpu_ns: 0, resident_bytes: 1, watched_ns: 1 }, "idle-wakeups"),
        (EventBody::DaemonIdle { wakeups: 0, cpu_ns: 0, resident_bytes: 9 * MIB, watched_ns: 1 }, "resident"),
        (EventBody::Done { oom_kills: 1, kills: 0, daemon_cpu_ns: 0 }, "oom-kills-fovea"),
    ] {
        let mut boot = monkey_boot(25);
        boot.push(event(9, bad));
        assert_eq!(failing(&ok(boot)), [id]);
    }
    assert_eq!(failing(&ok(monkey_boot(19))), ["events-fovea"]);
    for (index, id) in [(4, "left-after-kill"), (3, "stray-frozen")] {
        let mut boot = monkey_boot(25);
        boot.remove(boot.len() - index);
        assert_eq!(failing(&ok(boot)), [id], "missing");
    }
    let mut boot = monkey_boot(25);
    boot.remove(boot.len() - 2);
    assert_eq!(failing(&ok(boot)), ["resident", "idle-wakeups"], "missing");
}

#[test]
fn the_document_has_the_schemas_names_and_round_trips() {
    let d = lowmem(|_, _| {});
    let file = std::env::temp_dir().join(format!("fovea-document-{}.json", std::process::id()));
    d.write(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), d);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys = |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["cases", "commit", "kernel", "mode", "qemu", "scenario", "seed", "verdicts"]);
    assert_eq!(keys(&json["cases"][0]), ["case", "configuration", "figures"]);
    assert_eq!(keys(&json["verdicts"][0]), ["bound", "claim", "figure", "id", "pass", "source"]);
    assert!(json["cases"][0]["figures"]["restart_ns"].is_f64());
    assert!(d.write(std::path::Path::new("/no/such/folder/x.json")).unwrap_err().to_string().contains("/no/such"));
}

#[test]
fn a_figure_not_measured_is_null() {
    let (scenario, plans) = scenario("lowmem", &[]);
    let d = results(&scenario, &plans, &vec![Vec::new(); plans.len()]);
    let json = serde_json::to_value(&d).unwrap();
    assert!(json["verdicts"][1]["figure"].is_null());
    let back: Document = serde_json::from_value(json).unwrap();
    assert!(back.verdicts[1].figure.is_nan() && !back.verdicts[1].pass);
}

#[test]
fn the_table_sets_the_seeds_figures_beside_ours() {
    let d = lowmem(|_, _| {});
    let text = render(&d);
    for cell in ["2320.0 ms (2315.0 ms)", "69.0 MB 18.2 % (147.7 MB 17.7 %)", "holds  restart-stock"] {
        assert!(text.contains(cell), "{cell} in\n{text}");
    }
    let row = text.lines().find(|l| l.starts_with("restart_ns")).unwrap();
    assert_eq!(row.split_whitespace().count(), 1 + 3 * 4, "{row}");
}
