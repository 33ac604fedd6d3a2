// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon says of itself.

use super::*;

impl<D: Device> Engine<D> {
    /// Reads what the apps occupy, to be shown.
    pub(super) fn read_sizes(&mut self, now_ns: u64) {
        for app in self.registry.iter() {
            if let Some(runtime) = self.runtime.get_mut(&app.name) {
                // What cannot be read now is told as it was.
                let _ = observe::read_usage(&mut self.device, &app.cgroup, runtime, true, u64::MAX, now_ns);
            }
        }
    }

    pub(super) fn status(&mut self, now_ns: u64) -> Status {
        self.read_sizes(now_ns);
        self.perceive(now_ns);
        if let Ok(memory) = self.device.memory() {
            // Only shown: the rates of the next decision still count from the last look.
            let (some, file, anon) =
                (self.memory.psi_some_total_us, self.memory.refault_file, self.memory.refault_anon);
            self.memory = MemoryReading { psi_some_total_us: some, refault_file: file, refault_anon: anon, ..memory };
        }
        let apps = self.registry.iter().map(|app| {
            let runtime = self.runtime.get(&app.name);
            AppStatus {
                name: app.name.clone(),
                cgroup: app.cgroup.clone(),
                importance: self.registry.importance(app),
                list: runtime.and_then(|r| r.listed.as_ref()).map(|listed| listed.to_string()),
                perceptible: runtime.and_then(|r| r.perceived),
                frozen: runtime.is_some_and(|r| r.frozen),
                usage: runtime.map(|r| r.usage).unwrap_or_default(),
            }
        });
        Status {
            pid: std::process::id(),
            screen_on: self.screen_on,
            sources: self.sources.values().cloned().collect(),
            focus_told: self.registry.is_told(),
            foreground: self.registry.foreground().cloned(),
            busy: self.busy,
            only_listed: self.only_listed,
            runaways: self.outside.named(now_ns),
            memory: self.memory,
            ecache: self.device.ecache().ok().flatten(),
            kills: self.kills,
            compressed_pages: self.compressed_pages,
            missing: self.missing.clone(),
            apps: apps.collect(),
        }
    }
}
