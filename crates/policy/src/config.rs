// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Knobs of the policies: meaning, unit, default.

use fovea_apps::Importance;
use serde::{Deserialize, Serialize};

use crate::memory::MemoryConfig;

/// All policies' configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The memory ladder.
    pub memory: MemoryConfig,
    /// The freezer.
    pub freeze: FreezeConfig,
}

/// The freezer. Off by default: what an app does in the background, only its user can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FreezeConfig {
    /// Which apps may be frozen; only hidden and empty ones can be.
    pub classes: Vec<Importance>,
    /// Time an app must have been in the background before it is frozen; 0 for never.
    pub debounce_ms: u64,
}

impl Default for FreezeConfig {
    fn default() -> Self {
        Self { classes: Vec::new(), debounce_ms: 10_000 }
    }
}

impl FreezeConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match self.classes.iter().all(|class| matches!(class, Importance::Hidden | Importance::Empty)) {
            true => Ok(()),
            false => {
                Err(("classes", "may name hidden and empty: apps of the other classes work for the user or for others"))
            }
        }
    }
}
