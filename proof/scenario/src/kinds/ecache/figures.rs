// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of what becomes of reserved memory (eCache12, section 5).

use fovea_contract::ecache_statistics as pool;

use super::{against_normal, Ecache};
use crate::figures::fold::{average, geomean, mean, select, set, Folded, Launch};
use crate::figures::{compares, correctness, figure, id, Boot, Figures};
use crate::{BufferUse, Case, CpuTimes, FileKind, Scenario, Verdict, PAGE_BYTES};
use fovea_report::verdict::{ratio, verdict, Bound};

/// What `returned` measured that the others are set against.
const DISTANCES: [(&str, &str); 2] =
    [("read_bytes", "read_of_returned_percent"), ("launch_geomean_ns", "launch_of_returned_percent")];

/// A part of the CPUs' time.
type Part = fn(&CpuTimes) -> u64;

/// What a launch's time is made of (eCache12, figure 7), its mean.
const PARTS: [(&str, Part); 4] = [
    ("launch_user_ns", |cpu| cpu.user_ns),
    ("launch_system_ns", |cpu| cpu.system_ns),
    ("launch_idle_ns", |cpu| cpu.idle_ns),
    ("launch_io_wait_ns", |cpu| cpu.io_wait_ns),
];

pub(super) fn cases(parameters: &Ecache, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in &parameters.cases {
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            let mut figures = Figures::new();
            if let Some(boots) = select(folded, case, configuration) {
                common(&mut figures, &boots);
                devices(&mut figures, &boots);
            }
            if configuration == "ecache" {
                traced(&mut figures, folded, case);
            }
            cases.push(Case { case: case.clone(), configuration: configuration.into(), figures });
        }
        for (name, distance) in DISTANCES {
            let bound = figure(&cases, case, "returned", name);
            for of in cases.iter_mut().filter(|c| &c.case == case && c.configuration != "returned") {
                let share = ratio(of.figures.get(name).copied(), bound).map(|share| share * 100.0);
                set(&mut of.figures, distance, share);
            }
        }
    }
    cases
}

fn common(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.end()?.kills));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("read_bytes", &read_bytes);
    put("launch_read_bytes", &|f| Some(f.launches.iter().map(|l| l.read_bytes).sum()));
    put("launch_geomean_ns", &|f| geomean(f.launches.iter().map(|l| l.elapsed_ns)));
    // Both launches the seed shows in figures 8 and 9: their devices allocate in the middle of launching.
    for app in ["movies", "camera"] {
        let each = |f: &Folded, of: fn(&Launch) -> f64| average(f.launches.iter().filter(|l| l.app == app).map(of));
        put(&format!("launch_{app}_ns"), &|f| each(f, |l| l.elapsed_ns));
        put(&format!("launch_{app}_read_bytes"), &|f| each(f, |l| l.read_bytes));
    }
    for (name, of) in PARTS {
        put(name, &|f| {
            let all: Option<Vec<f64>> = f.launches.iter().map(|l| l.cpu.as_ref().map(|cpu| of(cpu) as f64)).collect();
            average(all?)
        });
    }
}

fn read_bytes(f: &Folded) -> Option<f64> {
    Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes)
}

/// All that one app allocated at once, added up, if all of it was had.
fn together(buffers: &[BufferUse], devices: &[&str], of: impl Fn(&BufferUse) -> u64) -> Option<f64> {
    let had = |device: &&str| buffers.iter().find(|b| b.device == **device && b.error.is_none()).map(&of);
    devices.iter().map(had).sum::<Option<u64>>().map(|sum| sum as f64)
}

fn devices(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    let all = |f: &Folded| f.devices.buffers.iter().flat_map(|(b, _)| b.clone()).collect::<Vec<_>>();
    put("allocs", &|f| Some(all(f).len() as f64));
    put("alloc_failures", &|f| Some(all(f).iter().filter(|b| b.error.is_some()).count() as f64));
    // Instructions are only counted in exact mode; elsewhere these would be times of the host's.
    if boots.iter().all(|f| f.exact) {
        for (what, devices) in [("mfc", &["mfc0", "mfc1"][..]), ("fimc", &["fimc"]), ("jpeg", &["jpeg"])] {
            let times = |f: &Folded, of: fn(&BufferUse) -> u64| -> Vec<f64> {
                f.devices.buffers.iter().filter_map(|(b, _)| together(b, devices, of)).collect()
            };
            put(&format!("alloc_{what}_insns"), &|f| average(times(f, |b| b.alloc_ns)));
            put(&format!("alloc_{what}_worst_insns"), &|f| times(f, |b| b.alloc_ns).into_iter().reduce(f64::max));
            put(&format!("fill_{what}_insns"), &|f| average(times(f, |b| b.fill_ns)));
        }
        for (name, insns, count) in [
            ("put_overhead_insns", pool::PUT_INSNS, pool::PUT_COUNT),
            ("get_overhead_insns", pool::GET_INSNS, pool::GET_COUNT),
            ("lock_held_insns", pool::HELD_INSNS, pool::HELD_COUNT),
        ] {
            put(name, &|f| {
                let end = f.devices.pools.get("end")?;
                let count = *end.get(count)?;
                (count > 0).then_some(*end.get(insns)? as f64 / count as f64)
            });
        }
        for name in [pool::LONGEST_HELD_INSNS, pool::LONGEST_PUT_INSNS] {
            put(name, &|f| {
                f.devices.pools.get("end")?.get(name).filter(|&&insns| insns > 0).map(|&insns| insns as f64)
            });
        }
    }
    for name in [pool::HITS, pool::GETS, pool::PUTS, pool::DISCARDED, pool::EVICTIONS] {
        put(name, &|f| {
            let of = |label: &str| f.devices.pools.get(label)?.get(name).copied();
            Some(of("end")?.checked_sub(of("begin")?)? as f64)
        });
    }
    put("module_memory_bytes", &|f| Some(*f.devices.pools.get("end")?.get(pool::MEMORY_BYTES)? as f64));
    put("cached_at_mfc_alloc_percent", &cached_at_mfc_alloc);
}

/// How full the eCache was when the video decoder's memory was taken from it.
fn cached_at_mfc_alloc(f: &Folded) -> Option<f64> {
    let with_mfc = f.devices.buffers.iter().filter(|(b, _)| b.iter().any(|b| b.device == "mfc0"));
    let full: Option<Vec<f64>> = with_mfc
        .map(|(_, before)| {
            let of = |name: &str| Some(*before.as_ref()?.get(name)? as f64);
            ratio(of(pool::CACHED), of(pool::FRAMES))
        })
        .collect();
    Some(average(full?)? * 100.0)
}

/// Tables 9 and 10, from the boot that counted by file, and what the counting cost.
fn traced(figures: &mut Figures, folded: &[Folded], case: &str) {
    let Some(boot) = folded.iter().find(|f| f.case == case && f.traced && f.complete()) else { return };
    let page = PAGE_BYTES as f64;
    if let Some((kinds, _)) = boot.devices.kinds.get("boot") {
        for kind in FileKind::ALL.map(FileKind::name) {
            let [hits, misses] = kinds.get(kind).copied().unwrap_or_default();
            figures.insert(format!("hit_{kind}_bytes"), hits as f64 * page);
            figures.insert(format!("miss_{kind}_bytes"), misses as f64 * page);
        }
    }
    if let Some((kinds, times)) = boot.devices.kinds.get("movies") {
        for kind in FileKind::ALL.map(FileKind::name) {
            let [hits, misses] = kinds.get(kind).copied().unwrap_or_default();
            let each = page / *times as f64;
            figures.insert(format!("movies_get_{kind}_bytes"), (hits + misses) as f64 * each);
            figures.insert(format!("movies_hit_{kind}_bytes"), hits as f64 * each);
        }
    }
    let slower = geomean(boot.launches.iter().map(|l| l.elapsed_ns));
    let cost = ratio(slower, figures.get("launch_geomean_ns").copied()).map(|r| (r - 1.0) * 100.0);
    set(figures, "trace_launch_cost_percent", cost);
    let cost = ratio(read_bytes(boot), figures.get("read_bytes").copied()).map(|r| (r - 1.0) * 100.0);
    set(figures, "trace_read_cost_percent", cost);
}

/// Whether a boot of the case opens an app that uses this device.
fn uses(boots: &[Boot<'_>], case: &str, device: &str) -> bool {
    boots
        .iter()
        .filter(|b| b.plan.case == case)
        .flat_map(|b| &b.plan.apps)
        .any(|app| app.activity.iter().any(|a| a.buffers.iter().any(|b| b.device == device)))
}

pub(super) fn verdicts(parameters: &Ecache, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
    let exact = boots.iter().all(|b| b.plan.exact);
    let mut verdicts = Vec::new();
    for case in &parameters.cases {
        let get = |configuration: &str, name: &str| figure(cases, case, configuration, name);
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            verdicts.push(verdict(
                &id(&format!("launches-{configuration}"), case),
                "every app that the user opens comes to the screen",
                "this project",
                get(configuration, "launches"),
                Bound::Equal(f64::from(parameters.launches)),
            ));
        }
        if compares(scenario, &["normal", "ecache"]) {
            against_normal::reads(case, &get, &mut verdicts);
            if exact {
                against_normal::launches(case, &get, &mut verdicts);
            }
        }
        if compares(scenario, &["ecache"]) {
            verdicts.push(verdict(
                &id("alloc-failures", case),
                "no allocation within a device's reservation fails",
                "eCache12, section 3.3",
                get("ecache", "alloc_failures"),
                Bound::Equal(0.0),
            ));
            if exact {
                costs(case, uses(boots, case, "mfc0"), &get, compares(scenario, &["migrate"]), &mut verdicts);
            }
        }
        verdicts.extend(correctness(scenario, cases, case));
    }
    verdicts
}

/// What device memory and the eCache's own work cost, in instructions.
fn costs(case: &str, video: bool, get: &dyn Fn(&str, &str) -> Option<f64>, migrate: bool, verdicts: &mut Vec<Verdict>) {
    if video {
        verdicts.push(verdict(
            &id("alloc-mfc", case),
            "70 MB for the video decoder (mfc0 and mfc1) take at most so many instructions, even at worst",
            "eCache12, section 5.3: 5.8 ms + 4.8 ms at 1 GHz",
            get("ecache", "alloc_mfc_worst_insns"),
            Bound::AtMost(200_000.0),
        ));
    }
    if video && migrate {
        let source = "eCache12, sections 2.2 and 5.3: at least 0.3 s against 11 ms, 30 times";
        let (migrated, had) = (get("migrate", "alloc_mfc_insns"), get("ecache", "alloc_mfc_insns"));
        let failures = get("migrate", "alloc_failures").filter(|&failures| failures > 0.0);
        verdicts.push(match (migrated, had, failures) {
            // The same plan asked for them, and a page could not move: how long it would have taken nobody knows.
            (None, Some(_), Some(failures)) => verdict(
                &id("alloc-migrate", case),
                "migrating pages away never had them, and failed so often",
                source,
                Some(failures),
                Bound::AtLeast(1.0),
            ),
            _ => verdict(
                &id("alloc-migrate", case),
                "they are had so many times faster than by migrating pages away",
                source,
                ratio(migrated, had),
                Bound::AtLeast(100.0),
            ),
        });
    }
    // One app alone never fills the page cache, so that nothing is put.
    if against_normal::is_solo(case) {
        return;
    }
    for what in ["put", "get"] {
        verdicts.push(verdict(
            &id(&format!("{what}-overhead"), case),
            &format!("a {what} takes at most so many instructions over the copying of 4 KiB, its hash included"),
            "this project; eCache12, table 8 gives 0.07 ms for a get with its copy",
            get("ecache", &format!("{what}_overhead_insns")),
            Bound::AtMost(750.0),
        ));
    }
}
