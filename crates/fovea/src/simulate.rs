// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea simulate`: what the daemon would do now, and why, with nothing done.

use std::path::Path;

use fovea_apps::Standing;
use fovea_client::protocol::{Reply, Request};
use fovea_client::{Assumed, ClientError, Simulation};
use fovea_daemon::simulate::alone;
use fovea_policy::{Action, Step};

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::settings::Settings;
use crate::size::parse_size;

#[derive(clap::Args)]
pub struct Simulate {
    /// Free memory to assume, with somebody waiting for more (40M); without it what there is.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    free: Option<u64>,
    /// File cache to assume; without it what there is.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    file_cache: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Asks the daemon, who knows most; where none runs or it may not be asked, looks at the machine as one that starts now would.
pub fn simulate(settings: &Settings, run_folder: &Path, options: Simulate) -> Result<(), Failure> {
    let assumed = Assumed { free_bytes: options.free, file_bytes: options.file_cache };
    let simulation = match fovea_client::request(run_folder, &Request::Simulate { assumed }) {
        Ok(Reply::Simulation(simulation)) => *simulation,
        Ok(other) => return Err(ClientError::from(other).into()),
        Err(ClientError::NotRunning { .. } | ClientError::NotAllowed { .. }) => {
            alone(&settings.load()?, assumed).map_err(|e| Failure::Failed(e.to_string()))?
        }
        Err(e) => return Err(e.into()),
    };
    match options.json {
        true => print_json(&simulation),
        false => print(&in_words(&simulation)),
    }
}

fn in_words(simulation: &Simulation) -> String {
    let mb = |bytes: u64| bytes >> 20;
    let memory = &simulation.memory;
    let by = if simulation.by_daemon { "the running daemon" } else { "a daemon that starts now" };
    let mut out = format!(
        "{by}, with {} MiB free, file cache {} MiB, {} apps{}\n",
        mb(memory.free_bytes),
        mb(memory.file_bytes),
        simulation.apps,
        if memory.stalled_us > 0 { ", while somebody waits for memory" } else { "" }
    );
    if !simulation.focus_told {
        out += "nobody tells who is in front: nothing is frozen or compressed ahead\n";
    }
    for note in &simulation.notes {
        out += &format!("{note}\n");
    }
    let plan = &simulation.plan;
    for step in &plan.steps {
        out += &format!("  {}\n", sentence(step));
    }
    if plan.steps.is_empty() {
        let why = match plan.before {
Some(p) if p.shortage.is_some() => {
                "memory is short, but nobody waits for it, the kernel finds some by itself, or nobody is left to give any"
            }
            _ => "memory is not short: enough is free, or in the file cache",
        };
        out += &format!("  nothing: {why}\n");
    }
    if plan.only_listed {
        out += "then only apps on the owner's lists are left, and the kernel's OOM killer may choose\n";
    }
    out
}

fn sentence(step: &Step) -> String {
    let what = match &step.action {
        Action::Compress { .. } | Action::Ask { .. } | Action::Kill { .. } => {
            format!("{}, for {} MiB", step.action.describe(), step.gives_bytes >> 20)
        }
        action => action.describe(),
    };
    let why = step.reason.words();
    let listed =
        if step.standing == Standing::Plain { String::new() } else { format!("; on the list {}", step.standing) };
    format!("at {} MiB free: {what} ({why}{listed})", step.free_bytes >> 20)
}
