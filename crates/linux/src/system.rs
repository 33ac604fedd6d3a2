// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real device. Each file of the folder implements one of its traits.

mod apps;
mod disks;
mod merging;
mod meters;
mod net;
mod pages;
mod settings;
mod tiers;

use std::cell::OnceCell;
use std::io;
use std::path::PathBuf;

use fovea_apps::limits;

use crate::cgroup::Cgroups;
use crate::error::is_gone;
use crate::file::Root;
use crate::kill::Asked;
use crate::lasting::Lasting;
use crate::media::Media;
use crate::memory::MemoryReader;
use crate::net::Network;
use crate::pageout::Pager;
use crate::prefetch::Prefetcher;
use crate::probe::inspect::{Inspect, Probes};
use crate::probe::task::{Outcome, Task};
use crate::probe::{Places, Probe};
use crate::psi::{Kind, Trigger};
use crate::sums::Sums;
use crate::{check, selfcare, Error, Report};

/// The running machine, or a folder of files captured from one.
#[derive(Debug)]
pub struct System {
    root: Root,
    /// What would change the device is done; else it only counts as done.
    acts: bool,
    cgroups: OnceCell<Cgroups>,
    memory: MemoryReader,
    lasting: Lasting,
    sums: Sums,
    asked: Asked,
    pager: Pager,
    prefetcher: Prefetcher,
    media: Media,
    probes: Option<Probes>,
    net: Network,
    ksmd: Option<crate::merging::Ksmd>,
    pids: Vec<u32>,
    text: Vec<u8>,
}

impl System {
    /// The running machine; fails without /proc. Whatever else is missing shows where it is used, and in [`System::check`].
    pub fn new() -> Result<System, Error> {
        let system = System::at("/");
        match system.root.join("proc/self/stat").exists() {
            true => Ok(system),
            false => Err(Error::Missing { what: "/proc", mend: "mount it: mount -t proc proc /proc".into() }),
        }
    }

    /// A folder that holds `proc`, `sys`, `dev` and `lib/modules`. System calls still go to the running kernel.
    pub fn at(root: impl Into<PathBuf>) -> System {
        let root = Root::at(root);
        let page = root.page_size();
        System {
            media: Media::at(root.clone()),
            probes: None,
            root,
            acts: true,
            cgroups: OnceCell::new(),
            memory: MemoryReader::default(),
            lasting: Lasting::default(),
            sums: Sums::default(),
            asked: Asked::default(),
            pager: Pager::new(page),
            prefetcher: Prefetcher::new(page),
            net: Network::default(),
            ksmd: None,
            pids: Vec::new(),
            text: Vec::new(),
        }
    }

    /// The same for who may only look: every method of the device's traits that would change something returns as if it had, and nothing is done.
    #[must_use]
    pub fn that_only_looks(mut self) -> System {
        self.acts = false;
        self
    }

    /// The same, with sound and video devices looked for in another folder's `proc/asound` and `dev`.
    #[must_use]
    pub fn with_media_at(mut self, root: impl Into<PathBuf>) -> System {
        self.media = Media::at(Root::at(root));
        self
    }

    /// The same, where a probe touches what other users own: see [`Probe`]. Without one, whoever asks waits for as long as they like. Waits
    /// until it answers.
    pub fn with_probe(mut self, mut probe: Probe) -> (System, Result<(), Error>) {
        let places = Places { root: self.root.clone(), devices: self.media.devices().clone() };
        let started = probe.start(&places);
        let mut probes = probe.with_inspector(places);
        let started = started.and_then(|()| probes.processes.start(&probes.places));
        self.probes = Some(probes);
        (self, started.map_err(|e| Error::call("starting", "a probe (this program again)", e)))
    }

    #[cfg(test)]
    pub(crate) fn set_probes(&mut self, probes: Probes) {
        self.probes = Some(probes);
    }

    /// The same for who can wait, and may never need it: it is started when it is first asked.
    #[must_use]
    pub fn with_patient_probe(mut self) -> System {
        let places = Places { root: self.root.clone(), devices: self.media.devices().clone() };
        self.probes = Some(Probe::patient().with_inspector(places));
        self
    }

    /// A watch on the sound and video devices.
    pub fn media_watch(&self) -> io::Result<crate::MediaWatch> {
        crate::MediaWatch::new(self.media.devices())
    }

    /// Where the kernel's files are.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The cgroup v2 hierarchy; looked for once.
    pub fn cgroups(&self) -> Result<&Cgroups, Error> {
        if let Some(cgroups) = self.cgroups.get() {
            return Ok(cgroups);
        }
        let found = Cgroups::find(&self.root)?;
        Ok(self.cgroups.get_or_init(|| found))
    }

    /// Where cgroup v2 is mounted.
    pub fn cgroup_mount(&self) -> Result<PathBuf, Error> {
        Ok(self.cgroups()?.mount().to_owned())
    }

    /// Keeps the daemon's own pages in memory from now on.
    pub fn lock_memory(&self) -> Result<(), Error> {
        selfcare::lock_memory()
    }

    /// Puts the daemon itself out of the OOM killer's reach.
    pub fn set_self_oom_protection(&self) -> Result<(), Error> {
        selfcare::set_self_oom_protection(&self.root)
    }

    /// Lets the calling thread run before all that is not real-time, but for what takes long: see [`crate::NormalPriority`].
    pub fn run_first() -> Result<(), Error> {
        crate::priority::run_first()
    }

    /// What this machine can do, and why not.
    pub fn check(&self) -> Report {
        check::check(&self.root)
    }

    /// The cgroups below `prefix` that are frozen; `""` for all.
    pub fn frozen_cgroups(&self, prefix: &str) -> Result<Vec<String>, Error> {
        self.cgroups()?.frozen(prefix)
    }

    /// Thaws every cgroup below `prefix`; returns which were frozen.
    pub fn thaw_all(&self, prefix: &str) -> Result<Vec<String>, Error> {
        self.cgroups()?.thaw_all(prefix)
    }

    /// A trigger on the whole system's memory pressure.
    pub fn pressure_trigger(&self, kind: Kind, stall_us: u64, window_us: u64) -> Result<Trigger, Error> {
        Trigger::system(&self.root, kind, stall_us, window_us)
    }

    /// The cgroup of a process, by its path below the mount; `None` once it has ended, and of one that is deeper than a path can say.
    pub fn cgroup_of(&mut self, pid: u32) -> Result<Option<String>, Error> {
        let path = self.root.join(format!("proc/{pid}/cgroup"));
        match crate::file::read_into(&path, &mut self.text) {
            Err(e) if is_gone(&e) || e.raw_os_error() == Some(libc::ENAMETOOLONG) => Ok(None),
            Err(e) => Err(Error::file("reading", path, e)),
            Ok(()) => Ok(crate::cgroup::parse_membership(&self.text)),
        }
    }

    /// Whether a cgroup has processes that this user may not look at: another user's, or hidden from him (proc(5), `hidepid`).
    pub fn has_unseen(&mut self, cgroup: &str) -> Result<bool, Error> {
        self.list_processes(cgroup)?;
        let unseen = crate::programs::unseen(&self.root, &self.pids);
        // One that is not listed any more has ended, and is hidden by nobody.
        self.list_processes(cgroup)?;
        Ok(unseen.iter().any(|pid| self.pids.contains(pid)))
    }

    /// Has the probe look into an app's processes; `None` without one: whoever asks does it, and may wait.
    fn by_probe(&mut self, cgroup: &str, task: impl FnOnce() -> Task) -> Option<Result<Outcome, Error>> {
        self.probes.as_mut().map(|probes| probes.ask(cgroup, task()))
    }

    /// The cgroups, and how their processes are looked into.
    fn looking(&mut self) -> Result<(&Root, Inspect<'_>, &Cgroups, &mut Asked), Error> {
        self.cgroups()?;
        let System { root, probes, cgroups, asked, .. } = self;
        let cgroups = cgroups.get().ok_or_else(|| Error::Missing { what: "cgroup v2", mend: "mount it".into() })?;
        Ok((root, Inspect::new(root, probes), cgroups, asked))
    }

    fn list_processes(&mut self, cgroup: &str) -> Result<(), Error> {
        self.list_processes_within(cgroup, limits::CGROUPS_OF_APP_MAX)
    }

    fn list_processes_within(&mut self, cgroup: &str, most: usize) -> Result<(), Error> {
        let mut pids = std::mem::take(&mut self.pids);
        pids.clear();
        let listed = self.cgroups().and_then(|cgroups| cgroups.processes_within(cgroup, most, &mut pids));
        self.pids = pids;
        listed
    }
}
