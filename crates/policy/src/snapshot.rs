// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! All that a decision may depend on.

use fovea_apps::{AppName, Classified, Importance, IoClass, Kind, Perceived, Standing};
use serde::{Deserialize, Serialize};

use crate::disk::DiskState;
use crate::memory::MemoryState;
use crate::merge::{AppMerge, MergeState};
use crate::net::{AppNet, NetState};
use crate::tier::{AppTier, TierState};
use crate::Reason;

/// The device at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Monotonic time.
    pub now_ns: u64,
    /// Whether the screen is on.
    pub screen_on: bool,
    /// Whether somebody who lives tells who is in front.
    pub focus_told: bool,
    /// When the screen last came to show something else: an app, or no app any more. `None` if it never has.
    pub focused_ns: Option<u64>,
    /// How many of the times that an app came to the front it was the one left last, thousandths, the latest counting most; `None` if nobody
    /// counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_back_permille: Option<u32>,
    /// Whether the CPUs were more busy than idle of late.
    pub cpu_busy: bool,
    /// Memory.
    pub memory: MemoryState,
    /// The network.
    #[serde(default)]
    pub net: NetState,
    /// CPUs that can run the daemon beside an app; 0 if it is not known.
    #[serde(default)]
    pub cpus: usize,
    /// A victim has been signalled and its memory is not back yet.
    pub kill_pending: bool,
    /// It was only asked to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// The disk.
    #[serde(default)]
    pub disk: DiskState,
    /// Merging.
    #[serde(default)]
    pub merge: MergeState,
    /// Memory of two speeds.
    #[serde(default)]
    pub tier: TierState,
    /// Who grows outside of apps; nobody while memory is not short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outsiders: Vec<Outsider>,
    /// The most that a part of a session occupies: the kernel's OOM killer, going by size, must find more elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub session_bytes: u64,
    /// When somebody outside of apps was last found to leak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaked_ns: Option<u64>,
    /// Apps, in any order.
    pub apps: Vec<AppState>,
}

/// A cgroup that is no app's and grows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outsider {
    /// Cgroup.
    pub cgroup: String,
    /// Since when it has grown without a pause, and by how much.
    pub growing_since_ns: u64,
    /// Compressed memory included.
    pub gained_bytes: u64,
    /// What its largest process occupies, compressed memory included; 0 if the kernel's OOM killer is told to spare that.
    pub killable_bytes: u64,
    /// What it has beyond the least it had since it began or was first read, however slowly or in what steps it came to that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hoarded_bytes: u64,
    /// The session breaks without it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub of_session: bool,
}

/// A victim that was asked to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// App.
    pub app: AppName,
    /// Why.
    pub reason: Reason,
    /// When.
    pub since_ns: u64,
}

/// One app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppState {
    /// Name.
    pub name: AppName,
    /// What it is: an app, a job, a container.
    #[serde(default, skip_serializing_if = "is_app")]
    pub kind: Kind,
    /// Rank now.
    pub importance: Importance,
    /// What the device's owner says of it.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub standing: Standing,
    /// Why it is perceptible though it may not be seen; none if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perceived: Option<Perceived>,
    /// What its I/O needs, and what that is by.
    #[serde(default, skip_serializing_if = "is_default")]
    pub io_class: Classified,
    /// Since when it has that class.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub io_class_since_ns: u64,
    /// When it was last in front, as a count of focus changes; greater is more recent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub focus_seq: u64,
    /// How often it has come to the front.
    #[serde(default)]
    pub uses: u32,
    /// How surely it comes back to the front soon, thousandths, at least 1; none if nobody knows, as of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_permille: Option<u32>,
    /// When it went to the background (or began there).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub background_since_ns: u64,
    /// It was in front or visible at some time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub seen: bool,
    /// A kill of it was in vain a while ago.
    #[serde(default, skip_serializing_if = "is_false", rename = "spared")]
    pub kill_failed: bool,
    /// Frozen by us.
    #[serde(default, skip_serializing_if = "is_false")]
    pub frozen: bool,
    /// Resident anonymous memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub anon_bytes: u64,
    /// Memory charged to it in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub current_bytes: u64,
    /// In swap, uncompressed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swap_bytes: u64,
    /// Resident shared memory charged to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shmem_bytes: u64,
    /// What of that may outlive it, at most.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lasting_bytes: u64,
    /// The kernel's memory that ends with its processes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kernel_bytes: u64,
    /// How fast it has been growing all through the last seconds; 0 if it has not, or nobody knows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub growth_bytes_per_s: u64,
    /// When it began, if that was seen, and nothing speaks against its having grown ever since.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub born_ns: u64,
    /// It has begun anew after it was killed as a runaway.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ran_away: bool,
    /// Since when it has grown without a pause, as far as that was seen. What it gained in front between two stays in the background is
    /// left out, and so is that time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub growing_since_ns: u64,
    /// By how much.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gained_bytes: u64,
    /// What its largest process holds, where all of it has several times as much as anybody else; of what an app has, only what it took
    /// in the background. 0 otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hog_bytes: u64,
    /// Its user is not the one at the screen: whatever that user runs is in the background. Journals of older versions say `away`.
    #[serde(default, skip_serializing_if = "is_false", alias = "away")]
    pub user_absent: bool,
    /// Live processes; 0 if nobody knows.
    #[serde(default)]
    pub processes: u32,
    /// It was compressed and has been in front since.
    #[serde(default, skip_serializing_if = "is_false")]
    pub returned: bool,
    /// All of it has been looked at by compression: what is resident and does compress came back since.
    #[serde(default, skip_serializing_if = "is_false")]
    pub looked_through: bool,
    /// It has come to the screen, and nothing was read back for it yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub returning: bool,
    /// It was compressed and has not been in front since.
    #[serde(default, skip_serializing_if = "is_false")]
    pub all_out: bool,
    /// What its last return touched is known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resume_known: bool,
    /// What its processes' `oom_score_adj` are by; none if they are as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranked: Option<i32>,
    /// The class that the disk was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_class: Option<IoClass>,
    /// What it may have of the disk, bytes a second; none if it is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_limit: Option<u64>,
    /// Every range has been looked at since it was last in front; what is resident does not compress well enough or cannot move.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exhausted: bool,
    /// Its part in the network's traffic; none if nobody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<AppNet>,
    /// Its part in merging; none if it is not registered for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<AppMerge>,
    /// Its part in fast memory; none if there is one kind of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<AppTier>,
}

impl AppState {
    /// An app of which nothing else is known: it holds no memory, and nobody has seen it.
    pub fn new(name: AppName, importance: Importance) -> AppState {
        AppState {
            name,
            kind: Kind::App,
            importance,
            standing: Standing::Plain,
            perceived: None,
            io_class: Classified::default(),
            io_class_since_ns: 0,
            focus_seq: 0,
            uses: 0,
            returns_permille: None,
            background_since_ns: 0,
            seen: false,
            kill_failed: false,
            frozen: false,
            anon_bytes: 0,
            current_bytes: 0,
            swap_bytes: 0,
            shmem_bytes: 0,
            lasting_bytes: 0,
            kernel_bytes: 0,
            growth_bytes_per_s: 0,
            born_ns: 0,
            ran_away: false,
            growing_since_ns: 0,
            gained_bytes: 0,
            hog_bytes: 0,
            user_absent: false,
            processes: 0,
            returned: false,
            looked_through: false,
            returning: false,
            all_out: false,
            resume_known: false,
            ranked: None,
            disk_class: None,
            disk_limit: None,
            exhausted: false,
            net: None,
            merge: None,
            tier: None,
        }
    }

    /// What it has taken, in swap too, but for what may outlive it.
    pub fn taken_bytes(&self) -> u64 {
        let shmem_bytes = self.shmem_bytes.saturating_sub(self.lasting_bytes);
        let resident_bytes = self.anon_bytes.saturating_add(shmem_bytes).saturating_add(self.kernel_bytes);
        resident_bytes.saturating_add(self.swap_bytes)
    }

    /// Whether the user hears or waits for it without seeing it.
    pub fn is_perceptible(&self) -> bool {
        self.perceived.is_some() && self.importance > Importance::Visible
    }

    /// The class whose threshold it dies at: what is perceptible lives as long as anything that is not seen does, and what another user
    /// runs, who is not at the screen, goes as what is closed does.
    pub fn dies_as(&self) -> Importance {
        if self.is_perceptible() {
            Importance::Visible
        } else if self.user_absent {
            Importance::Empty
        } else {
            self.importance
        }
    }
}

// A line of the journal names only what is not as usual.
fn is_false(value: &bool) -> bool {
    !value
}

pub(crate) fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_default(classified: &Classified) -> bool {
    *classified == Classified::default()
}

fn is_app(kind: &Kind) -> bool {
    *kind == Kind::App
}

fn is_plain(standing: &Standing) -> bool {
    *standing == Standing::Plain
}
