// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is told of the network.

use std::collections::BTreeMap;

/// What came since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// By the busiest interface, for whomever.
    pub received_bytes: u64,
    /// By cgroup: those asked for.
    pub apps: BTreeMap<String, AppTraffic>,
    /// What could not be looked at or held since then, each told once.
    pub complaints: Vec<String>,
}

/// One app's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppTraffic {
    /// By its TCP connections to other machines, with what the network adds.
    pub received_bytes: u64,
    /// Those connections,
    pub flows: u32,
    /// those by which something came,
    pub active_flows: u32,
    /// and those of which the window is not as it was last asked for.
    pub unheld_flows: u32,
    /// The shortest round trip of an active one; 0 if none is known.
    pub rtt_us: u32,
    /// The largest segment.
    pub segment_bytes: u32,
    /// Connected UDP sockets, of which no window can be held: QUIC, calls. Counted at some of the looks.
    pub udp_sockets: u32,
    /// The other UDP sockets: servers, some calls and some of QUIC. Counted as rarely.
    pub unconnected_udp_sockets: u32,
    /// What arrived by UDP while that is limited, with what the network adds,
    pub udp_arrived_bytes: u64,
    /// and what of it was dropped.
    pub udp_dropped_bytes: u64,
}

/// What one call to hold windows did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldOutcome {
    /// Connections that are held to the window now.
    pub held: u32,
    /// Those that are not: in no descriptor of the app's processes, or closed meanwhile.
    pub missed: u32,
}
