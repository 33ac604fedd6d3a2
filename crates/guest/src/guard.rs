// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What people install against a shortage of memory, where a phone is compared with it: a program that ends apps, and a setting of MGLRU.

use std::fs::File;
use std::path::Path;

use fovea_scenario::Plan;

use crate::outcome::{write_file, At, Outcome};
use crate::phone::Phone;
use crate::readings::cgroup_cpu_ns;
use crate::setup::cgroup_path;
use crate::spawn::{self, Setting};

const CGROUP: &str = "system/guard";
const MIN_TTL: &str = "/sys/kernel/mm/lru_gen/min_ttl_ms";

/// Name of each, program and arguments: those of Debian's /etc/default.
const PROGRAMS: [(&str, &str, &[&str]); 1] = [("earlyoom", "/usr/bin/earlyoom", &["-r", "3600"])];

/// A program that ends apps.
#[derive(Debug)]
pub struct Guard {
    /// Its name.
    pub name: &'static str,
    /// Its process.
    pub pid: u32,
    /// Apps that ended by a signal which the kernel's OOM killer did not send.
    pub kills: u64,
}

impl Guard {
    /// CPU time it has taken.
    pub fn cpu_ns(&self) -> Outcome<u64> {
        cgroup_cpu_ns(&cgroup_path(CGROUP))
    }
}

impl Phone {
    /// Starts the program that the configuration names, if it does.
    pub fn start_guard(&mut self) -> Outcome<()> {
        let Some(wanted) = self.plan.configuration.guard.as_deref() else { return Ok(()) };
        let known = PROGRAMS.iter().find(|(name, ..)| *name == wanted);
        let (name, program, args) = known.ok_or_else(|| format!("nobody knows how {wanted} is started here"))?;
        let path = cgroup_path(CGROUP);
        std::fs::create_dir(&path).at(|| format!("making {}", path.display()))?;
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let args: Vec<&str> = std::iter::once(*name).chain(args.iter().copied()).collect();
        let pid = spawn::exec_into(&cgroup, Path::new(program), &args, Setting::default())?;
        self.guard = Some(Guard { name, pid, kills: 0 });
        Ok(())
    }
}

/// Has MGLRU keep for so long what was used, if the configuration says so.
pub fn keep_recent(plan: &Plan) -> Outcome<()> {
    match plan.configuration.min_ttl_ms {
        Some(ms) => write_file(MIN_TTL, &ms.to_string()),
        None => Ok(()),
    }
}
