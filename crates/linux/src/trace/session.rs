// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A recording under way.
//!
//! With a filter by tasks there are two instances. The page cache's events come from the task that did it, so the kernel's own filter
//! (`set_event_pid`, passed on to children by `event-fork`) keeps the others' away. The block layer's come from whatever task is at
//! hand, often a kernel thread, so those are all taken, and whose they are is worked out by the caller.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use super::instance::{mount, sweep, Damage, Instance};
use super::merge::Merger;
use super::{Seen, Tracepoint};
use crate::clock::now_ns;
use crate::file::Root;
use crate::Error;

/// Whose page-cache events are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Everybody's but this process's.
    All,
    /// Those of some tasks (threads, that is) and of all that they fork. More can be added.
    Tasks(Vec<u32>),
}

/// How to record.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whose.
    pub filter: Filter,
    /// Buffer of each CPU.
    pub buffer_bytes: u64,
}

/// A recording. Everything is put back when dropped; what a killed recorder left goes at the next start.
#[derive(Debug)]
pub struct Session {
    main: Instance,
    block: Option<Instance>,
    merger: Merger,
    missing: Vec<Tracepoint>,
}

impl Session {
    /// Starts recording.
    pub fn start(root: &Root, settings: &Settings) -> Result<Session, Error> {
        let tracefs = mount(root)?;
        sweep(root, &tracefs);
        let mut main = Instance::create(root, &tracefs, "main", settings.buffer_bytes)?;
        let ourselves = [std::process::id()];
        let mut block = match &settings.filter {
            Filter::All => {
                // Kernels before 5.7 have no such list; then ours are recorded too.
                let _ = main.add_tasks("set_event_notrace_pid", &ourselves);
                None
            }
            Filter::Tasks(tasks) => {
                main.set("options/event-fork", "1")?;
                main.add_tasks("set_event_pid", tasks)?;
                Some(Instance::create(root, &tracefs, "block", settings.buffer_bytes)?)
            }
        };
        let mut missing = Vec::new();
        // Who a task is must be known before what it does.
        for tracepoint in Tracepoint::IDENTITY.into_iter().chain(Tracepoint::RECORDED) {
            let instance = block.as_mut().filter(|_| tracepoint.is_block()).unwrap_or(&mut main);
            if !instance.enable(tracepoint)? {
                missing.push(tracepoint);
            }
        }
        if Tracepoint::RECORDED.iter().all(|tracepoint| missing.contains(tracepoint)) {
            return Err(Error::Missing {
                what: "every tracepoint of the page cache and the block layer",
                mend: "take a kernel with CONFIG_FTRACE, CONFIG_EVENT_TRACING and CONFIG_BLK_DEV_IO_TRACE".into(),
            });
        }
        Ok(Session { main, block, merger: Merger::default(), missing })
    }

    /// Tracepoints that this kernel lacks.
    pub fn missing(&self) -> &[Tracepoint] {
        &self.missing
    }

    /// Records more tasks, if the filter names tasks.
    pub fn add_tasks(&self, tasks: &[u32]) -> Result<(), Error> {
        match self.block {
            Some(_) if !tasks.is_empty() => self.main.add_tasks("set_event_pid", tasks),
            _ => Ok(()),
        }
    }

    /// Descriptors that are readable once a CPU's buffer is a quarter full.
    pub fn buffers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.main.buffers().chain(self.block.iter().flat_map(Instance::buffers))
    }

    /// Waits until a buffer is a quarter full, a signal comes, or the time is over.
    pub fn wait(&self, limit: Duration) -> Result<(), Error> {
        let mut polled: Vec<PollFd<'_>> =
            self.buffers().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        match poll(&mut polled, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(Error::call("poll", "the trace buffers", e)),
        }
    }

    /// Appends what happened, in order of time; the last few milliseconds come with the next call. False if there is more already.
    pub fn read(&mut self, ordered: &mut Vec<Seen>) -> Result<bool, Error> {
        let began_ns = now_ns();
        let mut read_to_ns = self.main.drain(self.merger.incoming())?;
        if let Some(block) = &mut self.block {
            let block = block.drain(self.merger.incoming())?;
            read_to_ns = [read_to_ns, block].into_iter().flatten().min();
        }
        self.merger.release(read_to_ns.unwrap_or(u64::MAX).min(began_ns), ordered);
        Ok(read_to_ns.is_none())
    }

    /// Stops, and appends all the rest. Returns what was lost.
    pub fn finish(mut self, ordered: &mut Vec<Seen>) -> Result<Loss, Error> {
        self.main.set("tracing_on", "0")?;
        if let Some(block) = &self.block {
            block.set("tracing_on", "0")?;
        }
        while !self.read(ordered)? {}
        self.merger.release(u64::MAX, ordered);
        let instances = [Some(&self.main), self.block.as_ref()];
        let sum = |of: fn(&Damage) -> u64| instances.iter().flatten().map(|i| of(&i.damage)).sum::<u64>();
        let overruns: u64 = instances.iter().flatten().map(|i| i.overruns()).sum();
        Ok(Loss {
            // The kernel's own count covers losses that a page had no room to tell of.
            events: sum(|d| d.lost).max(overruns).max(sum(|d| d.unknown_losses)),
            bad_pages: sum(|d| d.bad_pages),
            late: self.merger.late(),
        })
    }
}

/// What a recording lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Events overwritten before they were read.
    pub events: u64,
    /// Buffer pages that made no sense.
    pub bad_pages: u64,
    /// Events that stand behind later ones.
    pub late: u64,
}
