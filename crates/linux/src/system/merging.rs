// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kernel same-page merging.

use fovea_apps::{Kinship, MergeReading, MergeSettings, SpareReading};

use super::System;
use crate::device_traits::Merging;
use crate::probe::inspect::senseless;
use crate::probe::task::{Outcome, Task};
use crate::probe::watched;
use crate::process::Process;
use crate::{merging, Error};

impl Merging for System {
    fn merging(&mut self) -> Result<Option<MergeReading>, Error> {
        merging::reading(&self.root, &mut self.ksmd)
    }

    fn set_merging(&mut self, settings: &MergeSettings) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        merging::set(&self.root, settings)
    }

    fn kinship(&mut self, cgroup: &str) -> Result<Option<Kinship>, Error> {
        if let Some(done) = self.by_probe(cgroup, || Task::Kinship { cgroup: cgroup.to_owned() }) {
            return match done? {
                Outcome::Kin(kin) => Ok(kin),
                _ => Err(senseless()),
            };
        }
        self.list_processes(cgroup)?;
        for &pid in &self.pids {
            if !watched::touch(pid) {
                continue;
            }
            let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
            let found =
                merging::kinship(&process).map_err(|e| Error::file("reading", format!("/proc/{pid}/smaps"), e))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn spare(&mut self) -> Result<SpareReading, Error> {
        Ok(merging::spare(&self.root))
    }
}
