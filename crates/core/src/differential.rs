// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runs the core and the reference side by side, operation by operation, with the frames' contents, and says where they part.

mod bytes;

use std::collections::BTreeSet;

use crate::ecache::ECache;
use crate::reference::Model;
use crate::types::{Choice, Config, Counters, Key, Policy, Region, Request};

pub use bytes::{decode, EDGES};

/// How an [`Op::Alloc`] chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One of the core's policies.
    Policy(Policy),
    /// A cost callback, made from this number.
    Cost(u32),
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Store a page, as one that returned or not.
    Put(Key, bool),
    /// Take a page out.
    Get(Key),
    /// Pin a frame to store this page in, as one that returned or not.
    PutBegin(Key, bool),
    /// Take a page out and keep its frame pinned.
    GetBegin(Key),
    /// End one of the pins, the oldest being 0: a put's by storing its page if `store`.
    EndPin {
        /// Which; any number.
        pin: u32,
        /// Whether a page that was to be put is stored.
        store: bool,
    },
    /// End one of the pins because its frame's memory is broken.
    Retire(u32),
    /// Drop a page.
    FlushPage(Key),
    /// Drop pages from a key on.
    FlushRange(Key, u64),
    /// Drop an object.
    FlushObject(u64),
    /// Give a device memory.
    Alloc {
        /// Device; may be out of range.
        device: u32,
        /// Size; may be out of range.
        size_frames: u32,
        /// How to choose.
        way: Way,
        /// Salvage budget, pages.
        salvage_budget_pages: u32,
        /// Steps of salvage to take at most before ending it; `None`: leave it open for [`Op::Salvage`], or, without a budget,
        /// write nothing until [`Op::SalvageBegin`].
        salvage_steps: Option<u32>,
    },
    /// Begin salvage of a device that has written nothing yet.
    SalvageBegin(u32, u32),
    /// Take steps of an open salvage.
    Salvage(u32),
    /// End salvage.
    SalvageEnd,
    /// Take back some of a device's frames.
    FreeSome(u32, u32),
    /// Take back all of them.
    Free(u32),
    /// Withdraw tombstones.
    Sweep(u32),
    /// Go on with a copy of the cache; the first one is used once more and dropped.
    Copy,
}

/// What lies in a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Nothing,
    Page(Key),
    Device(u32),
}

/// A frame that is being copied to (`put`: as one that returned or not) or from.
struct Pin {
    frame: u32,
    key: Key,
    put: Option<bool>,
}

struct Pair {
    core: ECache,
    model: Model,
    contents: Vec<Content>,
    pins: Vec<Pin>,
    /// The device whose region is being salvaged.
    salvaging: Option<u32>,
    /// Devices that have a region and wrote nothing to it; of them, all but the one above are not being salvaged.
    unwritten: BTreeSet<u32>,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, core: T, model: T) -> Result<T, String> {
    if core != model {
        return Err(format!("{what}: core {core:?}, reference {model:?}"));
    }
    Ok(core)
}

impl Pair {
    fn put(&mut self, key: Key, returned: bool) -> Result<(), String> {
        if let Some(put) = same("put", self.core.put_page(key, returned), self.model.put_page(key, returned))? {
            let content = &mut self.contents[put.frame as usize];
            if matches!(content, Content::Device(_)) {
                return Err(format!("put: frame {} is a device's", put.frame));
            }
            if put.evicted.is_some_and(|evicted| *content != Content::Page(evicted)) {
                return Err(format!("put: frame {} did not hold the page that was evicted", put.frame));
            }
            *content = Content::Page(key);
        }
        Ok(())
    }

    fn get(&mut self, key: Key) -> Result<(), String> {
        same("peek", self.core.peek(key), self.model.peek(key))?;
        if let Some(frame) = same("get", self.core.get(key), self.model.get(key))? {
            if self.contents[frame as usize] != Content::Page(key) {
                return Err(format!("get: frame {frame} does not hold {key:?}"));
            }
        }
        same("peek after get", self.core.peek(key), None).map(|_| ())
    }

    fn pin(&mut self, pin: Option<Pin>) {
        self.pins.extend(pin);
    }

    fn put_begin(&mut self, key: Key, returned: bool) -> Result<(), String> {
        let frame = same("put_begin", self.core.put_begin(), self.model.put_begin())?;
        if let Some(frame) = frame {
            if matches!(self.contents[frame as usize], Content::Device(_)) {
                return Err(format!("put_begin: frame {frame} is a device's"));
            }
            self.contents[frame as usize] = Content::Page(key);
        }
        self.pin(frame.map(|frame| Pin { frame, key, put: Some(returned) }));
        Ok(())
    }

    fn get_begin(&mut self, key: Key) -> Result<(), String> {
        let frame = same("get_begin", self.core.get_begin(key), self.model.get_begin(key))?;
        self.pin(frame.map(|frame| Pin { frame, key, put: None }));
        same("peek after get_begin", self.core.peek(key), None).map(|_| ())
    }

    fn end_pin(&mut self, nth: usize, store: bool) -> Result<(), String> {
        let Pin { frame, key, put } = self.pins.remove(nth);
        // Whoever copies sees what was there, and what was copied stays.
        if self.contents[frame as usize] != Content::Page(key) {
            return Err(format!("frame {frame} was touched while it was pinned for {key:?}"));
        }
        match put.filter(|_| store && key.is_in_range()) {
            Some(returned) => {
                self.core.put_end(frame, key, returned);
                self.model.put_end(frame, key, returned);
            }
            None => {
                self.core.unpin(frame);
                self.model.unpin(frame);
            }
        }
        Ok(())
    }

    /// The device writes all over its region, as soon as nobody copies there any more.
    fn hand_over(&mut self, device: u32) -> Result<(), String> {
        self.unwritten.remove(&device);
        let Some(region) = self.core.held(device) else { return Ok(()) };
        while let Some(nth) = self.pins.iter().position(|pin| region.contains(pin.frame)) {
            if self.core.owned_pins() == 0 {
                return Err(format!("alloc: frame {} is pinned and not counted", self.pins[nth].frame));
            }
            self.end_pin(nth, nth % 2 == 0)?;
        }
        for frame in region.first..region.end() {
            let content = &mut self.contents[frame as usize];
            if matches!(content, Content::Device(other) if *other != device) {
                return Err(format!("alloc: frame {frame} has two owners"));
            }
            *content = Content::Device(device);
        }
        Ok(())
    }

    fn salvage(&mut self, steps: u32) -> Result<bool, String> {
        for _ in 0..steps {
            // In small steps at times: the outcome must be the same.
            let in_steps = self.core.salvage_in_steps(steps % 3);
            let Some(step) = same("salvage", in_steps, self.model.salvage_next())? else {
                return Ok(false);
            };
            let (from, to) = (step.from as usize, step.to as usize);
            if self.contents[from] != Content::Page(step.key) {
                return Err(format!("salvage: frame {from} does not hold {:?}", step.key));
            }
            if matches!(self.contents[to], Content::Device(_)) {
                return Err(format!("salvage: frame {to} is a device's"));
            }
            if step.evicted.is_some_and(|evicted| self.contents[to] != Content::Page(evicted)) {
                return Err(format!("salvage: frame {to} did not hold the page that was evicted"));
            }
            self.contents[to] = self.contents[from];
        }
        Ok(true)
    }

    fn salvage_end(&mut self) -> Result<(), String> {
        self.core.salvage_end();
        self.model.salvage_end();
        self.salvaging.take().map_or(Ok(()), |device| self.hand_over(device))
    }

    fn alloc(&mut self, device: u32, size_frames: u32, way: Way, budget: u32) -> Result<Option<Region>, String> {
        let mut core_cost = |frame: u32, key: Key| cost(way, frame, key);
        let mut model_cost = core_cost;
        let core = self.core.alloc_with(Request {
            device,
            size_frames,
            choice: match way {
                Way::Policy(policy) => Choice::Policy(policy),
                Way::Cost(_) => Choice::Cost(&mut core_cost),
            },
            salvage_budget_pages: budget,
        });
        let model = self.model.alloc(Request {
            device,
            size_frames,
            choice: match way {
                Way::Policy(policy) => Choice::Policy(policy),
                Way::Cost(_) => Choice::Cost(&mut model_cost),
            },
            salvage_budget_pages: budget,
        });
        if let Err(e @ crate::Error::Broken { .. }) = &core {
            return Err(e.to_string());
        }
        same("alloc", core.ok(), model)
    }

    fn step(&mut self, op: Op) -> Result<(), String> {
        match op {
            Op::Put(key, returned) => self.put(key, returned),
            Op::Copy => {
                let copy = self.core.clone();
                let mut first = std::mem::replace(&mut self.core, copy);
                // What happens to the first must not reach the copy.
                first.put(Key { object: Key::MAX_OBJECT, index: 0 });
                first.flush_object(0);
                Ok(())
            }
            Op::Get(key) => self.get(key),
            Op::PutBegin(key, returned) => self.put_begin(key, returned),
            Op::GetBegin(key) => self.get_begin(key),
            Op::EndPin { .. } if self.pins.is_empty() => Ok(()),
            Op::Retire(_) if self.pins.is_empty() => Ok(()),
            Op::Retire(pin) => {
                let Pin { frame, .. } = self.pins.remove(pin as usize % self.pins.len());
                self.core.retire(frame);
                self.model.retire(frame);
                Ok(())
            }
            Op::EndPin { pin, store } => self.end_pin(pin as usize % self.pins.len(), store),
            Op::FlushPage(key) => same("flush page", self.core.flush_page(key), self.model.flush_page(key)).map(|_| ()),
            Op::FlushRange(Key { object, index }, count) => same(
                "flush range",
                self.core.flush_range(object, index, count),
                self.model.flush_range(object, index, count),
            )
            .map(|_| ()),
            Op::FlushObject(object) => {
                same("flush object", self.core.flush_object(object), self.model.flush_object(object)).map(|_| ())
            }
            Op::Alloc { device, size_frames, way, salvage_budget_pages, salvage_steps } => {
                let Some(region) = self.alloc(device, size_frames, way, salvage_budget_pages)? else { return Ok(()) };
                if region.count != size_frames {
                    return Err(format!("alloc: {size_frames} frames asked for, got {region:?}"));
                }
                self.unwritten.insert(device);
                if salvage_budget_pages == 0 {
                    return if salvage_steps.is_some() { self.hand_over(device) } else { Ok(()) };
                }
                // The new salvage ends the one before it.
                if let Some(before) = self.salvaging.replace(device) {
                    self.hand_over(before)?;
                }
                match salvage_steps {
                    Some(steps) => self.salvage(steps).and_then(|_| self.salvage_end()),
                    None => Ok(()),
                }
            }
            Op::Salvage(steps) => {
                if !self.salvage(steps)? {
                    self.salvage_end()?;
                }
                Ok(())
            }
            Op::SalvageBegin(device, budget_pages) => {
                if !self.unwritten.contains(&device) {
                    return Ok(());
                }
                self.core.salvage_begin(device, budget_pages);
                self.model.salvage_begin(device, budget_pages);
                // The one before it ends.
                match self.salvaging.replace(device).filter(|before| *before != device) {
                    Some(before) => self.hand_over(before),
                    None => Ok(()),
                }
            }
            Op::SalvageEnd => self.salvage_end(),
            Op::FreeSome(device, budget) => self.free(device, budget),
            Op::Free(device) => self.free(device, u32::MAX),
            Op::Sweep(budget) => same("sweep", self.core.sweep(budget), self.model.sweep(budget)).map(|_| ()),
        }
    }

    fn free(&mut self, device: u32, budget: u32) -> Result<(), String> {
        if self.salvaging == Some(device) {
            self.salvage_end()?;
        }
        let unwritten = self.unwritten.contains(&device);
        let Some(region) = self.core.held(device) else { return Ok(()) };
        let left = same("free", self.core.free_some(device, budget), self.model.free_some(device, budget))?;
        for frame in region.first + left..region.end() {
            if self.pins.iter().any(|pin| pin.frame == frame) {
                continue;
            }
            if !unwritten && self.contents[frame as usize] != Content::Device(device) {
                return Err(format!("free: frame {frame} was touched while device {device} held it"));
            }
            self.contents[frame as usize] = Content::Nothing;
        }
        if left == 0 {
            self.unwritten.remove(&device);
        }
        Ok(())
    }

    fn compare(&self, devices: u32) -> Result<(), String> {
        let counters = Counters { search_steps: 0, ..self.core.counters() };
        same("counters", counters, self.model.counters())?;
        same("owned pins", self.core.owned_pins(), self.model.owned_pins())?;
        for device in 0..devices {
            same("held", self.core.held(device), self.model.held(device))?;
            same("slot", self.core.slot(device), self.model.slot(device))?;
        }
        for frame in 0..self.core.frames() {
            same("state", self.core.state(frame), self.model.state(frame))?;
        }
        self.core.check().map_err(String::from)
    }
}

/// A cost that depends on page and frame, and repeats.
fn cost(way: Way, frame: u32, key: Key) -> u32 {
    let Way::Cost(salt) = way else { return 0 };
    (key.index as u32).wrapping_mul(7).wrapping_add(frame * 3).wrapping_add(salt) % 13
}

/// Runs the operations on both; the error says at which one they part and how. Returns the core's counters at the end, which
/// tell what was reached; all 0 if both refuse the configuration.
pub fn run(config: &Config, ops: &[Op]) -> Result<Counters, String> {
    let (core, model) = match (ECache::new(config), Model::new(config)) {
        (Ok(core), Some(model)) => (core, model),
        (Err(_), None) => return Ok(Counters::default()),
        (core, model) => {
            return Err(format!("init: core {:?}, reference accepts it: {}", core.err(), model.is_some()));
        }
    };
    let devices = config.devices.len() as u32;
    for device in 0..devices {
        same("candidates", core.candidates(device), model.candidates(device))?;
    }
    let contents = vec![Content::Nothing; core.frames() as usize];
    let mut pair = Pair { core, model, contents, pins: Vec::new(), salvaging: None, unwritten: BTreeSet::new() };
    pair.compare(devices)?;
    for (i, &op) in ops.iter().enumerate() {
        let done = pair.step(op).and_then(|()| pair.compare(devices));
        done.map_err(|e| format!("operation {i}, {op:?}: {e}"))?;
    }
    Ok(pair.core.counters())
}
