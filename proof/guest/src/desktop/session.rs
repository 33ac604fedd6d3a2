// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The user's session: apps in scopes of the user's, as a desktop's shell starts them.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use fovea_scenario::{AppProfile, Load};

use crate::outcome::{At, Outcome};
use crate::readings::field_after;
use crate::setup::cgroup_path;
use crate::spawn::{self, Setting, User};
use crate::wire;

use super::outside::Outside;

/// The user's systemd, with all that it starts.
pub const MANAGER: &str = "user.slice/user-1000.slice/user@1000.service";

/// The user. A shell that the user's systemd started has 200 (100 of its own, and 100 for services), and hands that on to apps.
pub const USER: User<'static> = User { id: 1000, environment: &ENVIRONMENT, oom_score_adj: 200 };
const ENVIRONMENT: [&CStr; 2] =
    [c"XDG_RUNTIME_DIR=/run/user/1000", c"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus"];

/// What the shell keeps.
#[derive(Debug, Default)]
pub struct Session {
    /// Apps started: each unit has a name of its own.
    started: u32,
    /// What the app in front has waited for memory until its last interaction, by its cgroup's account.
    pub stalled_ns: u64,
    /// Apps and builds that ended otherwise than by the kernel's OOM killer.
    pub kills: u64,
    /// Who takes memory beside the apps.
    pub outside: Option<Outside>,
}

impl Session {
    /// Starts an app's process as a desktop's shell does: by the user's systemd, in a scope. Its PID, its socket, its cgroup.
    pub fn spawn(&mut self, profile: &AppProfile) -> Outcome<(u32, OwnedFd, String)> {
        self.started += 1;
        let (slice, unit) = match profile.load {
            Some(Load::Build { .. }) => ("background.slice", format!("{}-{}.scope", profile.name, self.started)),
            _ => ("app.slice", format!("app-{}-{}.scope", profile.name, self.started)),
        };
        // A process of the user's systemd's own, which it may move.
        let path = cgroup_path(MANAGER).join("init.scope");
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let (socket, theirs) = wire::pair()?;
        let (slice_arg, unit_arg) = (format!("--slice={slice}"), format!("--unit={unit}"));
        let args = ["systemd-run", "--user", "--scope", "--quiet", "--collect", &slice_arg, &unit_arg, "/init", "app"];
        let setting = Setting { socket: Some(&theirs), user: Some(USER), ..Setting::default() };
        let pid = spawn::exec_into(&cgroup, Path::new("/usr/bin/systemd-run"), &args, setting)?;
        Ok((pid, socket, format!("{MANAGER}/{slice}/{unit}")))
    }
}

/// How long every process of a cgroup has waited for memory at once; nothing if it is gone.
pub fn stalled_ns(cgroup: &str) -> u64 {
    let text = std::fs::read_to_string(cgroup_path(cgroup).join("memory.pressure")).unwrap_or_default();
    field_after(&text, "full ", "total=").unwrap_or(0) * 1000
}
