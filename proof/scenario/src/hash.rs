// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Seeds from names and numbers. Fixed functions, so that a plan gives the same bytes on every machine and with every compiler.

/// splitmix64 (Steele, Lea and Flood 2014).
#[inline]
pub fn mix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a over a name, mixed.
#[inline]
pub fn name64(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    mix64(hash)
}

/// Seed of an app: of its pages' content and of what it touches.
#[inline]
pub fn app_seed(plan_seed: u64, app: &str) -> u64 {
    mix64(plan_seed ^ name64(app))
}
