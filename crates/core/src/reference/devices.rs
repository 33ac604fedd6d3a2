// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Devices and their memory: which region a device gets, what becomes of the pages there, and its return.

use std::ops::Range;

use super::{pack, Device, Frame, Model, Salvage};
use crate::types::{Choice, FrameState, Move, Policy, Region, Request};

impl Model {
    /// The cost of a frame: C_i of equation (1) in eCache12.
    fn cost_of(&self, frame: u32, choice: &mut Choice<'_>) -> u64 {
        let f = &self.frames[frame as usize];
        if f.owned || f.pinned || f.retired {
            return 0;
        }
        match (choice, f.page) {
            (Choice::Policy(Policy::Lru), _) => {
                let list = self.free.iter().rev().chain(&self.lru).filter(|&&f| !self.frames[f as usize].owned);
                list.take_while(|&&f| f != frame).count() as u64
            }
            (Choice::Policy(Policy::Count), Some(_)) => 1,
            (Choice::Policy(Policy::Aged), Some((_, stamp))) => {
                let stamps = self.lru.iter().filter_map(|&f| self.frames[f as usize].page).map(|(_, stamp)| stamp);
                stamp - stamps.min().unwrap_or_default() + 1
            }
            (Choice::Cost(cost), Some((key, _))) => u64::from(cost(frame, key)),
            _ => 0,
        }
    }

    /// Moves a device's slot, and those of idle devices in its way. False, and nothing is moved, if
    /// there is no place for one of them.
    fn place(&mut self, device: usize, first: u32) -> bool {
        let size = self.devices[device].size;
        let meets = |d: &Device| d.slot < first + size && first < d.slot + d.size;
        let others = || self.devices.iter().enumerate().filter(|(i, _)| *i != device);
        if others().any(|(_, d)| d.held.is_some() && meets(d)) {
            return false;
        }
        if others().any(|(_, d)| meets(d)) {
            let mut fixed: Vec<Range<u32>> =
                others().filter(|(_, d)| d.held.is_some()).map(|(_, d)| d.slot..d.slot + d.size).collect();
            fixed.push(first..first + size);
            let idle = others().filter(|(_, d)| d.held.is_none()).map(|(i, _)| i).collect();
            let Some(places) = pack(&self.gaps(fixed), &self.by_size(idle)) else { return false };
            for (other, place) in places {
                self.devices[other].slot = place;
            }
            self.counters.repacks += 1;
        }
        self.devices[device].slot = first;
        true
    }

    fn random_below(&mut self, bound: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let upper = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((upper * bound as u64) >> 32) as usize
    }

    /// Gives a device a region; `None` where the core returns an error.
    pub fn alloc(&mut self, request: Request<'_>) -> Option<Region> {
        let Request { device, size_frames: count, mut choice, salvage_budget_pages } = request;
        let device = device as usize;
        let d = self.devices.get(device)?;
        if count == 0 || count > d.size || d.held.is_some() {
            return None;
        }
        let rest = d.size - count;
        let mut slots = d.candidates.clone();
        if matches!(choice, Choice::Policy(Policy::Static)) {
            slots = vec![d.home];
        }
        if !slots.contains(&d.slot) {
            slots.push(d.slot);
        }
        let uncosted = matches!(choice, Choice::Policy(Policy::Static | Policy::Random));
        // (cost, slot, first frame): the cheaper end of each slot.
        let mut choices: Vec<(u64, u32, u32)> = Vec::new();
        for slot in slots {
            let mut cost = |first: u32| (first..first + count).map(|f| self.cost_of(f, &mut choice)).sum::<u64>();
            let (left, right) = if uncosted { (0, 0) } else { (cost(slot), cost(slot + rest)) };
            choices.push(if right < left { (right, slot, slot + rest) } else { (left, slot, slot) });
        }
        if !uncosted {
            choices.sort();
        }
        let first = loop {
            let at = match choice {
                Choice::Policy(Policy::Random) => self.random_below(choices.len()),
                _ => 0,
            };
            let (_, slot, first) = choices.remove(at);
            if self.place(device, slot) {
                break first;
            }
        };
        let region = Region { first, count };
        for frame in first..first + count {
            self.counters.discarded += u64::from(self.frames[frame as usize].page.is_some());
            self.frames[frame as usize].owned = true;
        }
        self.counters.allocs += 1;
        self.devices[device].held = Some(region);
        self.devices[device].swept = 0;
        if salvage_budget_pages > 0 {
            self.salvage = Some(Salvage { device, left: salvage_budget_pages });
        }
        Some(region)
    }

    /// Begins salvage of what a device holds, instead of any under way.
    pub fn salvage_begin(&mut self, device: u32, budget_pages: u32) {
        let device = device as usize;
        let holds = self.devices.get(device).is_some_and(|d| d.held.is_some());
        self.salvage = (holds && budget_pages > 0).then_some(Salvage { device, left: budget_pages });
    }

    /// Moves the page of the region that would be evicted last; `None` when salvage has ended.
    pub fn salvage_next(&mut self) -> Option<Move> {
        let Salvage { device, left } = self.salvage.take()?;
        let region = self.devices[device].held.filter(|_| left > 0)?;
        let from = self.lru.iter().rev().copied().find(|&f| region.contains(f))?;
        let (to, evicted) = self.take_frame(0, Some(from))?;
        let page = self.frames[from as usize].page.take();
        self.frames[to as usize].page = page;
        self.frames[to as usize].protected = std::mem::take(&mut self.frames[from as usize].protected);
        for place in self.lru.iter_mut().filter(|f| **f == from) {
            *place = to;
        }
        self.counters.salvaged += 1;
        self.counters.salvage_evictions += u64::from(evicted.is_some());
        self.salvage = Some(Salvage { device, left: left - 1 });
        page.map(|(key, _)| Move { key, from, to, evicted })
    }

    /// Ends salvage before its budget is used.
    pub fn salvage_end(&mut self) {
        self.salvage = None;
    }

    /// Takes back at most `budget` frames of a device; returns how many it still holds.
    pub fn free_some(&mut self, device: u32, budget: u32) -> u32 {
        let device = device as usize;
        if self.salvage.as_ref().is_some_and(|s| s.device == device) {
            self.salvage = None;
        }
        let Some(Region { first, count }) = self.devices.get(device).and_then(|d| d.held) else { return 0 };
        let left = count - count.min(budget);
        for frame in (first + left..first + count).rev() {
            match self.state_of(frame) {
                FrameState::Pinned => {
                    self.frames[frame as usize].owned = false;
                    continue;
                }
                FrameState::Tombstone => self.withdraw(frame),
                _ => {}
            }
            let retired = self.frames[frame as usize].retired;
            self.frames[frame as usize] = Frame { retired, ..Frame::default() };
            if !retired {
                self.free.push(frame);
            }
        }
        let d = &mut self.devices[device];
        d.held = (left > 0).then_some(Region { first, count: left });
        d.swept = d.swept.min(left);
        left
    }

    /// Withdraws tombstones among the next `budget` device frames; returns how many tombstones are left.
    pub fn sweep(&mut self, mut budget: u32) -> u32 {
        for device in 0..self.devices.len() {
            let Some(region) = self.devices[device].held else { continue };
            if self.salvage.as_ref().is_some_and(|s| s.device == device) {
                continue;
            }
            while self.devices[device].swept < region.count && budget > 0 && self.counters().tombstone_frames > 0 {
                let frame = region.first + self.devices[device].swept;
                if self.state_of(frame) == FrameState::Tombstone {
                    self.withdraw(frame);
                }
                self.devices[device].swept += 1;
                budget -= 1;
            }
        }
        self.counters().tombstone_frames as u32
    }

    /// First frames of a device's candidate regions, ascending.
    pub fn candidates(&self, device: u32) -> &[u32] {
        self.devices.get(device as usize).map_or(&[], |d| &d.candidates)
    }

    /// What a device holds.
    pub fn held(&self, device: u32) -> Option<Region> {
        self.devices.get(device as usize)?.held
    }

    /// The slot kept for a device.
    pub fn slot(&self, device: u32) -> Option<Region> {
        self.devices.get(device as usize).map(|d| Region { first: d.slot, count: d.size })
    }
}
