// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab sim`: a scenario of the virtual phone on the simulated one.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::threads;
use fovea_report::text::render;
use fovea_scenario::kinds::papers;
use fovea_scenario::Scenario;

use super::{to_stdout, verdict, write_results};
use crate::failure::Failure;
use crate::output::print;

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
    pub fn run(self) -> Result<(), Failure> {
        let scenario = Scenario::load(&self.scenario, &self.parameters).map_err(|e| Failure::Usage(e.to_string()))?;
        let (plans, events) = fovea_sim::simulate(&scenario, threads(self.threads.map(usize::from)))?;
        if let Some(folder) = &self.results {
            fovea_sim::write_events(folder, &plans, &events)?;
        }
        let mut document = fovea_sim::results(&scenario, &plans, &events);
        document.command = ["lab", "sim", &self.scenario].map(str::to_owned).to_vec();
        document.command.extend_from_slice(&self.parameters);
        let json = self.json.as_deref();
        write_results(json, &document, "make room and run again")?;
        if !to_stdout(json) {
            let near = "Simulated: docs/design/sim.md tells how near this comes to the virtual phone.\n";
            print(&(render(&document, &papers()) + near))?;
        }
        match fovea_sim::failures(&plans, &events).into_iter().next() {
            Some(failure) => Err(Failure::failed(failure)),
            None => verdict(&document),
        }
    }
}
