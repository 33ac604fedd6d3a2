// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Stack distances of LRU (Mattson et al., IBM Systems Journal 9(2), 1970), counted in a Fenwick tree (Bennett and Kruskal, IBM Journal
//! of Research and Development 19(4), 1975) over the objects' last requests. Places of requests that are no longer an object's
//! last are given out anew, so that memory goes with the distinct objects: 32 bytes each.

use crate::{
    dense::{Dense, CHUNK_REQUESTS},
    Error, Result,
};

const NOWHERE: u32 = u32::MAX;

struct Fenwick {
    /// Number `at` counts the places from `at - lowest bit` on; the first is not used.
    counts: Vec<u32>,
}

impl Fenwick {
    fn new(places: usize) -> Self {
        Fenwick { counts: vec![0; places + 1] }
    }

    fn add(&mut self, place: usize, change: i32) {
        let mut at = place + 1;
        while at < self.counts.len() {
            self.counts[at] = self.counts[at].wrapping_add_signed(change);
            at += at & at.wrapping_neg();
        }
    }

    /// How many are at this place and before.
    fn up_to(&self, place: usize) -> u32 {
        let (mut at, mut sum) = (place + 1, 0u32);
        while at > 0 {
            sum = sum.wrapping_add(self.counts[at]);
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

/// Stack distances in the making.
pub(super) struct Stack {
    tree: Fenwick,
    /// Where each object's last request is.
    last: Vec<u32>,
    /// Whose last request is at each place.
    owners: Vec<u32>,
    next: usize,
    live: u32,
}

impl Stack {
    pub fn new(objects: usize) -> Self {
        let places = (2 * objects).max(64);
        Stack {
            tree: Fenwick::new(places),
            last: vec![NOWHERE; objects],
            owners: vec![NOWHERE; places],
            next: 0,
            live: 0,
        }
    }

    /// Objects requested since this one's last request, itself not among them; `None` at its first.
    pub fn request(&mut self, id: u32) -> Option<u32> {
        if self.next == self.owners.len() {
            self.close_up();
        }
        let last = self.last[id as usize];
        let distance = (last != NOWHERE).then(|| {
            let distance = self.live - self.tree.up_to(last as usize);
            self.tree.add(last as usize, -1);
            self.owners[last as usize] = NOWHERE;
            distance
        });
        self.live += u32::from(distance.is_none());
        self.tree.add(self.next, 1);
        self.owners[self.next] = id;
        self.last[id as usize] = self.next as u32;
        self.next += 1;
        distance
    }

    /// Moves all last requests to the first places, in their order.
    fn close_up(&mut self) {
        let mut to = 0;
        for from in 0..self.owners.len() {
            let id = self.owners[from];
            if id != NOWHERE {
                self.owners[to] = id;
                self.last[id as usize] = to as u32;
                to += 1;
            }
        }
        self.owners[to..].fill(NOWHERE);
        self.tree = Fenwick::new(self.owners.len());
        (0..to).for_each(|place| self.tree.add(place, 1));
        self.next = to;
    }
}

/// A curve in the making.
struct Counting {
    stack: Stack,
    distances: Vec<u64>,
    requests: u64,
}

impl Counting {
    fn new(objects: usize) -> Self {
        Counting { stack: Stack::new(objects), distances: vec![0; objects], requests: 0 }
    }

    fn request(&mut self, id: u32) {
        self.requests += 1;
        if let Some(distance) = self.stack.request(id) {
            self.distances[distance as usize] += 1;
        }
    }

    fn done(self) -> Curve {
        Curve { distances: self.distances, requests: self.requests }
    }
}

/// How many requests hit by the size of the cache.
pub struct Curve {
    /// Requests by stack distance.
    distances: Vec<u64>,
    requests: u64,
}

impl Curve {
    /// LRU's, by objects.
    ///
    /// # Errors
    /// If a temporary file cannot be read.
    pub fn of(dense: &Dense) -> Result<Curve> {
        let mut curve = Counting::new(dense.footprint().objects as usize);
        let failed = |e| Error::io(&std::env::temp_dir(), e, "the temporary file is lost; run again");
        let (ids, mut scratch, mut at) = (dense.columns().0, Vec::new(), 0);
        while at < dense.requests() {
            let count = CHUNK_REQUESTS.min((dense.requests() - at) as usize);
            ids.chunk(at, count, &mut scratch).map_err(failed)?.iter().for_each(|&id| curve.request(id));
            at += count as u64;
        }
        Ok(curve.done())
    }

    /// LRU's, of requests for objects below that number.
    pub(crate) fn of_requests(ids: &[u32], objects: usize) -> Curve {
        let mut curve = Counting::new(objects);
        ids.iter().for_each(|&id| curve.request(id));
        curve.done()
    }

    /// Requests that miss in a cache of so many objects.
    pub fn misses(&self, objects: u64) -> u64 {
        let held = usize::try_from(objects).unwrap_or(usize::MAX).min(self.distances.len());
        self.requests - self.distances[..held].iter().sum::<u64>()
    }

    /// Share of them. Between two whole numbers of objects it is interpolated, for miniature caches.
    pub(super) fn miss_ratio(&self, objects: f64) -> f64 {
        let (below, part) = (objects.floor(), objects.fract());
        let at = |n: f64| self.misses(n as u64) as f64 / self.requests.max(1) as f64;
        at(below) * (1.0 - part) + at(below + 1.0) * part
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests
    }
}
