// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! News. Kills come on a socket that anybody may listen on and nobody can say anything on, each for the user whose app it was. All of it comes
//! on a connection of the control socket that follows ([`crate::protocol::Request::Follow`]).

use fovea_apps::AppName;
use fovea_policy::Reason;
use serde::{Deserialize, Serialize};

/// Where the socket is, below the run folder.
pub const SOCKET_NAME: &str = "news.sock";

/// The largest packet: JSON may write each byte of a unit's name as six.
pub const NEWS_MAX_BYTES: usize = 4096;

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "kebab-case")]
pub enum News {
    /// An app was killed, or a process of it.
    Killed(Killed),
    /// It was asked to end, and is killed if it has not when its grace period is over.
    AboutToKill(Killed),
    /// Apps are asked to give memory back, or need not any more.
    Warning {
        /// As [`fovea_policy::memory::Warning::level`] has it; 0 if memory is not short.
        level: u8,
    },
}

/// An app was killed, or a process of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Killed {
    /// Its name.
    pub app: AppName,
    /// Its cgroup's own name: a systemd unit, as a rule.
    #[serde(default)]
    pub unit: String,
    /// Whose it was, where that is known by its cgroup.
    pub uid: Option<u32>,
    /// Why.
    pub reason: Reason,
    /// The process of it that died, with its descendants, while the rest lives on; none where all of it died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// What those who died held, in swap too.
    pub size_bytes: u64,
}
