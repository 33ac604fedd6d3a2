// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Aciom's disk manager (`core/aciom/aciom.h`), owned and safe, with the requests' nodes.

pub mod differential;
mod ffi;
pub mod reference;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ptr::{null_mut, NonNull};

use thiserror::Error as ThisError;

use ffi::{Node, Raw, RawConfig, RawRequest};

/// `ACIOM_NOBODY`.
pub const NOBODY: u32 = u32::MAX;
/// `ACIOM_MAX_APPS`.
pub const MAX_APPS: u32 = 256;
/// `ACIOM_MAX_RATE`, bytes a second.
pub const MAX_RATE: u64 = 1 << 40;

/// How an app's requests are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// In the order of arrival.
    Plain,
    /// By deadlines, ahead of all others.
    TimeSensitive,
    /// Held back to what the time-sensitive leave, while there are any.
    Bursty,
}

impl Class {
    /// All, by their numbers.
    pub const ALL: [Class; 3] = [Class::Plain, Class::TimeSensitive, Class::Bursty];
}

/// `struct aciom_config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What the disk can do, bytes a second; 0: as much as it has been seen to do.
    pub cmax: u64,
    /// Apps are numbered below this.
    pub max_apps: u32,
    /// Most requests of one bursty app that are held.
    pub hold_limit: u32,
}

/// How long requests took from arrival to completion. `struct aciom_latency`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// So many of a hundred took no longer; an eighth too much at most.
    pub p50_ns: u64,
    /// The same of 99.
    pub p99_ns: u64,
    /// Exact.
    pub worst_ns: u64,
}

/// What a request is, beside whose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// It may not wait.
    pub urgent: bool,
    /// It writes.
    pub write: bool,
    /// Whoever brings it has waited for room.
    pub throttled: bool,
}

impl Kind {
    fn flags(self) -> u32 {
        let flag = |set, flag| if set { flag } else { 0 };
        flag(self.urgent, ffi::URGENT) | flag(self.write, ffi::WRITE) | flag(self.throttled, ffi::THROTTLED)
    }
}

/// Totals since the start, then the present state. `struct aciom_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that arrived.
    pub arrived: u64,
    /// Dispatched, by class at arrival.
    pub time_sensitive: u64,
    /// Dispatched, by class at arrival.
    pub bursty: u64,
    /// Dispatched, by class at arrival.
    pub plain: u64,
    /// Of them, those that never waited by their flag.
    pub urgent: u64,
    /// Bursty requests that were held for a time.
    pub held: u64,
    /// Of them, those that went before their release time.
    pub early: u64,
    /// Completed.
    pub completed: u64,
    /// Time-sensitive requests that completed after their deadline.
    pub late: u64,
    /// Requests that went ahead of time-sensitive ones, for their turn had come.
    pub turns: u64,
    /// Writes that went ahead of reads, for theirs had.
    pub write_turns: u64,
    /// Writes whose submitters had to wait.
    pub throttled: u64,
    /// Times that the window was halved.
    pub cuts: u64,
    /// Longest time from arrival to completion of a request that is not time-sensitive.
    pub longest_wait_ns: u64,
    /// How long requests of each class took, by the classes' numbers.
    pub latency: [Latency; 3],
    /// Waiting now.
    pub queued: u64,
    /// Of those that wait and are not urgent nor time-sensitive.
    pub queued_write_bytes: u64,
    /// With the disk now.
    pub in_flight: u64,
    /// Their bytes.
    pub in_flight_bytes: u64,
    /// Bytes in flight beyond which only the time-sensitive go.
    pub window_bytes: u64,
    /// The disk's rate, bytes a second.
    pub cmax: u64,
    /// The active time-sensitive apps' rate.
    pub reserved: u64,
    /// Each bursty app's rate.
    pub budget: u64,
    /// Time-sensitive apps that had a request lately.
    pub active_time_sensitive: u64,
    /// Bursty apps that had one.
    pub active_bursty: u64,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// Out of range, or an app that was never added.
    #[error("Aciom: no such app or class, more than 256 apps, or a rate beyond 2^40 bytes a second")]
    Invalid,
    /// The number is taken.
    #[error("Aciom: the app's number is taken: remove it first")]
    Taken,
}

fn done(status: i32) -> Result<(), Error> {
    match status {
        ffi::OK => Ok(()),
        ffi::EEXIST => Err(Error::Taken),
        _ => Err(Error::Invalid),
    }
}

/// A disk manager; its requests are named by numbers that the caller chooses.
pub struct Aciom {
    raw: NonNull<Raw>,
    /// Where `raw` lies; never touched while `raw` is in use, and never reallocated.
    _memory: Vec<u64>,
    /// Nodes of requests that have arrived and not completed: the core links them, so only it may touch them.
    nodes: BTreeMap<u64, NonNull<Node>>,
}

// SAFETY: `raw` and the nodes are this value's alone; the core has no thread-local or global state.
unsafe impl Send for Aciom {}

impl Drop for Aciom {
    fn drop(&mut self) {
        for node in self.nodes.values() {
            // SAFETY: each was made by `Box::into_raw` and is freed here only; the core is not called any more.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }
}

impl Aciom {
    /// One without apps.
    ///
    /// # Errors
    /// The configuration is out of range.
    pub fn new(config: &Config) -> Result<Aciom, Error> {
        let raw_config = RawConfig { cmax: config.cmax, max_apps: config.max_apps, hold_limit: config.hold_limit };
        // SAFETY: the configuration is a live struct, only read.
        let size = unsafe { ffi::aciom_memory_size(&raw_config) };
        if size == 0 {
            return Err(Error::Invalid);
        }
        let mut memory = vec![0_u64; size.div_ceil(8) as usize];
        let mut raw = null_mut();
        // SAFETY: `memory` is 8-byte aligned, has `size` bytes, and lives as long as `raw`.
        done(unsafe { ffi::aciom_init(memory.as_mut_ptr().cast(), size, &raw_config, &mut raw) })?;
        let raw = NonNull::new(raw).ok_or(Error::Invalid)?;
        Ok(Aciom { raw, _memory: memory, nodes: BTreeMap::new() })
    }

    /// Gives an app a class.
    ///
    /// # Errors
    /// The number is taken or out of range.
    pub fn add(&mut self, app: u32, class: Class, now_ns: u64) -> Result<(), Error> {
        // SAFETY: `raw` is live and ours alone.
        done(unsafe { ffi::aciom_app_add(self.raw.as_ptr(), app, class as u32, now_ns) })
    }

    /// Gives an app that was added another class.
    ///
    /// # Errors
    /// It was not added.
    pub fn class(&mut self, app: u32, class: Class, now_ns: u64) -> Result<(), Error> {
        // SAFETY: `raw` is live and ours alone.
        done(unsafe { ffi::aciom_app_class(self.raw.as_ptr(), app, class as u32, now_ns) })
    }

    /// Frees an app's number.
    ///
    /// # Errors
    /// It was not added.
    pub fn remove(&mut self, app: u32, now_ns: u64) -> Result<(), Error> {
        // SAFETY: `raw` is live and ours alone.
        done(unsafe { ffi::aciom_app_remove(self.raw.as_ptr(), app, now_ns) })
    }

    /// Says what the disk can do; 0: as seen.
    ///
    /// # Errors
    /// Beyond [`MAX_RATE`].
    pub fn set_cmax(&mut self, cmax: u64, now_ns: u64) -> Result<(), Error> {
        // SAFETY: `raw` is live and ours alone.
        done(unsafe { ffi::aciom_set_cmax(self.raw.as_ptr(), cmax, now_ns) })
    }

    /// Says how many requests of one app are held at most.
    pub fn set_hold(&mut self, hold_limit: u32, now_ns: u64) {
        // SAFETY: `raw` is live and ours alone.
        unsafe { ffi::aciom_set_hold(self.raw.as_ptr(), hold_limit, now_ns) }
    }

    /// Holds nothing from now on, or again what there is to hold.
    pub fn set_open(&mut self, open: bool, now_ns: u64) {
        // SAFETY: `raw` is live and ours alone.
        unsafe { ffi::aciom_set_open(self.raw.as_ptr(), open, now_ns) }
    }

    /// Whether another write of this class ought to wait before it arrives; `awaited`: others wait for whoever brings it.
    pub fn writes_full(&self, class: Class, awaited: bool) -> bool {
        // SAFETY: `raw` is live; the call reads only.
        unsafe { ffi::aciom_writes_full(self.raw.as_ptr(), class as u32, awaited) }
    }

    /// Whether anybody is time-sensitive now.
    pub fn is_limited(&self) -> bool {
        // SAFETY: `raw` is live; the call reads only.
        unsafe { ffi::aciom_is_limited(self.raw.as_ptr()) }
    }

    /// What completed elsewhere since the last such call: bytes, and the least latency of one, if that is known.
    pub fn observe(&mut self, bytes: u64, latency_ns: Option<u64>, now_ns: u64) {
        // SAFETY: `raw` is live and ours alone.
        unsafe { ffi::aciom_observe(self.raw.as_ptr(), bytes, latency_ns.unwrap_or(u64::MAX), now_ns) }
    }

    /// A request arrives; returns when it is due. Its number must not be that of one under way.
    pub fn enqueue(&mut self, id: u64, app: u32, size_bytes: u32, kind: Kind, now_ns: u64) -> u64 {
        assert!(!self.nodes.contains_key(&id), "request {id} is under way");
        let node = Box::into_raw(Box::new(Node { raw: RawRequest::default(), id }));
        let Some(node) = NonNull::new(node) else { unreachable!("a box is somewhere") };
        self.nodes.insert(id, node);
        // SAFETY: `raw` is live and ours alone; the node stays where it is until the request completes.
        unsafe {
            let request = node.as_ptr().cast::<RawRequest>();
            ffi::aciom_enqueue(self.raw.as_ptr(), request, app, size_bytes, kind.flags(), now_ns);
            (*request).due_ns
        }
    }

    /// The request that is to go now, and when it was due.
    pub fn dispatch(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        // SAFETY: `raw` is live and ours alone; what it returns is one of our nodes, of which a request is the first field.
        unsafe {
            let node = ffi::aciom_dispatch(self.raw.as_ptr(), now_ns).cast::<Node>();
            (!node.is_null()).then(|| ((*node).id, (*node).raw.due_ns))
        }
    }

    /// When to ask again though nothing happens.
    pub fn wake_ns(&self) -> Option<u64> {
        // SAFETY: `raw` is live; the call reads only.
        let at = unsafe { ffi::aciom_wake_ns(self.raw.as_ptr()) };
        (at != u64::MAX).then_some(at)
    }

    /// A dispatched request has come to its end; whether it was one.
    pub fn complete(&mut self, id: u64, now_ns: u64) -> bool {
        let Some(node) = self.nodes.get(&id).copied() else { return false };
        // SAFETY: `raw` is live and ours alone; the node is ours, and freed only once the core does not link it any more.
        unsafe {
            if (*node.as_ptr()).raw.state < ffi::FLYING {
                return false;
            }
            ffi::aciom_complete(self.raw.as_ptr(), node.as_ptr().cast(), now_ns);
            self.nodes.remove(&id);
            drop(Box::from_raw(node.as_ptr()));
        }
        true
    }

    /// The counters at this moment.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        // SAFETY: `raw` is live; `counters` is valid for writing.
        unsafe { ffi::aciom_counters_read(self.raw.as_ptr(), &mut counters) };
        counters
    }

    /// Verifies every invariant.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        // SAFETY: `raw` is live; the call reads only, and returns a constant text or NULL.
        unsafe {
            let wrong = ffi::aciom_check(self.raw.as_ptr());
            if wrong.is_null() {
                return Ok(());
            }
            Err(CStr::from_ptr(wrong).to_string_lossy().into_owned())
        }
    }
}
