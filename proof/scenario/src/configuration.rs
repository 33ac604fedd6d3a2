// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is compared: a name and settings.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What one boot of a comparison has that another has not. Whoever sets a boot up goes by the settings; the name is for people and scripts.
/// Each kind of scenario has its own ([`crate::kinds`]): two of a name need not have the same settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    pub(crate) name: Cow<'static, str>,
    /// What the daemon does.
    pub daemon: Daemon,
    /// Whether the kernel has zram.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zram: bool,
    /// What becomes of the memory reserved for devices.
    #[serde(default, skip_serializing_if = "Reservation::is_absent")]
    pub reservation: Reservation,
    /// Who beside the daemon ends apps when memory is short, where somebody does: on a desktop a service, which its systemd starts, else a program,
    /// which the first process starts. Several services are parted by spaces; the first is the one that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Cow<'static, str>>,
    /// What orders the requests of a slow disk beside the flash, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskSetting>,
    /// For how long what was used is kept from reclaim (`lru_gen/min_ttl_ms`), where that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ttl_ms: Option<u32>,
    /// How pages that are alike are merged, where that is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merging: Option<Merging>,
    /// Where there is a network: how what comes waits before it is received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Where there is memory of two kinds: who moves pages between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiering: Option<Tiering>,
    /// Where all of it is on one phone at once: the apps' flash is the disk that is ordered, and the daemon's file says which mechanisms run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combined: Option<Combined>,
    /// Where starts are compared: who reads what an app will want before it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetch: Option<Prefetch>,
}

/// Who reads what an app's start will want before it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetch {
    /// Nobody.
    Nobody,
    /// A program that reads all files of the app from end to end when it is started, as preload does.
    WholeFiles,
    /// All of them were read before it is started: what no prefetching can be better than.
    Beforehand,
    /// fovea-prefetch, at the start.
    AtStart,
    /// The same, and before the start for those that are likely to be next.
    Ahead,
}

impl Prefetch {
    /// Whether fovea-prefetch runs.
    pub fn has_program(self) -> bool {
        matches!(self, Prefetch::AtStart | Prefetch::Ahead)
    }
}

/// What runs beside the memory policy, the eCache and the disk's ordering, where all are on one phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Combined {
    /// The daemon holds receive windows.
    pub net: bool,
    /// The daemon has ksmd merge pages that are alike.
    pub merge: bool,
    /// Device buffers stay mapped.
    pub mapcache: bool,
}

/// Who moves pages between fast and slow memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tiering {
    /// Nobody but who is short of memory: the kernel as it boots.
    Default,
    /// The kernel, by hint faults (`numa_balancing=2`), and reclaim demotes.
    NumaBalancing,
    /// The same, told to look at what apps use as often as the daemon has it look.
    NumaBalancingOften,
    /// DAMON, by schemes.
    Damon,
    /// The daemon, by what the kernel has.
    Managed,
}

/// How pages that are alike are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merging {
    /// When ksmd runs.
    pub ksmd: Ksmd,
    /// Only those are registered for it that come from the zygote; else every app is.
    pub only_kin: bool,
    /// Windows open for kin alone.
    #[serde(default)]
    pub for_kin: bool,
}

/// When the kernel's thread looks for pages that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ksmd {
    /// Never.
    Off,
    /// Always, as the kernel has it.
    Always,
    /// Always; the kernel's advisor says how fast.
    Advisor,
    /// When the daemon says so.
    Windows,
}

/// What orders a disk's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskSetting {
    /// Nothing.
    None,
    /// The kernel's schedulers.
    MqDeadline,
    /// Of Facebook.
    Kyber,
    /// The heir of the paper's CFQ.
    Bfq,
    /// With weights set by hand: a hundred to one for the player.
    BfqWeights,
    /// Nothing, and limits set by hand for what is not the player.
    IoMax,
    /// The daemon, by limits.
    FoveaCgroup,
    /// The daemon, by dm-aciom.
    FoveaDm,
}

impl DiskSetting {
    /// The device's scheduler.
    pub fn scheduler(self) -> &'static str {
        match self {
            DiskSetting::MqDeadline => "mq-deadline",
            DiskSetting::Kyber => "kyber",
            DiskSetting::Bfq | DiskSetting::BfqWeights => "bfq",
            DiskSetting::None | DiskSetting::IoMax | DiskSetting::FoveaCgroup | DiskSetting::FoveaDm => "none",
        }
    }

    /// Whether the daemon sees to it.
    pub fn is_managed(self) -> bool {
        matches!(self, DiskSetting::FoveaCgroup | DiskSetting::FoveaDm)
    }
}

/// How packets wait before they are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// Not at all: they have waited before the link, first come, first served.
    Pfifo,
    /// By fq_codel, behind a limit a little below the link's.
    FqCodel,
    /// By cake, with such a limit.
    Cake,
}

/// What the daemon does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Daemon {
    /// It does not run. That is for desktops: on a phone it is the daemon that plays Android's killer.
    Absent,
    /// It sets swap up, and leaves every app alone.
    Idle,
    /// It sets swap up and tells the kernel's OOM killer who matters, and kills nobody.
    Ranks,
    /// Its kill ladder only; swap, if there is any, is the kernel's to fill.
    Ladder,
    /// Everything.
    Full,
    /// Everything, but it does not look who plays.
    Deaf,
    /// Everything, as it is installed: each key of its file has its default, but for how much memory the machine has.
    AsInstalled,
}

/// What becomes of the memory reserved for devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reservation {
    /// The machine does not have it: nothing in the boot works with devices.
    #[default]
    Absent,
    /// It lies idle until a device allocates.
    Idle,
    /// It caches evicted file pages until a device allocates.
    Ecache,
    /// It is ordinary memory, for good.
    Returned,
    /// It holds movable pages, which are migrated away when a device allocates.
    Migrate,
}

impl Reservation {
    fn is_absent(&self) -> bool {
        *self == Reservation::Absent
    }
}

impl Configuration {
    /// What a kind's own begin with: nobody but the daemon does anything, and the machine has nothing more than memory.
    pub(crate) const fn new(name: &'static str, daemon: Daemon) -> Configuration {
        Configuration::guarded(name, daemon, None)
    }

    /// The same with somebody beside the daemon who ends apps.
    pub(crate) const fn guarded(name: &'static str, daemon: Daemon, guard: Option<&'static str>) -> Configuration {
        let guard = match guard {
            Some(program) => Some(Cow::Borrowed(program)),
            None => None,
        };
        Configuration {
            name: Cow::Borrowed(name),
            daemon,
            zram: false,
            reservation: Reservation::Absent,
            guard,
            disk: None,
            min_ttl_ms: None,
            merging: None,
            queue: None,
            tiering: None,
            combined: None,
            prefetch: None,
        }
    }

    /// The name scripts rely on.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Each guard.
    pub fn guards(&self) -> impl Iterator<Item = &str> {
        self.guard.iter().flat_map(|names| names.split_whitespace())
    }
}
