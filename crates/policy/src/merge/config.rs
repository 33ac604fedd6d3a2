// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `[merge]`.

use fovea_apps::Pattern;
use serde::{Deserialize, Serialize};

/// Merging of pages that are alike, of apps that are registered for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MergeConfig {
    /// Whether the kernel is ever made to look for them.
    pub enabled: bool,
    /// Whose pages are expected to be alike.
    pub kin: KinBy,
    /// Whether apps of different users can be kin.
    pub across_users: bool,
    /// Apps for which the kernel is not made to look.
    pub exclude: Vec<Pattern>,
    /// Whether merging that somebody else had switched on becomes the daemon's.
    pub take_over: bool,
    /// Share of one CPU that the kernel's thread may take while it looks.
    pub cpu_percent: u64,
    /// The same in the long run, in millionths: after it has looked it rests for so long.
    pub average_ppm: u64,
    /// Time in the background that an app is given to come to rest.
    pub settle_ms: u64,
    /// Newcomers are waited for until none has come for so long: a pass costs the same for one as for ten.
    pub burst_ms: u64,
    /// A further pass must be expected to merge so many of a thousand pages looked at.
    pub yield_permille: u64,
    /// What newcomers must be of all that is looked at.
    pub fresh_percent: u64,
    /// Without newcomers: what of the merged pages must have been written to since.
    pub parted_percent: u64,
    /// The kernel does not look while tasks wait for a CPU for more of the time,
    pub busy_percent: u64,
    /// while a battery is emptied that holds less,
    pub battery_percent: u64,
    /// or while more of what is looked at is the app's in front.
    pub foreground_percent: u64,
}

/// Whose pages are expected to be alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KinBy {
    /// Forked from one process.
    Forked,
    /// Running one executable: those that are forked from one process, and those of one runtime.
    Executable,
    /// Everybody's who is registered.
    Any,
}

impl Default for MergeConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            kin: KinBy::Executable,
            across_users: false,
            exclude: Vec::new(),
            take_over: false,
            cpu_percent: 10,
            average_ppm: 400,
            settle_ms: 5_000,
            burst_ms: 15_000,
            yield_permille: 20,
            fresh_percent: 3,
            parted_percent: 4,
            busy_percent: 30,
            battery_percent: 20,
            foreground_percent: 50,
        }
    }
}

impl MergeConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match () {
            () if !(1..=100).contains(&self.cpu_percent) => Err(("cpu_percent", "must be 1 to 100, of one CPU")),
            () if !(1..=1_000_000).contains(&self.average_ppm) => {
                Err(("average_ppm", "must be 1 to 1000000 (no rest), in millionths of one CPU"))
            }
            () if self.settle_ms > 600_000 => Err(("settle_ms", "must be 0 to 600000")),
            () if self.burst_ms > 600_000 => Err(("burst_ms", "must be 0 to 600000")),
            () if !(1..=1_000).contains(&self.yield_permille) => {
                Err(("yield_permille", "must be 1 to 1000: at 0 the kernel would look for ever"))
            }
            () if !(1..=100).contains(&self.fresh_percent) => Err(("fresh_percent", "must be 1 to 100")),
            () if !(1..=100).contains(&self.parted_percent) => Err(("parted_percent", "must be 1 to 100")),
            () if self.busy_percent > 100 => Err(("busy_percent", "must be 0 (never look) to 100 (always)")),
            () if self.battery_percent > 100 => {
                Err(("battery_percent", "must be 0 (whatever it holds) to 100 (on mains only)"))
            }
            () if self.foreground_percent > 100 => Err(("foreground_percent", "must be 0 to 100 (whatever it has)")),
            () => Ok(()),
        }
    }
}
