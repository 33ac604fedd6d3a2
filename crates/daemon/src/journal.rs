// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The journal: one JSON line per decision, with its reason and the readings behind it.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fovea_apps::AppName;
use fovea_client::journal::{Basis, Encoder};
use fovea_policy::memory::MemoryState;
use fovea_policy::{Reason, Snapshot};
use serde::Serialize;
use serde_json::Value;

use fovea_client::protocol::Reply;

/// One line, as [`fovea_client::journal::Line`] is read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry<'a> {
    /// Monotonic time.
    pub t_ns: u64,
    /// Time of day, in milliseconds since 1970; set when the line is written.
    pub unix_ms: u64,
    /// What was done: "kill", "compress", "freeze", "thaw", "focus", "start", …
    pub action: &'static str,
    /// The app concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<&'a AppName>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The readings the decision rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<MemoryState>,
    /// All that it rests on, if it is a decision's; written as `readings` and `basis`.
    #[serde(skip)]
    pub snapshot: Option<&'a Snapshot>,
    /// Set when the line is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// What came of it.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub outcome: Value,
}

/// The file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    written_bytes: u64,
    max_bytes: u64,
    buffer: Vec<u8>,
    encoder: Encoder,
    unix_ms: fn() -> u64,
}

/// Not for everybody to read, whatever the umask is or was: it says who used which app when.
fn appending(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(0o640).open(path)?;
    file.set_permissions(Permissions::from_mode(0o640))?;
    Ok(file)
}

fn time_of_day_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl Journal {
    /// Opens or makes the file.
    pub fn open(path: &Path, max_bytes: u64) -> std::io::Result<Self> {
        let file = appending(path)?;
        let written_bytes = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            written_bytes,
            max_bytes,
            buffer: Vec::new(),
            encoder: Encoder::default(),
            unix_ms: time_of_day_ms,
        })
    }

    /// With another clock, for a device whose time is not ours: in milliseconds since 1970.
    pub fn with_time_of_day(self, unix_ms: fn() -> u64) -> Self {
        Self { unix_ms, ..self }
    }

    /// By what is decided from now on.
    pub fn set_policy(&mut self, policy: fovea_policy::Config) {
        self.encoder.set_policy(policy);
    }

    /// Adds a line. A full disk must not stop the daemon from freeing memory, so a failure is said on stderr and no more.
    pub fn write(&mut self, entry: &Entry) {
        if self.written_bytes > self.max_bytes {
            self.rotate();
        }
        self.buffer.clear();
        let mut entry = Entry { unix_ms: (self.unix_ms)(), ..entry.clone() };
        if let Some(snapshot) = entry.snapshot {
            let (readings, basis) = self.encoder.encode(snapshot);
            // Who reads of a kill wants to know how short memory was; of a focus, which is one line and several of these, nobody does.
            let told = !matches!(entry.action, "rank" | "thaw");
            (entry.readings, entry.basis) = (readings.or(told.then_some(snapshot.memory)), Some(basis));
        }
        if serde_json::to_writer(&mut self.buffer, &entry).is_err() {
            return;
        }
        self.buffer.push(b'\n');
        match self.file.write_all(&self.buffer) {
            Ok(()) => self.written_bytes += self.buffer.len() as u64,
            Err(e) => {
                // What the next one leaves out would be in no line.
                self.encoder.restart();
                say!("fovea: writing {}: {e}: free some space there", self.path.display());
            }
        }
    }

    fn rotate(&mut self) {
        let old = self.path.with_extension("old.jsonl");
        let fresh = std::fs::rename(&self.path, old).and_then(|()| appending(&self.path));
        match fresh {
            Ok(file) => self.file = file,
            Err(e) => say!("fovea: rotating {}: {e}", self.path.display()),
        }
        self.written_bytes = 0;
        self.encoder.restart();
    }

    /// The latest entries of an app (of all without one), oldest first.
    pub fn story(&self, app: Option<&AppName>, limit: usize) -> std::io::Result<Vec<Value>> {
        Self::story_in(&self.path, app, limit)
    }

    /// The same of a journal that somebody else writes. Lines that are not JSON are passed over.
    pub fn story_in(path: &Path, app: Option<&AppName>, limit: usize) -> std::io::Result<Vec<Value>> {
        let mut entries = std::collections::VecDeque::new();
        for path in [path.with_extension("old.jsonl"), path.to_owned()] {
            let Ok(file) = File::open(path) else { continue };
            for line in BufReader::new(file).lines() {
                let Ok(value) = serde_json::from_str::<Value>(&line?) else { continue };
                if app.is_none_or(|app| value["app"] == app.as_str()) {
                    entries.push_back(value);
                    if entries.len() > limit {
                        entries.pop_front();
                    }
                }
            }
        }
        Ok(entries.into())
    }
}

/// How many entries a story has.
pub fn at_most(limit: Option<usize>) -> usize {
    limit.unwrap_or(50).min(400)
}

/// A story as a reply.
pub fn told(story: std::io::Result<Vec<Value>>) -> Reply {
    match story {
        Ok(entries) => Reply::Story { entries },
        Err(e) => Reply::Error { error: format!("reading the journal: {e}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_apps_story_survives_a_rotation_and_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, 200).unwrap();
        let (mail, game): (AppName, AppName) = ("mail".parse().unwrap(), "game".parse().unwrap());
        for t_ns in 0..4 {
            journal.write(&Entry { t_ns, action: "freeze", app: Some(&mail), ..Entry::default() });
            journal.write(&Entry { t_ns, action: "kill", app: Some(&game), ..Entry::default() });
        }
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"torn").unwrap();
        let story = journal.story(Some(&mail), 10).unwrap();
        assert!(story.len() >= 2 && story.iter().all(|e| e["app"] == "mail"));
        assert_eq!(story.last().unwrap()["t_ns"], 3);
        assert!(story[0]["unix_ms"].as_u64().unwrap() > 1_700_000_000_000, "time of day");
        assert_eq!(journal.story(None, 3).unwrap().len(), 3);
    }
}
