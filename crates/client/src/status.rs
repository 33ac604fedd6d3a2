// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The state of everything, as the daemon tells it.

use fovea_apps::{AppName, AppUsage, Classified, DiskControl, Importance, Kind, MemoryReading, Perceived, PoolReading};
use serde::{Deserialize, Serialize};

/// What `fovea status --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's PID.
    pub pid: u32,
    /// Whether the screen is on.
    pub screen_on: bool,
    /// Who tells of focus and screen, by name.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether one of them tells who is in front; else nobody is frozen, and nothing compressed ahead.
    #[serde(default)]
    pub focus_told: bool,
    /// App on the screen; where nobody tells, a guess.
    pub foreground: Option<AppName>,
    /// Whether there is work under way or a timer set; false when the daemon sleeps until something happens.
    pub busy: bool,
    /// Memory is short, and nobody but apps on the owner's lists could be killed: the kernel's OOM killer may be next.
    #[serde(default)]
    pub only_listed: bool,
    /// Cgroups of no app that grew fast while memory was short, in the last minute.
    #[serde(default)]
    pub runaways: Vec<String>,
    /// Memory as last read.
    pub memory: MemoryReading,
    /// The eCache's pool; none without the module.
    #[serde(default)]
    pub ecache: Option<PoolReading>,
    /// By what apps' classes count on the disk.
    #[serde(default)]
    pub disk: DiskControl,
    /// Merging of pages that are alike; none if no app is registered for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merging: Option<Merging>,
    /// Memory of two speeds; none where there is one kind, or moving pages is not the daemon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Tiers>,
    /// Kills since the daemon began.
    pub kills: u64,
    /// Pages compressed since the daemon began.
    pub compressed_pages: u64,
    /// What this device lacks, by name.
    pub missing: Vec<String>,
    /// Apps.
    pub apps: Vec<AppStatus>,
}

/// Merging of pages that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merging {
    /// The kernel looks for them now.
    pub looking: bool,
    /// Nobody else has it look.
    pub ours: bool,
    /// Apps that are registered, as far as they have been in the background.
    pub registered_apps: usize,
    /// Memory saved, as the kernel reckons it: what has been written to since it looked counts until it looks again.
    pub saved_bytes: u64,
    /// CPU time of its thread since it booted.
    pub cpu_ns: u64,
}

/// Memory of two speeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiers {
    /// All fast memory.
    pub fast_bytes: u64,
    /// What is free of it above what the kernel keeps, as last looked at.
    pub fast_free_bytes: u64,
    /// Apps whose new pages go to slow memory only.
    pub kept_out: usize,
    /// What the daemon has had moved to slow memory since it began.
    pub demoted_bytes: u64,
}

/// One app in [`Status`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppStatus {
    /// Name.
    pub name: AppName,
    /// What it is: an app, a job, a container.
    #[serde(default)]
    pub kind: Kind,
    /// Cgroup.
    pub cgroup: String,
    /// Rank now.
    pub importance: Importance,
    /// How surely it comes back to the front soon, thousandths; none of a service, and while it is in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_permille: Option<u32>,
    /// The list it is on, and the entry that means it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Why it is perceptible though it may not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perceptible: Option<Perceived>,
    /// What its disk and network traffic needs, and what that is by.
    #[serde(default)]
    pub io_class: Classified,
    /// What each of its TCP connections is held to, so that another app receives in time; 0 if they are not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub receive_window_bytes: u64,
    /// What arrives for it by UDP in a second at most, for the same reason; 0 if that is not limited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub udp_limit_bytes_per_s: u64,
    /// Frozen by the daemon.
    pub frozen: bool,
    /// What it occupies, as last read.
    pub usage: AppUsage,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}
