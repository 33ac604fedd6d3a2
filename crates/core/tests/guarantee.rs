// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An allocation within its reservation never fails, never meets another owner, never crosses a carve-out's border.

use fovea_core::{Choice, Config, DeviceConfig, ECache, Error, Key, Policy, Region, Request};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const POLICIES: [Policy; 5] = [Policy::Static, Policy::Random, Policy::Count, Policy::Lru, Policy::Aged];

/// Who holds each frame, kept apart from the core.
struct Owners(Vec<Option<u32>>);

impl Owners {
    fn take(&mut self, device: u32, region: Region, carveouts: &[u32]) {
        let mut end = 0;
        let inside = carveouts.iter().any(|frames| {
            end += frames;
            region.first >= end - frames && region.end() <= end
        });
        assert!(inside, "device {device}: {region:?} is not in one carve-out of {carveouts:?}");
        for frame in region.first..region.end() {
            let before = self.0[frame as usize].replace(device);
            assert_eq!(before, None, "frame {frame} has two owners: {before:?} and {device}");
        }
    }

    fn give_back(&mut self, device: u32) {
        self.0.iter_mut().filter(|owner| **owner == Some(device)).for_each(|owner| *owner = None);
    }
}

fn random_config(rng: &mut ChaCha8Rng, most_devices: u32, most_frames: u32) -> Config {
    let count = rng.gen_range(1..=most_devices);
    let sizes: Vec<u32> = (0..count).map(|_| rng.gen_range(1..=most_frames)).collect();
    let mut config = Config::in_order(&sizes);
    config.seed = rng.gen();
    config.put_work_limit = rng.gen_range(0..4);
    config.protect_percent = rng.gen_range(0..=100);
    config.max_candidates = *[0, 8, 64].get(rng.gen_range(0..3_usize)).unwrap_or(&0);
    match rng.gen_range(0..4) {
        // Tight, as on the Nexus S.
        0 | 1 => {}
        // Room to spare.
        2 => config.carveout_frames[0] += rng.gen_range(1..=most_frames),
        // Several carve-outs, homes as the order gives them.
        _ => {
            let mut next = 0;
            config.carveout_frames = vec![0, 0, 0];
            for (i, device) in config.devices.iter_mut().enumerate() {
                let carveout = i * 3 / count as usize;
                config.carveout_frames[carveout] += device.size_frames;
                device.home = Some(next);
                next += device.size_frames;
            }
            config.carveout_frames.retain(|frames| *frames > 0);
            config.max_candidates = config.max_candidates.max(3);
        }
    }
    config
}

/// Opens and closes devices at random, with puts between, then opens all that are closed: nothing may fail.
fn open_and_close(rng: &mut ChaCha8Rng, config: &Config, steps: u32) -> u64 {
    let mut cache = ECache::new(config).unwrap();
    let mut owners = Owners(vec![None; cache.frames() as usize]);
    let devices = config.devices.len() as u32;
    let open = |cache: &mut ECache, owners: &mut Owners, rng: &mut ChaCha8Rng, device: u32| {
        let reserved = config.devices[device as usize].size_frames;
        let size_frames = if rng.gen_bool(0.7) { reserved } else { rng.gen_range(1..=reserved) };
        let choice = Choice::Policy(POLICIES[rng.gen_range(0..POLICIES.len())]);
        let salvage_budget_pages = if rng.gen_bool(0.2) { 4 } else { 0 };
        let region = cache
            .alloc_with(Request { device, size_frames, choice, salvage_budget_pages })
            .unwrap_or_else(|e| panic!("{e}; {config:?}"));
        assert_eq!(region.count, size_frames);
        while salvage_budget_pages > 0 && cache.salvage_next().is_some() {}
        owners.take(device, region, &config.carveout_frames);
    };
    for _ in 0..steps {
        let device = rng.gen_range(0..devices);
        if cache.held(device).is_none() {
            open(&mut cache, &mut owners, rng, device);
        } else if rng.gen_bool(0.9) {
            cache.free(device);
            owners.give_back(device);
        } else {
            // In two parts, the second of which the end of the test may never see.
            let left = cache.free_some(device, 1);
            let held = cache.held(device).map_or(0, |r| r.count);
            assert_eq!(left, held);
            owners.give_back(device);
            if let Some(region) = cache.held(device) {
                owners.take(device, region, &config.carveout_frames);
            }
        }
        for _ in 0..rng.gen_range(0..8) {
            let put = cache.put_page(Key { object: 1, index: rng.gen_range(0..200) }, rng.gen());
            assert!(put.is_none_or(|put| owners.0[put.frame as usize].is_none()), "put got a device's frame");
            cache.get(Key { object: 1, index: rng.gen_range(0..200) });
        }
    }
    for device in 0..devices {
        if cache.held(device).is_none() {
            open(&mut cache, &mut owners, rng, device);
        }
    }
    cache.check().unwrap_or_else(|e| panic!("{e}; {config:?}"));
    cache.counters().repacks
}

#[test]
fn ten_thousand_sequences_of_few_devices_never_fail() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut repacks = 0;
    for _ in 0..10_000 {
        let config = random_config(&mut rng, 6, 12);
        repacks += open_and_close(&mut rng, &config, 40);
    }
    assert!(repacks > 1000, "too few sequences had to move an idle device's slot: {repacks}");
}

#[test]
fn many_devices_beyond_the_bounds_on_candidates_and_search_never_fail() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..500 {
        let config = random_config(&mut rng, 40, 30);
        // A search of so few steps must give up often.
        let config = Config { search_steps: rng.gen_range(1..200), ..config };
        open_and_close(&mut rng, &config, 100);
    }
}

/// Beyond the bound a device keeps a selection of PR(d), and nothing that is not in it.
#[test]
fn bounded_candidates_are_an_even_selection_of_the_subset_sums() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..50 {
        let sizes: Vec<u32> = (0..10).map(|_| rng.gen_range(1..1000)).collect();
        let config = Config { max_candidates: 16, ..Config::in_order(&sizes) };
        let cache = ECache::new(&config).unwrap();
        for device in 0..sizes.len() {
            let others: Vec<u32> = sizes.iter().enumerate().filter(|(i, _)| *i != device).map(|(_, &s)| s).collect();
            let sums: std::collections::BTreeSet<u32> = (0..1_u32 << others.len())
                .map(|set| others.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, s)| s).sum())
                .collect();
            let kept = cache.candidates(device as u32);
            assert!(kept.iter().all(|start| sums.contains(start)), "{kept:?} are not all subset sums");
            assert!((16..=17).contains(&kept.len()), "16 and perhaps the home: {kept:?}");
            assert_eq!(kept.first(), Some(&0));
            assert_eq!(kept.last(), sums.last(), "both ends of the carve-out are kept");
        }
    }
}

/// Seed 000's own example (Figure 4) is fragmented by eCache12's rule: mfc at 3..8 and jpeg at 10..12 leave no 4 frames for fimc.
#[test]
fn the_seeds_own_counterexample_is_refused() {
    let mut cache = ECache::new(&Config::in_order(&[6, 4, 3])).unwrap();
    let (mfc, fimc, jpeg) = (0, 1, 2);
    assert_eq!(cache.candidates(mfc), [0, 3, 4, 7]);
    assert_eq!(cache.candidates(fimc), [0, 3, 6, 9]);
    assert_eq!(cache.candidates(jpeg), [0, 4, 6, 10]);
    // Makes mfc prefer 3..8, and then jpeg 10..12: every other frame is dear.
    let fill = |cache: &mut ECache| {
        for index in 0..13 {
            cache.put(Key { object: 0, index });
        }
    };
    let prefer = |cache: &mut ECache, device, size_frames, cheap: std::ops::Range<u32>| {
        let mut cost = |frame: u32, _: Key| if cheap.contains(&frame) { 0 } else { 100 };
        let choice = Choice::Cost(&mut cost);
        cache.alloc_with(Request { device, size_frames, choice, salvage_budget_pages: 0 }).unwrap()
    };
    fill(&mut cache);
    assert_eq!(prefer(&mut cache, mfc, 6, 3..9), Region { first: 3, count: 6 });
    assert_eq!(prefer(&mut cache, jpeg, 3, 10..13), Region { first: 0, count: 3 });
    assert_eq!(cache.alloc(fimc, 4, Policy::Lru).unwrap(), Region { first: 9, count: 4 });
}

#[test]
fn a_partial_allocation_takes_the_cheaper_end_of_the_slot_and_the_rest_goes_on_caching() {
    let mut cache = ECache::new(&Config::in_order(&[8])).unwrap();
    for index in 0..8 {
        cache.put(Key { object: 0, index });
    }
    // Frame i holds page i: taking pages 0 and 1 out and putting them back makes the left end the most recent.
    for index in [0, 1] {
        cache.get(Key { object: 0, index });
        cache.put(Key { object: 0, index });
    }
    assert_eq!(cache.alloc(0, 3, Policy::Aged).unwrap(), Region { first: 5, count: 3 });
    for index in 0..8 {
        assert_eq!(cache.peek(Key { object: 0, index }).is_some(), index < 5);
    }
}

#[test]
fn wrong_requests_are_refused_with_their_reason() {
    let mut cache = ECache::new(&Config::in_order(&[4, 2])).unwrap();
    assert_eq!(cache.alloc(2, 1, Policy::Lru), Err(Error::Device { device: 2, devices: 2 }));
    assert_eq!(cache.alloc(1, 3, Policy::Lru), Err(Error::Size { device: 1, size_frames: 3, reserved_frames: 2 }));
    assert_eq!(cache.alloc(1, 0, Policy::Lru), Err(Error::Size { device: 1, size_frames: 0, reserved_frames: 2 }));
    cache.alloc(1, 2, Policy::Lru).unwrap();
    assert_eq!(cache.alloc(1, 2, Policy::Lru), Err(Error::Busy { device: 1 }));
    cache.check().unwrap();
}

#[test]
fn wrong_configurations_are_refused() {
    let good = Config::in_order(&[4, 2]);
    let device = |size_frames, home| DeviceConfig { size_frames, home };
    let with_devices = |devices: Vec<DeviceConfig>| Config { devices, ..good.clone() };
    let refused = |config: Config| ECache::new(&config).err();
    assert_eq!(refused(Config { carveout_frames: vec![], ..good.clone() }), Some(Error::Fit));
    assert_eq!(refused(Config { carveout_frames: vec![6, 0], ..good.clone() }), Some(Error::Config));
    assert_eq!(refused(Config { carveout_frames: vec![u32::MAX, u32::MAX], ..good.clone() }), Some(Error::Config));
    assert_eq!(refused(Config { carveout_frames: vec![1 << 26, (1 << 26) + 1], ..good.clone() }), Some(Error::Config));
    assert_eq!(refused(Config { carveout_frames: vec![3, 3], ..good.clone() }), Some(Error::Fit));
    assert_eq!(refused(Config { max_candidates: 1 << 20, ..good.clone() }), Some(Error::Config));
    assert_eq!(refused(with_devices(vec![device(0, None)])), Some(Error::Config));
    assert_eq!(refused(with_devices(vec![device(7, None)])), Some(Error::Fit));
    assert_eq!(refused(with_devices(vec![device(4, Some(3))])), Some(Error::Fit));
    assert_eq!(refused(with_devices(vec![device(4, Some(u32::MAX - 2))])), Some(Error::Fit));
    assert_eq!(refused(with_devices(vec![device(4, Some(0)), device(2, Some(3))])), Some(Error::Fit));
    assert_eq!(refused(with_devices(vec![device(1, None); 257])), Some(Error::Fit));
    let many = Config { carveout_frames: vec![300], ..with_devices(vec![device(1, None); 257]) };
    assert_eq!(refused(many), Some(Error::Config));
}

/// The header's formula: at most 31 bytes a frame and what does not grow with them, 31.5 bytes in all on real sizes.
#[test]
fn memory_stays_within_the_formula() {
    let check = |config: &Config| {
        let frames: u64 = config.carveout_frames.iter().map(|&c| u64::from(c)).sum();
        let (m, c) = (config.devices.len() as u64, config.carveout_frames.len() as u64);
        let most = if config.max_candidates == 0 { 64 } else { u64::from(config.max_candidates) };
        let k = most.min(c << (m.max(1) - 1).min(20)) + 1;
        let r = frames.min(2 * m * k + c);
        let b = 1 << frames.ilog2();
        let formula = 27 * frames + 4 * b + 24 * r + 4 * m * k + 24 * k + 76 * m + 16 * c + 512;
        let size = ECache::memory_size_bytes(config).unwrap();
        assert!(size <= formula, "{size} bytes, formula {formula}; {config:?}");
        size as f64 / frames as f64
    };
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..500 {
        check(&random_config(&mut rng, 40, 3000));
    }
    let nexus = check(&Config::nexus_s());
    assert!(nexus <= 31.5, "{nexus} bytes a frame");
    // The worst case of the hash table: a power of two.
    let mut worst = Config::in_order(&[10_000; 16]);
    worst.carveout_frames[0] = 1 << 18;
    let worst = check(&worst);
    assert!(worst <= 31.5, "{worst} bytes a frame");
}

/// Pages of a film, read once, do not drive out what comes back; and what comes back does not keep new pages out for ever.
#[test]
fn what_returned_outlives_what_was_read_once() {
    let key = |object, index| Key { object, index };
    let kept = |protect_percent: u32| {
        let mut cache = ECache::new(&Config { protect_percent, ..Config::in_order(&[400]) }).unwrap();
        for index in 0..200 {
            cache.put_page(key(0, index), true);
        }
        for index in 0..2000 {
            cache.put(key(1, index));
        }
        assert_eq!(cache.check(), Ok(()));
        (0..200).filter(|&index| cache.peek(key(0, index)).is_some()).count()
    };
    assert_eq!((kept(0), kept(25), kept(75)), (0, 100, 200));
    let mut cache = ECache::new(&Config { protect_percent: 75, ..Config::in_order(&[400]) }).unwrap();
    for index in 0..400 {
        cache.put_page(key(0, index), true);
    }
    for index in 0..2000 {
        cache.put(key(1, index));
    }
    assert_eq!(
        (0..2000).filter(|&index| cache.peek(key(1, index)).is_some()).count(),
        100,
        "a quarter is for what is new"
    );
    // A device takes half: what the other half protects shrinks with the puts that follow.
    cache.alloc(0, 200, Policy::Static).unwrap();
    for index in 0..400 {
        cache.put(key(2, index));
    }
    assert_eq!((0..400).filter(|&index| cache.peek(key(2, index)).is_some()).count(), 50);
    assert_eq!(cache.check(), Ok(()));
}

/// A key out of range names no page: nothing happens, nothing is counted; a range that reaches beyond ends at the last index.
#[test]
fn keys_out_of_range_are_never_cached() {
    let mut cache = ECache::new(&Config::in_order(&[8])).unwrap();
    let last = Key { object: Key::MAX_OBJECT, index: Key::MAX_INDEX };
    let first = Key { object: 0, index: 0 };
    assert!(cache.put(last).is_some() && cache.put(first).is_some());
    let before = cache.counters();
    // Cut to their bits, these would be the pages above.
    for key in [
        Key { object: Key::MAX_OBJECT + 1, index: 0 },
        Key { object: 0, index: Key::MAX_INDEX + 1 },
        Key { object: u64::MAX, index: u64::MAX },
        Key { object: 1 << 63, index: 0 },
        Key { object: 0, index: 1 << 63 },
    ] {
        assert_eq!((cache.put_page(key, true), cache.get(key), cache.peek(key)), (None, None, None), "{key:?}");
        assert!(!cache.flush_page(key) && cache.flush_range(key.object, key.index, u64::MAX) == 0, "{key:?}");
    }
    assert_eq!(cache.flush_object(Key::MAX_OBJECT + 1), 0);
    assert_eq!(cache.counters(), before);
    // By look-ups, and by a look at all frames; neither goes on at the next object's first page.
    for count in [3, u64::MAX] {
        assert_eq!(cache.flush_range(last.object, last.index - 1, count), 1);
        assert!(cache.put(last).is_some());
    }
    assert_eq!((cache.flush_object(last.object), cache.peek(first).is_some()), (1, true));
    assert_eq!(cache.check(), Ok(()));
}

/// Put numbers wrap after 2^32: a cache begins shortly before that, so that its first puts see what happens then.
#[test]
fn ages_outlive_the_numbers_of_puts() {
    for seed in 0..64 {
        let mut cache =
            ECache::new(&Config { seed, protect_percent: 50, ..Config::in_order(&[16, 16, 16, 16]) }).unwrap();
        for index in 0..200 {
            cache.put_page(Key { object: 1, index }, index % 3 == 0);
            assert_eq!(cache.check(), Ok(()), "seed {seed}, put {index}");
        }
        // The left end's pages come back, and are the youngest.
        for frame in 0..16 {
            let key = cache.key_of(frame).unwrap();
            cache.get(key);
            cache.put_page(key, true);
        }
        assert_ne!(cache.alloc(0, 16, Policy::Aged).unwrap().first, 0, "seed {seed}");
        assert_eq!(cache.check(), Ok(()));
    }
}
