// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The controller (Aciom11, section 5.2).
//!
//! The paper's is `W(t+1) = W(t) + Kp (Cmax - (sum of the time-sensitive apps' B + H) - sum of the bursty apps' B)`. It adds a rate to a window; what a
//! change of rate takes of window is that times the round trip, so that is what is added here. And the network carries more than the two
//! classes (plain apps, UDP, other users'), so what bursty apps may have is what all else leaves, not what the time-sensitive apps alone do.
//!
//! Two things the paper leaves open. Where it begins: autotuned windows are megabytes, and H in a period would take minutes to bring them down, so the
//! first window is the one that by `rate = W / round trip` gives the room there is. And what is so while the network is full: then no rate
//! says how much too large the windows are, for what is too much waits in a queue. The rate the windows ask for is taken in place of what comes.

use serde::{Deserialize, Serialize};

use super::NetConfig;

/// A segment on Ethernet: a window below one lets a connection through in dribbles.
pub const SEGMENT_BYTES: u64 = 1460;

/// Round trip where none is known, and its limits.
const RTT_UNKNOWN_US: u64 = 100_000;
const RTT_US: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;

/// The largest rate that is believed.
const RATE_MAX: u64 = 1 << 40;

/// What was measured over a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// What the network can bring.
    pub capacity_bytes_per_s: u64,
    /// All that came.
    pub received_bytes_per_s: u64,
    /// Of that, what came for bursty apps by what is controlled here (TCP or UDP),
    pub bursty_bytes_per_s: u64,
    /// and what came for them by the other, where that is controlled too.
    pub other_bytes_per_s: u64,
    /// The part that is kept for the other while it can use it, in thousandths of what both may have.
    pub other_permille: u64,
    /// The shortest round trip of their connections; 0 if nobody knows.
    pub rtt_us: u64,
    /// The bursty apps for which something came, and their connections.
    pub apps: u64,
    /// Connections for which something came; at least one segment is left to each.
    pub flows: u64,
    /// A segment of the connection that has the largest.
    pub segment_bytes: u64,
}

impl Load {
    /// The least that their windows can be together.
    pub fn floor_bytes(&self) -> u64 {
        self.flows.max(1).saturating_mul(segment(self.segment_bytes))
    }
}

/// A segment, where none is known.
pub(super) fn segment(bytes: u64) -> u64 {
    bytes.clamp(SEGMENT_BYTES, 1 << 16)
}

/// One look in so many tries for more than was seen, by half.
const PROBE_LOOKS: u64 = 32;

/// What the network can bring as far as is known, where nobody said: the most that was seen. But while windows are held nobody sees more than they let
/// through, and what is believed would shrink by the headroom each time the old peak is forgotten. So a look now and then lets more through;
/// where there is no more, that much waits in a queue for a period.
pub fn found_capacity(peak_bytes_per_s: u64, now_ns: u64, config: &NetConfig) -> u64 {
    let look = now_ns / config.period_ms.max(1).saturating_mul(1_000_000);
    let probe = if look % PROBE_LOOKS == PROBE_LOOKS - 1 { peak_bytes_per_s / 2 } else { 0 };
    peak_bytes_per_s.saturating_add(probe)
}

/// The window of all bursty connections together for the next period, after `window_bytes`; 0 if there is none yet.
pub fn next_window(window_bytes: u64, load: &Load, config: &NetConfig) -> u64 {
    let capacity = load.capacity_bytes_per_s.min(RATE_MAX);
    let headroom = capacity * config.headroom_permille / 1000;
    let bursty = load.bursty_bytes_per_s.min(RATE_MAX);
    let received = load.received_bytes_per_s.min(RATE_MAX).max(bursty);
    let rtt_us = match load.rtt_us {
        0 => RTT_UNKNOWN_US,
        rtt_us => rtt_us.clamp(*RTT_US.start(), *RTT_US.end()),
    };
    let window_of = |rate: i128| rate * i128::from(rtt_us) / 1_000_000;
    let other = load.other_bytes_per_s.min(received - bursty);
    let both = i128::from(capacity) - i128::from(headroom) - i128::from(received - bursty - other);
    // What the other does not use of its part is to be had; what it takes beyond it is for its own controller to take back.
    let room = both - i128::from(other).min(both.max(0) * i128::from(load.other_permille.min(1000)) / 1000);
    let floor = i128::from(load.floor_bytes());
    // Beyond twice what the round trip says, a window does not bring more: it is another's, or the sender who is slow.
    let most = window_of(2 * room * i128::from(load.apps.max(1))).max(floor);
    let window = i128::from(window_bytes);
    let next = match window_bytes {
        0 => window_of(room),
        _ => {
            let asked = window * 1_000_000 / i128::from(rtt_us);
            let is_full = received > capacity - headroom / 2;
            let current = if is_full { asked.max(i128::from(bursty)) } else { i128::from(bursty) };
            window + window_of(room - current) * i128::from(config.gain_permille) / 1000
        }
    };
    next.clamp(floor, most) as u64
}

/// The rate at which UDP may arrive for all bursty apps together in the next period, after `rate_bytes_per_s`; 0 if there is none yet. No window is
/// offered there, and what is dropped has crossed the link: so the limit is not what they may have, but what makes their senders send that. It is
/// controlled as a window is of which the round trip is a second.
pub fn next_rate(rate_bytes_per_s: u64, load: &Load, config: &NetConfig) -> u64 {
    next_window(rate_bytes_per_s, &Load { rtt_us: *RTT_US.end(), ..*load }, config)
}

/// Of the window of all, each connection's of an app: apps have equal parts (as on the disk, section 4.2), and so have an app's connections. Those
/// for which nothing came have as much as the others, in case they begin.
pub fn flow_window(window_bytes: u64, apps: u64, flows: u64, segment_bytes: u64) -> u64 {
    (window_bytes / apps.max(1) / flows.max(1)).max(segment(segment_bytes))
}
