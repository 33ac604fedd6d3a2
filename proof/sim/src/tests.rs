// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What must hold on the simulated device whatever happens, and the promises of `fovea_linux::Device`.

use std::cell::RefCell;
use std::rc::Rc;

use fovea_linux::device_traits::*;
use fovea_linux::{CompressCursor, ZramWish};
use fovea_scenario::follow::follow_step;
use fovea_scenario::kinds::managed::{FOVEA, STOCK, ZRAM};
use fovea_scenario::{AppProfile, Catalog, Configuration, EventBody, Load, Plan, Scenario, Step};
use proptest::prelude::*;

use super::boot::Boot;
use super::costs::{KERNEL_BYTES, PROCESS_PAGES};
use super::device::SimulatedDevice;
use super::machine::{Machine, Marks};
use super::memory::{Kind, Memory, PageId, Place, Zram};
use super::{failures, results, run, simulate};

const MB: u64 = 1 << 20;

/// A plan of steps, for a phone so small that a few apps fill it.
fn plan(configuration: Configuration, steps: Vec<Step>) -> Plan {
    let scenario = Scenario::load("lowmem", &["rounds=1".into()]).unwrap();
    let mut plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
    plans.retain(|plan| plan.configuration == configuration && plan.case == "start-lowmem");
    let mut plan = plans.remove(0);
    plan.phone.memory_bytes = 240 * MB;
    let phone = plan.apps.iter().find(|app| app.name == "phone").unwrap();
    let load = Load::Build { jobs: 3, pages: 700, compute_insns: 3_000_000, period_ns: 20_000_000 };
    plan.apps.push(AppProfile { name: "job".into(), load: Some(load), ..phone.clone() });
    plan.steps = steps;
    plan
}

const APPS: [&str; 6] = ["gmail", "maps", "angry-birds", "wow-fish", "music-player", "market"];

fn step() -> impl Strategy<Value = Step> {
    let app = || prop::sample::select(&APPS[..]).prop_map(str::to_owned);
    prop_oneof![
        8 => app().prop_map(|app| Step::Open { app }),
        2 => app().prop_map(|app| Step::Close { app }),
        1 => Just(Step::Start { app: "phone".into() }),
        1 => Just(Step::Start { app: "job".into() }),
        1 => Just(Step::Home {}),
        1 => any::<bool>().prop_map(|on| Step::Screen { on }),
        3 => (0..30_000_000_000u64).prop_map(|ns| Step::Wait { ns }),
        1 => Just(Step::Settle { limit_ns: 600_000_000_000 }),
        1 => (8..40u64).prop_map(|mib| Step::Fill { app: "filler".into(), available_bytes: mib * MB }),
        1 => Just(Step::CheckFrozen {}),
        1 => Just(Step::KillDaemon {}),
    ]
}

/// By all verdicts, in front and in the background, fast and slow.
#[test]
fn a_leak_dies_soon_and_nobody_else() {
    let scenario = Scenario::load("leak", &["configurations=kernel,fovea".into()]).unwrap();
    let (plans, events) = simulate(&scenario, 2).unwrap();
    assert_eq!(failures(&plans, &events), Vec::<String>::new());
    let verdicts = results(&scenario, &plans, &events).verdicts;
    assert_eq!(verdicts.len(), 1 + 4 * scenario.leak.cases.len());
    let fails: Vec<_> = verdicts.iter().filter(|v| !v.pass).map(|v| (&v.id, v.figure)).collect();
    assert!(fails.is_empty(), "{fails:?}");
}

/// Ten compilers a second where nobody else wants the CPU, none beside an app that computes.
#[test]
fn a_job_has_what_apps_leave_of_the_cpu_and_its_memory_comes_and_goes() {
    let start = |app: &str| Step::Start { app: app.into() };
    let mut plan = plan(STOCK, vec![start("job"), Step::Wait { ns: 10_000_000_000 }]);
    let job = plan.apps.iter_mut().find(|app| app.name == "job").unwrap();
    let anon_pages = job.anon_bytes / crate::PAGE_BYTES;
    job.load = Some(Load::Build { jobs: 2, pages: 500, compute_insns: 1_000_000, period_ns: 100_000_000 });
    let mut boot = Boot::new(&plan).unwrap();
    follow_step(&mut boot, 0).unwrap();
    let begun_ns = (boot.now_ns(), boot.machine().counts.idle_ns);
    follow_step(&mut boot, 1).unwrap();
    check(&boot).unwrap();
    let busy_ns = boot.now_ns() - begun_ns.0 - (boot.machine().counts.idle_ns - begun_ns.1);
    // By hand: 500 faults of 8.35 us, contents of 2.2 to 6.2 us, checks of 1.3 us and the content again, 1 ms, a fork, 500 pages freed.
    let each_ns = busy_ns / 100;
    assert!((8_000_000..14_000_000).contains(&each_ns), "{each_ns}");
    let held_pages = {
        let machine = boot.machine();
        let process = machine.processes.values().find(|process| process.profile.name == "job").unwrap();
        machine.count_anon(process).0
    };
    assert!((anon_pages..=anon_pages + 1000).contains(&held_pages), "{held_pages}: what ended holds nothing");
    let idle_ns = boot.machine().counts.idle_ns;
    boot.compute(1_000_000_000).unwrap();
    assert_eq!(boot.machine().counts.idle_ns, idle_ns);
}

/// Everything that must hold between two steps.
fn check(boot: &Boot) -> Result<(), String> {
    let machine = boot.machine();
    machine.memory.audit()?;
    for (cgroup, process) in &machine.processes {
        if process.ran_frozen {
            return Err(format!("{cgroup} ran while it was frozen"));
        }
        let (resident, swapped) = machine.count_anon(process);
        let compilers = process.job.iter().flat_map(|job| job.compilers());
        let asked_pages: u64 = process.pages + compilers.map(|compiler| compiler.region.pages).sum::<u64>();
        if resident + swapped > asked_pages {
            return Err(format!("{cgroup} has more pages than it asked for"));
        }
    }
    let compilers = machine.processes.values().flat_map(|process| &process.job).flat_map(|job| job.compilers());
    let processes = (machine.processes.len() + compilers.count()) as u64;
    let own_pages = (KERNEL_BYTES + boot.plan.phone.flash.size_bytes) / crate::PAGE_BYTES;
    let kernel_pages = machine.memory.kernel + machine.memory.overdraft;
    if kernel_pages != own_pages + processes * PROCESS_PAGES {
        return Err(format!("the kernel has {kernel_pages} pages for itself and {processes} processes"));
    }
    let held: u64 = machine.processes.values().map(|p| machine.count_anon(p)).map(|(r, s)| r + s).sum();
    let zygote = machine.zygote.iter().filter(|&&p| machine.memory.page(p).place != Place::Nowhere).count() as u64;
    let there = machine.memory.resident[Kind::Anon as usize] + machine.memory.zram.map_or(0, |z| z.pages);
    if held + zygote != there {
        return Err(format!("{there} anonymous pages, but those that live hold {held} and the zygote {zygote}"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn memory_is_conserved_the_dead_hold_nothing_and_the_frozen_do_not_run(
        steps in prop::collection::vec(step(), 10..40),
        configuration in prop::sample::select(vec![STOCK, ZRAM, FOVEA, FOVEA]),
        available_mib in 10..60u64,
    ) {
        let full = [Step::Start { app: "phone".into() }, Step::Fill { app: "filler".into(), available_bytes: available_mib * MB }];
        let plan = plan(configuration, full.into_iter().chain(steps).collect());
        let mut boot = Boot::new(&plan).unwrap();
        let mut clock = boot.now_ns();
        for index in 0..plan.steps.len() {
            let followed = follow_step(&mut boot, index);
            // A phone this small may be too small for what is asked; it must still be right.
            check(&boot).map_err(|e| TestCaseError::fail(format!("after step {index}: {e}")))?;
            prop_assert!(boot.now_ns() >= clock);
            clock = boot.now_ns();
            if followed.is_err() {
                break;
            }
        }
        for event in &boot.events {
            if let EventBody::FrozenCheck { stray } = event.body {
                prop_assert_eq!(stray, 0);
            }
        }
    }

    #[test]
    fn the_account_of_memory_is_right_after_every_change(changes in prop::collection::vec((0u8..6, 0u32..64), 1..400)) {
        let mut memory = Memory::new(40, 5);
        memory.zram = Some(Zram { disk_bytes: 30 * 4096, limit_bytes: 8 * 4096, pages: 0, used_bytes: 0 });
        let lists = [memory.add_lists(), memory.add_lists()];
        let anon = memory.add_pages(Kind::Anon, 32);
        memory.add_pages(Kind::File, 32);
        for page in anon..anon + 32 {
            memory.page_mut(page).packed_bytes = (page % 5 * 1024) as u16;
        }
        for (change, page) in changes {
            let page = anon + page as PageId;
            let place = memory.page(page).place;
            match (change, place) {
                (0 | 1, Place::Nowhere) if memory.free > 0 => memory.bring_in(page, lists[page as usize % 2], u32::from(change)),
                (2, Place::Memory) => memory.take_out(page),
                (3, Place::Memory) if memory.page(page).kind == Kind::Anon => {
                    let _ = memory.swap_out(page);
                }
                (3, Place::Memory) => memory.move_to(page, 3),
                (_, Place::Swap) => memory.leave_swap(page),
                (4, _) => memory.take_kernel(u64::from(page % 7)),
                (5, _) => memory.give_kernel(u64::from(page % 7)),
                _ => {}
            }
            memory.audit().map_err(TestCaseError::fail)?;
        }
    }
}

#[test]
fn a_plan_gives_the_same_events_every_time_and_on_any_number_of_threads() {
    let scenario = Scenario::load("workload", &["launches=24".into()]).unwrap();
    let (plans, once) = simulate(&scenario, 1).unwrap();
    let (_, again) = simulate(&scenario, 3).unwrap();
    assert_eq!(failures(&plans, &once), Vec::<String>::new());
    assert!(once == again);
    let document = results(&scenario, &plans, &once);
    assert_eq!((document.mode.as_str(), document.figure("N", "stock", "launches")), ("simulated", Some(24.0)));
    assert_eq!(document.figure("N", "stock", "wrong_pages"), None, "nothing here could be wrong");
    assert!(document.verdicts.iter().all(|v| !v.id.starts_with("wrong-pages")));
}

#[test]
fn what_the_daemon_did_is_undone_to_the_last_setting() {
    let open = |app: &str| Step::Open { app: app.into() };
    let mut steps = vec![open("gmail"), open("maps"), Step::Close { app: "maps".into() }];
    steps.extend([Step::Home {}, Step::Screen { on: false }, Step::Wait { ns: 20_000_000_000 }]);
    let mut plan = plan(FOVEA, steps);
    plan.phone.memory_bytes = 512 * MB;
    let mut boot = Boot::new(&plan).unwrap();
    (0..plan.steps.len()).for_each(|index| follow_step(&mut boot, index).unwrap());
    {
        let machine = boot.machine();
        let zram = machine.memory.zram.unwrap();
        assert!(zram.pages > 0, "maps was compressed");
        assert_eq!(machine.sysctls["vm/page-cluster"], "0");
        assert!(machine.processes.values().any(|p| p.frozen) && machine.processes.values().any(|p| p.score != 0));
    }
    boot.kill_daemon().unwrap();
    let after = boot.events.iter().find(|e| matches!(e.body, EventBody::AfterKill { .. })).unwrap();
    let nothing = EventBody::AfterKill { frozen: 0, adjusted: 0, zram_left: 0, settings: Vec::new() };
    assert_eq!(after.body, nothing);
    check(&boot).unwrap();
}

#[test]
fn a_step_that_needs_a_real_kernel_is_refused_with_the_mend() {
    let events = run(&plan(FOVEA, vec![Step::IdleCheck { ns: 1 }]));
    let Some(EventBody::Failed { error }) = events.last().map(|e| &e.body) else { panic!("{events:?}") };
    assert!(error.contains("step 0") && error.ends_with("use `fovea phone run`"), "{error}");
}

#[test]
fn marks_are_the_kernels() {
    // Debian's 6.12 on 504 MiB: min_free_kbytes 2873; low and high follow.
    let marks = Marks::new(129_027);
    assert_eq!((marks.min - marks.kept, marks.low - marks.kept, marks.goal, marks.kept), (718, 897, 1076, 504));
}

/// A device with one app that has written all its pages.
fn device(configuration: Configuration) -> (Rc<RefCell<Machine>>, SimulatedDevice) {
    let mut plan = plan(configuration, Vec::new());
    plan.phone.memory_bytes = 512 * MB;
    let mut machine = Machine::new(&plan, 2000);
    let profile = plan.apps.iter().find(|a| a.name == "gmail").unwrap();
    machine.spawn("apps/gmail", profile, 7);
    let process = machine.processes["apps/gmail"].clone();
    (0..process.pages).for_each(|index| machine.touch_anon(process.page(index), process.lists));
    let machine = Rc::new(RefCell::new(machine));
    (Rc::clone(&machine), SimulatedDevice::new(machine))
}

fn with_zram() -> (Rc<RefCell<Machine>>, SimulatedDevice) {
    let (machine, mut device) = device(FOVEA);
    let wish = ZramWish { algorithm: Some("lz4".into()), disk_bytes: 64 * MB, limit_bytes: 32 * MB, priority: 100 };
    device.zram_setup(&wish, &mut |_| Ok(())).unwrap();
    (machine, device)
}

#[test]
fn compression_goes_on_where_it_stopped_and_ends() {
    let (machine, mut device) = with_zram();
    let before = device.usage("apps/gmail").unwrap();
    let (mut cursor, mut swapped, mut skipped, mut calls) = (CompressCursor::default(), 0, 0, 0);
    loop {
        let outcome = device.compress("apps/gmail", cursor, 100, 500).unwrap();
        assert!(outcome.swapped_pages <= 100 && outcome.scanned_pages <= 16 * 100 + 32);
        (swapped, skipped, calls) =
            (swapped + outcome.swapped_pages, skipped + outcome.incompressible_pages, calls + 1);
        let Some(next) = outcome.next else { break };
        assert!(next.address > cursor.address);
        cursor = next;
    }
    let after = device.usage("apps/gmail").unwrap();
    assert_eq!(after.swap_bytes, swapped * 4096);
    assert_eq!(before.anon_bytes - after.anon_bytes, swapped * 4096);
    assert!(calls > 3 && skipped > 0 && after.anon_bytes == skipped * 4096, "what is left does not shrink to half");
    let reading = device.memory().unwrap().zram.unwrap();
    assert_eq!(reading.original_bytes, swapped * 4096);
    assert!(reading.used_bytes < reading.original_bytes / 2);
    machine.borrow().memory.audit().unwrap();
}

#[test]
fn what_was_resident_can_be_read_back() {
    let (_, mut device) = with_zram();
    let resident = device.resident("apps/gmail", 2).unwrap();
    assert!(!resident.is_empty() && resident.len() <= 2);
    device.compress("apps/gmail", CompressCursor::default(), 1 << 20, 1001).unwrap();
    let before = device.usage("apps/gmail").unwrap();
    assert_eq!(before.anon_bytes, 0);
    assert_eq!(device.prefetch("apps/gmail", Some(&resident), 50).unwrap(), 50);
    assert_eq!(device.usage("apps/gmail").unwrap().anon_bytes, 50 * 4096);
    assert_eq!(device.prefetch("apps/gmail", Some(&[]), 50).unwrap(), 0);
}

#[test]
fn zram_takes_no_more_than_its_limit() {
    let (machine, mut device) = device(FOVEA);
    let wish = ZramWish { algorithm: Some("lz4".into()), disk_bytes: 64 * MB, limit_bytes: MB / 4, priority: 100 };
    device.zram_setup(&wish, &mut |_| Ok(())).unwrap();
    assert!(device.zram_setup(&wish, &mut |_| Ok(())).is_err());
    let outcome = device.compress("apps/gmail", CompressCursor::default(), 1 << 20, 1001).unwrap();
    assert!(outcome.swapped_pages > 0 && outcome.swapped_pages < outcome.scanned_pages);
    let reading = device.memory().unwrap().zram.unwrap();
    assert!(reading.used_bytes <= reading.limit_bytes);
    machine.borrow().memory.audit().unwrap();
}

#[derive(Default)]
struct Table(fovea_apps::Marks);

impl fovea_linux::MarkTable for Table {
    fn marks(&self) -> &fovea_apps::Marks {
        &self.0
    }

    fn mark(&mut self, base: i32, wanted: i32) -> Option<i32> {
        let mark = self.0.propose(base, wanted)?;
        self.0.insert(mark, base, wanted);
        Some(mark)
    }
}

#[test]
fn an_app_that_has_ended_is_no_error() {
    let (machine, mut device) = with_zram();
    let free = machine.borrow().memory.free;
    device.set_frozen("apps/gmail", true).unwrap();
    let killed = device.kill("apps/gmail").unwrap();
    assert_eq!((killed.signalled, killed.released), (1, 1), "works on frozen apps");
    assert!(machine.borrow().memory.free > free);
    assert_eq!(device.kill("apps/gmail").unwrap().signalled, 0);
    assert_eq!(device.usage("apps/gmail").unwrap(), Default::default());
    assert_eq!(device.charge("apps/gmail").unwrap(), 0);
    assert_eq!(device.compress("apps/gmail", CompressCursor::default(), 32, 500).unwrap().next, None);
    assert_eq!(device.prefetch("apps/gmail", None, 32).unwrap(), 0);
    assert_eq!(device.resident("apps/gmail", 8).unwrap(), []);
    device.set_frozen("apps/gmail", false).unwrap();
    assert_eq!(device.rank("apps/gmail", 950, &mut Table::default()).unwrap().changed, 0);
}

#[test]
fn scores_come_back_and_a_claim_that_fails_leaves_nothing() {
    let (machine, mut device) = device(FOVEA);
    let of_app = || {
        let machine = machine.borrow();
        (machine.processes["apps/gmail"].pid, machine.processes["apps/gmail"].score)
    };
    let (pid, score) = of_app();
    assert_eq!(device.cgroup_of_pid(pid).unwrap().as_deref(), Some("apps/gmail"));
    let mut table = Table::default();
    device.rank("apps/gmail", 700, &mut table).unwrap();
    assert_eq!(of_app().1, score + 701);
    device.unmark(&table.0).unwrap();
    assert_eq!(of_app().1, score);
    let wish = ZramWish { algorithm: Some("lz4".into()), disk_bytes: MB, limit_bytes: MB, priority: 0 };
    assert!(device.zram_setup(&wish, &mut |_| Err(std::io::Error::other("full"))).is_err());
    assert_eq!(machine.borrow().memory.zram, None);
    assert!(device.sysctl("kernel/hostname").is_err());
}
