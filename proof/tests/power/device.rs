// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A device's buffer through a state of power.

use std::sync::atomic::Ordering;

use fovea_heap::{Heap, Mapping};
use fovea_tests::raw::PAGE;
use fovea_tests::report::Report;

use crate::stack::{at, Outcome, DEVICE};
use crate::Options;

const WORDS: usize = PAGE / 8;

/// Half of the reservation, written.
pub struct Held(Option<Mapping>);

fn pattern(page: usize) -> u64 {
    0xf0ea_0000_0000_0001 | (page as u64) << 8
}

fn allocate(size_bytes: u64) -> Outcome<Mapping> {
    let heap = at(DEVICE.0, Heap::open(format!("/dev/ecache/{}", DEVICE.0)))?;
    let buffer = at(DEVICE.0, heap.allocate(size_bytes))?;
    at(DEVICE.0, buffer.map())
}

impl Held {
    pub fn new(options: &Options) -> Outcome<Held> {
        if !options.has_module() {
            return Ok(Held(None));
        }
        let mapping = allocate(DEVICE.1 / 2)?;
        for (page, words) in mapping.words().chunks(WORDS).enumerate() {
            words.iter().for_each(|word| word.store(pattern(page), Ordering::Relaxed));
        }
        Ok(Held(Some(mapping)))
    }

    /// Says what has become of the content. Whether a driver may expect it is no matter of this test.
    pub fn tell(&self, what: &str) {
        let Some(mapping) = &self.0 else { return };
        let (mut same, mut zeros, mut other) = (0, 0, 0);
        for (page, words) in mapping.words().chunks(WORDS).enumerate() {
            let all = |value: u64| words.iter().all(|word| word.load(Ordering::Relaxed) == value);
            match () {
                () if all(pattern(page)) => same += 1,
                () if all(0) => zeros += 1,
                () => other += 1,
            }
        }
        println!("     buffer after {what}: {same} pages as written, {zeros} of zeros, {other} of neither");
    }

    /// Gives it back; then the whole reservation can be had, empty, and be given back as well.
    pub fn finish(self, what: &str, report: &Report) -> Outcome<()> {
        let Some(mapping) = self.0 else { return Ok(()) };
        drop(mapping);
        check_new(what, report)
    }
}

/// A new buffer of the whole reservation is empty and keeps what is written to it.
pub fn check_new(what: &str, report: &Report) -> Outcome<()> {
    let mapping = allocate(DEVICE.1)?;
    let stale = mapping.words().iter().filter(|word| word.load(Ordering::Relaxed) != 0).count();
    for (page, words) in mapping.words().chunks(WORDS).enumerate() {
        words.iter().for_each(|word| word.store(!pattern(page), Ordering::Relaxed));
    }
    let right = |(page, words): (usize, &[std::sync::atomic::AtomicU64])| {
        words.iter().all(|word| word.load(Ordering::Relaxed) == !pattern(page))
    };
    let kept = mapping.words().chunks(WORDS).enumerate().all(right);
    report.check(
        format_args!("{what}: a new buffer"),
        stale == 0 && kept,
        format_args!("{stale} old words, kept what was written: {kept}"),
    );
    Ok(())
}
