// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The seeds that a scenario is run with.

use fovea_report::repeat::MOST_SEEDS;
use serde::Deserialize;

use crate::scenario::Scenario;

/// `seeds` as a file or the command line says it: some, each once, and not too many for a margin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<u64>")]
pub(crate) struct Seeds(pub Vec<u64>);

impl TryFrom<Vec<u64>> for Seeds {
    type Error = String;

    fn try_from(seeds: Vec<u64>) -> Result<Self, String> {
        if seeds.is_empty() {
            return Err("no seed; name some, or leave it out".into());
        }
        if seeds.len() > MOST_SEEDS as usize {
            return Err(format!("{} seeds; name at most {MOST_SEEDS}", seeds.len()));
        }
        match (1..seeds.len()).find(|&at| seeds[..at].contains(&seeds[at])) {
            Some(at) => Err(format!("seed {} stands there twice; name it once", seeds[at])),
            None => Ok(Seeds(seeds)),
        }
    }
}

impl Scenario {
    /// The same with one of its seeds alone.
    pub(crate) fn with_seed(&self, seed: u64) -> Scenario {
        let mut alone = self.clone();
        (alone.seed, alone.seeds) = (seed, vec![seed]);
        alone
    }
}
