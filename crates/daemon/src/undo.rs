// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is to be undone if the daemon ends: a log that is written *before* each change, so that a death at any moment leaves
//! nothing changed that the log does not name. Undoing what was not yet done is harmless.

use std::collections::HashMap;
use std::path::Path;

use fovea_apps::{Marks, MergeSettings};
use fovea_linux::{Controller, HeldSocket, MarkTable, TierSetting, ZramDevice};

mod changed;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod faults;
mod file;
mod restore;

use changed::{io_key, Line};
pub use changed::{Changed, Setting};
use file::LogFile;
pub use restore::restore;

/// Name of the log in the run folder.
const LOG_NAME: &str = "undo.log";

/// Size at which the log is written anew with only what still stands.
const COMPACT_BYTES: u64 = 64 << 10;

/// The log.
#[derive(Debug)]
pub struct UndoLog {
    /// None where nothing is done, so that there is nothing to undo.
    file: Option<LogFile>,
    written_bytes: u64,
    changed: Changed,
    /// The log could not be written anew the last time.
    complained: bool,
}

impl UndoLog {
    /// Opens the log of a run folder; what it already names is kept.
    pub fn open(run_folder: &Path) -> std::io::Result<Self> {
        let path = run_folder.join(LOG_NAME);
        let read = read(&path)?;
        if let Some(e) = read.unread {
            return Err(e);
        }
        let kept = read.keep_senseless(&path)?;
        read.senseless.iter().chain(&kept).for_each(|what| say!("fovea: {what}"));
        let file = LogFile::open(&path)?;
        let unreserved = file.unreserved().map(ToString::to_string);
        let mut log = Self { file: Some(file), written_bytes: 0, changed: read.changed, complained: false };
        if let Some(e) = unreserved {
            say!("fovea: {}: {e}: going on without space reserved for undoing: free some there", path.display());
        }
        log.compact_or_say();
        Ok(log)
    }

    /// The log of a daemon that does nothing: it knows what would stand changed, and writes nothing more down.
    #[must_use]
    pub fn that_writes_nothing(self) -> Self {
        Self { file: None, ..self }
    }

    /// Leaves in a log only what still stands.
    fn keep(path: &Path, left: Changed) -> std::io::Result<()> {
        let file = LogFile::open(path)?;
        Self { file: Some(file), written_bytes: 0, changed: left, complained: false }.compact()
    }

    /// What stands changed.
    pub fn changed(&self) -> &Changed {
        &self.changed
    }

    fn push(&mut self, line: Line) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        if let Some(file) = &mut self.file {
            file.append(&text)?;
            self.written_bytes += text.len() as u64;
        }
        self.changed.apply(line);
        if self.written_bytes > COMPACT_BYTES {
            self.compact_or_say();
        }
        Ok(())
    }

    /// A log that is longer than it need be names what it must all the same.
    fn compact_or_say(&mut self) {
        let compacted = self.compact();
        if let Err(e) = &compacted {
            if !self.complained {
                say!("fovea: writing the undo log anew: {e}: it grows: free some space there");
            }
            // Tried again when as much has been added.
            self.written_bytes = 0;
        }
        self.complained = compacted.is_err();
    }

    fn compact(&mut self) -> std::io::Result<()> {
        let mut text = Vec::new();
        for line in self.changed.lines() {
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        if let Some(file) = &mut self.file {
            file.replace(&text)?;
        }
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

    /// An app has ended: nothing of it can be undone.
    pub fn ended(&mut self, cgroup: &str) -> std::io::Result<()> {
        let changed = &self.changed;
        let has_settings = changed.io_settings.keys().any(|(of, ..)| of == cgroup);
        if changed.frozen.contains(cgroup)
            || changed.scores.contains_key(cgroup)
            || changed.windows.contains_key(cgroup)
            || changed.kept_out.contains(cgroup)
            || changed.adopted.contains_key(cgroup)
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

    /// A program is about to be moved from one cgroup to one of its own.
    pub fn adopting(&mut self, cgroup: &str, from: &str) -> std::io::Result<()> {
        self.push(Line::Adopted(cgroup.into(), from.into()))
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

impl MarkTable for UndoLog {
    fn marks(&self) -> &Marks {
        &self.changed.marks
    }

    fn mark(&mut self, base: i32, wanted: i32) -> Option<i32> {
        if let Some(known) = self.changed.marks.find(base, wanted) {
            return Some(known);
        }
        let mark = self.changed.marks.propose(base, wanted)?;
        match self.push(Line::Mark(mark, base, wanted)) {
            Ok(()) => Some(mark),
            Err(e) => {
                say!("fovea: writing the undo log: {e}: leaving oom_score_adj as it is");
                None
            }
        }
    }
}

/// A log as it was found.
#[derive(Debug, Default)]
struct Read {
    changed: Changed,
    /// Lines that name nothing that can be undone, each as a complaint, and what they are.
    senseless: Vec<String>,
    senseless_lines: Vec<u8>,
    /// Why there is more that could not be read.
    unread: Option<std::io::Error>,
}

impl Read {
    /// Keeps what makes no sense elsewhere, before the log is written anew without it; where, if there is any.
    fn keep_senseless(&self, log: &Path) -> std::io::Result<Option<String>> {
        if self.senseless.is_empty() {
            return Ok(None);
        }
        let kept = file::keep_senseless(log, &self.senseless_lines)?;
        Ok(Some(format!("{}: those lines are kept there: remove it once they are of no use", kept.display())))
    }
}

/// Reads the log of a path and writes nothing. A torn last line names a change that was not made yet.
fn read(path: &Path) -> std::io::Result<Read> {
    let (text, unread) = file::read(path)?;
    Ok(Read { unread, ..parse(&text, path) })
}

fn parse(text: &[u8], path: &Path) -> Read {
    let mut read = Read::default();
    let mut lines = text.split(|&b| b == b'\n').enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(line) => read.changed.apply(line),
            Err(_) if lines.peek().is_none() => {}
            Err(_) => {
                read.senseless_lines.extend(line.iter().chain(b"\n"));
                read.senseless.push(format!(
                    "{}: line {} makes no sense: what it names is not undone",
                    path.display(),
                    at + 1
                ));
            }
        }
    }
    read
}

/// Reads any bytes as a log, for fuzzing: what it says stands must be what its own lines say stands.
pub(crate) fn fuzz(bytes: &[u8]) {
    let path = Path::new("undo.log");
    let read = parse(bytes, path);
    let mut text = Vec::new();
    for line in read.changed.lines() {
        serde_json::to_writer(&mut text, &line).expect("a line of the log is JSON");
        text.push(b'\n');
    }
    let again = parse(&text, path);
    assert!(again.senseless.is_empty() && again.changed == read.changed);
}
