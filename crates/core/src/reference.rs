// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The eCache's semantics, written to be read and not to be fast: lists are vectors, look-ups are searches, sums are
//! summed anew, candidates come from all subsets, and places for idle devices from trying everything.
//!
//! It has no bounds: give the core enough candidates and search steps, and at most 12 devices, when comparing.

mod devices;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::types::{Config, Counters, FrameState, Key, Put, Region};

#[derive(Clone, Copy, Default)]
struct Frame {
    /// The page in it and the number of the put that stored it; kept by a tombstone.
    page: Option<(Key, u64)>,
    /// A device holds it.
    owned: bool,
    /// It is in the upper part of the LRU list.
    protected: bool,
    /// It is being copied to or from.
    pinned: bool,
    /// Its memory is broken.
    retired: bool,
}

struct Device {
    size: u32,
    home: u32,
    slot: u32,
    held: Option<Region>,
    swept: u32,
    candidates: Vec<u32>,
}

struct Salvage {
    device: usize,
    left: u32,
}

/// The model.
pub struct Model {
    carveouts: Vec<Range<u32>>,
    devices: Vec<Device>,
    frames: Vec<Frame>,
    /// Free frames, and taken ones not withdrawn yet; the last is the next to be used.
    free: Vec<u32>,
    /// Frames with pages, and taken ones not withdrawn yet; the first is the next to be used. Those protected are the last.
    lru: Vec<u32>,
    salvage: Option<Salvage>,
    put_work_limit: u32,
    protect_percent: u32,
    next_stamp: u64,
    random: u64,
    counters: Counters,
}

/// All ways to sum up some of `sizes`.
fn subset_sums(sizes: &[u32]) -> BTreeSet<u32> {
    (0..1_u32 << sizes.len())
        .map(|subset| sizes.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1).map(|(_, &size)| size).sum())
        .collect()
}

/// Places `items` (device, size), in this order, each in the first gap that lets all later ones be placed too.
fn pack(gaps: &[Range<u32>], items: &[(usize, u32)]) -> Option<Vec<(usize, u32)>> {
    let Some((&(device, size), rest)) = items.split_first() else { return Some(Vec::new()) };
    for (i, gap) in gaps.iter().enumerate().filter(|(_, gap)| gap.end - gap.start >= size) {
        let mut after = gaps.to_vec();
        after[i].start += size;
        if let Some(mut places) = pack(&after, rest) {
            places.push((device, gap.start));
            return Some(places);
        }
    }
    None
}

impl Model {
    /// Makes an empty cache; `None` if the devices do not fit.
    pub fn new(config: &Config) -> Option<Self> {
        let mut end = 0;
        let mut carveouts = Vec::new();
        for frames in &config.carveout_frames {
            carveouts.push(end..end + frames);
            end += frames;
        }
        let devices = config
            .devices
            .iter()
            .map(|d| Device {
                size: d.size_frames,
                home: d.home.unwrap_or(u32::MAX),
                slot: 0,
                held: None,
                swept: 0,
                candidates: Vec::new(),
            })
            .collect();
        let mut model = Model {
            carveouts,
            devices,
            frames: vec![Frame::default(); end as usize],
            free: (0..end).rev().collect(),
            lru: Vec::new(),
            salvage: None,
            put_work_limit: config.put_work_limit,
            protect_percent: config.protect_percent,
            next_stamp: 1,
            random: if config.seed == 0 { 0x9e37_79b9_7f4a_7c15 } else { config.seed },
            counters: Counters::default(),
        };
        model.find_homes(config)?;
        model.find_candidates();
        Some(model)
    }

    fn find_homes(&mut self, config: &Config) -> Option<()> {
        let mut fixed: Vec<Range<u32>> = Vec::new();
        for device in config.devices.iter() {
            let Some(home) = device.home else { continue };
            let region = home..home.checked_add(device.size_frames)?;
            let inside = self.carveouts.iter().any(|c| c.start <= region.start && region.end <= c.end);
            if !inside || fixed.iter().any(|f| f.start < region.end && region.start < f.end) {
                return None;
            }
            fixed.push(region);
        }
        let items: Vec<usize> = (0..config.devices.len()).filter(|&d| config.devices[d].home.is_none()).collect();
        for (device, place) in pack(&self.gaps(fixed), &self.by_size(items))? {
            self.devices[device].home = place;
        }
        for device in &mut self.devices {
            device.slot = device.home;
        }
        Some(())
    }

    fn find_candidates(&mut self) {
        for device in 0..self.devices.len() {
            let size = self.devices[device].size;
            let others: Vec<u32> =
                self.devices.iter().enumerate().filter(|(i, _)| *i != device).map(|(_, d)| d.size).collect();
            let sums = subset_sums(&others);
            let mut starts = BTreeSet::from([self.devices[device].home]);
            for carveout in &self.carveouts {
                starts.extend(sums.iter().map(|s| carveout.start + s).filter(|s| s + size <= carveout.end));
            }
            self.devices[device].candidates = starts.into_iter().collect();
        }
    }

    /// Devices with their sizes, largest first, then by number.
    fn by_size(&self, mut devices: Vec<usize>) -> Vec<(usize, u32)> {
        devices.sort_by_key(|&d| (std::cmp::Reverse(self.devices[d].size), d));
        devices.into_iter().map(|d| (d, self.devices[d].size)).collect()
    }

    /// What the fixed regions leave of the carve-outs, in frame order.
    fn gaps(&self, mut fixed: Vec<Range<u32>>) -> Vec<Range<u32>> {
        fixed.sort_by_key(|f| f.start);
        let mut gaps = Vec::new();
        for carveout in &self.carveouts {
            let mut at = carveout.start;
            for f in fixed.iter().filter(|f| carveout.contains(&f.start)) {
                gaps.push(at..f.start);
                at = f.end;
            }
            gaps.push(at..carveout.end);
        }
        gaps
    }

    fn state_of(&self, frame: u32) -> FrameState {
        let f = &self.frames[frame as usize];
        match (f.owned, f.page) {
            _ if f.pinned => FrameState::Pinned,
            (false, _) if f.retired => FrameState::Retired,
            (true, _) if self.free.contains(&frame) || self.lru.contains(&frame) => FrameState::Tombstone,
            (true, _) => FrameState::Device,
            (false, Some(_)) => FrameState::Cached,
            (false, None) => FrameState::Free,
        }
    }

    /// State of a frame.
    pub fn state(&self, frame: u32) -> Option<FrameState> {
        ((frame as usize) < self.frames.len()).then(|| self.state_of(frame))
    }

    /// The counters; the placement search's steps are not modelled and are 0.
    pub fn counters(&self) -> Counters {
        let count = |state| (0..self.frames.len() as u32).filter(|&f| self.state_of(f) == state).count() as u64;
        Counters {
            free_frames: count(FrameState::Free),
            cached_frames: count(FrameState::Cached),
            device_frames: count(FrameState::Device),
            tombstone_frames: count(FrameState::Tombstone),
            retired_frames: count(FrameState::Retired),
            ..self.counters
        }
    }

    fn find(&self, key: Key) -> Option<u32> {
        self.lru.iter().copied().find(|&f| self.frames[f as usize].page.is_some_and(|(k, _)| k == key))
    }

    fn unlist(&mut self, frame: u32) {
        self.frames[frame as usize].protected = false;
        self.free.retain(|&f| f != frame);
        self.lru.retain(|&f| f != frame);
    }

    fn withdraw(&mut self, frame: u32) {
        self.unlist(frame);
        self.frames[frame as usize].page = None;
        self.counters.withdrawn += 1;
    }

    fn release(&mut self, frame: u32) {
        self.unlist(frame);
        self.frames[frame as usize].page = None;
        self.free.push(frame);
    }

    /// The frame at the LRU end and the page it held; withdraws tombstones before it, and stops at `keep`.
    fn take_frame(&mut self, work_limit: u32, keep: Option<u32>) -> Option<(u32, Option<Key>)> {
        let mut work = 0;
        loop {
            let frame = *self.free.last().or(self.lru.first())?;
            if Some(frame) == keep {
                return None;
            }
            if !self.frames[frame as usize].owned {
                let page = self.frames[frame as usize].page.take();
                self.unlist(frame);
                return Some((frame, page.map(|(key, _)| key)));
            }
            if work_limit > 0 && work == work_limit {
                return None;
            }
            self.withdraw(frame);
            work += 1;
        }
    }

    /// Stores a page.
    pub fn put_page(&mut self, key: Key, returned: bool) -> Option<Put> {
        if !key.is_in_range() {
            return None;
        }
        let replaced = self.make_way(key);
        let (frame, evicted) = self.pin()?;
        self.put_end(frame, key, returned);
        Some(Put { frame, evicted, replaced })
    }

    /// Drops the page that is there under a key; whether it was a live one.
    fn make_way(&mut self, key: Key) -> bool {
        let replaced = self.remove(key).is_some();
        self.counters.puts_replaced += u64::from(replaced);
        replaced
    }

    fn pin(&mut self) -> Option<(u32, Option<Key>)> {
        self.counters.puts += 1;
        let Some((frame, evicted)) = self.take_frame(self.put_work_limit, None) else {
            self.counters.puts_refused += 1;
            return None;
        };
        self.counters.evictions += u64::from(evicted.is_some());
        self.frames[frame as usize].pinned = true;
        Some((frame, evicted))
    }

    /// A frame for a page that is copied before it is stored.
    pub fn put_begin(&mut self) -> Option<u32> {
        self.pin().map(|(frame, _)| frame)
    }

    /// Stores a page in a pinned frame, unless a device took that meanwhile.
    pub fn put_end(&mut self, frame: u32, key: Key, returned: bool) {
        if self.frames[frame as usize].owned {
            return self.unpin(frame);
        }
        self.make_way(key);
        self.frames[frame as usize].pinned = false;
        self.list_page(frame, key, returned);
    }

    /// Takes a page out; its frame is pinned.
    pub fn get_begin(&mut self, key: Key) -> Option<u32> {
        let frame = self.get(key)?;
        self.unlist(frame);
        self.frames[frame as usize].pinned = true;
        Some(frame)
    }

    /// Gives a pinned frame back.
    pub fn unpin(&mut self, frame: u32) {
        let f = &mut self.frames[frame as usize];
        f.pinned = false;
        if !f.owned {
            self.free.push(frame);
        }
    }

    /// Gives a pinned frame back that is broken.
    pub fn retire(&mut self, frame: u32) {
        let f = &mut self.frames[frame as usize];
        f.pinned = false;
        f.retired = true;
    }

    /// Pinned frames of devices.
    pub fn owned_pins(&self) -> u32 {
        self.frames.iter().filter(|f| f.pinned && f.owned).count() as u32
    }

    fn list_page(&mut self, frame: u32, key: Key, returned: bool) {
        let held = self.frames.iter().filter(|f| f.owned || f.retired).count();
        let limit = (self.frames.len() - held) * self.protect_percent as usize / 100;
        let protect = returned && limit > 0;
        let upper = self.lru.iter().position(|&f| self.frames[f as usize].protected).unwrap_or(self.lru.len());
        let place = if protect { self.lru.len() } else { upper };
        let lead = 4 * self.frames.len() as u64;
        let bonus = if protect { lead } else { 0 };
        self.frames[frame as usize].page = Some((key, self.next_stamp + bonus));
        self.next_stamp += 1;
        self.frames[frame as usize].protected = protect;
        self.lru.insert(place, frame);
        for _ in 0..2 {
            let first = self.lru.iter().position(|&f| self.frames[f as usize].protected).unwrap_or(self.lru.len());
            if self.lru.len() - first > limit {
                let below = first.checked_sub(1).and_then(|at| self.frames[self.lru[at] as usize].page);
                let demoted = &mut self.frames[self.lru[first] as usize];
                demoted.protected = false;
                if let Some((_, stamp)) = &mut demoted.page {
                    *stamp = (*stamp - lead).max(below.map_or(0, |(_, least)| least));
                }
            }
        }
    }

    /// Takes a live page out.
    fn remove(&mut self, key: Key) -> Option<u32> {
        let frame = self.find(key)?;
        if self.frames[frame as usize].owned {
            self.withdraw(frame);
            return None;
        }
        self.release(frame);
        Some(frame)
    }

    /// Takes a page out.
    pub fn get(&mut self, key: Key) -> Option<u32> {
        if !key.is_in_range() {
            return None;
        }
        self.counters.gets += 1;
        let frame = self.remove(key)?;
        self.counters.hits += 1;
        Some(frame)
    }

    /// The frame that holds a page.
    pub fn peek(&self, key: Key) -> Option<u32> {
        self.find(key).filter(|&f| !self.frames[f as usize].owned)
    }

    /// Drops a page.
    pub fn flush_page(&mut self, key: Key) -> bool {
        let flushed = self.remove(key).is_some();
        self.counters.flushed += u64::from(flushed);
        flushed
    }

    /// Drops pages of an object: in index order if the range has no more pages than there are frames, else in frame order.
    pub fn flush_range(&mut self, object: u64, first: u64, count: u64) -> u32 {
        let wanted = |key: Key| key.object == object && key.index >= first && key.index - first < count;
        let mut keys: Vec<Key> =
            self.frames.iter().filter_map(|f| f.page.map(|(key, _)| key)).filter(|&key| wanted(key)).collect();
        // A range ends at the last index.
        if count.min((Key::MAX_INDEX + 1).saturating_sub(first)) <= self.frames.len() as u64 {
            keys.sort();
        }
        keys.into_iter().map(|key| u32::from(self.flush_page(key))).sum()
    }

    /// Drops all pages of an object.
    pub fn flush_object(&mut self, object: u64) -> u32 {
        let keys: Vec<Key> =
            self.frames.iter().filter_map(|f| f.page.map(|(k, _)| k)).filter(|k| k.object == object).collect();
        keys.into_iter().map(|key| u32::from(self.flush_page(key))).sum()
    }
}
