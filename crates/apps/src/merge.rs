// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel tells of the pages that it merges (KSM), and of whom.

use serde::{Deserialize, Serialize};

/// How ksmd is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeSettings {
    /// 0: it rests, what is merged stays so; 1: it scans; 2: all has been parted again.
    pub run: u64,
    /// Pages it looks at before it sleeps.
    pub pages_to_scan: u64,
    /// How long it sleeps.
    pub sleep_ms: u64,
    /// Who sets `pages_to_scan` in the kernel ("none", "scan-time"); none before Linux 6.8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisor: Option<String>,
}

/// The state of merging. What a kernel does not tell is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeReading {
    /// How ksmd is set.
    pub settings: MergeSettings,
    /// Passes over all memory that is registered.
    pub full_scans: u64,
    /// Pages that others share.
    pub shared_pages: u64,
    /// Pages saved by that.
    pub sharing_pages: u64,
    /// Pages that stood still and are like no other.
    pub unshared_pages: u64,
    /// Pages that have changed since they were last looked at, or were looked at once only.
    pub volatile_pages: u64,
    /// Pages looked at so far; none before Linux 6.6.
    pub scanned_pages: Option<u64>,
    /// Pages passed over unseen so far, since they were like no other time and again (`smart_scan`); 0 before Linux 6.7.
    pub skipped_pages: u64,
    /// Merged pages that were parted again because somebody wrote to them.
    pub parted_pages: u64,
    /// Anonymous pages of all processes: one fewer for each that is merged, one more for each that is parted.
    pub anon_pages: u64,
    /// CPU time of ksmd.
    pub cpu_ns: u64,
}

impl MergeReading {
    /// Pages that ksmd knows.
    pub fn known_pages(&self) -> u64 {
        self.shared_pages + self.sharing_pages + self.unshared_pages + self.volatile_pages
    }
}

/// Whose pages an app's are likely to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kinship {
    /// The user it runs as.
    pub user: u32,
    /// Its executable, by device and inode; for an interpreter that is the runtime.
    pub executable: (u64, u64),
    /// Where its code and stack begin. They are drawn at exec and inherited by fork, so those who have the same are forked from one process,
    /// whoever is their parent now.
    pub layout: (u64, u64),
}

/// Whether there is power and time for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpareReading {
    /// Share of the last 10 s in which some task waited for a CPU, percent; 0 where nobody tells.
    pub cpu_wait_percent: f64,
    /// What the battery that the device runs on holds, percent; none on mains or without one.
    pub battery_percent: Option<u64>,
}
