// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `[net]`.

use serde::{Deserialize, Serialize};

/// Receive windows: bursty apps' connections are held to what time-sensitive ones leave over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetConfig {
    /// Whether any is held.
    pub enabled: bool,
    /// What the network can bring, headers included; 0: the most that was seen of late, which is too little until somebody has used all of it.
    pub capacity_bytes_per_s: u64,
    /// From one look to the next while somebody is held.
    pub period_ms: u64,
    /// The proportional gain.
    pub gain_permille: u64,
    /// What of the capacity is left free, so that a time-sensitive app finds room to need more.
    pub headroom_permille: u64,
    /// Whether what arrives for them by UDP is limited too: what is above is dropped.
    pub limit_udp: bool,
}

impl Default for NetConfig {
    /// The paper's (Aciom11, 6.3.1), but for the capacity, which it measured.
    fn default() -> Self {
        Self {
            enabled: true,
            capacity_bytes_per_s: 0,
            period_ms: 500,
            gain_permille: 500,
            headroom_permille: 100,
            limit_udp: false,
        }
    }
}

impl NetConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.capacity_bytes_per_s != 0 && !(1_000..=1 << 40).contains(&self.capacity_bytes_per_s) {
            return Err(("capacity_bytes_per_s", "must be 0 (find out), or 1000 to 1099511627776"));
        }
        if !(100..=10_000).contains(&self.period_ms) {
            return Err(("period_ms", "must be 100 to 10000"));
        }
        if !(1..=1_000).contains(&self.gain_permille) {
            return Err(("gain_permille", "must be 1 to 1000: beyond that the windows never come to rest"));
        }
        if !(10..=900).contains(&self.headroom_permille) {
            return Err(("headroom_permille", "must be 10 to 900: without any, nobody sees that the network is full"));
        }
        Ok(())
    }
}
