// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A device for the engine's tests: slow, obvious, in memory; remembers everything that was done to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use fovea_apps::{
    AppUsage, CpuReading, DiskControl, Holder, IoClass, Marks, MemoryReading, Preference, ProcessId, Service,
    PAGE_BYTES,
};
use fovea_linux::device_traits::*;
use fovea_linux::*;

mod disks;
mod merging;
mod net;
mod pages;
mod swap;
mod tiers;

pub use swap::{OWN_ALGORITHM, UNKNOWN_ALGORITHM};

#[derive(Debug, Default)]
pub struct State {
    pub memory: MemoryReading,
    /// How often it was read.
    pub memory_reads: u32,
    pub apps: BTreeMap<String, FakeApp>,
    pub storage_swap: StorageSwap,
    pub sysctls: BTreeMap<String, String>,
    pub parameters: BTreeMap<String, String>,
    /// The eCache's pool, if its module is there.
    pub ecache: Option<fovea_apps::PoolReading>,
    /// Who holds device buffers.
    pub buffer_holders: Vec<fovea_apps::BufferHolder>,
    /// Cgroups of live processes.
    pub pids: BTreeMap<u32, String>,
    pub done: Vec<String>,
    pub cpu: CpuReading,
    /// The cgroup whose process leaves it when it is asked to end.
    pub leaves: Option<String>,
    /// Cgroup whose processes live on whatever is done to them.
    pub unkillable: Option<String>,
    /// What cgroups of no app occupy.
    pub others: Vec<(String, u64)>,
    /// Those of them that are too many to be looked through.
    pub others_beyond: Vec<String>,
    /// The unit that started what runs in a cgroup, and what is preferred of it.
    pub started_by: BTreeMap<String, String>,
    pub preferences: BTreeMap<String, Preference>,
    /// Programs by the process that has the window, and users whose systemd runs.
    pub programs_with_windows: BTreeMap<u32, ProgramTree>,
    pub managers: Vec<u32>,
    /// Where each batch of pages began.
    pub cursors: Vec<u64>,
    /// Who uses sound and video, and how often video was looked for.
    pub media: Vec<MediaUser>,
    pub looked_for_video: usize,
    /// Who uses services, by the name of the table's row, and how often that was looked at.
    pub services: Vec<(u32, String)>,
    pub looked_for_services: usize,
    /// By what the disk can be told of apps, and what it was told; files of cgroups' I/O, and what the controller is not passed on by.
    pub disk: fovea_apps::DiskControl,
    pub disk_classes: BTreeMap<u64, fovea_apps::IoClass>,
    pub disk_rate: u64,
    pub disk_messages: usize,
    pub disk_usage: BTreeMap<String, u64>,
    pub io_files: BTreeMap<(String, String), String>,
    pub without: Vec<(String, Controller)>,
    /// What came over the network since the last look; none where there is no network. Looks at it.
    pub traffic: Option<Traffic>,
    pub looked_at_traffic: usize,
    /// Connections of cgroups, and the window each is held to; 0 if it is not.
    pub connections: BTreeMap<String, Vec<(HeldSocket, u32)>>,
    /// What UDP of cgroups is limited to.
    pub udp_limits: BTreeMap<String, u64>,
    /// Merging, if the kernel has it; who is registered, by cgroup; power and time.
    pub merging: Option<fovea_apps::MergeReading>,
    pub kin: BTreeMap<String, fovea_apps::Kinship>,
    pub spare: fovea_apps::SpareReading,
    /// Memory of two speeds: see [`tiers`].
    pub tiers: tiers::FakeTiers,
    /// A process that cannot be looked at.
    pub unreadable: Option<u32>,
    /// Method that fails from now on.
    pub failing: Option<&'static str>,
}

#[derive(Debug, Default, Clone)]
pub struct FakeApp {
    pub anon_pages: u64,
    /// Those of `anon_pages` that shrink enough.
    pub compressible_pages: u64,
    pub swap_pages: u64,
    /// Page cache that it is charged for.
    pub file_pages: u64,
    pub frozen: bool,
    /// When its first process began.
    pub started_ns: u64,
    /// Processes that hold some of what it has; the first one holds the rest.
    pub job: Vec<Holder>,
    /// `oom_score_adj` of its first process,
    pub score: i32,
    /// and of the others.
    pub other_scores: Vec<i32>,
    pub programs: Vec<String>,
}

/// Shares its state with the test.
#[derive(Clone, Default)]
pub struct FakeDevice(pub Rc<RefCell<State>>);

impl FakeDevice {
    fn check(&self, method: &'static str) -> Result<(), Error> {
        match self.0.borrow().failing {
            Some(failing) if failing == method => self.fail(method),
            _ => Ok(()),
        }
    }

    fn fail(&self, method: &'static str) -> Result<(), Error> {
        Err(Error::Call { call: method, what: "the fake".into(), source: io::Error::other("told to fail") })
    }

    fn did(&self, what: String) {
        self.0.borrow_mut().done.push(what);
    }
}

impl Meters for FakeDevice {
    fn memory(&mut self) -> Result<MemoryReading, Error> {
        self.check("memory")?;
        self.0.borrow_mut().memory_reads += 1;
        Ok(self.0.borrow().memory)
    }

    fn cpu(&mut self) -> Result<CpuReading, Error> {
        self.check("cpu")?;
        Ok(self.0.borrow().cpu)
    }

    fn ecache(&mut self) -> Result<Option<fovea_apps::PoolReading>, Error> {
        Ok(self.0.borrow().ecache.clone())
    }

    fn buffer_holders(&mut self) -> Result<Vec<fovea_apps::BufferHolder>, Error> {
        Ok(self.0.borrow().buffer_holders.clone())
    }
}

impl Apps for FakeDevice {
    fn without_controller(&mut self, _: &str, controller: Controller) -> Result<Vec<String>, Error> {
        let state = self.0.borrow();
        Ok(state.without.iter().filter(|(_, of)| *of == controller).map(|(cgroup, _)| cgroup.clone()).collect())
    }

    fn pass_controller_on(&mut self, cgroup: &str, controller: Controller, on: bool) -> Result<(), Error> {
        let mut state = self.0.borrow_mut();
        match on {
            true => state.without.retain(|lacks| lacks.0 != cgroup || lacks.1 != controller),
            false => state.without.push((cgroup.to_owned(), controller)),
        }
        Ok(())
    }

    fn usage(&mut self, cgroup: &str) -> Result<AppUsage, Error> {
        self.check("usage")?;
        self.did(format!("usage {cgroup}"));
        let current_bytes = self.charge(cgroup)?;
        let state = self.0.borrow();
        let Some(app) = state.apps.get(cgroup) else { return Ok(AppUsage::default()) };
        let anon_bytes = app.anon_pages * PAGE_BYTES;
        let swap_bytes = app.swap_pages * PAGE_BYTES;
        let processes = 1 + app.other_scores.len() as u32;
        Ok(AppUsage { anon_bytes, current_bytes, swap_bytes, processes, ..AppUsage::default() })
    }

    fn charge(&mut self, cgroup: &str) -> Result<u64, Error> {
        let state = self.0.borrow();
        Ok(state.apps.get(cgroup).map_or(0, |app| (app.anon_pages + app.file_pages) * PAGE_BYTES))
    }

    fn set_frozen(&mut self, cgroup: &str, frozen: bool) -> Result<(), Error> {
        self.check("set_frozen")?;
        self.did(format!("{} {cgroup}", if frozen { "freeze" } else { "thaw" }));
        if let Some(app) = self.0.borrow_mut().apps.get_mut(cgroup) {
            app.frozen = frozen;
        }
        Ok(())
    }

    fn kill(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        self.check("kill")?;
        self.did(format!("kill {cgroup}"));
        let (end, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let state = &mut *self.0.borrow_mut();
        if state.unkillable.as_deref() == Some(cgroup) {
            return Ok(KillOutcome { pidfds: vec![end.into()], signalled: 1, signalled_ns: 0, released: 0 });
        }
        if let Some(app) = state.apps.remove(cgroup) {
            state.memory.free_bytes += app.anon_pages * PAGE_BYTES;
        }
        Ok(KillOutcome { pidfds: vec![end.into()], signalled: 1, signalled_ns: 0, released: 1 })
    }

    fn kill_part(&mut self, cgroup: &str, part: &[ProcessId]) -> Result<KillOutcome, Error> {
        self.check("kill_part")?;
        let pids: Vec<_> = part.iter().map(|id| id.pid).collect();
        self.did(format!("kill {pids:?} of {cgroup}"));
        let (end, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let state = &mut *self.0.borrow_mut();
        let mut outcome = KillOutcome { pidfds: vec![end.into()], signalled: 1, ..KillOutcome::default() };
        let Some(app) = state.apps.get_mut(cgroup).filter(|_| state.unkillable.as_deref() != Some(cgroup)) else {
            return Ok(outcome);
        };
        let (dead, left) = app.job.iter().partition::<Vec<Holder>, _>(|holder| part.contains(&holder.id));
        let freed_pages = dead.iter().map(|holder| holder.bytes / PAGE_BYTES).sum::<u64>();
        app.job = left;
        app.anon_pages = app.anon_pages.saturating_sub(freed_pages);
        state.memory.free_bytes += freed_pages * PAGE_BYTES;
        outcome.released = dead.len() as u32;
        Ok(outcome)
    }

    fn terminate_part(&mut self, cgroup: &str, part: &[ProcessId]) -> Result<KillOutcome, Error> {
        let pids: Vec<_> = part.iter().map(|id| id.pid).collect();
        self.did(format!("terminate {pids:?} of {cgroup}"));
        let (end, _) = std::os::unix::net::UnixStream::pair().unwrap();
        Ok(KillOutcome { pidfds: vec![end.into()], signalled: 1, ..KillOutcome::default() })
    }

    fn process_name(&mut self, id: ProcessId) -> String {
        format!("program{}", id.pid)
    }

    fn terminate(&mut self, cgroup: &str) -> Result<u32, Error> {
        self.check("terminate")?;
        self.did(format!("terminate {cgroup}"));
        Ok(u32::from(self.0.borrow().apps.contains_key(cgroup)))
    }

    fn kill_left(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        self.did(format!("look for what left {cgroup}"));
        let state = &mut *self.0.borrow_mut();
        if state.leaves.take_if(|leaves| leaves == cgroup).is_none() {
            return Ok(KillOutcome::default());
        }
        let (end, _) = std::os::unix::net::UnixStream::pair().unwrap();
        Ok(KillOutcome { pidfds: vec![end.into()], signalled: 1, ..KillOutcome::default() })
    }

    fn cgroup_of_pid(&mut self, pid: u32) -> Result<Option<String>, Error> {
        self.check("cgroup_of_pid")?;
        if self.0.borrow().unreadable == Some(pid) {
            self.fail("cgroup_of_pid")?;
        }
        Ok(self.0.borrow().pids.get(&pid).cloned())
    }

    fn started_by(&mut self, cgroup: &str) -> Result<Option<String>, Error> {
        self.check("started_by")?;
        Ok(self.0.borrow().started_by.get(cgroup).cloned())
    }

    fn program_tree(&mut self, pid: u32, _windows: &[u32]) -> Result<Option<ProgramTree>, Error> {
        self.check("program_tree")?;
        Ok(self.0.borrow().programs_with_windows.get(&pid).cloned())
    }

    fn adopt(&mut self, tree: &ProgramTree, to: &str) -> Result<usize, Error> {
        self.check("adopt")?;
        self.did(format!("adopt {to}"));
        let mut state = self.0.borrow_mut();
        state.apps.insert(to.to_owned(), FakeApp::default());
        state.pids.extend(tree.pids.iter().map(|&pid| (pid, to.to_owned())));
        Ok(tree.pids.len())
    }

    fn give_back(&mut self, cgroup: &str, to: &str) -> Result<(), Error> {
        self.check("give_back")?;
        self.did(format!("give back {cgroup} to {to}"));
        Ok(())
    }

    fn has_user_manager(&mut self, uid: u32) -> bool {
        self.0.borrow().managers.contains(&uid)
    }

    fn has_systemd(&mut self) -> bool {
        true
    }

    fn preference(&mut self, cgroup: &str) -> Result<Option<Preference>, Error> {
        self.check("preference")?;
        Ok(self.0.borrow().preferences.get(cgroup).cloned())
    }

    fn others(&mut self, is_known: &dyn Fn(&str) -> bool) -> Result<Outsiders, Error> {
        self.check("others")?;
        let state = self.0.borrow();
        let units = state.others.iter().filter(|(cgroup, _)| !is_known(cgroup)).cloned().collect();
        Ok(Outsiders { units, beyond: state.others_beyond.clone() })
    }

    fn holders(&mut self, cgroup: &str) -> Result<Vec<Holder>, Error> {
        self.check("holders")?;
        let state = self.0.borrow();
        let Some(app) = state.apps.get(cgroup) else { return Ok(Vec::new()) };
        let other = state.others.iter().find(|(other, _)| other == cgroup);
        let bytes = other.map_or((app.anon_pages + app.swap_pages) * PAGE_BYTES, |(_, bytes)| *bytes);
        let job_bytes: u64 = app.job.iter().map(|holder| holder.bytes).sum();
        let first = Holder {
            id: ProcessId { pid: 1, start_ticks: 1 },
            bytes: bytes.saturating_sub(job_bytes),
            started_ns: app.started_ns,
            oom_score_adj: app.score,
            ..Holder::default()
        };
        Ok([&[first], &app.job[..]].concat())
    }

    fn programs(&mut self, cgroup: &str) -> Result<Vec<String>, Error> {
        self.check("programs")?;
        self.did(format!("programs {cgroup}"));
        Ok(self.0.borrow().apps.get(cgroup).map(|app| app.programs.clone()).unwrap_or_default())
    }

    fn media_users(&mut self, look_for_video: bool) -> Result<Vec<MediaUser>, Error> {
        self.check("media_users")?;
        let mut state = self.0.borrow_mut();
        state.looked_for_video += usize::from(look_for_video);
        Ok(state.media.clone())
    }

    fn service_users(&mut self, table: &[Service]) -> Result<Vec<ServiceUser>, Error> {
        self.check("service_users")?;
        let mut state = self.0.borrow_mut();
        state.looked_for_services += 1;
        let place = |name: &String| table.iter().position(|row| row.name == *name);
        let user = |(pid, name): &(u32, String)| Some(ServiceUser { pid: *pid, service: place(name)? });
        Ok(state.services.iter().filter_map(user).collect())
    }
}

impl Scores for FakeDevice {
    fn rank(&mut self, cgroup: &str, wanted: i32, marks: &mut dyn MarkTable) -> Result<Ranked, Error> {
        self.check("rank")?;
        let mut ranked = Ranked::default();
        if let Some(app) = self.0.borrow_mut().apps.get_mut(cgroup) {
            let base = marks.marks().own_score(app.score);
            let mark = marks.mark(base, wanted).unwrap_or(base);
            for score in app.all_scores() {
                let own = marks.marks().own_score(*score);
                let target = if own == base { mark } else { own };
                ranked.changed += u32::from(*score != target);
                *score = target;
            }
        }
        Ok(ranked)
    }

    fn unmark(&mut self, marks: &Marks) -> Result<Ranked, Error> {
        self.check("unmark")?;
        for score in self.0.borrow_mut().apps.values_mut().flat_map(FakeApp::all_scores) {
            *score = marks.own_score(*score);
        }
        Ok(Ranked::default())
    }
}

impl FakeApp {
    fn all_scores(&mut self) -> impl Iterator<Item = &mut i32> {
        std::iter::once(&mut self.score).chain(&mut self.other_scores)
    }
}

impl Settings for FakeDevice {
    fn sysctl(&mut self, name: &str) -> Result<String, Error> {
        Ok(self.0.borrow().sysctls.get(name).cloned().unwrap_or_default())
    }

    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), Error> {
        self.0.borrow_mut().sysctls.insert(name.into(), value.into());
        Ok(())
    }

    fn parameter(&mut self, module: &str, name: &str) -> Result<String, Error> {
        Ok(self.0.borrow().parameters.get(&format!("{module}/{name}")).cloned().unwrap_or_default())
    }

    fn set_parameter(&mut self, module: &str, name: &str, value: &str) -> Result<(), Error> {
        self.0.borrow_mut().parameters.insert(format!("{module}/{name}"), value.into());
        Ok(())
    }
}
