// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The answer to `fovea simulate`: what the daemon would do now.

use fovea_policy::memory::MemoryState;
use fovea_policy::Plan;
use serde::{Deserialize, Serialize};

/// Memory to assume in place of the measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Assumed {
    /// Free memory. If it is given, a pressure stall is assumed as well.
    pub free_bytes: Option<u64>,
    /// File cache.
    pub file_bytes: Option<u64>,
}

/// What would be done, and what that was decided on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// True if a running daemon answered, from all that it remembers; false if the command read the machine itself.
    pub by_daemon: bool,
    /// Whether a living focus source tells which app is in the foreground.
    pub focus_told: bool,
    /// Memory as it is, or as it is assumed to be.
    pub memory: MemoryState,
    /// How many apps there are.
    pub apps: usize,
    /// Remarks for a person who reads the answer.
    pub notes: Vec<String>,
    /// What would be done.
    pub plan: Plan,
}
