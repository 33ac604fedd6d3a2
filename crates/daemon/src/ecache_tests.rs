// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The engine and the eCache, on a fake device.

use fovea_client::protocol::{Reply, Request};

use crate::engine_tests::engine_in;
use crate::fake::FakeDevice;
use crate::undo::restore;

#[test]
fn the_ecache_is_read_where_little_memory_is_left_and_only_there() {
    let device = FakeDevice::default();
    let pool = fovea_apps::PoolReading { frames: 100, cached: 40, free: 10, hits: 30, gets: 100, ..Default::default() };
    device.0.borrow_mut().ecache = Some(pool);
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    engine.set_up(0).unwrap();
    let mut second_level = |available_bytes: u64| {
        device.0.borrow_mut().memory.total_bytes = 500 << 20;
        device.0.borrow_mut().memory.available_bytes = available_bytes;
        let request = Request::Simulate { assumed: Default::default() };
        let Reply::Simulation(simulation) = engine.handle(request, 1) else { panic!("no simulation") };
        simulation.memory.second_level
    };
    assert_eq!(second_level(60 << 20), None);
    let serves = fovea_policy::memory::SecondLevel { usable_bytes: 50 * 4096, hit_permille: 300 };
    assert_eq!(second_level(40 << 20), Some(serves));
}

#[test]
fn the_ecaches_settings_are_given_and_come_back() {
    let device = FakeDevice::default();
    let there = [("salvage_pages", "7"), ("zero", "alloc")];
    for (name, value) in there {
        device.0.borrow_mut().parameters.insert(format!("dm_ecache/{name}"), value.into());
    }
    device.0.borrow_mut().ecache = Some(fovea_apps::PoolReading { frames: 23040, ..Default::default() });
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine_in(folder.path(), &device);
    engine.set_up(0).unwrap();
    assert_eq!(device.0.borrow().parameters["dm_ecache/zero"], "lazy");
    assert_eq!(device.0.borrow().parameters["dm_ecache/salvage_pages"], "16384");
    let Reply::Status(status) = engine.handle(Request::status(), 0) else { panic!("no status") };
    assert_eq!(status.ecache.map(|pool| pool.frames), Some(23040));
    drop(engine);
    restore(folder.path(), &mut device.clone()).unwrap();
    for (name, value) in there {
        assert_eq!(device.0.borrow().parameters[&format!("dm_ecache/{name}")], value);
    }
}
