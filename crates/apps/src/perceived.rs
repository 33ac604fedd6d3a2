// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the user hears or waits for of an app that is not in front, by the services that it uses right now.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why an app is perceptible though it may not be seen. The order is the order of certainty: of several, the least is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Perceived {
    /// It has a microphone's stream open.
    RecordsSound,
    /// It has a loudspeaker's stream open.
    PlaysSound,
    /// Its media player says that it plays (MPRIS).
    PlaysMedia,
    /// It has a camera (or a video decoder) open.
    UsesVideo,
    /// It keeps the device from sleeping, going idle or shutting down: what it does is not to be broken off.
    Inhibits,
    /// It is connected to a server of sound or video that has a device running. Whose stream that is only the server knows, so this may
    /// be somebody who is silent.
    UsesServer,
}

impl Perceived {
    /// Android's `oom_score_adj` for what is perceptible: behind what is visible, before services.
    pub const OOM_SCORE_ADJ: i32 = 200;

    /// In words, behind the app's name.
    pub fn in_words(self) -> &'static str {
        match self {
            Perceived::RecordsSound => "records sound",
            Perceived::PlaysSound => "plays sound",
            Perceived::PlaysMedia => "has a media player that plays",
            Perceived::UsesVideo => "uses a camera or video decoder",
            Perceived::Inhibits => "holds an inhibitor",
            Perceived::UsesServer => "uses a sound server that is running",
        }
    }
}

impl fmt::Display for Perceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.in_words())
    }
}

/// Programs that play and record for others, as the kernel names them (15 bytes at most). Who is connected to one uses the service: the
/// place where more services get their rows.
const MEDIA_SERVERS: [&str; 5] = ["jackd", "jackdbus", "pipewire", "pipewire-pulse", "pulseaudio"];

/// Whether a program plays and records for others.
pub fn is_media_server(program: &str) -> bool {
    MEDIA_SERVERS.contains(&program)
}
