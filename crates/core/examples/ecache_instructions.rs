// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Does one kind of operation, for `instructions.sh` to count its instructions: `ecache_instructions WHAT ROUNDS`.
//! The cache is the Nexus S's, 90 MB, and full before each counted operation.

use fovea_contract::ecache_policies;
use fovea_core::{Config, ECache, Key, Policy};

fn key(index: u64) -> Key {
    // An odd multiplier: neighbours in time are not neighbours in the file.
    Key { object: 3, index: index.wrapping_mul(0x9e37_79b9) & 0xffff_ffff }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (Some(what), Some(Ok(rounds))) = (args.get(1), args.get(2).map(|n| n.parse::<u64>())) else {
        eprintln!("usage: ecache_instructions put|get|refill|sweep|static|random|count|lru|aged ROUNDS");
        std::process::exit(2);
    };
    let mut cache = ECache::new(&Config::nexus_s()).expect("a valid configuration");
    let frames = u64::from(cache.frames());
    let mut next = 0;
    let mut fill = |cache: &mut ECache, count: u64| {
        for _ in 0..count {
            cache.put(key(next));
            next += 1;
        }
    };
    if what != "refill" {
        fill(&mut cache, frames);
    }
    let policy = match what.as_str() {
        // Each evicts the oldest page.
        "put" => return fill(&mut cache, rounds),
        // Each hits: the pages put last.
        "get" => return (0..rounds).for_each(|i| assert!(cache.get(key(frames - 1 - i)).is_some())),
        // Into free frames.
        "refill" => return fill(&mut cache, rounds),
        ecache_policies::STATIC => Policy::Static,
        ecache_policies::RANDOM => Policy::Random,
        ecache_policies::COUNT => Policy::Count,
        ecache_policies::LRU => Policy::Lru,
        _ => Policy::Aged,
    };
    for _ in 0..rounds {
        // The video decoder's two regions: 70 MB of 90.
        for device in [0, 1] {
            let size = Config::nexus_s().devices[device as usize].size_frames;
            cache.alloc(device, size, policy).expect("within the reservation");
        }
        if what == "sweep" {
            assert_eq!(cache.sweep(u32::MAX), 0);
        }
        cache.free(0);
        cache.free(1);
        fill(&mut cache, 70 * 256);
        assert_eq!(cache.counters().free_frames, 0, "full again");
    }
}
