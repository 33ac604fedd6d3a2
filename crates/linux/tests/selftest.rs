// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The self-test (`examples/selftest`) as the first process of the virtual phone. Skipped, with a word, where QEMU or the kernel is
//! missing.

mod common;

use std::time::Duration;

use common::{unless_missing, Ended, Guest, Which};
use fovea_phone::{Cache, Phone, Result};
use fovea_scenario::Plan;

fn phone() -> Result<Phone> {
    let guest = Guest {
        program: "selftest",
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
