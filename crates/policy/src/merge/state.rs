// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is known of merging.

use fovea_apps::{AppName, Kinship};
use serde::{Deserialize, Serialize};

/// Merging as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MergeState {
    /// The kernel merges pages, and nobody else has it do so.
    pub ours: bool,
    /// CPU time of looking at a page, as measured; 0 if it was not yet.
    pub page_cpu_ns: u64,
    /// Pages that are saved,
    pub sharing_pages: u64,
    /// pages known in all,
    pub known_pages: u64,
    /// and merged ones that were written to since the kernel last looked: they are shared no more.
    pub parted_pages: u64,
    /// Memory was short when somebody last came to the background.
    pub memory_short: bool,
    /// Share of the time in which tasks wait for a CPU, percent.
    pub cpu_wait_percent: f64,
    /// What the battery that is being emptied holds, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_percent: Option<u64>,
    /// It is not to look again before that,
    pub rests_until_ns: u64,
    /// for what it took is paid for by then, and it may be in debt for no more than `CREDIT_NS`.
    pub paid_ns: u64,
    /// The kernel was stopped in the middle of a pass: the next one that ends will not have been a whole one.
    pub mid_pass: bool,
    /// The kernel looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// A time in which the kernel looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// For whom it began.
    pub app: AppName,
    /// When.
    pub since_ns: u64,
    /// Somebody was new then; else merged pages had been written to.
    pub newcomers: bool,
    /// Pages that the kernel looks at before it sleeps.
    pub pages: u64,
    /// Passes that have ended since.
    pub passes: u32,
    /// The last one ended with this look: it is to be judged.
    pub passed: bool,
    /// What it merged.
    pub gained_pages: u64,
    /// Pages that have not stood still yet, or were looked at once only.
    pub volatile_pages: u64,
    /// Pages that stood still and are like no other.
    pub unshared_pages: u64,
    /// What its pass is expected to look at, at least.
    pub expected_pages: u64,
    /// Pages looked at since it began to pass over them anew.
    pub scanned_pages: u64,
    /// Pages looked at or passed over unseen since the window opened.
    #[serde(default)]
    pub looked_pages: u64,
    /// Merged pages that had been written to when it opened,
    #[serde(default)]
    pub parted_pages: u64,
    /// and by how many fewer there are pages of apps since.
    #[serde(default)]
    pub regained_pages: u64,
    /// CPU time that it has taken.
    #[serde(default)]
    pub cpu_ns: u64,
}

/// An app's part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppMerge {
    /// Whom it is like.
    pub kin: Kinship,
    /// The kernel has not looked for its pages' like since they came to be.
    pub fresh: bool,
    /// Its memory.
    pub charged_bytes: u64,
}
