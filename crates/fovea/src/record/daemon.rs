// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon says of its apps while a recording runs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::time::Duration;

use super::recording::{AppNow, Recording};
use fovea_linux::clock::now_ns;

/// Between two questions: the ranks are that exact. The daemon does not tell by itself.
const PERIOD: Duration = Duration::from_millis(100);

type Update = (u64, Vec<AppNow>);

/// A thread that asks, since an answer may take its time and the kernel's buffers do not wait.
pub struct Apps {
    updates: Receiver<Update>,
    first: Option<Update>,
}

impl Apps {
    /// Asks once, and then again and again; `None` if it could not even begin. Without a daemon there are no apps.
    pub fn watch(run_folder: &Path) -> Option<Apps> {
        let folder = run_folder.to_owned();
        let (tell, updates) = channel();
        let first = Some((0, ask(&folder)));
        std::thread::Builder::new().name("apps".into()).spawn(move || watch(folder, &tell)).ok()?;
        Some(Apps { updates, first })
    }

    /// Passes on what was told meanwhile.
    pub fn tell(&mut self, recording: &mut Recording) {
        for (time_ns, apps) in self.first.take().into_iter().chain(self.updates.try_iter()) {
            recording.apps(time_ns, apps);
        }
    }
}

fn watch(folder: PathBuf, tell: &Sender<Update>) {
    loop {
        std::thread::sleep(PERIOD);
        let time_ns = now_ns();
        if tell.send((time_ns, ask(&folder))).is_err() {
            return;
        }
    }
}

fn ask(folder: &Path) -> Vec<AppNow> {
    let Ok(status) = fovea_client::status(folder, 0, None) else { return Vec::new() };
    let app = |app: fovea_client::AppStatus| AppNow {
        name: app.name.to_string(),
        cgroup: app.cgroup,
        importance: app.importance,
    };
    status.apps.into_iter().map(app).collect()
}
