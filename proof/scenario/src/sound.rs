// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sound as a phone without a sound card has it: a server that takes what a player sends at the rate of a loudspeaker, and plays it to nobody.

use serde::{Deserialize, Serialize};

/// Below it the daemon finds `proc/asound` and `dev/snd` of the sound card that the phone has not got.
pub const MEDIA_ROOT: &str = "/media";

/// Two channels of 48,000 samples a second, 16 bits each.
pub const SOUND_BYTES_PER_S: u64 = 192_000;

/// What a listener would have heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// Music.
    pub played_ns: u64,
    /// Nothing, though it was the player's turn.
    pub silent_ns: u64,
    /// How often the music broke off.
    pub gaps: u64,
    /// For how long at most.
    pub longest_gap_ns: u64,
}
