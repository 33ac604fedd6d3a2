// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The scenario `mapcache`: one boot for each IOMMU plays all that is compared, and its verdicts can fail.

use fovea_report::{Document, Verdict};
use fovea_scenario::{
    document, Boot, Catalog, Event, EventBody, Exporter, Importers, Plan, Play, Played, Provenance, Scenario, Step,
};

fn load(overrides: &[&str], exact: bool) -> (Scenario, Vec<Plan>) {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load("mapcache", &overrides).unwrap();
    let plans = scenario.plans(&Catalog::builtin().unwrap(), exact).unwrap();
    (scenario, plans)
}

fn plays(plan: &Plan) -> Vec<&Play> {
    plan.steps
        .iter()
        .map(|step| match step {
            Step::Play(play) => play,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn one_boot_for_each_iommu_plays_everything() {
    let (_, plans) = load(&[], true);
    let behind: Vec<_> = plans.iter().map(|plan| plan.importers.unwrap()).collect();
    assert_eq!(behind, Importers::ALL);
    for plan in &plans {
        let (ours, others): (Vec<_>, Vec<_>) = plays(plan).into_iter().partition(|p| p.exporter == Exporter::Ours);
        let played: Vec<_> = ours.iter().map(|p| (p.scatter, p.mapcache)).collect();
        assert_eq!(played, [(true, false), (true, true), (false, false), (false, true)]);
        let played: Vec<_> = others.iter().map(|p| (p.scatter, p.mapcache, p.exporter)).collect();
        let (stock, wrapped) = (Exporter::Stock, Exporter::Wrapped);
        assert_eq!(
            played,
            [(true, false, stock), (true, true, wrapped), (false, false, stock), (false, true, wrapped)]
        );
        let first = plays(plan)[0];
        let bytes =
            (u64::from(first.frame_buffers) * first.frame_bytes, u64::from(first.video_buffers) * first.video_bytes);
        assert_eq!((bytes.0 / 1_000_000, bytes.1 / 100_000), (46, 167), "table 1: 46 MB and 17 MB");
    }
    let (_, plans) = load(&["cases=unfragmented-lazy-30", "configurations=on"], true);
    assert_eq!((plans.len(), plays(&plans[0]).len()), (1, 1));
}

#[test]
fn a_step_is_read_as_plans_write_it() {
    let (_, plans) = load(&["cases=fragmented-strict-60"], true);
    let text = serde_json::to_string(&plans[0]).unwrap();
    assert!(text.contains(r#""do":"play""#));
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plans[0]);
}

#[test]
fn a_case_that_means_nothing_is_named() {
    for (case, key) in [("fragmented-strict", "cases"), ("x-strict-30", "cases"), ("fragmented-lazy-0", "cases")] {
        let error = Scenario::load("mapcache", &[format!("cases={case}")]).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(case), "{error}");
    }
    for parameter in ["frames=0", "frame_buffers=1", "compressed_bytes=9000000"] {
        let error = Scenario::load("mapcache", &[parameter.into()]).unwrap_err().to_string();
        assert!(error.contains(parameter.split('=').next().unwrap()), "{error}");
    }
}

/// What would be played as in the paper.
fn as_claimed(play: &Play) -> Played {
    let devices_ns = match (play.mapcache, play.scatter) {
        (true, _) => 4_000,
        (false, true) => 5_500_000,
        (false, false) => 100_000,
    };
    Played {
        label: play.label.clone(),
        mapcache: play.mapcache,
        frames: 10,
        devices_ns: devices_ns * 10,
        player_ns: if play.mapcache { 10_000 } else { 900_000 },
        use_ns: vec![devices_ns / 4, devices_ns / 3, devices_ns / 3],
        counted_frames: 4,
        iommu_maps: if play.mapcache { 0 } else { 10_000 },
        wrong_pages: 0,
        verified_pages: 6,
        heap_list: String::new(),
    }
}

fn results(overrides: &[&str], exact: bool, change: impl Fn(&Play, &mut Played)) -> Document {
    let (scenario, plans) = load(overrides, exact);
    let events = |plan: &Plan| {
        let mut bodies = vec![EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 9, user_memory_bytes: 8 }];
        for play in plays(plan) {
            let mut played = as_claimed(play);
            change(play, &mut played);
            bodies.push(EventBody::Played(played));
        }
        bodies.push(EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 1 });
        bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect::<Vec<_>>()
    };
    let all: Vec<_> = plans.iter().map(events).collect();
    let boots: Vec<_> = plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events }).collect();
    document(&scenario, &boots, &Provenance::default())
}

fn failing(document: &Document) -> Vec<&str> {
    document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect()
}

fn figure(document: &Document, configuration: &str, name: &str) -> f64 {
    let case = document.cases.iter().find(|c| c.case == CASE && c.configuration == configuration).unwrap();
    case.figures[name]
}

const CASE: &str = "fragmented-strict-30";

#[test]
fn figures_follow_from_what_was_played_and_the_model() {
    let d = results(&[], true, |_, _| {});
    assert_eq!(failing(&d), [""; 0]);
    assert_eq!(d.cases.len(), 48);
    assert_eq!(figure(&d, "off", "map_frame_insns"), 5_590_000.0);
    assert!((figure(&d, "off", "map_share_percent") - 16.77).abs() < 1e-9);
    assert!((figure(&d, "off", "playback_share_percent") - 26.79).abs() < 1e-9, "and 10.02 % of the rest");
    assert!((figure(&d, "off", "power_mw") - 3923.7).abs() < 0.1, "3912 at 26.5 %");
    assert_eq!(figure(&d, "off", "iommu_maps_per_frame"), 2500.0);
    assert_eq!(figure(&d, "on", "hit_insns"), 1333.0);
    let d = results(&[], true, |p, played| played.iommu_maps += u64::from(p.exporter == Exporter::Stock) * 400);
    assert_eq!(figure(&d, "off", "iommu_maps_per_frame"), 2500.0, "each configuration is told what it played");
    assert_eq!(figure(&d, "stock-heap", "iommu_maps_per_frame"), 2600.0);
}

#[test]
fn each_claim_can_fail() {
    let changed = |change: &dyn Fn(&Play, &mut Played)| {
        let cases = "cases=fragmented-strict-60,fragmented-strict-30,unfragmented-strict-60";
        let d = results(&[cases, "configurations=off,on"], true, change);
        failing(&d).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(changed(&|_, _| {}), "");
    assert!(changed(&|p, played| played.iommu_maps = u64::from(p.mapcache)).contains("iommu-maps-fragmented-strict-60"));
    assert!(changed(&|_, played| played.use_ns[0] = 1401).contains("hit-unfragmented-strict-60"));
    assert!(changed(&|_, played| played.wrong_pages = 1).contains("wrong-pages-on-fragmented-strict-30"));
    assert!(changed(&|p, played| if p.mapcache {
        played.devices_ns = 2_000_000
    })
    .contains("unfragmented-no-slower-unfragmented-strict-60"));
    let slow = changed(&|p, played| {
        if p.mapcache {
            played.devices_ns = 1_000_000
        }
    });
    assert_eq!(slow, "map-share-on-fragmented-strict-60");
    let fast = changed(&|_, played| played.devices_ns /= 10);
    assert_eq!(fast, "map-share-off-fragmented-strict-60 playback-saved-fragmented-strict-30");
}

#[test]
fn the_kernels_heap_has_verdicts_of_its_own() {
    let d = results(&["cases=fragmented-strict-30", "configurations=stock-heap,wrapped"], true, |p, played| {
        played.iommu_maps += u64::from(p.mapcache);
        played.use_ns[0] = 1401;
        played.devices_ns /= 10;
    });
    assert_eq!(failing(&d).join(" "), "iommu-maps-wrapped-fragmented-strict-30 hit-wrapped-fragmented-strict-30 playback-saved-wrapped-fragmented-strict-30");
}

#[test]
fn without_exact_mode_nothing_is_said_of_instructions() {
    let d = results(&["cases=fragmented-strict-30"], false, |_, _| {});
    assert!(d.cases.iter().all(|c| c.figures.keys().eq(["iommu_maps_per_frame", "wrong_pages"])));
    let ids: Vec<&str> = d.verdicts.iter().map(|v: &Verdict| v.id.as_str()).collect();
    assert!(!ids.iter().any(|id| id.starts_with("hit") || id.starts_with("map-share")), "{ids:?}");
}

#[test]
fn aged_memory_comes_last_after_apps_were_opened_and_looked_at_on_the_way() {
    let overrides = ["cases=aged-strict-60,unfragmented-strict-60", "aged_launches=25", "aged_look_launches=10"];
    let (_, plans) = load(&overrides, true);
    let [plan] = &plans[..] else { panic!("{} plans", plans.len()) };
    let looks = plan.steps.iter().filter_map(|step| match step {
        Step::Pieces { launches } => Some(*launches),
        _ => None,
    });
    assert_eq!(looks.collect::<Vec<_>>(), [0, 10, 20, 25]);
    let at = |wanted: &dyn Fn(&Step) -> bool| plan.steps.iter().position(wanted).unwrap();
    let open = at(&|step| matches!(step, Step::Open { .. }));
    let aged = at(&|step| matches!(step, Step::Play(play) if play.label == "aged"));
    let fresh = at(&|step| matches!(step, Step::Play(play) if play.label == "unfragmented"));
    assert!(fresh < open && open < aged);
    assert_eq!(plan.steps.iter().filter(|step| matches!(step, Step::Open { .. })).count(), 25);
    assert!(plan.steps.iter().all(|step| !matches!(step, Step::Play(play) if play.scatter)));
}
