// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the guest reports: one JSON line per event on its second serial port.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DiskUse, Heard, TierUse};

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// CLOCK_MONOTONIC of the guest.
    pub t_ns: u64,
    /// What.
    #[serde(flatten)]
    pub body: EventBody,
}

/// How an app came to the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchKind {
    /// Its first start in this boot.
    Cold,
    /// It was alive.
    Resume,
    /// It ran before, was killed, and had to start again.
    Restart,
}

/// What a phone's CPUs did in a while, by the kernel's account, all of them added up: what eCache12's figure 7 parts a launch into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Programs.
    pub user_ns: u64,
    /// The kernel, its interrupts included.
    pub system_ns: u64,
    /// Nothing, and nobody waited for storage.
    pub idle_ns: u64,
    /// Nothing, since somebody waited for storage.
    pub io_wait_ns: u64,
}

impl CpuTimes {
    /// From `before` to this.
    pub fn since(self, before: CpuTimes) -> CpuTimes {
        CpuTimes {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            idle_ns: self.idle_ns.saturating_sub(before.idle_ns),
            io_wait_ns: self.io_wait_ns.saturating_sub(before.io_wait_ns),
        }
    }
}

/// A device buffer that an app had, or wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferUse {
    /// The device.
    pub device: String,
    /// How much was asked for.
    pub size_bytes: u64,
    /// Time of the one system call that allocates.
    pub alloc_ns: u64,
    /// Time of the first writing of every page, which is when memory that a user may see is cleared.
    pub fill_ns: u64,
    /// Pages that did not hold what the app had written there.
    pub wrong_pages: u64,
    /// Why there was none.
    pub error: Option<String>,
}

/// What fovea-prefetch says of an app's starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartScore {
    /// Its name.
    pub app: String,
    /// What was prefetched at all its starts.
    pub prefetched_bytes: u64,
    /// And not used, by the accuracy of the last start that was observed.
    pub wasted_bytes: u64,
    /// Of what was expected so much was read; none before a start has shown.
    pub accuracy_percent: Option<u64>,
    /// Of what was read so much was expected.
    pub coverage_percent: Option<u64>,
    /// Of what was expected and missing so much was prefetched.
    pub timeliness_percent: Option<u64>,
    /// At the last start, from when it was seen to the first read that was asked for.
    pub first_read_ns: Option<u64>,
}

/// What handing a video's frames from player to decoder to display took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// The step's.
    pub label: String,
    /// Whether buffers stayed mapped.
    pub mapcache: bool,
    /// Frames measured.
    pub frames: u32,
    /// In them: attach, map, unmap and detach by the devices.
    pub devices_ns: u64,
    /// In them: map, first touch and unmap by the player.
    pub player_ns: u64,
    /// Of one such use of a device's: the median of each kind of use (video to decoder, frame to decoder, frame to display).
    pub use_ns: Vec<u64>,
    /// Frames in which the kernel's calls of `iommu_map` were counted.
    pub counted_frames: u32,
    /// These calls.
    pub iommu_maps: u64,
    /// Pages in which a device or the CPU did not find what another had written.
    pub wrong_pages: u64,
    /// Pages looked at for that.
    pub verified_pages: u64,
    /// What `fovea heap list` printed at the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heap_list: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventBody {
    /// The guest is up: what it runs on.
    Ready {
        /// `uname -r`.
        kernel: String,
        /// MemTotal.
        memory_total_bytes: u64,
        /// What apps can have: MemAvailable before the first app, once the flash is filled.
        user_memory_bytes: u64,
    },
    /// A step begins (index into the plan).
    Step {
        /// Index.
        index: usize,
    },
    /// An app came to the screen.
    Launch {
        /// App.
        app: String,
        /// How.
        kind: LaunchKind,
        /// From the user's tap to the app's word that it is ready.
        elapsed_ns: u64,
        /// Read from flash meanwhile.
        read_bytes: u64,
        /// Pages whose content was wrong when all were verified afterwards.
        wrong_pages: u64,
        /// Pages verified.
        verified_pages: u64,
        /// What the CPUs did meanwhile, on phones that say so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu: Option<CpuTimes>,
    },
    /// The user has worked with the app on the screen.
    Used {
        /// App.
        app: String,
        /// Read from flash meanwhile.
        read_bytes: u64,
        /// Pages of its files and device buffers that were wrong.
        wrong_pages: u64,
        /// Pages checked.
        verified_pages: u64,
    },
    /// The user has worked with an app in front of a desktop.
    Interacted {
        /// App.
        app: String,
        /// Time of each interaction, from the input to the app's answer.
        elapsed_ns: Vec<u64>,
        /// Time in which every process of the app's cgroup waited for memory (PSI, full) since the interaction before; for the first,
        /// since it was opened.
        stall_ns: Vec<u64>,
        /// Pages of its files that were wrong.
        wrong_pages: u64,
    },
    /// An app begins to take memory without end.
    Leaking {
        /// App.
        app: String,
    },
    /// A stream and a download are over.
    Traffic {
        /// For how long the picture stood still.
        degraded_ns: u64,
        /// What came of the stream in each second.
        stream_bytes: Vec<u64>,
        /// And of the download.
        bursty_bytes: Vec<u64>,
    },
    /// Device buffers that an app allocated since the last such event.
    Buffers {
        /// App.
        app: String,
        /// In order.
        buffers: Vec<BufferUse>,
    },
    /// The eCache's state: the module's own numbers by name.
    Pool {
        /// "begin", "end", or "open" before an app with device buffers is opened.
        label: String,
        /// Value by name.
        values: BTreeMap<String, u64>,
    },
    /// Pages asked of the eCache by kind of file (`FileKind`).
    FileKinds {
        /// "boot" for all until now, or the app whose launch it was.
        label: String,
        /// Hits and misses by kind.
        kinds: BTreeMap<String, [u64; 2]>,
    },
    /// What was prefetched at apps' starts, at the end.
    Prefetched {
        /// By app.
        starts: Vec<StartScore>,
    },
    /// A video was played.
    Played(Played),
    /// State of memory.
    Sample {
        /// Label given by the plan; "tick" for those taken on the way.
        label: String,
        /// MemFree.
        free_bytes: u64,
        /// MemAvailable.
        available_bytes: u64,
        /// Pages held in swap, uncompressed size.
        swapped_bytes: u64,
        /// Memory zram occupies.
        zram_bytes: u64,
        /// Read from flash since boot.
        read_bytes: u64,
        /// Apps alive.
        alive: u32,
    },
    /// An app's process ended without the plan's doing.
    Killed {
        /// App.
        app: String,
        /// By the kernel's OOM killer.
        oom: bool,
    },
    /// For how long all processes at once have waited for memory since the phone started, by the kernel's account (PSI).
    Stalled {
        /// In all.
        full_ns: u64,
    },
    /// What was written to the flash since the phone started, and what the daemon occupied at most.
    Wrote {
        /// Label given by the plan.
        label: String,
        /// Written.
        written_bytes: u64,
        /// Peaks of the daemon's processes, added up.
        daemon_bytes: u64,
    },
    /// What the phone's CPUs have done since it started.
    Worked(CpuTimes),
    /// What the sound server has played since somebody first did.
    Heard(Heard),
    /// In which pieces memory is free.
    Pieces {
        /// Apps that have been opened until now.
        launches: u32,
        /// How many there are of each order, from single pages on, in all zones.
        free: Vec<u64>,
    },
    /// The state of merging, where that is compared: the kernel's own numbers by name.
    Merging {
        /// Label given by the plan.
        label: String,
        /// Value by name.
        values: BTreeMap<String, u64>,
    },
    /// A line of the daemon's journal, as it stands there.
    Journal {
        /// The line's JSON.
        entry: serde_json::Value,
    },
    /// The daemon over an idle stretch.
    DaemonIdle {
        /// Voluntary and involuntary context switches.
        wakeups: u64,
        /// CPU time.
        cpu_ns: u64,
        /// Highest resident set (VmHWM).
        resident_bytes: u64,
        /// How long was watched.
        watched_ns: u64,
    },
    /// The device after the daemon's violent death.
    AfterKill {
        /// cgroups frozen.
        frozen: u32,
        /// Processes whose oom_score_adj is not what it was.
        adjusted: u32,
        /// Swap areas or zram devices of the daemon's still there.
        zram_left: u32,
        /// Other settings that differ from before the daemon, by name.
        settings: Vec<String>,
    },
    /// Processes frozen though the daemon does not say so.
    FrozenCheck {
        /// How many.
        stray: u32,
    },
    /// What `fovea check --json` says.
    Check {
        /// Its exit code.
        exit_code: i32,
        /// What it printed.
        report: serde_json::Value,
        /// What the daemon's status names as missing.
        daemon_missing: Vec<String>,
    },
    /// Apps have used a slow disk at once.
    DiskLoad {
        /// As the plan has it.
        label: String,
        /// What each did.
        apps: BTreeMap<String, DiskUse>,
        /// dm-aciom's own numbers by name, where it orders the requests.
        volume: BTreeMap<String, u64>,
        /// Apps of which the disk knew a class or limit after the daemon's violent death and `fovea restore`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes_left: Option<u64>,
    },
    /// What became of an outsider's unit and of everybody's `oom_score_adj`; said once the daemon has stopped.
    Outsider {
        /// For how long the user worked beside it.
        watched_ns: u64,
        /// Its leaker has ended.
        leaker_ended: bool,
        /// Siblings of the leaker that ended.
        siblings_lost: u32,
        /// Living processes whose score is not what it would be without the daemon.
        scores_changed: u32,
        /// How many have which score, for people.
        scores: BTreeMap<String, u32>,
        /// Processes that were seen below that score while the daemon ran.
        scores_below: u32,
    },
    /// The state of zram0, which somebody else than the daemon owns.
    OwnedZram {
        /// "set-up", or "end" once the daemon has stopped.
        label: String,
        /// Why the owner could not do what he wanted.
        refused: Option<String>,
        /// The algorithm and the size that it has are those that he chose.
        is_his: bool,
    },
    /// Apps have used fast and slow memory.
    Tier(TierUse),
    /// The guest could not follow the plan.
    Failed {
        /// What was wrong, where.
        error: String,
    },
    /// The plan is done.
    Done {
        /// Kills by the kernel's OOM killer.
        oom_kills: u64,
        /// Kills by the daemon.
        kills: u64,
        /// CPU time of the daemon.
        daemon_cpu_ns: u64,
    },
}
