// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Windows make apps where units do not: a desktop that starts programs in its login's own cgroup has each program with a
//! window moved to a cgroup of its own. The user's systemd does it where it runs, asked by who told of the window.

use fovea_apps::{place_of_cgroup, scope_of_app, AppName, Kind, Place, OWN_SLICE};
use fovea_client::protocol::Reply;
use fovea_linux::{Device, Error, ProgramTree};
use serde_json::json;

use super::Engine;

impl<D: Device> Engine<D> {
    /// Has a program with a window run in a cgroup of its own, where it runs in its login's.
    pub(super) fn adopt(&mut self, pid: u32, windows: &[u32], now_ns: u64) -> Reply {
        match self.adopt_it(pid, windows, now_ns) {
            Ok(reply) => reply,
            Err(error) => Reply::Error { error },
        }
    }

    fn adopt_it(&mut self, pid: u32, windows: &[u32], now_ns: u64) -> Result<Reply, String> {
        let described = |e: Error| e.to_string();
        let config = &self.shared.config.daemon;
        let may_adopt = config.discover && config.windows_make_apps;
        if !may_adopt || !self.is_in_logins_cgroup(pid).map_err(described)? {
            return Ok(Reply::Done {});
        }
        let tree = self.shared.device.program_tree(pid, windows).map_err(described)?;
        let Some(tree) = tree else { return Ok(Reply::Done {}) };
        let name = AppName::of_label(&tree.program);
        if self.shared.device.has_user_manager(tree.uid) {
            return Ok(Reply::Scope { uid: tree.uid, unit: scope_of_app(&name, pid), pids: tree.pids });
        }
        self.move_to_own_slice(&tree, &name, pid, now_ns)?;
        Ok(Reply::Done {})
    }

    /// Whether a process of nobody's that is known runs in the cgroup of a whole login; where no systemd made the cgroups, in
    /// that of whatever started the session.
    fn is_in_logins_cgroup(&mut self, pid: u32) -> Result<bool, Error> {
        // A login is known as a unit, and what it started is to be taken out of it all the same.
        if let Some(name) = self.shared.app_of_pid(pid)? {
            return Ok(self.shared.registry.get(&name).is_some_and(|app| app.kind == Kind::Login));
        }
        let Some(member) = self.shared.device.cgroup_of_pid(pid)? else { return Ok(false) };
        let placed = place_of_cgroup(&member);
        let is_bare = matches!(placed.place, Place::Kernel | Place::System) && !self.shared.device.has_systemd();
        Ok(placed.kind() == Some(Kind::Login) || is_bare)
    }

    fn move_to_own_slice(&mut self, tree: &ProgramTree, name: &AppName, pid: u32, now_ns: u64) -> Result<(), String> {
        let slice = format!("{OWN_SLICE}/user-{}.slice", tree.uid);
        let first = format!("{slice}/{name}");
        let cgroup = if self.shared.registry.at(&first).is_some() { format!("{first}.{pid}") } else { first };
        self.shared.undo.adopting(&cgroup, &tree.cgroup).map_err(|e| format!("writing the undo log: {e}"))?;
        let moved = self.shared.device.adopt(tree, &cgroup).map_err(|e| e.to_string())?;
        let outcome = json!({ "cgroup": cgroup, "from": tree.cgroup, "program": tree.program, "moved": moved });
        self.shared.write(now_ns, "adopt", None, None, outcome);
        self.found(&cgroup, now_ns);
        Ok(())
    }

    /// What has a window may have been made a moment ago: its cgroup's own news may come later.
    pub(super) fn find_those_with_windows<'a>(&mut self, pids: impl Iterator<Item = &'a u32>, now_ns: u64) {
        if !self.shared.config.daemon.discover {
            return;
        }
        for &pid in pids {
            // Whoever looks the process up next says what is wrong.
            let Ok(Some(member)) = self.shared.device.cgroup_of_pid(pid) else { continue };
            let unit = place_of_cgroup(&member).unit;
            if self.shared.registry.at(unit).is_none() {
                self.found(unit, now_ns);
            }
        }
    }
}
