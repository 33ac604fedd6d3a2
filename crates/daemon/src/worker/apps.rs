// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps that come and go: whether one may be registered, which are found by their cgroups, and which have ended.

use super::*;

impl<D: Device> Loop<D> {
    /// Checks that an app may be registered in a cgroup. If so, the cgroup is watched from then on,
    /// and no other app's.
    pub(super) fn admit(&mut self, app: &AppName, cgroup: &str) -> Result<(), String> {
        if !is_plain_path(cgroup) {
            return Err(format!(
                "cgroup {cgroup:?} is no path below the cgroup v2 mount: leave out `..` and the leading slash"
            ));
        }
        // Freezing or killing that cgroup would stop the daemon.
        if self.own_cgroup.as_ref().is_some_and(|own| is_within(own, cgroup)) {
            return Err(format!("cgroup {cgroup:?} has the daemon itself in it: give the app a cgroup of its own"));
        }
        if let Some(other) = self.engine.owner_of(cgroup).filter(|other| other != app) {
            // An app that was only found gives way to one that is registered.
            if !self.engine.give_way(&other, now_ns()) {
                return Err(format!("cgroup {cgroup:?} is that of app {other}: give each app a cgroup of its own"));
            }
        }
        let watcher = self.watcher.as_mut().ok_or("cgroup v2 is missing: mount it at /sys/fs/cgroup")?;
        match watcher.app(cgroup) {
            Err(e) => Err(format!("cgroup {cgroup:?}: {e}: register an app once its cgroup is there")),
            Ok(false) => Err(format!("cgroup {cgroup:?} has no process: register an app once it runs")),
            Ok(true) => {
                self.make_way(app, cgroup);
                Ok(())
            }
        }
    }

    /// Frees the name for its new cgroup. An app that was found under that name gets another name;
    /// one that was registered has moved, so its old cgroup is forgotten.
    fn make_way(&mut self, app: &AppName, cgroup: &str) {
        let Some(old) = self.engine.cgroup_of(app).filter(|old| old != cgroup) else { return };
        let found = self.engine.give_way(app, now_ns());
        if let Some(watcher) = self.watcher.as_mut().filter(|_| !found) {
            watcher.forget(&old);
        }
        if found {
            self.renamed.push(old);
        }
    }

    pub(super) fn seen(&mut self, seen: Vec<Seen>) {
        for seen in seen {
            match seen {
                Seen::Ended(cgroup) => {
                    if let Some(app) = self.engine.owner_of(&cgroup) {
                        self.engine.ended(&app, now_ns());
                    }
                    if let Some(watcher) = &mut self.watcher {
                        watcher.forget(&cgroup);
                        watcher.remove(&cgroup);
                    }
                }
                Seen::Appeared(cgroup) => self.found(&cgroup),
            }
        }
    }

    pub(super) fn found(&mut self, cgroup: &str) {
        if self.own_cgroup.as_ref().is_none_or(|own| !is_within(own, cgroup)) {
            self.engine.found(cgroup, now_ns());
        }
    }
}

/// Whether a path is relative to the mount and does not lead out of it.
fn is_plain_path(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}
