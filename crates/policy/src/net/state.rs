// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is known of the network.

use serde::{Deserialize, Serialize};

/// The network as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetState {
    /// When it was last looked at, while anybody looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_ns: Option<u64>,
    /// Looks one after the other at which nothing came for a time-sensitive app.
    pub idle_looks: u32,
    /// What that look is about; 0 if a decision has been made on it, or there was none before.
    pub period_ns: u64,
    /// What came then, for whomever.
    pub received_bytes_per_s: u64,
    /// The most that came in such a time of late.
    pub peak_bytes_per_s: u64,
    /// The window of all bursty connections together; 0 if none is held.
    pub window_bytes: u64,
    /// The rate at which UDP may arrive for all bursty apps together; 0 if that is not limited.
    pub udp_bytes_per_s: u64,
    /// UDP cannot be limited here.
    pub udp_refused: bool,
    /// When something last came for a time-sensitive app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitive_ns: Option<u64>,
    /// There is no network to look at.
    pub none: bool,
}

/// An app's part in it, as of the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppNet {
    /// What came for it by TCP, headers included.
    pub received_bytes_per_s: u64,
    /// Its TCP connections to other machines,
    pub flows: u32,
    /// those by which something came,
    pub active_flows: u32,
    /// and those that are not held, though they could be.
    pub unheld_flows: u32,
    /// The shortest round trip; 0 if none is known.
    pub rtt_us: u32,
    /// The largest segment.
    pub segment_bytes: u32,
    /// Connected UDP sockets: no window holds them.
    pub udp_sockets: u32,
    /// The other UDP sockets.
    pub unconnected_udp_sockets: u32,
    /// What arrived for it by UDP, headers included, what was dropped too; counted only while it is limited.
    pub udp_arrived_bytes_per_s: u64,
    /// What its UDP is limited to; 0 if it is not.
    pub udp_limit_bytes_per_s: u64,
    /// What each of its connections is held to; 0 if they are not.
    pub window_bytes: u64,
}
