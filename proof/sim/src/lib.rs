// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The simulated phone: the daemon's own engine and policies, over a device that is a few thousand lines instead of
//! a kernel. A boot that takes the virtual phone a minute takes a fraction of a second here; docs/design/sim.md says how near it comes.

mod ablation;
mod apps;
mod boot;
mod costs;
mod device;
mod files;
mod job;
mod lowmem_table;
mod machine;
mod memory;
mod pressure;
mod process;
mod reclaim;
mod steps;
#[cfg(test)]
mod tests;

use std::path::Path;

use fovea_lab::reproduce::{Entry, ENTRIES};
use fovea_lab::{parallel, Error, Result, PAGE_BYTES};
use fovea_policy::memory::RulesOff;
use fovea_report::document::Document;
use fovea_scenario::{document, follow, Boot as Followed, Catalog, Event, EventBody, Plan, Provenance, Scenario};

pub use ablation::{ablate, ALL_RULES, SCENES};
pub use boot::Boot;
pub use device::SimulatedDevice;
pub use machine::Machine;

/// The lab's experiments, and the one that is run on the simulated phone.
pub fn experiments() -> Vec<&'static Entry> {
    ENTRIES.iter().copied().chain([&lowmem_table::TABLE]).collect()
}

/// What a results document says it was measured on.
pub const MODE: &str = "simulated";

/// Follows a plan on the simulated phone. A step that cannot be followed ends the boot with `EventBody::Failed`, as on the virtual phone.
pub fn run(plan: &Plan) -> Vec<Event> {
    run_without(plan, RulesOff::default())
}

/// The same with rules of the memory policy switched off.
pub fn run_without(plan: &Plan, rules_off: RulesOff) -> Vec<Event> {
    let failed = |error| Event { t_ns: 0, body: EventBody::Failed { error } };
    match Boot::without(plan, rules_off) {
        Err(error) => vec![failed(error)],
        Ok(mut boot) => {
            if let Err(error) = follow::follow(&mut boot).and_then(|()| boot.finish()) {
                boot.emit(EventBody::Failed { error });
            }
            boot.events
        }
    }
}

/// Runs all boots of a scenario; the results do not depend on the threads.
///
/// # Errors
/// If the scenario is wrong.
pub fn simulate(scenario: &Scenario, threads: usize) -> Result<(Vec<Plan>, Vec<Vec<Event>>)> {
    let wrong = |e: fovea_scenario::Error| Error::Usage(e.to_string());
    let plans = scenario.plans(&Catalog::builtin().map_err(wrong)?, true).map_err(wrong)?;
    let events = parallel::map(&plans, threads, run, |_| {});
    Ok((plans, events))
}

/// The results document of a scenario's boots: the figures and verdicts of the virtual phone, made from the simulation's events. What the
/// simulation cannot know is left out: it has no page contents that could come back wrong.
pub fn results(scenario: &Scenario, plans: &[Plan], events: &[Vec<Event>]) -> Document {
    let boots: Vec<Followed> = plans.iter().zip(events).map(|(plan, events)| Followed { plan, events }).collect();
    let provenance = Provenance { qemu: String::new(), commit: fovea_lab::COMMIT.into(), command: Vec::new() };
    let mut document = document(scenario, &boots, &provenance);
    document.mode = MODE.into();
    document.kernel = String::new();
    document.verdicts.retain(|v| !v.id.starts_with("wrong-pages"));
    for case in document.cases.iter_mut().chain(&mut document.margins) {
        case.figures.remove("wrong_pages");
    }
    document
}

/// What kept a boot from following its plan to the end.
pub fn failures(plans: &[Plan], events: &[Vec<Event>]) -> Vec<String> {
    let failure = |event: &Event| match &event.body {
        EventBody::Failed { error } => Some(error.clone()),
        _ => None,
    };
    let named = |(plan, events): (&Plan, &Vec<Event>)| {
        events.iter().find_map(failure).map(|error| format!("{}: {error}", plan.names().join("/")))
    };
    plans.iter().zip(events).filter_map(named).collect()
}

/// Writes the events of each boot into a folder of its own, as the virtual phone does.
///
/// # Errors
/// If a file cannot be written.
pub fn write_events(folder: &Path, plans: &[Plan], events: &[Vec<Event>]) -> Result<()> {
    for (index, (plan, events)) in plans.iter().zip(events).enumerate() {
        let folder = folder.join(format!("{index:02}-{}-{MODE}", plan.names().join("-")));
        let path = folder.join("events.jsonl");
        let lines = events.iter().map(|e| serde_json::to_string(e).expect("events serialise") + "\n");
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, lines.collect::<String>()))
            .map_err(|e| Error::io(&path, e, "make room and run again"))?;
    }
    Ok(())
}
