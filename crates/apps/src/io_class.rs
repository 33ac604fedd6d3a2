// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! I/O class of an app (Aciom11, figure 2).

use serde::{Deserialize, Serialize};

/// What an app's I/O needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoClass {
    /// Misses a deadline that the user notices (video, audio, camera).
    TimeSensitive,
    /// Takes all it can get and can wait (download, backup, indexing).
    Bursty,
    /// Neither.
    Plain,
    /// Time-sensitive in the foreground, bursty in the background.
    ForegroundDependent,
}
