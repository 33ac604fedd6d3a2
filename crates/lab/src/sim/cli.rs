// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab sim`: a scenario of the virtual phone on the simulated one.

use std::path::{Path, PathBuf};

use clap::Args;
use fovea_report::text::render;
use fovea_scenario::Scenario;

use super::{failures, results, simulate};
use crate::{
    cli::{print, print_json},
    parallel,
    sweep::output::write_json,
    Error, Result,
};

/// `fovea lab sim`.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Scenario: lowmem, workload, another name from `fovea phone list`, or a file.
    scenario: String,
    /// Parameters in place of the scenario's own, e.g. launches=50.
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the events of each boot there, one file per boot, as `fovea phone run` does.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Threads; all cores unless told otherwise. The results do not depend on them.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl SimArgs {
    pub(crate) fn run(self) -> Result<()> {
        let scenario = Scenario::load(&self.scenario, &self.parameters).map_err(|e| Error::Usage(e.to_string()))?;
        let (plans, events) = simulate(&scenario, parallel::threads(self.threads.map(usize::from)))?;
        if let Some(folder) = &self.results {
            write_events(folder, &plans, &events)?;
        }
        let mut document = results(&scenario, &plans, &events);
        document.command = ["lab", "sim", &self.scenario].map(str::to_owned).to_vec();
        document.command.extend_from_slice(&self.parameters);
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => print_json(&document)?,
            path => {
                if let Some(path) = path {
                    write_json(path, &document, "make room and run again")?;
                }
                print(
                    &(render(&document) + "Simulated: docs/sim.md tells how near this comes to the virtual phone.\n"),
                )?;
            }
        }
        if let Some(failure) = failures(&plans, &events).into_iter().next() {
            return Err(Error::Boot(failure));
        }
        let failed: Vec<&str> = document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect();
        if failed.is_empty() {
            return Ok(());
        }
        Err(Error::Verdicts { failed: failed.len(), verdicts: document.verdicts.len(), ids: failed.join(", ") })
    }
}

fn write_events(folder: &Path, plans: &[fovea_scenario::Plan], events: &[Vec<fovea_scenario::Event>]) -> Result<()> {
    for (index, (plan, events)) in plans.iter().zip(events).enumerate() {
        let parts = [plan.scenario.as_str(), plan.case.as_str(), plan.configuration.name(), super::MODE];
        let name: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        let folder = folder.join(format!("{index:02}-{}", name.join("-")));
        let path = folder.join("events.jsonl");
        let lines = events.iter().map(|e| serde_json::to_string(e).expect("events serialise") + "\n");
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, lines.collect::<String>()))
            .map_err(|e| Error::io(&path, e, "make room and run again"))?;
    }
    Ok(())
}
