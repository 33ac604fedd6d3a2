// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a device has to treat disk requests by class.

use serde::{Deserialize, Serialize};

/// By what apps' classes count on the disk, the best that there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskControl {
    /// By nothing.
    #[default]
    Absent,
    /// By dm-aciom, which orders each request.
    Volumes,
    /// By cgroup v2's `io.max`: bursty apps have a limit while a time-sensitive one uses the disk.
    Limits,
    /// By cgroup v2's weights: shares, and no deadlines.
    Weights,
}

impl DiskControl {
    /// Whether classes are told as they are.
    pub fn takes_classes(self) -> bool {
        matches!(self, DiskControl::Volumes | DiskControl::Weights)
    }
}
