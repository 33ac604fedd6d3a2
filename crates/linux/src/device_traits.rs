// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon needs of a device: a trait for each part of the daemon. Every method is one bounded piece of work; none waits for
//! an event.
//!
//! Apps are named by their cgroup: a path below the cgroup v2 mount, without a leading slash. An app that ends while a call works on
//! it is not an error: the call returns what it did ([`CompressOutcome`] with `next: None`, empty usage, and so on). A process is
//! always addressed by a pidfd taken while it was seen in the app's cgroup, so a reused PID is never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use fovea_apps::{
    AppUsage, BufferHolder, CpuReading, DiskControl, Holder, IoClass, Kinship, Marks, MemoryNode, MemoryReading,
    MergeReading, MergeSettings, PoolReading, Preference, ProcessId, Service, SpareReading,
};

use crate::adopt::ProgramTree;
use crate::cgroup::Controller;
use crate::device::{
    CompressCursor, CompressOutcome, DemoteOutcome, KillOutcome, MarkTable, OldScore, Outsiders, PageRange, Ranked,
    StorageSwap, TierSetting, ZramDevice, ZramWish,
};
use crate::{Error, HeldSocket, HoldOutcome, MediaUser, ServiceUser, Traffic};

/// What is read of the device as a whole.
pub trait Meters {
    /// Reads the state of memory.
    fn memory(&mut self) -> Result<MemoryReading, Error>;

    /// Reads the sum of the zones' low watermarks, under which the kernel begins to reclaim; 0 where it does not tell.
    fn low_watermark_bytes(&mut self) -> Result<u64, Error> {
        Ok(0)
    }

    /// Reads what the CPUs did.
    fn cpu(&mut self) -> Result<CpuReading, Error>;

    /// Reads the eCache's pool; `None` on a device without it.
    fn ecache(&mut self) -> Result<Option<PoolReading>, Error> {
        Ok(None)
    }

    /// Reads who holds device buffers; nobody on a device without them.
    fn buffer_holders(&mut self) -> Result<Vec<BufferHolder>, Error> {
        Ok(Vec::new())
    }
}

/// Apps as they are, and what is done to one as a whole.
pub trait Apps {
    /// Reads what an app occupies; all zero once it has ended.
    fn usage(&mut self, cgroup: &str) -> Result<AppUsage, Error>;

    /// Memory charged to an app in all: [`AppUsage::current_bytes`] alone, at a tenth of the cost of [`Apps::usage`].
    fn charge(&mut self, cgroup: &str) -> Result<u64, Error>;

    /// Freezes or thaws an app.
    fn set_frozen(&mut self, cgroup: &str, frozen: bool) -> Result<(), Error>;

    /// Kills every process of an app and frees their memory; works on frozen apps.
    fn kill(&mut self, cgroup: &str) -> Result<KillOutcome, Error>;

    /// Asks every process of an app to end (SIGTERM); returns how many were asked, 0 where nobody can be.
    fn terminate(&mut self, _cgroup: &str) -> Result<u32, Error> {
        Ok(0)
    }

    /// Kills processes of an app and their descendants in its cgroup, and frees their memory; the rest of it lives on.
    fn kill_part(&mut self, cgroup: &str, part: &[ProcessId]) -> Result<KillOutcome, Error>;

    /// Asks processes of an app to end (SIGTERM); the outcome's pidfds tell when they have.
    fn terminate_part(&mut self, _cgroup: &str, _part: &[ProcessId]) -> Result<KillOutcome, Error> {
        Ok(KillOutcome::default())
    }

    /// The name of a process, escaped; empty once it has ended.
    fn process_name(&mut self, _id: ProcessId) -> String {
        String::new()
    }

    /// Kills those that were asked to end in a cgroup ([`Apps::terminate`]), have left it, and
    /// live.
    fn kill_left(&mut self, _cgroup: &str) -> Result<KillOutcome, Error> {
        Ok(KillOutcome::default())
    }

    /// The cgroup a process is in; `None` once it has ended.
    fn cgroup_of_pid(&mut self, pid: u32) -> Result<Option<String>, Error>;

    /// The cgroups above an app, the uppermost first (`""` is the root), that do not pass a controller on.
    fn without_controller(&mut self, _cgroup: &str, _controller: Controller) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// Has a cgroup pass a controller on, or not.
    fn pass_controller_on(&mut self, _cgroup: &str, _controller: Controller, _on: bool) -> Result<(), Error> {
        Ok(())
    }

    /// The unit whose process started the oldest process of a cgroup, if that still runs.
    fn started_by(&mut self, _cgroup: &str) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// The processes of the program that has a window, where it runs in its login's own cgroup; `windows` are all processes
    /// that have one.
    fn program_tree(&mut self, _pid: u32, _windows: &[u32]) -> Result<Option<ProgramTree>, Error> {
        Ok(None)
    }

    /// Moves a program into a cgroup that is made for it; says how many processes were moved.
    fn adopt(&mut self, _tree: &ProgramTree, _to: &str) -> Result<usize, Error> {
        Ok(0)
    }

    /// Moves all that is in such a cgroup back, and removes it.
    fn give_back(&mut self, _cgroup: &str, _to: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Whether this user's systemd runs.
    fn has_user_manager(&mut self, _uid: u32) -> bool {
        false
    }

    /// Whether systemd made the cgroups here.
    fn has_systemd(&mut self) -> bool {
        false
    }

    /// What whoever made a cgroup says of killing it (systemd's `ManagedOOMPreference=`).
    fn preference(&mut self, _cgroup: &str) -> Result<Option<Preference>, Error> {
        Ok(None)
    }

    /// Every unit but those that are known.
    fn others(&mut self, _is_known: &dyn Fn(&str) -> bool) -> Result<Outsiders, Error> {
        Ok(Outsiders::default())
    }

    /// The processes of a cgroup and what each holds; none where that is not known, or they are too many to be read.
    fn holders(&mut self, _cgroup: &str) -> Result<Vec<Holder>, Error> {
        Ok(Vec::new())
    }

    /// The programs of an app's processes, the oldest process first, each path once.
    fn programs(&mut self, _cgroup: &str) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// The processes that use sound and video now, directly or by a server. Who has a video device open is looked for anew only if
    /// `look_for_video`, for that is looked for in all processes.
    fn media_users(&mut self, _look_for_video: bool) -> Result<Vec<MediaUser>, Error> {
        Ok(Vec::new())
    }

    /// The processes that use a service of a table: all processes are looked at.
    fn service_users(&mut self, _table: &[Service]) -> Result<Vec<ServiceUser>, Error> {
        Ok(Vec::new())
    }
}

/// Pages of an app.
pub trait Pages {
    /// Pages out up to `pages` resident, private, anonymous pages of an app, 32 at a time (LowMem13, section 3.3), and only from
    /// ranges of which a sample compresses to under `under_permille` thousandths with the codec of the swap in use.
    /// Scans at most 16 times `pages`.
    fn compress(
        &mut self,
        cgroup: &str,
        cursor: CompressCursor,
        pages: u64,
        under_permille: u32,
    ) -> Result<CompressOutcome, Error>;

    /// The private pages of an app that are resident now, as at most `most` ranges.
    fn resident(&mut self, cgroup: &str, most: usize) -> Result<Vec<PageRange>, Error>;

    /// Reads swapped pages of an app back ahead of its touching them, at most `pages`; returns how many were asked for. Of the ranges
    /// given, or, where it is not known what will be touched, from the main heap on.
    fn prefetch(&mut self, cgroup: &str, ranges: Option<&[PageRange]>, pages: u64) -> Result<u64, Error>;
}

/// What the kernel's OOM killer goes by.
pub trait Scores {
    /// Adds `wanted` to the `oom_score_adj` of an app's processes, by marks; at 0 they get their
    /// own values back. An app that ranks its processes by itself is left as it is.
    fn rank(&mut self, cgroup: &str, wanted: i32, marks: &mut dyn MarkTable) -> Result<Ranked, Error>;

    /// Gives every process of the machine that has a mark its own value back, wherever it is now.
    fn unmark(&mut self, marks: &Marks) -> Result<Ranked, Error>;

    /// Undoes what a version without marks wrote down.
    fn lower_scores(&mut self, _scores: &[OldScore]) -> Result<(), Error> {
        Ok(())
    }
}

/// Settings of the kernel and of modules.
pub trait Settings {
    /// Reads a setting below `/proc/sys`, e.g. "vm/page-cluster".
    fn sysctl(&mut self, name: &str) -> Result<String, Error>;

    /// Writes such a setting.
    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), Error>;

    /// Reads a module's parameter.
    fn parameter(&mut self, module: &str, name: &str) -> Result<String, Error>;

    /// Writes such a parameter.
    fn set_parameter(&mut self, module: &str, name: &str, value: &str) -> Result<(), Error>;
}

/// Compressed swap.
pub trait Swap {
    /// What swap there is beside zram. What cannot be found out of it counts as none on SSDs.
    fn storage_swap(&mut self) -> StorageSwap;

    /// Makes a zram swap. `claimed` is called once the device is known and before anything is done to it, so that its undoing can
    /// be written down first; if it fails, nothing is done.
    fn zram_setup(
        &mut self,
        wish: &ZramWish,
        claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
    ) -> Result<ZramDevice, Error>;

    /// Takes a zram swap of ours away again: swapoff, reset, and remove what was added.
    fn zram_teardown(&mut self, zram: &ZramDevice) -> Result<(), Error>;
}

/// The disk's requests, by whose they are.
pub trait Disks {
    /// By what classes of apps can be made to count. `with_rate`: what the disk can do is known, so limits can be reckoned.
    fn disk_control(&mut self, _with_rate: bool) -> Result<DiskControl, Error> {
        Ok(DiskControl::Absent)
    }

    /// The name by which the kernel knows an app's cgroup as long as it runs; `None` once it has ended.
    fn disk_id(&mut self, _cgroup: &str) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// Tells dm-aciom, by its volumes, the class of a cgroup of that name.
    fn set_disk_class(&mut self, _id: u64, _class: IoClass) -> Result<(), Error> {
        Ok(())
    }

    /// Has it forget one; nothing happens if it does not know it.
    fn forget_disk_class(&mut self, _id: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Tells all volumes what their disk can do, in bytes a second.
    fn set_disk_rate(&mut self, _bytes_per_s: u64) -> Result<(), Error> {
        Ok(())
    }

    /// What an app has read and written so far, by device (`major:minor`).
    fn disk_usage(&mut self, _cgroup: &str) -> Result<Vec<(String, u64)>, Error> {
        Ok(Vec::new())
    }

    /// A setting of an app's I/O (`io.max` of a device, `io.bfq.weight`), as it can be written back; `None` where there is none.
    fn io_setting(&mut self, _cgroup: &str, _file: &str, _device: Option<&str>) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Writes such a setting, and reads it back.
    fn set_io_setting(&mut self, _cgroup: &str, _file: &str, _value: &str) -> Result<(), Error> {
        Ok(())
    }

    /// The files of weights that count on this machine, of those that an app has.
    fn io_weights(&mut self) -> Result<Vec<&'static str>, Error> {
        Ok(Vec::new())
    }
}

/// Memory of several speeds. A device without it has one node, or none.
pub trait Tiers {
    /// The nodes that have memory now; none on a kernel without NUMA.
    fn memory_nodes(&mut self) -> Result<Vec<MemoryNode>, Error> {
        Ok(Vec::new())
    }

    /// An app's pages by node, anonymous and of files; empty once it has ended.
    fn node_bytes(&mut self, _cgroup: &str) -> Result<BTreeMap<u32, u64>, Error> {
        Ok(BTreeMap::new())
    }

    /// The nodes that an app's new pages may go to, as its cgroup has them: empty if that keeps it from none; `None` once it has ended, or where the
    /// controller is not passed on to it.
    fn allowed_nodes(&mut self, _cgroup: &str) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Sets them, or, empty, lets it have all. What is mapped on other nodes is moved before this returns.
    fn set_allowed_nodes(&mut self, _cgroup: &str, _nodes: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Moves up to so many pages of an app off some nodes, those first that were unused longest, and none that was used in the last `unused_ms`.
    fn demote(
        &mut self,
        _cgroup: &str,
        _nodes: &BTreeSet<u32>,
        _pages: u64,
        _unused_ms: u64,
    ) -> Result<DemoteOutcome, Error> {
        Ok(DemoteOutcome::default())
    }

    /// A setting of how the kernel moves pages; `None` where it has none.
    fn tier_setting(&mut self, _setting: TierSetting) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Writes such a setting.
    fn set_tier_setting(&mut self, _setting: TierSetting, _value: &str) -> Result<(), Error> {
        Ok(())
    }
}

/// What comes over the network, and how fast. A device without it has no traffic.
pub trait Net {
    /// Whether there is an interface but the loopback's.
    fn has_network(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    /// What came for apps since the last call; the first has seen nothing come.
    fn traffic(&mut self, _cgroups: &[&str]) -> Result<Traffic, Error> {
        Ok(Traffic::default())
    }

    /// Holds the TCP connections of an app, as the last [`Net::traffic`] found them, to a receive window, each. If there are any that
    /// were not held yet, `claimed` is called with all that will be, as they were before, so that their undoing can be written down first; if it
    /// fails, nothing is done.
    fn hold_windows(
        &mut self,
        _cgroup: &str,
        _window_bytes: u32,
        _claimed: &mut dyn FnMut(&[HeldSocket]) -> io::Result<()>,
    ) -> Result<HoldOutcome, Error> {
        Ok(HoldOutcome::default())
    }

    /// Gives connections of an app the windows they had; those that are closed are passed over.
    fn release_windows(&mut self, _cgroup: &str, _sockets: &[HeldSocket]) -> Result<(), Error> {
        Ok(())
    }

    /// Limits what arrives by UDP for an app: what is above the rate is dropped. None: it receives as it likes. The kernel undoes it when this process
    /// ends. If it fails, no app is limited any more.
    fn limit_udp(&mut self, _cgroup: &str, _rate_bytes_per_s: Option<u64>) -> Result<(), Error> {
        Ok(())
    }

    /// Nobody looks any more: what is kept for the next look is let go.
    fn forget_traffic(&mut self) {}
}

/// Merging of pages that are alike (KSM). A device without it has nothing to read.
pub trait Merging {
    /// Its state; `None` on a kernel without it.
    fn merging(&mut self) -> Result<Option<MergeReading>, Error> {
        Ok(None)
    }

    /// Sets ksmd.
    fn set_merging(&mut self, _settings: &MergeSettings) -> Result<(), Error> {
        Ok(())
    }

    /// The kinship of an app's first process that is registered for merging; `None` if none is.
    fn kinship(&mut self, _cgroup: &str) -> Result<Option<Kinship>, Error> {
        Ok(None)
    }

    /// Whether there is power and time for it.
    fn spare(&mut self) -> Result<SpareReading, Error> {
        Ok(SpareReading::default())
    }
}
