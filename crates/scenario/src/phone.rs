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
    /// Where the figures come from.
    pub source: String,
}

/// Flash storage, played by null_blk on memory that is added to the machine beside the phone's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Size of the file system that holds the apps' files.
    pub size_bytes: u64,
    /// Time of one request of the device (seed 000, table 8: 1.51 ms for 4 KiB); a longer sequential request costs the same.
    pub request_ns: u64,
}
