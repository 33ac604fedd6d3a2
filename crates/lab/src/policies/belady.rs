// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Belady's MIN: evicts what is needed furthest in the future (IBM Systems Journal 1966). Optimal for objects of one size.

use crate::policy::{Descriptor, Policy, Request, NEVER};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "belady",
    source: "Belady, IBM Systems Journal 5(2), 1966",
    parameters: &[],
    needs_future: true,
    bytes_per_object: std::mem::size_of::<Object>() + std::mem::size_of::<(u64, u32)>(),
    build: |capacity, _| {
        Box::new(Belady { capacity, used: 0, now: 0, objects: Vec::new(), heap: Vec::new(), dead: Vec::new() })
    },
};

const ABSENT: u32 = u32::MAX;
const DEAD: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Object {
    /// Index in the heap, or `ABSENT` or `DEAD`.
    at: u32,
    size: u32,
}

/// An entry of the heap: when the object is needed next, and its id.
#[derive(Clone, Copy)]
struct Entry {
    next: u64,
    id: u32,
}

struct Belady {
    capacity: u64,
    used: u64,
    now: u64,
    objects: Vec<Object>,
    /// Four children a node, furthest use first.
    heap: Vec<Entry>,
    /// Cached objects that are never needed again; they leave first, in any order.
    dead: Vec<u32>,
}

impl Belady {
    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.objects[entry.id as usize].at = at as u32;
    }

    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent].next >= entry.next {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sink(&mut self, mut at: usize, entry: Entry) {
        loop {
            let first = 4 * at + 1;
            let children = first..(first + 4).min(self.heap.len());
            let Some(largest) = children.max_by_key(|&child| self.heap[child].next) else { break };
            if self.heap[largest].next <= entry.next {
                break;
            }
            self.put(at, self.heap[largest]);
            at = largest;
        }
        self.put(at, entry);
    }

    fn remove(&mut self, at: usize) {
        let last = self.heap.pop().expect("an object in the heap is in the heap");
        if at < self.heap.len() {
            if at > 0 && self.heap[(at - 1) / 4].next < last.next {
                self.rise(at, last);
            } else {
                self.sink(at, last);
            }
        }
    }

    fn evict(&mut self) {
        let id = match self.dead.pop() {
            Some(id) => id,
            None => {
                let Some(&Entry { id, .. }) = self.heap.first() else { return };
                self.remove(0);
                id
            }
        };
        let object = &mut self.objects[id as usize];
        object.at = ABSENT;
        self.used -= u64::from(object.size);
    }
}

impl Policy for Belady {
    fn ensure_ids(&mut self, ids: u32) {
        if ids as usize > self.objects.len() {
            self.objects.resize(ids as usize, Object { at: ABSENT, size: 0 });
        }
    }

    #[inline(always)]
    fn access(&mut self, Request { id, size, next_distance }: Request) -> bool {
        self.now += 1;
        let next = self.now + u64::from(next_distance);
        let at = self.objects[id as usize].at;
        if at == DEAD {
            // The caller's future was wrong about this object; only the choice of victims suffers.
            return true;
        }
        if at != ABSENT {
            if next_distance == NEVER {
                self.remove(at as usize);
                self.objects[id as usize].at = DEAD;
                self.dead.push(id);
            } else {
                self.rise(at as usize, Entry { next, id });
            }
            return true;
        }
        if u64::from(size) > self.capacity {
            return false;
        }
        while self.used + u64::from(size) > self.capacity {
            self.evict();
        }
        self.used += u64::from(size);
        self.objects[id as usize].size = size;
        if next_distance == NEVER {
            self.objects[id as usize].at = DEAD;
            self.dead.push(id);
        } else {
            self.heap.push(Entry { next, id });
            self.rise(self.heap.len() - 1, Entry { next, id });
        }
        false
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn contains(&self, id: u32) -> bool {
        self.objects.get(id as usize).is_some_and(|object| object.at != ABSENT)
    }
}
