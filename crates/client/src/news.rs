// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! News of kills, for the users whose apps they were: what comes on a socket that anybody may listen on and nobody can say anything on.

use fovea_apps::AppName;
use fovea_policy::Reason;
use serde::{Deserialize, Serialize};

/// Where the socket is, below the run folder.
pub const SOCKET_NAME: &str = "news.sock";

/// The largest packet.
pub const NEWS_MAX_BYTES: usize = 1024;

/// An app was killed, or a process of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Killed {
    /// Its name.
    pub app: AppName,
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
