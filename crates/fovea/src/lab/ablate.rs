// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab ablate`: what each rule of the memory policy buys, on the simulated phone.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::threads;
use fovea_report::docs::rules_table;
use fovea_sim::{ablate, SCENES};

use super::{to_stdout, write_results};
use crate::failure::Failure;
use crate::output::print;

/// `fovea lab ablate`.
#[derive(Debug, Args)]
pub struct AblateArgs {
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How many seeds each scene is played with.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=31))]
    seeds: u64,
    /// Threads; all cores unless told otherwise. The results do not depend on them.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl AblateArgs {
    pub fn run(self) -> Result<(), Failure> {
        let seeds: Vec<u64> = (1..=self.seeds).collect();
        let mut document = ablate(&SCENES, &seeds, threads(self.threads.map(usize::from)))?;
        document.command = ["lab", "ablate", "--seeds", &self.seeds.to_string()].map(str::to_owned).to_vec();
        let json = self.json.as_deref();
        write_results(json, &document, "make room and run again")?;
        if !to_stdout(json) {
            print(&rules_table(&document).map_err(Failure::failed)?)?;
            let lost = document.options.iter().map(|(rule, verdicts)| format!("{rule}: {verdicts}\n"));
            print(&lost.collect::<String>())?;
        }
        Ok(())
    }
}
