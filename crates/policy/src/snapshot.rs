// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! All that a decision may depend on.

use fovea_apps::{AppName, Importance, Perceived, Standing, ZramReading, PAGE_BYTES};
use serde::{Deserialize, Serialize};

/// The device at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Monotonic time.
    pub now_ns: u64,
    /// Whether the screen is on.
    pub screen_on: bool,
    /// Whether somebody who lives tells who is in front.
    pub focus_told: bool,
    /// When an app last came to the screen; `None` if none has.
    pub focused_ns: Option<u64>,
    /// Whether the CPUs were more busy than idle of late.
    pub cpu_busy: bool,
    /// Memory.
    pub memory: MemoryState,
    /// A victim has been signalled and its memory is not back yet.
    pub kill_pending: bool,
    /// Apps, in any order.
    pub apps: Vec<AppState>,
}

/// Memory, with what changed since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryState {
    /// MemFree.
    pub free_bytes: u64,
    /// MemTotal; 0 if it is not known.
    #[serde(default)]
    pub total_bytes: u64,
    /// MemAvailable.
    #[serde(default)]
    pub available_bytes: u64,
    /// Sum of the zones' low watermarks: what the kernel keeps free by itself. 0 if it is not known.
    #[serde(default)]
    pub low_bytes: u64,
    /// Page cache that can be dropped.
    pub file_bytes: u64,
    /// Swap, if there is any.
    pub swap: Option<SwapState>,
    /// Time some task waited for memory since the last look; the kernel's reclaim thread at work counts.
    pub stalled_us: u64,
    /// The same as a share of that time, percent.
    #[serde(default)]
    pub stall_percent: f64,
    /// Share of the last 10 s in which every task waited, percent.
    pub psi_full_avg10: f64,
    /// Pages read again that had been evicted, per second since the last look.
    pub refaults_per_s: u64,
    /// Nothing tells when memory gets short (a kernel without PSI): it has to be looked at.
    #[serde(default)]
    pub untold: bool,
}

/// Swap as it really is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapState {
    /// What the kernel says is free, in all areas.
    pub free_bytes: u64,
    /// Size of all areas.
    pub total_bytes: u64,
    /// zram's own account; `None` for swap on storage.
    pub zram: Option<ZramReading>,
}

impl MemoryState {
    /// Pages that swap can really still take.
    pub fn room_pages(&self) -> u64 {
        match self.swap {
            None => 0,
            Some(SwapState { zram: Some(zram), free_bytes, .. }) => zram.room_pages().min(free_bytes / PAGE_BYTES),
            Some(SwapState { free_bytes, .. }) => free_bytes / PAGE_BYTES,
        }
    }
}

/// One app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppState {
    /// Name.
    pub name: AppName,
    /// Rank now.
    pub importance: Importance,
    /// What the device's owner says of it.
    #[serde(default)]
    pub standing: Standing,
    /// Why it is perceptible though it may not be seen; none if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perceived: Option<Perceived>,
    /// When it was last in front, as a count of focus changes; greater is more recent.
    pub focus_seq: u64,
    /// When it went to the background (or began there).
    pub background_since_ns: u64,
    /// It was in front or visible at some time.
    pub seen: bool,
    /// A kill of it was in vain a while ago.
    #[serde(default)]
    pub spared: bool,
    /// Frozen by us.
    pub frozen: bool,
    /// Resident anonymous memory.
    pub anon_bytes: u64,
    /// Memory charged to it in all.
    pub current_bytes: u64,
    /// In swap, uncompressed.
    pub swap_bytes: u64,
    /// How fast it has been growing all through the last seconds; 0 if it has not, or nobody knows.
    #[serde(default)]
    pub growth_bytes_per_s: u64,
    /// Live processes; 0 if nobody knows.
    #[serde(default)]
    pub processes: u32,
    /// It was compressed and has been in front since: what is resident is what its return touched, and what does not compress.
    pub returned: bool,
    /// Every range has been looked at since it was last in front; what is resident does not compress well enough or cannot move.
    pub compressed: bool,
}

impl AppState {
    /// An app of which nothing else is known: it holds no memory, and nobody has seen it.
    pub fn new(name: AppName, importance: Importance) -> AppState {
        AppState {
            name,
            importance,
            standing: Standing::Plain,
            perceived: None,
            focus_seq: 0,
            background_since_ns: 0,
            seen: false,
            spared: false,
            frozen: false,
            anon_bytes: 0,
            current_bytes: 0,
            swap_bytes: 0,
            growth_bytes_per_s: 0,
            processes: 0,
            returned: false,
            compressed: false,
        }
    }

    /// Whether the user hears or waits for it without seeing it.
    pub fn is_perceptible(&self) -> bool {
        self.perceived.is_some() && self.importance > Importance::Visible
    }

    /// The class whose threshold it dies at: what is perceptible lives as long as anything that is not seen does.
    pub fn dies_as(&self) -> Importance {
        if self.is_perceptible() {
            Importance::Visible
        } else {
            self.importance
        }
    }
}
