// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A boot's steps before its configuration is known, and what they are drawn with. Pure: the seed decides everything that is drawn.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{AppProfile, Step};

/// A parameter that is wrong: its key, and what is wrong with it.
pub(crate) type BadParameter = (&'static str, String);

/// One boot before it is known under which configuration it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// Case.
    pub case: String,
    /// Seed of the boot.
    pub seed: u64,
    /// What to do.
    pub steps: Vec<Step>,
    /// Apps of this script's own, at the paper's size: they come before those of the catalog.
    pub apps: Vec<AppProfile>,
}

/// A generator that depends on the seed and on what is drawn, so that one more draw here changes nothing there.
pub(crate) fn generator(seed: u64, purpose: &str, round: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&round.to_le_bytes());
    for (slot, byte) in key[16..].iter_mut().zip(purpose.bytes()) {
        *slot = byte;
    }
    ChaCha8Rng::from_seed(key)
}

/// Fisher and Yates, with an explicit draw, so that the order does not depend on a library's version.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.gen_range(0..=i));
    }
}

pub(crate) fn open(app: &str) -> Step {
    Step::Open { app: app.into() }
}

pub(crate) fn start(app: &str) -> Step {
    Step::Start { app: app.into() }
}

pub(crate) fn close(app: &str) -> Step {
    Step::Close { app: app.into() }
}

pub(crate) fn sample(label: &str) -> Step {
    Step::Sample { label: label.into() }
}

/// A number that must be in a range.
pub(crate) fn in_range<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<(), BadParameter> {
    if value >= low && value <= high {
        Ok(())
    } else {
        Err((key, format!("{value} is not from {low} to {high}")))
    }
}
