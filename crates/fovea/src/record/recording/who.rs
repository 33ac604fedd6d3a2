// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who a task is: an app of the daemon, else its cgroup, else its name. And how much the app mattered at that moment.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use fovea_apps::Importance;
use fovea_lab::Names;
use fovea_linux::cgroup::is_within;
use fovea_linux::trace::task::Task;
use fovea_linux::trace::Comm;

/// An app as the daemon tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppNow {
    /// Name.
    pub name: String,
    /// Cgroup, below the mount.
    pub cgroup: String,
    /// Rank.
    pub importance: Importance,
}

/// Who.
pub(super) struct Identity {
    pub app: Arc<str>,
    pub importance: Option<Importance>,
}

/// Why nobody.
pub(super) enum Nobody {
    /// The idle task, an interrupt, or a thread of the kernel.
    Kernel,
    /// The task had ended.
    Gone,
}

/// Tasks remembered after their end: the last thing they did may be told after it.
const ENDED_MAX: usize = 4096;

#[derive(Default)]
pub(super) struct Who {
    tasks: HashMap<u32, Task>,
    ended: VecDeque<u32>,
    coming: VecDeque<(u64, Vec<AppNow>)>,
    now: Vec<AppNow>,
    /// What `now` makes of a cgroup.
    known: HashMap<String, (Arc<str>, Option<Importance>)>,
}

impl Who {
    pub fn know(&mut self, pid: u32, task: Task) {
        self.tasks.insert(pid, task);
    }

    pub fn apps(&mut self, time_ns: u64, apps: Vec<AppNow>) {
        if self.coming.back().map_or(&self.now, |(_, last)| last) != &apps {
            self.coming.push_back((time_ns, apps));
        }
    }

    /// Makes it this time.
    pub fn advance(&mut self, time_ns: u64) {
        while self.coming.front().is_some_and(|(from_ns, _)| *from_ns <= time_ns) {
            self.now = self.coming.pop_front().map_or_else(Vec::new, |(_, apps)| apps);
            self.known.clear();
        }
    }

    fn task(&mut self, pid: u32, describe: &mut dyn FnMut(u32) -> Option<Task>) -> Option<&mut Task> {
        if let Entry::Vacant(unknown) = self.tasks.entry(pid) {
            unknown.insert(describe(pid)?);
        }
        self.tasks.get_mut(&pid)
    }

    pub fn forked(&mut self, parent: u32, child: u32, comm: Comm, describe: &mut dyn FnMut(u32) -> Option<Task>) {
        // A number that comes again is somebody else.
        self.ended.retain(|&pid| pid != child);
        match self.task(parent, describe).cloned() {
            Some(parent) => self.tasks.insert(child, Task { comm, ..parent }),
            None => self.tasks.remove(&child),
        };
    }

    pub fn became(&mut self, pid: u32, old_pid: u32, file: &[u8], describe: &mut dyn FnMut(u32) -> Option<Task>) {
        if old_pid != pid {
            if let Some(task) = self.tasks.get(&old_pid).cloned() {
                self.tasks.insert(pid, task);
            }
        }
        let name = file.rsplit(|&b| b == b'/').next().unwrap_or(file);
        if let Some(task) = self.task(pid, describe) {
            task.comm = Comm::new(name);
        }
    }

    pub fn ended(&mut self, pid: u32) {
        self.ended.push_back(pid);
        if self.ended.len() > ENDED_MAX {
            if let Some(old) = self.ended.pop_front() {
                self.tasks.remove(&old);
            }
        }
    }

    pub fn moved(&mut self, pid: u32, cgroup: &[u8]) {
        let cgroup = String::from_utf8_lossy(cgroup);
        // A task that is not known yet is asked about later, and then tells where it is by itself.
        if let Some(task) = self.tasks.get_mut(&pid) {
            cgroup.trim_start_matches('/').clone_into(&mut task.cgroup);
        }
    }

    pub fn is_kernel(&mut self, pid: u32, describe: &mut dyn FnMut(u32) -> Option<Task>) -> bool {
        pid == 0 || self.task(pid, describe).is_some_and(|task| task.kernel)
    }

    pub fn identity(
        &mut self,
        pid: u32,
        names: &mut Names,
        describe: &mut dyn FnMut(u32) -> Option<Task>,
    ) -> Result<Identity, Nobody> {
        if pid == 0 {
            return Err(Nobody::Kernel);
        }
        let task = self.task(pid, describe).ok_or(Nobody::Gone)?;
        if task.kernel {
            return Err(Nobody::Kernel);
        }
        let task = &self.tasks[&pid];
        if task.cgroup.is_empty() {
            return Ok(Identity { app: names.share(&task.comm.text()), importance: None });
        }
        if !self.known.contains_key(&task.cgroup) {
            let app = self.now.iter().find(|app| is_within(&task.cgroup, &app.cgroup));
            let known = match app {
                Some(app) => (names.share(&app.name), Some(app.importance)),
                None => (names.share(&task.cgroup), None),
            };
            self.known.insert(task.cgroup.clone(), known);
        }
        let (app, importance) = &self.known[&task.cgroup];
        Ok(Identity { app: app.clone(), importance: *importance })
    }
}
