// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runs Aciom's core and the reference side by side, step by step, and says where they part; and holds both to what the rules promise.

use std::collections::BTreeSet;

use super::reference::{Model, LATEST_NS, PATIENCE_NS};
use super::{Aciom, Class, Config, Counters, Kind};

/// Apps in a test: more than are ever added, so that some are strangers.
pub const APPS: u32 = 7;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Give an app a class.
    Add(u32, Class),
    /// Give it another.
    Class(u32, Class),
    /// Free its number.
    Remove(u32),
    /// Say what the disk can do.
    Cmax(u64),
    /// Hold so many requests of one app at most.
    Hold(u32),
    /// Hold nothing, or again.
    Open(bool),
    /// A request of an app.
    Arrive {
        /// Whose; may be nobody's.
        app: u32,
        /// Its size.
        size_bytes: u32,
        /// Whether it may not wait, and whether it writes.
        kind: Kind,
    },
    /// So much completed elsewhere, one of it in so many nanoseconds.
    Observe(u64, Option<u64>),
    /// A request in flight completes; any number.
    Complete(u32),
    /// Time passes.
    Pass(u64),
    /// Time passes until the core wants to be asked.
    Wake,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, core: T, model: T) -> Result<T, String> {
    if core != model {
        return Err(format!("{what}: core {core:?}, reference {model:?}"));
    }
    Ok(core)
}

struct Pair {
    core: Aciom,
    model: Model,
    now_ns: u64,
    next_id: u64,
    in_flight: Vec<u64>,
    dispatched: BTreeSet<u64>,
}

impl Pair {
    /// All that is to go now. Each request goes once, and nothing waits without a reason.
    fn dispatch(&mut self) -> Result<(), String> {
        let mut early = self.core.counters().early;
        while let Some((id, _)) = same("dispatch", self.core.dispatch(self.now_ns), self.model.dispatch(self.now_ns))? {
            if self.core.counters().early > early {
                early += 1;
                let (done_ns, period_ns) = self.model.worst_case_ns(0);
                if done_ns > period_ns * 0.75 + 1000.0 {
                    return Err(format!("request {id} went early: {done_ns} ns of work in a period of {period_ns}"));
                }
            }
            if id >= self.next_id || !self.dispatched.insert(id) {
                return Err(format!("dispatch: request {id} went twice, or never arrived"));
            }
            self.in_flight.push(id);
        }
        for (id, arrival_ns, held) in self.model.waiting() {
            if !self.model.is_limited() {
                return Err(format!("request {id} waits though nobody is time-sensitive"));
            }
            if !held && self.in_flight.is_empty() {
                return Err(format!("request {id} waits beside an idle disk"));
            }
            if held && self.now_ns - arrival_ns >= LATEST_NS {
                return Err(format!("request {id} is held beyond the latest"));
            }
        }
        // Nor is the disk left idle for the sake of a budget.
        if let Some(bytes) = self.model.first_held_bytes().filter(|_| self.in_flight.is_empty()) {
            let (done_ns, period_ns) = self.model.worst_case_ns(bytes);
            if done_ns < period_ns.min(2e9) * 0.65 - 1000.0 {
                return Err(format!(
                    "the disk is idle, and holds a request that would take {done_ns} ns of {period_ns}"
                ));
            }
        }
        // What is held has an hour at which somebody looks.
        match (self.model.next_release_ns(), self.core.wake_ns()) {
            (None, None) => {}
            (Some(release), Some(wake)) if wake <= release && wake > self.now_ns => {}
            (release, wake) => return Err(format!("wake: at {wake:?}, to release at {release:?}")),
        }
        Ok(())
    }

    fn step(&mut self, op: Op) -> Result<(), String> {
        let now = self.now_ns;
        match op {
            Op::Add(app, class) => {
                let _ = same("add", self.core.add(app, class, now), self.model.add(app, class, now))?;
            }
            Op::Class(app, class) => {
                let _ = same("class", self.core.class(app, class, now), self.model.class(app, class, now))?;
            }
            Op::Remove(app) => {
                let _ = same("remove", self.core.remove(app, now), self.model.remove(app, now))?;
            }
            Op::Cmax(cmax) => {
                let _ = same("cmax", self.core.set_cmax(cmax, now), self.model.set_cmax(cmax, now))?;
            }
            Op::Hold(limit) => {
                self.core.set_hold(limit, now);
                self.model.set_hold(limit, now);
            }
            Op::Open(open) => {
                self.core.set_open(open, now);
                self.model.set_open(open, now);
            }
            Op::Observe(bytes, latency_ns) => {
                self.core.observe(bytes, latency_ns, now);
                self.model.observe(bytes, latency_ns, now);
            }
            Op::Arrive { app, size_bytes, mut kind } => {
                same("is limited", self.core.is_limited(), self.model.is_limited())?;
                for class in Class::ALL {
                    let of = |awaited| (self.core.writes_full(class, awaited), self.model.writes_full(class, awaited));
                    let (core, model) = of(true);
                    same("writes full, awaited", core, model)?;
                    let (core, model) = of(false);
                    let full = same("writes full", core, model)?;
                    kind.throttled |= full && kind.write && class == Class::ALL[app as usize % 3];
                }
                let id = self.next_id;
                self.next_id += 1;
                let core = self.core.enqueue(id, app, size_bytes, kind, now);
                same("due", core, self.model.enqueue(id, app, size_bytes, kind, now))?;
                if kind.urgent {
                    // Nothing is between an urgent request and the disk.
                    let gone = same("urgent", self.core.dispatch(now), self.model.dispatch(now))?;
                    if gone.map(|gone| gone.0) != Some(id) {
                        return Err(format!("urgent request {id} did not go at once"));
                    }
                    self.dispatched.insert(id);
                    self.in_flight.push(id);
                }
            }
            Op::Complete(any) => {
                if !self.in_flight.is_empty() {
                    let id = self.in_flight.remove(any as usize % self.in_flight.len());
                    same("complete", self.core.complete(id, now), self.model.complete(id, now))?;
                }
            }
            Op::Pass(ns) => self.now_ns += ns,
            Op::Wake => self.now_ns = self.core.wake_ns().unwrap_or(now),
        }
        self.dispatch()?;
        same("counters", self.core.counters(), self.model.counters())?;
        self.core.check()
    }

    /// Lets everything in flight complete, again and again: then all must go.
    fn finish(&mut self) -> Result<(), String> {
        for _ in 0..4 * self.next_id + 16 {
            if self.dispatched.len() as u64 == self.next_id && self.in_flight.is_empty() {
                return Ok(());
            }
            self.step(if self.in_flight.is_empty() { Op::Wake } else { Op::Pass(PATIENCE_NS / 16) })?;
            self.step(Op::Complete(0))?;
        }
        Err(format!("{} of {} requests never went", self.next_id - self.dispatched.len() as u64, self.next_id))
    }
}

/// Runs both; the counters at the end of the steps.
///
/// # Errors
/// Where they part, or which promise is broken.
pub fn run(config: &Config, ops: &[Op]) -> Result<Counters, String> {
    let (Ok(core), Ok(model)) = (Aciom::new(config), Model::new(config)) else {
        return same("init", Aciom::new(config).is_ok(), Model::new(config).is_ok()).map(|_| Counters::default());
    };
    let mut pair = Pair { core, model, now_ns: 0, next_id: 0, in_flight: Vec::new(), dispatched: BTreeSet::new() };
    for (at, &op) in ops.iter().enumerate() {
        pair.step(op).map_err(|why| format!("step {at}, {op:?}, at {} ns: {why}", pair.now_ns))?;
    }
    let counters = pair.core.counters();
    pair.finish().map_err(|why| format!("at the end: {why}"))?;
    Ok(counters)
}

/// Makes a configuration and steps from any bytes, for fuzzing.
pub fn decode(bytes: &[u8]) -> (Config, Vec<Op>) {
    let mut rest = bytes.iter().copied();
    let mut next = || u32::from(rest.next().unwrap_or(0));
    let rate = |byte: u32| match byte % 8 {
        0 => 0,
        1 => 1,
        2 => super::MAX_RATE + u64::from(byte & 8) / 8,
        shift => 10_000_000 << (shift - 3),
    };
    let config = Config { cmax: rate(next()), max_apps: next() % APPS, hold_limit: next() % 16 };
    let class = |byte: u32| Class::ALL[byte as usize % 3];
    let mut ops = Vec::new();
    for _ in 0..bytes.len().saturating_sub(3) / 2 {
        let op = match next() % 32 {
            0..=2 => Op::Add(next() % APPS, class(next())),
            3 => Op::Class(next() % APPS, class(next())),
            4 => Op::Remove(next() % APPS),
            5 => match next() {
                byte if byte < 64 => Op::Cmax(rate(byte)),
                byte if byte < 96 => Op::Hold(byte % 16),
                byte => Op::Open(byte < 128),
            },
            6..=17 => {
                let byte = next();
                // Up to what is beyond the arithmetic's greatest.
                let size_bytes = [0, 512, 4096, 4096, 16384, 65536, 131_072, 1 << 20][byte as usize >> 5];
                let size_bytes = if byte == 255 { u32::MAX } else { size_bytes };
                let kind = Kind { urgent: byte & 31 == 31, write: byte & 1 == 1, ..Kind::default() };
                Op::Arrive { app: byte % (APPS + 1), size_bytes, kind }
            }
            18..=25 => Op::Complete(next()),
            26..=30 => {
                let byte = next();
                // From microseconds to seconds.
                Op::Pass(u64::from(byte & 15) << (10 + 2 * (byte >> 4).min(9)))
            }
            _ => match next() {
                byte if byte < 128 => Op::Wake,
                byte => Op::Observe(u64::from(byte) << 15, (byte & 1 == 1).then_some(u64::from(byte) << 12)),
            },
        };
        ops.push(op);
    }
    (config, ops)
}
