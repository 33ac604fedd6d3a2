// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Objects by rank, the least first: what policies need that evict by a number and not by a place in a list.

use super::places::Places;

/// The usual rank, and what decides between equal ones. No two objects have the same.
pub type Rank = (u64, u64);

#[derive(Clone, Copy)]
struct Entry<R> {
    rank: R,
    id: u32,
}

/// A heap of objects that knows where each of them is.
#[derive(Default)]
pub struct Ranked<R = Rank> {
    /// Four children a node.
    heap: Vec<Entry<R>>,
    places: Places,
}

impl<R: Ord + Copy> Ranked<R> {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = Places::BYTES_PER_OBJECT;

    /// Makes room for ids below `ids`.
    pub fn ensure_ids(&mut self, ids: u32) {
        self.places.ensure_ids(ids);
    }

    /// Whether it is there.
    #[inline]
    pub fn contains(&self, id: u32) -> bool {
        self.places.contains(id)
    }

    /// Weight of all that are.
    #[inline]
    pub fn used(&self) -> u64 {
        self.places.used()
    }

    /// Weight of one that is.
    #[inline]
    pub fn size(&self, id: u32) -> u64 {
        self.places.size(id)
    }

    /// Adds one that is not there.
    #[inline]
    pub fn insert(&mut self, id: u32, size: u64, rank: R) {
        self.places.insert(id, size, self.heap.len());
        self.heap.push(Entry { rank, id });
        self.rise(self.heap.len() - 1, Entry { rank, id });
    }

    /// Gives one that is there another rank.
    #[inline]
    pub fn change(&mut self, id: u32, rank: R) {
        let at = self.places.at(id);
        let entry = Entry { rank, id };
        match rank < self.heap[at].rank {
            true => self.rise(at, entry),
            false => self.sink(at, entry),
        }
    }

    /// Takes out the one of the least rank.
    #[inline]
    pub fn pop(&mut self) -> Option<(u32, R)> {
        let Entry { rank, id } = *self.heap.first()?;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(0, last);
        }
        self.places.remove(id);
        Some((id, rank))
    }

    /// The one of the least rank.
    #[inline]
    pub fn least(&self) -> Option<u32> {
        self.heap.first().map(|entry| entry.id)
    }

    /// Takes out one that is there.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let at = self.places.remove(id);
        let Some(last) = self.heap.pop() else { return };
        if at < self.heap.len() {
            match last.rank < self.heap[at].rank {
                true => self.rise(at, last),
                false => self.sink(at, last),
            }
        }
    }

    fn put(&mut self, at: usize, entry: Entry<R>) {
        self.heap[at] = entry;
        self.places.set(entry.id, at);
    }

    fn rise(&mut self, mut at: usize, entry: Entry<R>) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent].rank <= entry.rank {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sink(&mut self, mut at: usize, entry: Entry<R>) {
        loop {
            let first = 4 * at + 1;
            let children = first..(first + 4).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child].rank) else { break };
            if self.heap[least].rank >= entry.rank {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }
}
