// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is to be undone if the daemon ends: a log that is written *before* each change, so that a death at any moment leaves
//! nothing changed that the log does not name. Undoing what was not yet done is harmless.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use fovea_apps::MergeSettings;
use fovea_linux::{Controller, HeldSocket, OldScore, TierSetting, ZramDevice};

mod changed;
mod restore;

use changed::{io_key, Line};
pub use changed::{Changed, Setting};
pub use restore::restore;

/// Name of the log in the run folder.
const LOG_NAME: &str = "undo.log";

/// Size at which the log is written anew with only what still stands.
const COMPACT_BYTES: u64 = 64 << 10;

/// The log.
#[derive(Debug)]
pub struct UndoLog {
    path: PathBuf,
    file: File,
    written_bytes: u64,
    changed: Changed,
}

impl UndoLog {
    /// Opens the log of a run folder; what it already names is kept.
    pub fn open(run_folder: &Path) -> std::io::Result<Self> {
        let path = run_folder.join(LOG_NAME);
        let changed = read(&path)?;
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let mut log = Self { path, file, written_bytes: 0, changed };
        log.compact()?;
        Ok(log)
    }

    /// What stands changed.
    pub fn changed(&self) -> &Changed {
        &self.changed
    }

    fn push(&mut self, line: Line) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        // One write: a death leaves the whole line or none.
        self.file.write_all(&text)?;
        self.written_bytes += text.len() as u64;
        self.changed.apply(line);
        if self.written_bytes > COMPACT_BYTES {
            self.compact()?;
        }
        Ok(())
    }

    fn compact(&mut self) -> std::io::Result<()> {
        let fresh = self.path.with_extension("new");
        let mut text = Vec::new();
        for line in self.changed.lines() {
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        std::fs::write(&fresh, &text)?;
        std::fs::rename(&fresh, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.written_bytes = 0;
        Ok(())
    }

    /// A cgroup is about to be frozen.
    pub fn freezing(&mut self, cgroup: &str) -> std::io::Result<()> {
        self.push(Line::Frozen(cgroup.into()))
    }

    /// A cgroup has been thawed.
    pub fn thawed(&mut self, cgroup: &str) -> std::io::Result<()> {
        self.push(Line::Thawed(cgroup.into()))
    }

    /// What a process of a cgroup had before it was changed, if that is known.
    pub fn old_score(&self, cgroup: &str, score: &OldScore) -> Option<i32> {
        let known = self.changed.scores.get(cgroup)?;
        known.iter().find(|k| (k.pid, k.start_ticks) == (score.pid, score.start_ticks)).map(|k| k.oom_score_adj)
    }

    /// Scores as they were; known processes are left out.
    pub fn scores(&mut self, cgroup: &str, scores: Vec<OldScore>) -> std::io::Result<()> {
        let known = self.changed.scores.get(cgroup).map_or(&[][..], Vec::as_slice);
        let fresh: Vec<_> = scores
            .into_iter()
            .filter(|s| !known.iter().any(|k| (k.pid, k.start_ticks) == (s.pid, s.start_ticks)))
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        self.push(Line::Scores(cgroup.into(), fresh))
    }

    /// An app has ended: nothing of it can be undone.
    pub fn ended(&mut self, cgroup: &str) -> std::io::Result<()> {
        let changed = &self.changed;
        let has_settings = changed.io_settings.keys().any(|(of, ..)| of == cgroup);
        if changed.frozen.contains(cgroup)
            || changed.scores.contains_key(cgroup)
            || changed.windows.contains_key(cgroup)
            || changed.kept_out.contains(cgroup)
            || has_settings
        {
            self.push(Line::Ended(cgroup.into()))?;
        }
        Ok(())
    }

    /// All connections of a cgroup of which the windows are held from now on, as they were before.
    pub fn windows(&mut self, cgroup: &str, mut sockets: Vec<HeldSocket>) -> std::io::Result<()> {
        // Of one that could not be released, what it was read as is ours.
        let known = self.changed.windows.get(cgroup).map_or(&[][..], Vec::as_slice);
        let first: HashMap<u64, HeldSocket> = known.iter().map(|socket| (socket.inode, *socket)).collect();
        let mut fresh = Vec::new();
        for socket in &mut sockets {
            match first.get(&socket.inode) {
                Some(first) => (socket.lock, socket.clamp_bytes) = (first.lock, first.clamp_bytes),
                None => fresh.push(*socket),
            }
        }
        // Those that have been closed are left in it until they are half of it: with hundreds held, each that comes would have all written anew.
        let moved = sockets.iter().any(|s| first.get(&s.inode).is_some_and(|k| (k.pid, k.fd) != (s.pid, s.fd)));
        match !known.is_empty() && !moved && known.len() + fresh.len() <= 2 * sockets.len() {
            true if fresh.is_empty() => Ok(()),
            true => self.push(Line::MoreWindows(cgroup.into(), fresh)),
            false => self.push(Line::Windows(cgroup.into(), sockets)),
        }
    }

    /// They have their windows back.
    pub fn windows_released(&mut self, cgroup: &str) -> std::io::Result<()> {
        self.push(Line::WindowsReleased(cgroup.into()))
    }

    /// The kernel's merging is about to be set otherwise than it was; only the first word on it is kept.
    pub fn merging(&mut self, old: &MergeSettings) -> std::io::Result<()> {
        match self.changed.merging.is_some() {
            true => Ok(()),
            false => self.push(Line::Merging(old.clone())),
        }
    }

    /// It is set as it was, or as somebody else wants it.
    pub fn merging_restored(&mut self) -> std::io::Result<()> {
        match self.changed.merging.is_some() {
            true => self.push(Line::MergingRestored),
            false => Ok(()),
        }
    }

    /// A zram device is ours.
    pub fn zram(&mut self, zram: &ZramDevice) -> std::io::Result<()> {
        self.push(Line::Zram(zram.clone()))
    }

    /// None is any more, or it was never set up.
    pub fn zram_gone(&mut self) -> std::io::Result<()> {
        match self.changed.zram.is_some() {
            true => self.push(Line::ZramGone),
            false => Ok(()),
        }
    }

    /// A module's parameter as it was.
    pub fn parameter(&mut self, module: &str, name: &str, old: &str) -> std::io::Result<()> {
        self.push(Line::Parameter(module.into(), name.into(), old.into()))
    }

    /// The disk is about to be told of a cgroup.
    pub fn disk_class(&mut self, cgroup: &str, id: u64) -> std::io::Result<()> {
        match self.changed.disk_classes.get(cgroup) == Some(&id) {
            true => Ok(()),
            false => self.push(Line::DiskClass(cgroup.into(), id)),
        }
    }

    /// The disk has forgotten it.
    pub fn disk_forgotten(&mut self, cgroup: &str) -> std::io::Result<()> {
        self.push(Line::DiskForgotten(cgroup.into()))
    }

    /// A setting of a cgroup's I/O as it was; only the first word on each is kept.
    pub fn io_setting(&mut self, cgroup: &str, file: &str, old: &str) -> std::io::Result<()> {
        match self.changed.io_settings.contains_key(&io_key(cgroup.into(), file.into(), old)) {
            true => Ok(()),
            false => self.push(Line::IoSetting(cgroup.into(), file.into(), old.into())),
        }
    }

    /// Files and values of a cgroup's I/O that there were.
    pub fn io_settings(&self, cgroup: &str) -> Vec<(String, String)> {
        let of = self.changed.io_settings.iter().filter(|((of, ..), _)| of == cgroup);
        of.map(|((_, file, _), old)| (file.clone(), old.clone())).collect()
    }

    /// One is as it was.
    pub fn io_put_back(&mut self, cgroup: &str, file: &str, old: &str) -> std::io::Result<()> {
        self.push(Line::IoPutBack(cgroup.into(), file.into(), old.into()))
    }

    /// A cgroup is about to pass a controller on.
    pub fn passes(&mut self, cgroup: &str, controller: Controller) -> std::io::Result<()> {
        self.push(Line::Passes(cgroup.into(), controller))
    }

    /// How the kernel moved pages between fast and slow memory; only the first word on it is kept.
    pub fn tier_setting(&mut self, setting: TierSetting, old: &str) -> std::io::Result<()> {
        match self.changed.tier_settings.contains_key(&setting) {
            true => Ok(()),
            false => self.push(Line::TierSetting(setting, old.into())),
        }
    }

    /// A cgroup without a rule of its own is about to be kept out of fast memory.
    pub fn kept_out(&mut self, cgroup: &str) -> std::io::Result<()> {
        self.push(Line::KeptOut(cgroup.into()))
    }

    /// It is not any more.
    pub fn let_in(&mut self, cgroup: &str) -> std::io::Result<()> {
        self.push(Line::LetIn(cgroup.into()))
    }

    /// A setting as it was.
    pub fn sysctl(&mut self, name: &str, old: &str) -> std::io::Result<()> {
        self.push(Line::Sysctl(name.into(), old.into()))
    }

    /// What a setting of which this log has the old value reads as now that it was set. Without this line it is put back whatever it reads as.
    pub fn ours(&mut self, setting: Setting, value: &str) -> std::io::Result<()> {
        self.push(Line::Ours(setting, value.into()))
    }
}

/// What the log of a path names; nothing if there is none. A torn last line names a change that was not made yet.
fn read(path: &Path) -> std::io::Result<Changed> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Changed::default()),
        Err(e) => return Err(e),
    };
    let mut changed = Changed::default();
    for line in text.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(line) => changed.apply(line),
            Err(_) => say!("fovea: {}: passing over a line that makes no sense", path.display()),
        }
    }
    Ok(changed)
}
