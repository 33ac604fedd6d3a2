// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Objects by rank, the least first: what policies need that evict by a number and not by a place in a list.

const OUT: u32 = u32::MAX;

/// The usual rank, and what decides between equal ones. No two objects have the same.
pub type Rank = (u64, u64);

#[derive(Clone, Copy)]
struct Entry<R> {
    rank: R,
    id: u32,
}

#[derive(Clone, Copy)]
struct Object {
    /// In the heap.
    at: u32,
    size: u32,
}

/// A heap of objects that knows where each of them is.
#[derive(Default)]
pub struct Ranked<R = Rank> {
    /// Four children a node.
    heap: Vec<Entry<R>>,
    objects: Vec<Object>,
    used: u64,
}

impl<R: Ord + Copy> Ranked<R> {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = std::mem::size_of::<Object>();

    /// Makes room for ids below `ids`.
    pub fn ensure_ids(&mut self, ids: u32) {
        if ids as usize > self.objects.len() {
            self.objects.resize(ids as usize, Object { at: OUT, size: 0 });
        }
    }

    /// Whether it is there.
    #[inline]
    pub fn contains(&self, id: u32) -> bool {
        self.objects.get(id as usize).is_some_and(|object| object.at != OUT)
    }

    /// Weight of all that are.
    #[inline]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Weight of one that is.
    #[inline]
    pub fn size(&self, id: u32) -> u32 {
        self.objects[id as usize].size
    }

    /// Adds one that is not there.
    #[inline]
    pub fn insert(&mut self, id: u32, size: u32, rank: R) {
        self.objects[id as usize].size = size;
        self.used += u64::from(size);
        self.heap.push(Entry { rank, id });
        self.rise(self.heap.len() - 1, Entry { rank, id });
    }

    /// Gives one that is there another rank.
    #[inline]
    pub fn change(&mut self, id: u32, rank: R) {
        let at = self.objects[id as usize].at as usize;
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
        let object = &mut self.objects[id as usize];
        object.at = OUT;
        self.used -= u64::from(object.size);
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
        let object = &mut self.objects[id as usize];
        let at = std::mem::replace(&mut object.at, OUT) as usize;
        self.used -= u64::from(object.size);
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
        self.objects[entry.id as usize].at = at as u32;
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
