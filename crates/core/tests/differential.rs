// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The core against the reference, on random operations.

mod common;

use fovea_core::differential::{decode, run, Op, Way, EDGES};
use fovea_core::{Config, Counters, DeviceConfig, Key, Policy};
use proptest::collection::vec;
use proptest::prelude::*;

use common::inputs;

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        19 => (0..3_u64, 0..40_u64).prop_map(|(object, index)| Key { object, index }),
        1 => proptest::sample::select(&EDGES[..]),
    ]
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        Just(Way::Policy(Policy::Static)),
        Just(Way::Policy(Policy::Random)),
        Just(Way::Policy(Policy::Count)),
        Just(Way::Policy(Policy::Lru)),
        Just(Way::Policy(Policy::Aged)),
        (0..100_u32).prop_map(Way::Cost),
    ]
}

fn alloc() -> impl Strategy<Value = Op> {
    (0..7_u32, 0..14_u32, way(), prop_oneof![Just(0), 1..12_u32], proptest::option::of(0..20_u32)).prop_map(
        |(device, size_frames, way, salvage_budget_pages, salvage_steps)| Op::Alloc {
            device,
            size_frames,
            way,
            salvage_budget_pages,
            salvage_steps,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (key(), any::<bool>()).prop_map(|(key, returned)| Op::Put(key, returned)),
        8 => key().prop_map(Op::Get),
        3 => (key(), any::<bool>()).prop_map(|(key, returned)| Op::PutBegin(key, returned)),
        2 => key().prop_map(Op::GetBegin),
        4 => (any::<u32>(), 0..8_u32).prop_map(|(pin, store)| Op::EndPin { pin, store: store > 0 }),
        1 => any::<u32>().prop_map(Op::Retire),
        1 => key().prop_map(Op::FlushPage),
        1 => (key(), 0..80_u64).prop_map(|(key, count)| Op::FlushRange(key, count)),
        1 => (key(), Just(u64::MAX)).prop_map(|(key, count)| Op::FlushRange(key, count)),
        1 => key().prop_map(|key| Op::FlushObject(key.object)),
        6 => alloc(),
        2 => (0..6_u32).prop_map(Op::Salvage),
        1 => Just(Op::SalvageEnd),
        2 => (0..7_u32, 0..12_u32).prop_map(|(device, budget)| Op::SalvageBegin(device, budget)),
        1 => (0..7_u32, 0..6_u32).prop_map(|(device, budget)| Op::FreeSome(device, budget)),
        3 => (0..7_u32).prop_map(Op::Free),
        1 => (0..20_u32).prop_map(Op::Sweep),
        1 => Just(Op::Copy),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let devices = vec((1..13_u32, any::<bool>()), 0..6);
    (devices, vec(0..24_u32, 0..3), 0..4_u32, 0..6_u32, any::<u64>()).prop_map(
        |(devices, more, put_work_limit, fifths, seed)| {
            // The devices fill the first carve-out unless it is widened; more carve-outs follow. Some devices keep their homes.
            let sizes: Vec<u32> = devices.iter().map(|d| d.0).collect();
            let mut config = Config::in_order(&sizes);
            for (device, (_, keep)) in config.devices.iter_mut().zip(devices) {
                device.home = device.home.filter(|_| keep);
            }
            config.carveout_frames[0] += more.first().map_or(u32::from(sizes.is_empty()), |m| m % 7 + 1);
            config.carveout_frames.extend(more.iter().map(|m| m + 1));
            Config {
                max_candidates: 256,
                search_steps: 1 << 20,
                put_work_limit,
                protect_percent: fifths * 20,
                seed,
                ..config
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_core_does_what_the_reference_does(config in config(), ops in vec(op(), 1..120)) {
        run(&config, &ops).map_err(TestCaseError::fail)?;
    }
}

/// The fuzzer's driver on a fixed number of inputs, and proof that these reach every kind of event that counts.
#[test]
fn the_fuzz_driver_reaches_every_event() {
    let mut total = Counters::default();
    for bytes in inputs(1000, 600) {
        let (config, ops) = decode(&bytes);
        let counters = run(&config, &ops).unwrap();
        total.puts_refused += counters.puts_refused;
        total.puts_replaced += counters.puts_replaced;
        total.evictions += counters.evictions;
        total.salvage_evictions += counters.salvage_evictions;
        total.hits += counters.hits;
        total.flushed += counters.flushed;
        total.allocs += counters.allocs;
        total.repacks += counters.repacks;
        total.discarded += counters.discarded;
        total.salvaged += counters.salvaged;
        total.withdrawn += counters.withdrawn;
        total.search_steps += counters.search_steps;
    }
    println!("{total:?}");
    for (name, count) in [
        ("puts_refused", total.puts_refused),
        ("puts_replaced", total.puts_replaced),
        ("evictions", total.evictions),
        ("salvage_evictions", total.salvage_evictions),
        ("hits", total.hits),
        ("flushed", total.flushed),
        ("allocs", total.allocs),
        ("repacks", total.repacks),
        ("discarded", total.discarded),
        ("salvaged", total.salvaged),
        ("withdrawn", total.withdrawn),
        ("search_steps", total.search_steps),
    ] {
        assert!(count >= 100, "{name}: reached {count} times only");
    }
}

#[test]
fn an_idle_cache_of_one_frame_works() {
    let config = Config {
        carveout_frames: vec![1],
        devices: vec![DeviceConfig { size_frames: 1, home: None }],
        max_candidates: 0,
        put_work_limit: 0,
        search_steps: 0,
        protect_percent: 75,
        seed: 0,
    };
    let key = |index| Key { object: 0, index };
    let alloc = Op::Alloc {
        device: 0,
        size_frames: 1,
        way: Way::Policy(Policy::Aged),
        salvage_budget_pages: 0,
        salvage_steps: None,
    };
    let ops =
        [Op::Put(key(1), false), Op::Put(key(2), true), Op::Get(key(1)), Op::Get(key(2)), Op::Put(key(3), true), alloc];
    let more =
        [Op::Put(key(4), true), Op::Get(key(3)), Op::Free(0), Op::Get(key(3)), Op::Put(key(5), false), Op::Get(key(5))];
    run(&config, &[ops, more].concat()).unwrap();
}
