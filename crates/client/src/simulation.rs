// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon would do, as it tells it.

use fovea_policy::memory::MemoryState;
use fovea_policy::Plan;
use serde::{Deserialize, Serialize};

/// What is taken for granted in place of what is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Assumed {
    /// Free memory. Given, somebody waits for memory too.
    pub free_bytes: Option<u64>,
    /// File cache.
    pub file_bytes: Option<u64>,
}

/// What would be done, and on what grounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// A running daemon says so, of what it knows; else somebody who has just looked.
    pub by_daemon: bool,
    /// Whether a living source tells who is in front.
    pub focus_told: bool,
    /// Memory as it is, or as it is assumed to be.
    pub memory: MemoryState,
    /// How many apps there are.
    pub apps: usize,
    /// What else to know.
    pub notes: Vec<String>,
    /// What would be done.
    pub plan: Plan,
}
