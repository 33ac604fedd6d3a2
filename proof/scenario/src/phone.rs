// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Profiles of phones (`profiles/phones/*.toml`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A phone: what the virtual machine is made to look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhoneProfile {
    /// Its name.
    pub name: String,
    /// Memory the phone's data sheet states, reservations included, flash excluded.
    pub memory_bytes: u64,
    /// Memory reserved for devices, by device; taken from `memory_bytes`.
    #[serde(default)]
    pub reserved_bytes: BTreeMap<String, u64>,
    /// CPUs in fast mode; exact mode has one.
    pub cpus: u32,
    /// Its storage.
    pub flash: Flash,
    /// The kernel's transparent huge pages.
    #[serde(default, skip_serializing_if = "is_default")]
    pub huge_pages: HugePages,
    /// What the daemon goes by here.
    #[serde(default, skip_serializing_if = "is_default")]
    pub thresholds: Thresholds,
    /// How much larger apps are here than on the phones of the papers, whose sizes `profiles/apps` has. `lowmem` scales by memory anyway.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub app_scale: f64,
    /// Part of its memory is of another kind than the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Tiers>,
    /// Where the figures come from.
    pub source: String,
}

/// The kernel's `transparent_hugepage=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HugePages {
    /// As on the papers' phones; huge pages would hide the page-wise behaviour that their figures are of.
    #[default]
    Never,
    /// Where a program asks for them.
    Madvise,
    /// Debian's default, which also keeps far more memory free.
    Always,
}

impl HugePages {
    /// As the kernel spells it.
    pub fn name(self) -> &'static str {
        match self {
            HugePages::Never => "never",
            HugePages::Madvise => "madvise",
            HugePages::Always => "always",
        }
    }
}

/// What the daemon's configuration says of thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Thresholds {
    /// Android's six of 2010, and the rest as the papers' figures need it. Their claims are claimed of such phones only.
    #[default]
    Paper,
    /// Nothing: the daemon goes by the device, as on one that people own.
    Device,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> f64 {
    1.0
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

/// Memory of two kinds, each in a NUMA node of its own: the CPUs are in the first, the fast one's. The virtual phone's memory is in truth
/// all the same; the figures are what its firmware tells (HMAT), from which the kernel makes two tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiers {
    /// Slow memory, part of the phone's; whole MiB.
    pub slow_bytes: u64,
    /// The fast kind.
    pub fast: Speed,
    /// The slow kind.
    pub slow: Speed,
}

/// What firmware tells of a kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    /// Of one access.
    pub latency_ns: u64,
    /// In MiB a second.
    pub bandwidth_mib_per_s: u64,
}

/// Flash storage, played by null_blk on memory that is added to the machine beside the phone's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Size of the file system that holds the apps' files.
    pub size_bytes: u64,
    /// Time of one request of the device (eCache12, table 8: 1.51 ms for 4 KiB); a longer sequential request costs the same,
    pub request_ns: u64,
    /// unless this bounds what the device does at once: then what is longer is done in pieces of this size, one after the other, each
    /// of which takes `request_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_bytes: Option<u64>,
}

impl Flash {
    /// What it does in a second if its commands, one after the other, are all of full length; 0 if these are not bounded.
    pub fn rate_bytes(&self) -> u64 {
        self.command_bytes.map_or(0, |bytes| bytes * 1_000_000_000 / self.request_ns.max(1))
    }
}

/// Memory reserved for devices, in one piece (eCache12, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carveout {
    /// Physical address.
    pub address: u64,
    /// Size.
    pub size_bytes: u64,
}

/// Where the carve-out begins: inside a phone's memory, clear of the kernel's image below and of what the firmware and an early kernel
/// put at the upper end, and not filling up the 128 MiB section that it begins in.
const CARVEOUT_ADDRESS: u64 = 256 << 20;

/// What reserved memory must be a multiple of: x86 maps memory in pages of 2 MiB.
const CARVEOUT_ALIGN_BYTES: u64 = 2 << 20;

impl PhoneProfile {
    /// All reserved memory; none if there is none.
    pub fn carveout(&self) -> Option<Carveout> {
        let sum = self.reserved_bytes.values().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
        let size_bytes = sum.checked_next_multiple_of(CARVEOUT_ALIGN_BYTES)?;
        (size_bytes > 0).then_some(Carveout { address: CARVEOUT_ADDRESS, size_bytes })
    }
}
