// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The self-test (`main.rs`) as the first process of the virtual phone. Skipped, with a word, where QEMU or the kernel is
//! missing.

use std::time::Duration;

use fovea_phone::{Cache, Phone, Result};
use fovea_scenario::Plan;
use fovea_tests::phones::{unless_missing, Ended, Guest, Which};

fn phone() -> Result<Phone> {
    let guest = Guest {
        program: env!("CARGO_BIN_EXE_selftest"),
        modules: &["zram", "dm-mod", "null_blk"],
        own_modules: &[],
        broken: None,
        tools: &[],
    };
    let cache = Cache::open()?;
    guest.phone(&cache, Which::Stock.find(&cache)?)
}

#[test]
fn every_check_on_a_real_kernel_passes() {
    let Some(phone) = unless_missing(phone()) else { return };
    let results = tempfile::tempdir().unwrap();
    let plan = Plan::bare("selftest", 640 << 20, 2);
    Ended::of(&phone, &plan, results.path(), Duration::from_secs(900)).passes(90);
}
