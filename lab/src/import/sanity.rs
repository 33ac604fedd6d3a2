// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an import brought in, in the figures that a wrong reading of a file would show in: how many objects there are, how many of them
//! are asked for only once, how large they are, how long the trace is, what share of it writes.

use std::hash::BuildHasherDefault;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::{csv::AsItIs, Objects};
use crate::{dense::LONGEST_BYTES, store::Checksum, Op, Record, PAGE_BYTES};

/// Objects that are told apart at a time; past it one of two is drawn, and so on. 32 MiB.
const MOST_OBJECTS: usize = 1 << 20;

/// Too few requests to judge a trace by.
const FEW_REQUESTS: u64 = 1000;

/// Figures of a trace. Of objects they are exact up to a million of them, and of a sample of them beyond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sanity {
    /// Requests: a disk's for each page.
    pub requests: u64,
    /// Distinct objects, or pages.
    pub objects: u64,
    /// Their bytes.
    pub footprint_bytes: u64,
    /// Share of the objects that are asked for only once, in percent.
    pub once_percent: f64,
    /// Least, mean and greatest size of a request in bytes.
    pub size_bytes: [u64; 3],
    /// From the least time to the greatest.
    pub span_ns: u64,
    /// Share of the records that write, in percent.
    pub write_percent: f64,
    /// Whether objects were counted in a sample.
    pub sampled: bool,
}

impl Sanity {
    /// In words, on one line.
    pub fn words(&self) -> String {
        let about = if self.sampled { "about " } else { "" };
        let [least, mean, most] = self.size_bytes;
        format!(
            "{} requests for {about}{} objects of {about}{} bytes, {:.1} % of them asked for once; sizes {least} to {most}, mean {mean}; \
             over {} s; {:.1} % writes",
            self.requests,
            self.objects,
            self.footprint_bytes,
            self.once_percent,
            self.span_ns as f64 / 1e9,
            self.write_percent
        )
    }

    /// What looks as if a column was taken for another.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.requests < FEW_REQUESTS {
            return warnings;
        }
        if self.once_percent > 99.5 {
            warnings.push("nearly every request is for an object of its own: is the id in another column?".into());
        }
        if self.objects <= 3 {
            warnings.push(format!("all requests are for {} objects: is the id in another column?", self.objects));
        }
        if self.size_bytes[2] > 1 << 50 {
            warnings.push(format!("a size of {} bytes: is the size in another column?", self.size_bytes[2]));
        }
        warnings
    }
}

#[derive(Clone, Copy)]
struct Object {
    size_bytes: u64,
    once: bool,
}

/// Counts as records come.
pub(super) struct Counter {
    known: HashMap<u64, Object, BuildHasherDefault<AsItIs>>,
    /// Objects are looked at whose hash has so many zeros at its end.
    zeros: u32,
    least: usize,
    space: (std::sync::Arc<str>, u64),
    requests: u64,
    records: u64,
    writes: u64,
    sizes: [u64; 2],
    bytes: u128,
    times_ns: [u64; 2],
}

impl Counter {
    pub fn new() -> Self {
        Self::of_most(MOST_OBJECTS)
    }

    fn of_most(least: usize) -> Self {
        Counter {
            known: HashMap::default(),
            zeros: 0,
            least,
            space: ("".into(), 0),
            requests: 0,
            records: 0,
            writes: 0,
            sizes: [u64::MAX, 0],
            bytes: 0,
            times_ns: [u64::MAX, 0],
        }
    }

    /// Looks at a record.
    pub fn look(&mut self, record: &Record) {
        self.records += 1;
        self.writes += u64::from(record.write);
        self.times_ns = [self.times_ns[0].min(record.time_ns), self.times_ns[1].max(record.time_ns)];
        if !record.op.is_request() || record.op == Op::PageMap {
            return;
        }
        let size_bytes = record.size_bytes.filter(|_| record.op == Op::Object).unwrap_or(record.length_bytes);
        self.sizes = [self.sizes[0].min(size_bytes), self.sizes[1].max(size_bytes)];
        self.bytes += u128::from(size_bytes);
        let space = self.space(&record.space);
        if record.op == Op::Object {
            return self.request(mixed(space, record.object), size_bytes.max(1));
        }
        let Some(last) = record.offset_bytes.checked_add(size_bytes.saturating_sub(1)) else { return };
        if !(1..=LONGEST_BYTES).contains(&size_bytes) {
            return;
        }
        let volume = mixed(space, record.object);
        for page in record.offset_bytes / PAGE_BYTES..=last / PAGE_BYTES {
            self.request(mixed(volume, page), PAGE_BYTES);
        }
    }

    /// Looks at requests for objects.
    pub fn look_at_objects(&mut self, objects: &Objects<'_>) {
        let space = self.space(objects.space);
        self.records += objects.objects.len() as u64;
        self.writes += objects.writes.iter().filter(|&&write| write).count() as u64;
        let (sizes, times_ns) = (objects.sizes_bytes, objects.times_ns);
        let ([mut least, mut most], mut bytes) = (self.sizes, 0u128);
        for &size_bytes in sizes {
            (least, most, bytes) = (least.min(size_bytes), most.max(size_bytes), bytes + u128::from(size_bytes));
        }
        (self.sizes, self.bytes) = ([least, most], self.bytes + bytes);
        for &time_ns in times_ns {
            self.times_ns = [self.times_ns[0].min(time_ns), self.times_ns[1].max(time_ns)];
        }
        for (&object, &size_bytes) in objects.objects.iter().zip(sizes) {
            self.request(mixed(space, object), size_bytes.max(1));
        }
    }

    /// The hash of a namespace.
    fn space(&mut self, name: &std::sync::Arc<str>) -> u64 {
        if !std::sync::Arc::ptr_eq(&self.space.0, name) {
            let mut hash = Checksum::default();
            hash.add(name.as_bytes());
            self.space = (name.clone(), hash.finish());
        }
        self.space.1
    }

    #[inline]
    fn request(&mut self, hash: u64, size_bytes: u64) {
        self.requests += 1;
        if hash.trailing_zeros() < self.zeros {
            return;
        }
        // The lower bits decide who is looked at, and the table goes by the upper ones too.
        self.known.entry(hash).and_modify(|object| object.once = false).or_insert(Object { size_bytes, once: true });
        while self.known.len() > self.least {
            self.zeros += 1;
            self.known.retain(|hash, _| hash.trailing_zeros() >= self.zeros);
        }
    }

    pub fn finish(&self) -> Sanity {
        let scale = 1u64 << self.zeros;
        let objects = self.known.len() as u64;
        let once = self.known.values().filter(|object| object.once).count();
        let footprint = self.known.values().map(|object| u128::from(object.size_bytes)).sum::<u128>();
        let percent = |part: u64, of: u64| if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 };
        let requests = self.records.max(1);
        Sanity {
            requests: self.requests,
            objects: objects * scale,
            footprint_bytes: u64::try_from(footprint * u128::from(scale)).unwrap_or(u64::MAX),
            once_percent: percent(once as u64, objects),
            size_bytes: [
                self.sizes[0].min(self.sizes[1]),
                u64::try_from(self.bytes / u128::from(requests)).unwrap_or(u64::MAX),
                self.sizes[1],
            ],
            span_ns: self.times_ns[1].saturating_sub(self.times_ns[0]),
            write_percent: percent(self.writes, self.records),
            sampled: self.zeros > 0,
        }
    }
}

/// Two numbers as one that has no pattern.
#[inline]
fn mixed(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    let folded = (product >> 64) as u64 ^ product as u64;
    (folded ^ folded >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(time_ns: u64, object: u64, size: u64, write: bool) -> Record {
        Record {
            time_ns,
            app: "".into(),
            importance: None,
            op: Op::Object,
            space: "object".into(),
            object,
            offset_bytes: 0,
            length_bytes: size,
            write,
            sync: false,
            size_bytes: Some(size),
        }
    }

    #[test]
    fn figures_are_exact_of_few_objects_and_near_of_many() {
        let mut counter = Counter::new();
        for (time, id, size, write) in [(5, 1, 100, false), (7, 2, 300, true), (6, 1, 100, false), (9, 3, 0, false)] {
            counter.look(&object(time, id, size, write));
        }
        let sanity = counter.finish();
        assert_eq!((sanity.requests, sanity.objects, sanity.footprint_bytes), (4, 3, 401));
        assert_eq!((sanity.size_bytes, sanity.span_ns, sanity.write_percent), ([0, 125, 300], 4, 25.0));
        assert!((sanity.once_percent - 200.0 / 3.0).abs() < 1e-9 && !sanity.sampled);
        let mut counter = Counter::of_most(1 << 12);
        for at in 0..60_000 {
            counter.look(&object(at, at, 10, false));
            counter.look(&object(at, at / 2, 10, false));
        }
        let sanity = counter.finish();
        assert!(sanity.sampled && sanity.objects.abs_diff(60_000) < 6_000, "{sanity:?}");
        // The upper half of the ids is asked for once.
        assert!((sanity.once_percent - 50.0).abs() < 5.0, "{sanity:?}");
    }

    #[test]
    fn disks_are_counted_by_pages() {
        let mut counter = Counter::new();
        let block = |offset_bytes| Record {
            op: Op::Block,
            object: 0,
            offset_bytes,
            length_bytes: 8192,
            size_bytes: None,
            ..object(0, 0, 0, false)
        };
        counter.look(&block(0));
        counter.look(&block(4096));
        let sanity = counter.finish();
        assert_eq!((sanity.requests, sanity.objects, sanity.footprint_bytes), (4, 3, 3 * PAGE_BYTES));
    }

    #[test]
    fn a_wrong_column_shows() {
        let of = |id: fn(u64) -> u64| {
            let mut counter = Counter::new();
            (0..2000).for_each(|at| counter.look(&object(at, id(at), 1, false)));
            counter.finish().warnings().concat()
        };
        assert!(of(|at| at).contains("an object of its own"));
        assert!(of(|at| at % 2).contains("for 2 objects"));
        assert_eq!(of(|at| at % 50), "");
    }
}
