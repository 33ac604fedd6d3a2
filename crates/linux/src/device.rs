// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The door: everything the daemon reads from and does to a device. [`crate::System`] is the real one; the lab has a simulated one.

use std::os::fd::OwnedFd;

use fovea_apps::Marks;
use serde::{Deserialize, Serialize};

use crate::device_traits::{Apps, Disks, Merging, Meters, Net, Pages, Scores, Settings, Swap, Tiers};

/// Where compression of an app stands; the daemon keeps it between calls and starts anew with `CompressCursor::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressCursor {
    /// Process last worked on; processes are taken in ascending order.
    pub pid: u32,
    /// Address in that process at which to go on.
    pub address: u64,
}

/// Units that are no registered app's, and what each holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outsiders {
    /// Their cgroups, and their anonymous memory, in swap too.
    pub units: Vec<(String, u64)>,
    /// Cgroups that were not looked through, for there are too many.
    pub beyond: Vec<String>,
}

/// Neighbouring pages of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRange {
    /// Process.
    pub pid: u32,
    /// Address of the first page.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
}

/// What one call to [`Pages::compress`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressOutcome {
    /// Pages that left memory (counted afterwards, not merely advised).
    pub swapped_pages: u64,
    /// Resident private pages looked at.
    pub scanned_pages: u64,
    /// Pages left alone because the sample of their range did not compress to under the wanted share.
    pub incompressible_pages: u64,
    /// Compressed size of the sampled pages, in thousandths of their size; 1000 if none was sampled.
    pub sample_permille: u32,
    /// Where to go on; `None` when the app's last range is done.
    pub next: Option<CompressCursor>,
}

/// What [`Apps::kill`] did.
#[derive(Debug, Default)]
pub struct KillOutcome {
    /// Pidfds of some of the processes signalled, 64 at most: readable once that process has ended. None where the kernel has no pidfds.
    pub pidfds: Vec<OwnedFd>,
    /// Monotonic time at which the last of them was signalled.
    pub signalled_ns: u64,
    /// Processes signalled.
    pub signalled: u32,
    /// Processes whose memory `process_mrelease` had freed before the call returned.
    pub released: u32,
}

impl KillOutcome {
    /// Whether the ends of all that were signalled can be waited for.
    pub fn is_all_held(&self) -> bool {
        self.pidfds.len() == self.signalled as usize
    }
}

/// What [`Swap::zram_setup`] should make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZramWish {
    /// Compression algorithm, as the kernel names it; `None` leaves the kernel its own.
    pub algorithm: Option<String>,
    /// What it may hold, uncompressed.
    pub disk_bytes: u64,
    /// Memory it may take.
    pub limit_bytes: u64,
    /// Priority of the swap area.
    pub priority: i32,
}

/// Swap that is no zram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StorageSwap {
    /// Size of all such areas.
    pub size_bytes: u64,
    /// Of those on SSDs alone: on no disk that turns, and on no SD card or eMMC.
    pub ssd_bytes: u64,
    /// Of those with a disk that turns.
    pub rotational_bytes: u64,
    /// zswap is on: what goes to swap is compressed in memory before.
    pub has_zswap: bool,
}

/// A zram device that [`Swap::zram_setup`] made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZramDevice {
    /// Number N of `/dev/zramN`.
    pub number: u32,
    /// Compression algorithm in use.
    pub algorithm: String,
    /// Whether the module was loaded for it.
    pub loaded_module: bool,
    /// Whether the device was added by hot_add for it (and is to be removed), or was there unused (and is to be reset).
    pub hot_added: bool,
}

/// What came of [`Tiers::demote`](crate::device_traits::Tiers::demote).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoteOutcome {
    /// Pages that are not there any more.
    pub pages: u64,
    /// No page was old enough: which are in use was found out instead.
    pub aged: bool,
    /// CPU time that it took.
    pub cpu_ns: u64,
}

/// How the kernel moves pages between fast and slow memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TierSetting {
    /// Whether reclaim moves pages to slow memory before it drops them or writes them to swap.
    Demotion,
    /// How much CPU time of a process passes between two looks at what it uses, at least, in milliseconds.
    ScanPeriod,
    /// ... and at most.
    ScanPeriodMax,
    /// ... and how much it has had before the first of them.
    ScanDelay,
    /// How soon after such a look a page of slow memory must be used to be moved, in milliseconds.
    HotThreshold,
}

/// A device: all of its traits.
pub trait Device: Meters + Apps + Pages + Scores + Settings + Swap + Disks + Net + Merging + Tiers {}

impl<D: Meters + Apps + Pages + Scores + Settings + Swap + Disks + Net + Merging + Tiers> Device for D {}

/// Values of `oom_score_adj` that only the daemon gives: each is written down before it is used.
pub trait MarkTable {
    /// Those there are.
    fn marks(&self) -> &Marks;

    /// The mark of processes that have `base` by themselves and should have `wanted` more; `None`
    /// if there is none, and they are left alone.
    fn mark(&mut self, base: i32, wanted: i32) -> Option<i32>;
}

/// What came of marking processes, or of giving them their own values back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// Writes.
    pub changed: u32,
    /// Processes that were too young to be changed: to be tried again in a second.
    pub young: u32,
    /// Writes that the kernel refused.
    pub refused: u32,
}

/// A process's `oom_score_adj`, as versions before this one wrote it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldScore {
    /// PID.
    pub pid: u32,
    /// Field 22 of /proc/PID/stat: tells a reused PID.
    pub start_ticks: u64,
    /// The value.
    pub oom_score_adj: i32,
}
