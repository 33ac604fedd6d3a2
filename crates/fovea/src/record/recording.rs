// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel's tracepoints say becomes records of a trace: who did it, how much they mattered then, and to which file or disk.
//! Pure: what only the running system knows is asked by the caller.

mod who;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use fovea_lab::{Names, Op, Record, PAGE_BYTES};
use fovea_linux::trace::names::FileId;
use fovea_linux::trace::task::Task;
use fovea_linux::trace::{Dev, Event, PageOp, Rwbs, Seen};
use serde::Serialize;

pub use who::AppNow;
use who::{Identity, Who};

/// What was seen, and what of it is not in the records or not known to be anybody's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Events by kind, those that make no record included.
    pub events: BTreeMap<&'static str, u64>,
    /// `page-get` events that go on with a read whose range is in an earlier record.
    pub continued: u64,
    /// Block requests of tasks that are not recorded.
    pub others: u64,
    /// Records without an app, by reason.
    pub unattributed: BTreeMap<&'static str, u64>,
    /// Block requests seen to come back.
    pub answered: u64,
    /// Time those took, from their start on the disk, in all.
    pub service_ns: u64,
}

/// A recording under way.
pub struct Recording {
    who: Who,
    family: Option<HashSet<u32>>,
    names: Names,
    spaces: HashMap<(bool, Dev), Arc<str>>,
    nobody: Arc<str>,
    reads: HashMap<u32, (FileId, u64, u64)>,
    ends: HashMap<FileId, u64>,
    in_flight: HashMap<(Dev, u64), u64>,
    tally: Tally,
}

/// Reads and requests under way that are remembered; above that they are forgotten, which costs exactness and no memory.
const UNDER_WAY_MAX: usize = 1 << 16;

impl Recording {
    /// Of some tasks and their children, or of everybody.
    pub fn new(tasks: Option<&[u32]>) -> Recording {
        Recording {
            who: Who::default(),
            family: tasks.map(|tasks| tasks.iter().copied().collect()),
            names: Names::default(),
            spaces: HashMap::new(),
            nobody: "".into(),
            reads: HashMap::new(),
            ends: HashMap::new(),
            in_flight: HashMap::new(),
            tally: Tally::default(),
        }
    }

    /// More tasks are recorded from now on.
    pub fn join(&mut self, tasks: &[u32]) {
        if let Some(family) = &mut self.family {
            family.extend(tasks);
        }
    }

    /// Says who a task is before its events tell.
    pub fn know(&mut self, pid: u32, task: Task) {
        self.who.know(pid, task);
    }

    /// The daemon's apps from a moment on. Moments come in order.
    pub fn apps(&mut self, time_ns: u64, apps: Vec<AppNow>) {
        self.who.apps(time_ns, apps);
    }

    /// Counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Files whose pages were seen in the page cache, and where the last of these pages ends.
    pub fn ends_bytes(&self) -> impl Iterator<Item = (FileId, u64)> + '_ {
        self.ends.iter().map(|(&file, &pages)| (file, pages.saturating_mul(PAGE_BYTES)))
    }

    /// The name of a file system or a disk in records.
    pub fn space(&mut self, is_disk: bool, dev: Dev) -> Arc<str> {
        let make = || format!("{}:{dev}", if is_disk { "disk" } else { "file" }).into();
        self.spaces.entry((is_disk, dev)).or_insert_with(make).clone()
    }

    /// The record of an event, if it makes one. `describe` asks the system about a task that is not known yet.
    pub fn take(&mut self, seen: &Seen, describe: &mut dyn FnMut(u32) -> Option<Task>) -> Option<Record> {
        self.who.advance(seen.time_ns);
        *self.tally.events.entry(kind(&seen.event)).or_default() += 1;
        match &seen.event {
            Event::Pages { op, dev, inode, first, last } => {
                self.pages(seen, *op, (*dev, *inode), (*first, *last), describe)
            }
            Event::Issue { dev, sector, length_bytes, rwbs } => {
                self.issue(seen, *dev, *sector, *length_bytes, *rwbs, describe)
            }
            Event::Complete { dev, sector, .. } => {
                if let Some(issued_ns) = self.in_flight.remove(&(*dev, *sector)) {
                    self.tally.answered += 1;
                    self.tally.service_ns += seen.time_ns.saturating_sub(issued_ns);
                }
                None
            }
            Event::Fork { child, comm } => {
                self.who.forked(seen.pid, *child, *comm, describe);
                if let Some(family) = self.family.as_mut().filter(|family| family.contains(&seen.pid)) {
                    family.insert(*child);
                }
                self.reads.remove(child);
                None
            }
            Event::Exec { pid, old_pid, file } => {
                self.who.became(*pid, *old_pid, file, describe);
                None
            }
            Event::Exit { pid, .. } => {
                self.who.ended(*pid);
                self.reads.remove(pid);
                None
            }
            Event::Move { pid, cgroup } => {
                self.who.moved(*pid, cgroup);
                None
            }
        }
    }

    fn pages(
        &mut self,
        seen: &Seen,
        op: PageOp,
        file: FileId,
        (first, last): (u64, u64),
        describe: &mut dyn FnMut(u32) -> Option<Task>,
    ) -> Option<Record> {
        if op == PageOp::Get {
            if self.reads.len() >= UNDER_WAY_MAX {
                self.reads.clear();
            }
            // The kernel gathers the pages of a long read a batch at a time, and asks each time for all that is left of it
            // (mm/filemap.c, filemap_read).
            let before = self.reads.insert(seen.pid, (file, first, last));
            if before.is_some_and(|(of, from, to)| of == file && to == last && from < first) {
                self.tally.continued += 1;
                return None;
            }
        } else if op != PageOp::Delete {
            let end = self.ends.entry(file).or_default();
            *end = (*end).max(last.saturating_add(1));
        }
        let identity = self.identity(seen.pid, "page cache, by kernel threads", describe);
        let waits = matches!(op, PageOp::Get | PageOp::Fault | PageOp::Map);
        let op = match op {
            PageOp::Get => Op::PageGet,
            PageOp::Fault => Op::PageFault,
            PageOp::Map => Op::PageMap,
            PageOp::Add => Op::PageAdd,
            PageOp::Delete => Op::PageDelete,
        };
        let space = self.space(false, file.0);
        let offset_bytes = first.saturating_mul(PAGE_BYTES);
        let length_bytes = (last - first.min(last)).saturating_add(1).saturating_mul(PAGE_BYTES);
        let object = file.1;
        Some(Record { object, offset_bytes, length_bytes, sync: waits, ..record(seen, identity, op, space) })
    }

    fn issue(
        &mut self,
        seen: &Seen,
        dev: Dev,
        sector: u64,
        length_bytes: u64,
        rwbs: Rwbs,
        describe: &mut dyn FnMut(u32) -> Option<Task>,
    ) -> Option<Record> {
        let ours = self.family.as_ref().is_none_or(|family| family.contains(&seen.pid));
        if !ours && !self.who.is_kernel(seen.pid, describe) {
            self.tally.others += 1;
            return None;
        }
        if self.in_flight.len() >= UNDER_WAY_MAX {
            self.in_flight.clear();
        }
        self.in_flight.insert((dev, sector), seen.time_ns);
        let reason = match rwbs {
            Rwbs { write: true, .. } => "block writes by kernel threads (deferred writeback)",
            Rwbs { discard: true, .. } | Rwbs { flush: true, .. } => "discards and flushes by kernel threads",
            _ => "block reads by kernel threads",
        };
        let identity = self.identity(seen.pid, reason, describe);
        let op = match rwbs {
            Rwbs { flush: true, .. } => Op::Flush,
            Rwbs { discard: true, .. } => Op::Discard,
            _ => Op::Block,
        };
        let space = self.space(true, dev);
        // A flush has no place.
        let offset_bytes = if op == Op::Flush { 0 } else { sector.saturating_mul(512) };
        let (write, sync) = (rwbs.write, rwbs.sync);
        Some(Record { offset_bytes, length_bytes, write, sync, ..record(seen, identity, op, space) })
    }

    /// Who a task is; nobody if it is the kernel's, or had ended before it could be asked.
    fn identity(
        &mut self,
        pid: u32,
        of_kernel: &'static str,
        describe: &mut dyn FnMut(u32) -> Option<Task>,
    ) -> Identity {
        let why = match self.who.identity(pid, &mut self.names, describe) {
            Ok(identity) => return identity,
            Err(who::Nobody::Kernel) => of_kernel,
            Err(who::Nobody::Gone) => "tasks that ended before they could be asked",
        };
        *self.tally.unattributed.entry(why).or_default() += 1;
        Identity { app: self.nobody.clone(), importance: None }
    }
}

/// A record of what a task did; the rest is up to the event.
fn record(seen: &Seen, identity: Identity, op: Op, space: Arc<str>) -> Record {
    Record {
        time_ns: seen.time_ns,
        app: identity.app,
        importance: identity.importance,
        op,
        space,
        object: 0,
        offset_bytes: 0,
        length_bytes: 0,
        write: false,
        sync: false,
        size_bytes: None,
    }
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Pages { op: PageOp::Get, .. } => "page-get",
        Event::Pages { op: PageOp::Fault, .. } => "page-fault",
        Event::Pages { op: PageOp::Map, .. } => "page-map",
        Event::Pages { op: PageOp::Add, .. } => "page-add",
        Event::Pages { op: PageOp::Delete, .. } => "page-delete",
        Event::Issue { .. } => "block-issue",
        Event::Complete { .. } => "block-complete",
        Event::Fork { .. } => "fork",
        Event::Exec { .. } => "exec",
        Event::Exit { .. } => "exit",
        Event::Move { .. } => "cgroup-move",
    }
}

#[cfg(test)]
mod tests;
