// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Speed of the eCache's core on one CPU: put and get, and allocations against the number of frames.
//! `cargo bench -p fovea-core`; without `--bench` (as under `cargo test --benches`) everything runs once, briefly.

use std::hint::black_box;
use std::time::Duration;

use fovea_core::{Config, ECache, Key, Policy};
use rustix::time::{clock_gettime, ClockId};

/// xorshift64*: cheap next to what is measured.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) * bound) >> 32
    }
}

/// CPU time of this thread: what others do on the machine is not in it.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn key(index: u64) -> Key {
    Key { object: 7, index }
}

fn full(config: &Config) -> ECache {
    let mut cache = ECache::new(config).expect("a valid configuration");
    for index in 0..u64::from(cache.frames()) {
        black_box(cache.put(key(index)));
    }
    cache
}

/// Takes a random cached page out and puts it back, as a page does that is read and evicted again; pairs per second.
fn pairs_hit(pairs: u64) -> f64 {
    let mut cache = full(&Config::nexus_s());
    let frames = u64::from(cache.frames());
    let mut random = Random(1);
    let start = cpu_time();
    for _ in 0..pairs {
        let page = key(random.below(frames));
        assert!(cache.get(page).is_some());
        black_box(cache.put(page));
    }
    pairs as f64 / (cpu_time() - start).as_secs_f64()
}

/// Puts a new page, which evicts one, and takes a random other one out, of twice as many as fit; pairs per second and hit ratio.
fn pairs_mixed(pairs: u64) -> (f64, f64) {
    let mut cache = full(&Config::nexus_s());
    let pages = u64::from(cache.frames()) * 2;
    let mut random = Random(2);
    let mut hits = 0_u64;
    let start = cpu_time();
    for _ in 0..pairs {
        hits += u64::from(cache.get(key(random.below(pages))).is_some());
        black_box(cache.put(key(random.below(pages))));
    }
    (pairs as f64 / (cpu_time() - start).as_secs_f64(), hits as f64 / pairs as f64)
}

/// The Nexus S's proportions (eCache12, section 4), scaled to `frames` in all, in a carve-out of `total` frames.
fn scaled(frames: u32, total: u32) -> Config {
    let share = |mb: u32| frames / 90 * mb;
    let mut config = Config::in_order(&[share(34), share(36), share(12), share(8)]);
    config.carveout_frames[0] = total;
    config
}

/// Median time of an allocation of device 0's reservation from a full cache.
fn alloc_time(config: &Config, policy: Policy, rounds: usize) -> Duration {
    let mut cache = full(config);
    let size = config.devices[0].size_frames;
    let mut next = u64::from(cache.frames());
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = cpu_time();
        black_box(cache.alloc(0, size, policy).expect("within the reservation"));
        times.push(cpu_time() - start);
        cache.free(0);
        for _ in 0..size {
            cache.put(key(next));
            next += 1;
        }
        assert_eq!(cache.counters().free_frames, 0, "the cache is full again");
    }
    times.sort();
    times[times.len() / 2]
}

fn table(title: &str, sizes: &[u32], rounds: usize, config: impl Fn(u32) -> Config) {
    println!("\n{title}\n{:>10} {:>10} {:>12} {:>12} {:>12}", "frames", "region", "lru", "count", "aged");
    for &frames in sizes {
        let config = config(frames);
        let time = |policy| alloc_time(&config, policy, rounds).as_secs_f64() * 1e6;
        let (lru, count, aged) = (time(Policy::Lru), time(Policy::Count), time(Policy::Aged));
        let region = config.devices[0].size_frames;
        println!("{frames:>10} {region:>10} {lru:>9.2} us {count:>9.2} us {aged:>9.2} us");
    }
}

fn main() {
    let measure = std::env::args().any(|arg| arg == "--bench");
    let (pairs, rounds, sizes): (u64, usize, &[u32]) =
        if measure { (20_000_000, 15, &[1_000, 10_000, 100_000, 1_000_000]) } else { (1_000, 1, &[1_000]) };
    println!("get (hit) and put of the same page, cache full:   {:>6.2} M pairs/s", pairs_hit(pairs) / 1e6);
    let (speed, hits) = pairs_mixed(pairs);
    println!("get and put of random pages, {:>2.0} % hits, evicting: {:>6.2} M pairs/s", hits * 100.0, speed / 1e6);
    table("Allocation of a fixed region", sizes, rounds, |frames| scaled(900, frames));
    table("Allocation of 38 % of the cache", sizes, rounds, |frames| scaled(frames, frames));
}
