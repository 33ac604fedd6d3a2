// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps as cgroup v2 and /proc show them, and what the OOM killer goes by.

use fovea_apps::{limits, AppUsage, Holder, Marks, Preference, ProcessId, Service};

use super::System;
use crate::adopt::{self, ProgramTree};
use crate::cgroup::Controller;
use crate::charges::Charges;
use crate::device_traits::{Apps, Scores};
use crate::importance::Live;
use crate::media::MediaUser;
use crate::probe::inspect::{senseless, Inspect, Probes};
use crate::probe::task::{Outcome, Task};
use crate::{importance, kill, kill_part, Error, KillOutcome, MarkTable, OldScore, Outsiders, Ranked, ServiceUser};

fn late(error: std::io::Error) -> Error {
    Error::call("asking the probe", "open files and sockets", error)
}

/// What a kill of so many processes that is not done comes to: nobody's end can be waited for.
fn would_signal(signalled: usize) -> KillOutcome {
    KillOutcome { signalled: signalled as u32, ..KillOutcome::default() }
}

impl System {
    fn would_signal(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        self.list_processes(cgroup)?;
        Ok(would_signal(self.pids.len()))
    }
}

impl Apps for System {
    fn usage(&mut self, cgroup: &str) -> Result<AppUsage, Error> {
        // The unit's own files tell of all below it: a list that fails must not make it weigh nothing.
        let listed = self.list_processes_within(cgroup, limits::CGROUPS_SUMMED_MAX);
        let processes = self.pids.len() as u32;
        let mut text = std::mem::take(&mut self.text);
        let cgroups = self.cgroups()?;
        let current = cgroups.number(cgroup, "memory.current", &mut text)?;
        let mut usage = match current {
            Some(current_bytes) => {
                let swapped_bytes = cgroups.number(cgroup, "memory.swap.current", &mut text)?.unwrap_or(0);
                cgroups.text(cgroup, "memory.stat", &mut text)?;
                let Charges { anon_bytes, swap_bytes, shmem_bytes, kernel_bytes } =
                    Charges::parse(&text, swapped_bytes);
                AppUsage {
                    current_bytes,
                    anon_bytes,
                    swap_bytes,
                    shmem_bytes,
                    kernel_bytes,
                    processes,
                    ..AppUsage::default()
                }
            }
            // Without the memory controller its processes are all there is.
            None => {
                let listed = listed.and_then(|()| self.list_processes(cgroup));
                if self.pids.is_empty() {
                    listed?;
                }
                self.sums.usage(&self.root, cgroup, &self.pids, &mut text)
            }
        };
        if usage.shmem_bytes > 0 {
            let System { lasting, root, probes, pids, .. } = self;
            let inspect = &mut Inspect::new(root, probes);
            usage.lasting_bytes = lasting.of_unit(inspect, cgroup, pids, usage.shmem_bytes);
        }
        self.text = text;
        Ok(usage)
    }

    fn charge(&mut self, cgroup: &str) -> Result<u64, Error> {
        let mut text = std::mem::take(&mut self.text);
        let charged = self.cgroups()?.number(cgroup, "memory.current", &mut text);
        self.text = text;
        match charged? {
            Some(bytes) => Ok(bytes),
            None => Ok(self.usage(cgroup)?.current_bytes),
        }
    }

    fn set_frozen(&mut self, cgroup: &str, frozen: bool) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        self.cgroups()?.set_frozen(cgroup, frozen)
    }

    fn kill(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        if !self.acts {
            return self.would_signal(cgroup);
        }
        let (root, mut inspect, cgroups, asked) = self.looking()?;
        kill::kill(root, &mut inspect, cgroups, cgroup, asked)
    }

    fn terminate(&mut self, cgroup: &str) -> Result<u32, Error> {
        if !self.acts {
            return Ok(self.would_signal(cgroup)?.signalled);
        }
        let (root, mut inspect, cgroups, asked) = self.looking()?;
        kill::terminate(root, &mut inspect, cgroups, cgroup, asked)
    }

    fn kill_left(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        if !self.acts {
            return Ok(KillOutcome::default());
        }
        let (root, mut inspect, cgroups, asked) = self.looking()?;
        kill::kill_left(root, &mut inspect, cgroups, cgroup, asked)
    }

    fn kill_part(&mut self, cgroup: &str, part: &[ProcessId]) -> Result<KillOutcome, Error> {
        if !self.acts {
            return Ok(would_signal(part.len()));
        }
        let (root, mut inspect, cgroups, _) = self.looking()?;
        let mut outcome = kill_part::kill(root, &mut inspect, cgroups, cgroup, part)?;
        // Those of the part that were asked to end, and have left the cgroup.
        let left = self.kill_left(cgroup)?;
        outcome.signalled += left.signalled;
        outcome.released += left.released;
        outcome.pidfds.extend(left.pidfds);
        Ok(outcome)
    }

    fn terminate_part(&mut self, cgroup: &str, part: &[ProcessId]) -> Result<KillOutcome, Error> {
        if !self.acts {
            return Ok(would_signal(part.len()));
        }
        let (root, mut inspect, _, asked) = self.looking()?;
        kill_part::terminate(root, &mut inspect, cgroup, part, asked)
    }

    fn process_name(&mut self, id: ProcessId) -> String {
        kill_part::name(&self.root, &mut Inspect::new(&self.root, &mut self.probes), id)
    }

    fn cgroup_of_pid(&mut self, pid: u32) -> Result<Option<String>, Error> {
        self.cgroup_of(pid)
    }

    fn without_controller(&mut self, cgroup: &str, controller: Controller) -> Result<Vec<String>, Error> {
        self.cgroups()?.without(cgroup, controller)
    }

    fn pass_controller_on(&mut self, cgroup: &str, controller: Controller, on: bool) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        self.cgroups()?.pass_on(cgroup, controller, on)
    }

    fn started_by(&mut self, cgroup: &str) -> Result<Option<String>, Error> {
        if let Some(done) = self.by_probe(cgroup, || Task::StartedBy { cgroup: cgroup.to_owned() }) {
            return match done? {
                Outcome::Texts(texts) => Ok(texts.into_iter().next()),
                _ => Err(senseless()),
            };
        }
        self.list_processes(cgroup)?;
        crate::origin::started_by(&self.root, cgroup, &self.pids)
    }

    fn program_tree(&mut self, pid: u32, windows: &[u32]) -> Result<Option<ProgramTree>, Error> {
        let of = self.cgroup_of(pid)?.unwrap_or_default();
        match self.by_probe(&of, || Task::ProgramTree { pid, windows: windows.to_vec() }) {
            None => adopt::program_tree(&self.root, pid, windows),
            Some(done) => match done? {
                Outcome::Tree(tree) => Ok(tree),
                _ => Err(senseless()),
            },
        }
    }

    fn adopt(&mut self, tree: &ProgramTree, to: &str) -> Result<usize, Error> {
        if !self.acts {
            return Ok(0);
        }
        let (root, mut inspect, cgroups, _) = self.looking()?;
        adopt::adopt(root, &mut inspect, cgroups, tree, to)
    }

    fn give_back(&mut self, cgroup: &str, to: &str) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        adopt::give_back(self.cgroups()?, cgroup, to)
    }

    fn has_user_manager(&mut self, uid: u32) -> bool {
        // Its cgroup, and not its socket: the daemon's unit has /run/user hidden from it (ProtectHome=).
        let cgroup = format!("user.slice/user-{uid}.slice/user@{uid}.service");
        self.has_systemd() && self.cgroups().is_ok_and(|cgroups| cgroups.mount().join(cgroup).exists())
    }

    fn has_systemd(&mut self) -> bool {
        // sd_booted(3).
        self.root.join("run/systemd/system").exists()
    }

    fn preference(&mut self, cgroup: &str) -> Result<Option<Preference>, Error> {
        crate::origin::preference(&self.cgroups()?.path(cgroup)?)
    }

    fn others(&mut self, is_known: &dyn Fn(&str) -> bool) -> Result<Outsiders, Error> {
        crate::others::others(self.cgroups()?.mount(), is_known)
    }

    fn holders(&mut self, cgroup: &str) -> Result<Vec<Holder>, Error> {
        if let Some(done) = self.by_probe(cgroup, || Task::Holders { cgroup: cgroup.to_owned() }) {
            return match done? {
                Outcome::Holders(holders) => Ok(holders),
                _ => Err(senseless()),
            };
        }
        self.cgroups()?;
        let Some(cgroups) = self.cgroups.get() else { return Ok(Vec::new()) };
        crate::others::holders(&self.root, cgroups, &mut self.lasting, cgroup, crate::process::slept_ns())
    }

    fn programs(&mut self, cgroup: &str) -> Result<Vec<String>, Error> {
        if let Some(done) = self.by_probe(cgroup, || Task::Programs { cgroup: cgroup.to_owned() }) {
            return match done? {
                Outcome::Texts(texts) => Ok(texts),
                _ => Err(senseless()),
            };
        }
        self.list_processes(cgroup)?;
        crate::programs::programs(&self.root, cgroup, &self.pids)
    }

    fn media_users(&mut self, look_for_video: bool) -> Result<Vec<MediaUser>, Error> {
        match &mut self.probes {
            Some(Probes { files, places, .. }) => files.media_users(places, look_for_video).map_err(late),
            None => self.media.users(&self.root, look_for_video),
        }
    }

    fn service_users(&mut self, table: &[Service]) -> Result<Vec<ServiceUser>, Error> {
        match &mut self.probes {
            Some(Probes { files, places, .. }) => files.service_users(places, table).map_err(late),
            None => crate::services::users(&self.root, self.media.devices(), table),
        }
    }
}

impl Scores for System {
    fn rank(&mut self, cgroup: &str, wanted: i32, marks: &mut dyn MarkTable) -> Result<Ranked, Error> {
        if !self.acts {
            return Ok(Ranked::default());
        }
        let (root, inspect, cgroups, _) = self.looking()?;
        cgroups.path(cgroup)?;
        let mut processes = Live::new(root, inspect, Some((cgroups, cgroup)));
        let ranked = importance::rank(&mut processes, wanted, marks).map_err(Live::named)?;
        // As if they were young: their turn comes.
        Ok(Ranked { young: ranked.young.saturating_add(processes.put_off), ..ranked })
    }

    fn unmark(&mut self, marks: &Marks) -> Result<Ranked, Error> {
        if marks.is_empty() || !self.acts {
            return Ok(Ranked::default());
        }
        let inspect = Inspect::new(&self.root, &mut self.probes);
        importance::unmark(&mut Live::new(&self.root, inspect, None), marks).map_err(Live::named)
    }

    fn lower_scores(&mut self, scores: &[OldScore]) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        let mut inspect = Inspect::new(&self.root, &mut self.probes);
        importance::lower(&self.root, &mut inspect, scores).map(drop)
    }
}
