// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Setting the device up, and a new configuration.

use super::*;

impl<D: Device> Engine<D> {
    /// Takes another configuration's word on what is decided; what was set up at the start (swap, eCache, files) stays as it is until the
    /// next. Returns the sections that would have to wait.
    pub fn reconfigure(&mut self, config: Config, now_ns: u64) -> Vec<&'static str> {
        let old = &self.config;
        let waiting = [
            ("zram", old.zram != config.zram),
            ("ecache", old.ecache != config.ecache),
            ("watch", old.watch != config.watch),
            ("daemon", old.daemon != config.daemon),
        ];
        let waiting: Vec<_> = waiting.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
        self.policy = fovea_policy::Config { memory: config.memory.clone(), freeze: config.freeze.clone() };
        self.config = Config {
            zram: old.zram.clone(),
            ecache: old.ecache.clone(),
            watch: old.watch.clone(),
            daemon: old.daemon.clone(),
            ..config
        };
        self.busy = true;
        self.relist(now_ns);
        self.write(now_ns, "reload", None, None, json!({ "at-the-next-start": waiting }));
        waiting
    }

    /// Sets the device up: compressed swap where there is none.
    pub fn set_up(&mut self, now_ns: u64) -> Result<(), Error> {
        self.memory = self.device.memory()?;
        self.looked_ns = now_ns;
        self.write(now_ns, "start", None, None, json!({ "missing": self.missing }));
        self.set_up_ecache(now_ns);
        if !self.config.zram.enabled {
            return Ok(());
        }
        if let Some(zram) = self.undo.changed().zram.clone() {
            self.write(now_ns, "zram-taken-over", None, None, json!({ "number": zram.number }));
            self.set_sysctl("vm/page-cluster", "0");
            return Ok(());
        }
        if self.memory.zram.is_some() {
            return Ok(());
        }
        let (limit_bytes, disk_bytes) = self.config.zram.sizes(self.memory.total_bytes);
        let wish = fovea_linux::ZramWish {
            algorithm: self.config.zram.algorithm.clone(),
            disk_bytes,
            limit_bytes,
            priority: self.config.zram.priority,
        };
        let undo = &mut self.undo;
        match self.device.zram_setup(&wish, &mut |zram| undo.zram(zram)) {
            Ok(zram) => {
                self.write(now_ns, "zram", None, None, json!({ "device": zram, "limit_bytes": limit_bytes }));
                self.set_sysctl("vm/page-cluster", "0");
                self.memory = self.device.memory()?;
            }
            // A device without zram is served without compression: named, not fatal.
            Err(e) => self.lacks(now_ns, format!("zram: {e}")),
        }
        Ok(())
    }

    /// Gives the eCache's module its settings. A device without it is served without it: `fovea check` names it.
    pub(super) fn set_up_ecache(&mut self, now_ns: u64) {
        if !self.config.ecache.enabled {
            return;
        }
        match self.device.ecache() {
            Ok(None) => {}
            Ok(Some(pool)) => {
                let parameters = self.config.ecache.parameters();
                for (name, value) in &parameters {
                    self.set_sysctl(name, value);
                }
                self.write(now_ns, "ecache", None, None, json!({ "frames": pool.frames, "parameters": parameters }));
            }
            Err(e) => self.lacks(now_ns, format!("ecache: {e}")),
        }
    }

    pub(super) fn lacks(&mut self, now_ns: u64, what: String) {
        say!("fovea: going on without {what}");
        self.write(now_ns, "missing", None, None, json!({ "what": what }));
        self.missing.push(what);
    }

    /// Of swap settings: reading neighbours ahead (page-cluster) is for disks; zram pays for every page read.
    pub(super) fn set_sysctl(&mut self, name: &str, value: &str) {
        let done = self.device.sysctl(name).and_then(|old| {
            if old != value && self.undo.sysctl(name, &old).is_ok() {
                self.device.set_sysctl(name, value)?;
            }
            Ok(())
        });
        if let Err(e) = done {
            say!("fovea: {e}");
        }
    }
}
