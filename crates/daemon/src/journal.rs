// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The journal: one JSON line per decision, with its reason and the readings behind it. What matters in hindsight (kills, starts, what was put
//! back) is kept in a part of its own, which nothing else can push out.

mod folds;

use std::collections::VecDeque;
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

use fovea_client::protocol::{Reply, REPLY_MAX_BYTES};

use crate::regular;
use folds::{Folds, Share};

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
    /// Whose app it is, where that is known by its cgroup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
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
    /// It was decided, and not done. Set when the line is written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_decided: bool,
}

/// Whether a line is kept apart from what is written more often.
fn is_kept(action: &str) -> bool {
    action.starts_with("kill") || matches!(action, "ask" | "victim-gone" | "start" | "reload" | "missing" | PUT_BACK)
}

/// What the supervisor writes when it has undone what a dead worker left.
pub(crate) const PUT_BACK: &str = "put-back";

/// A file that begins anew when it is full, with the one before it beside it.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    file: File,
    written_bytes: u64,
    max_bytes: u64,
}

/// The files.
#[derive(Debug)]
pub struct Journal {
    all: Part,
    kept: Part,
    folds: Folds,
    buffer: Vec<u8>,
    encoder: Encoder,
    unix_ms: fn() -> u64,
    /// Decisions are not carried out.
    only_decides: bool,
}

/// Not for everybody to read, whatever the umask is or was: it says who used which app when.
fn appending(path: &Path) -> std::io::Result<File> {
    let file = regular::open(OpenOptions::new().create(true).append(true).mode(0o640), path)?;
    file.set_permissions(Permissions::from_mode(0o640))?;
    Ok(file)
}

fn time_of_day_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl Journal {
    /// Opens or makes the file.
    pub fn open(path: &Path, max_bytes: u64) -> std::io::Result<Self> {
        Ok(Self {
            all: Part::open(path, max_bytes)?,
            kept: Part::open(&kept_path(path), max_bytes / 4)?,
            folds: Folds::default(),
            buffer: Vec::new(),
            encoder: Encoder::default(),
            unix_ms: time_of_day_ms,
            only_decides: false,
        })
    }

    /// With another clock, for a device whose time is not ours: in milliseconds since 1970.
    pub fn with_time_of_day(self, unix_ms: fn() -> u64) -> Self {
        Self { unix_ms, ..self }
    }

    /// Of a daemon that carries out what it decides, or not.
    pub fn with_acts(self, acts: bool) -> Self {
        Self { only_decides: !acts, ..self }
    }

    /// By what is decided from now on.
    pub fn set_policy(&mut self, policy: fovea_policy::Config) {
        self.encoder.set_policy(policy);
    }

    /// Adds a line. A full disk must not stop the daemon from freeing memory, so a failure is said on stderr and no more. Of an event or a
    /// decision that comes more often than anybody reads, what is beyond its share is counted instead ([`folds`]); a kill never is.
    pub fn write(&mut self, entry: &Entry) {
        for ((action, app), folded) in self.folds.turn(entry.t_ns) {
            let outcome = serde_json::json!({ "folded": folded });
            self.write_line(&Entry { t_ns: entry.t_ns, action, app: app.as_ref(), outcome, ..Entry::default() });
        }
        let share = if entry.snapshot.is_some() { Share::DECISION } else { Share::EVENT };
        if !is_kept(entry.action) && !self.folds.takes(entry.action, entry.app, share) {
            return;
        }
        self.write_line(entry);
    }

    fn write_line(&mut self, entry: &Entry) {
        if self.all.is_full() {
            self.all.rotate();
            self.encoder.restart();
        }
        let only_decided = self.only_decides && entry.snapshot.is_some();
        let mut entry = Entry { unix_ms: (self.unix_ms)(), only_decided, ..entry.clone() };
        if let Some(snapshot) = entry.snapshot {
            let (readings, basis) = self.encoder.encode(snapshot);
            // Who reads of a kill wants to know how short memory was; of a focus, which is one line and several of these, nobody does.
            let has_readings = !matches!(entry.action, "rank" | "thaw");
            (entry.readings, entry.basis) = (readings.or(has_readings.then_some(snapshot.memory)), Some(basis));
        }
        if !self.all.write(&entry, &mut self.buffer) {
            // What the next one leaves out would be in no line.
            self.encoder.restart();
        }
        if is_kept(entry.action) {
            // All that a reader wants; to decide it again takes the other part.
            let readings = entry.readings.or(entry.snapshot.map(|snapshot| snapshot.memory));
            if self.kept.is_full() {
                self.kept.rotate();
            }
            self.kept.write(&Entry { readings, basis: None, ..entry }, &mut self.buffer);
        }
    }

    /// The latest entries that are asked for, oldest first.
    pub fn story(&self, of: &Of, limit: usize) -> std::io::Result<Vec<Value>> {
        Self::story_in(&self.all.path, of, limit)
    }

    /// The same of a journal that somebody else writes. Lines that are not JSON are passed over.
    pub fn story_in(path: &Path, of: &Of, limit: usize) -> std::io::Result<Vec<Value>> {
        let mut entries = VecDeque::new();
        let mut first_ms = None;
        each_line(path, &mut |value| {
            first_ms = first_ms.or_else(|| value["unix_ms"].as_u64());
            add(&mut entries, of, limit, value);
        })?;
        // What was kept from before.
        let mut kept = VecDeque::new();
        each_line(&kept_path(path), &mut |value| {
            if first_ms.is_none_or(|first_ms| value["unix_ms"].as_u64().is_some_and(|ms| ms < first_ms)) {
                add(&mut kept, of, limit, value);
            }
        })?;
        let room = limit.saturating_sub(entries.len());
        kept.drain(..kept.len().saturating_sub(room));
        kept.extend(entries);
        Ok(kept.into())
    }
}

/// Which entries are asked for.
#[derive(Clone, Debug, Default)]
pub struct Of {
    /// Only those of an app.
    pub app: Option<AppName>,
    /// Only those of a user's apps.
    pub uid: Option<u32>,
}

impl Of {
    fn is_of(&self, entry: &Value) -> bool {
        let is_apps = self.app.as_ref().is_none_or(|app| entry["app"] == app.as_str());
        is_apps && self.uid.is_none_or(|uid| entry["uid"] == uid)
    }
}

fn add(entries: &mut VecDeque<Value>, of: &Of, limit: usize, value: Value) {
    if of.is_of(&value) {
        entries.push_back(value);
        if entries.len() > limit {
            entries.pop_front();
        }
    }
}

/// All lines of a part, the older file's first.
fn each_line(path: &Path, take: &mut dyn FnMut(Value)) -> std::io::Result<()> {
    for path in [path.with_extension("old.jsonl"), path.to_owned()] {
        let Ok(file) = File::open(path) else { continue };
        for line in BufReader::new(file).split(b'\n') {
            if let Ok(value) = serde_json::from_slice::<Value>(&line?) {
                take(value);
            }
        }
    }
    Ok(())
}

/// Where the part is that is kept: `journal.kept.jsonl` beside `journal.jsonl`.
fn kept_path(path: &Path) -> PathBuf {
    path.with_extension("kept.jsonl")
}

impl Part {
    fn open(path: &Path, max_bytes: u64) -> std::io::Result<Part> {
        let file = appending(path)?;
        let written_bytes = file.metadata()?.len();
        Ok(Part { path: path.to_owned(), file, written_bytes, max_bytes })
    }

    fn is_full(&self) -> bool {
        self.written_bytes > self.max_bytes
    }

    fn rotate(&mut self) {
        let old = self.path.with_extension("old.jsonl");
        match std::fs::rename(&self.path, old).and_then(|()| appending(&self.path)) {
            Ok(file) => self.file = file,
            Err(e) => say!("fovea: rotating {}: {e}", self.path.display()),
        }
        self.written_bytes = 0;
    }

    fn write(&mut self, entry: &Entry, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        if serde_json::to_writer(&mut *buffer, entry).is_err() {
            return false;
        }
        buffer.push(b'\n');
        match self.file.write_all(buffer) {
            Ok(()) => self.written_bytes += buffer.len() as u64,
            Err(e) => {
                say!("fovea: writing {}: {e}: free some space there", self.path.display());
                return false;
            }
        }
        true
    }
}

/// How many entries a story has.
pub fn at_most(limit: Option<usize>) -> usize {
    limit.unwrap_or(50).min(400)
}

/// A story as a reply.
pub fn story_reply(story: std::io::Result<Vec<Value>>) -> Reply {
    match story {
        Ok(mut entries) => {
            // The latest, as many as a reply holds.
            let mut left = REPLY_MAX_BYTES - 1024;
            let mut fits = |entry: &&Value| {
                let takes = entry.to_string().len() + 1;
                let fits = takes <= left;
                left = left.saturating_sub(takes);
                fits
            };
            let fitting = entries.iter().rev().take_while(|entry| fits(entry)).count();
            entries.drain(..entries.len() - fitting);
            Reply::Story { entries }
        }
        Err(e) => Reply::Error { error: format!("reading the journal: {e}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(app: &AppName) -> Of {
        Of { app: Some(app.clone()), uid: None }
    }

    #[test]
    fn a_users_story_has_no_other_users_apps() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(&folder.path().join("journal.jsonl"), 2000).unwrap();
        let (mail, game): (AppName, AppName) = ("mail".parse().unwrap(), "game".parse().unwrap());
        for t_ns in 0..100 {
            // One name after the other: what one user had, another may have later.
            for (app, uid) in [(&mail, Some(1000)), (&mail, Some(1001)), (&game, Some(1001)), (&game, None)] {
                journal.write(&Entry { t_ns, action: "kill", app: Some(app), uid, ..Entry::default() });
            }
        }
        journal.write(&Entry { t_ns: 100, action: "start", ..Entry::default() });
        let story = |app: Option<&AppName>| journal.story(&Of { app: app.cloned(), uid: Some(1001) }, 9).unwrap();
        assert!(story(None).len() == 9 && story(None).iter().all(|entry| entry["uid"] == 1001));
        assert!(story(Some(&mail)).iter().all(|entry| entry["uid"] == 1001 && entry["app"] == "mail"));
    }

    #[test]
    fn an_apps_story_survives_a_rotation_and_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, 200).unwrap();
        let (mail, game): (AppName, AppName) = ("mail".parse().unwrap(), "game".parse().unwrap());
        for t_ns in 0..4 {
            journal.write(&Entry { t_ns, action: "freeze", app: Some(&mail), ..Entry::default() });
            journal.write(&Entry { t_ns, action: "close", app: Some(&game), ..Entry::default() });
        }
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"torn").unwrap();
        let story = journal.story(&of(&mail), 10).unwrap();
        assert!(story.len() >= 2 && story.iter().all(|e| e["app"] == "mail"));
        assert_eq!(story.last().unwrap()["t_ns"], 3);
        assert!(story[0]["unix_ms"].as_u64().unwrap() > 1_700_000_000_000, "time of day");
        assert_eq!(journal.story(&Of::default(), 3).unwrap().len(), 3);
    }

    /// An app's user can have it be perceptible and not a thousand times a second.
    #[test]
    fn a_kill_is_still_told_after_any_number_of_other_events() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, 20_000).unwrap();
        let names: Vec<AppName> = (0..40).map(|n| format!("app{n}").parse().unwrap()).collect();
        let victim: AppName = "victim".parse().unwrap();
        journal.write(&Entry { t_ns: 1, action: "kill", app: Some(&victim), ..Entry::default() });
        for t_ns in 0..20_000u64 {
            let app = Some(&names[t_ns as usize % 40]);
            // A minute for each 2000, so that folding alone does not keep the kill.
            journal.write(&Entry { t_ns: 2 + t_ns * 30_000_000, action: "perceptible", app, ..Entry::default() });
        }
        // Another minute begins, and what was left out of this one is told.
        journal.write(&Entry { t_ns: 601_000_000_000, action: "focus", app: Some(&names[0]), ..Entry::default() });
        let all = journal.story(&Of::default(), usize::MAX).unwrap();
        assert_eq!(all[0]["app"], "victim", "the first that is told");
        let story = journal.story(&of(&victim), 10).unwrap();
        assert!(story.len() == 1 && story[0]["action"] == "kill", "once, though it stood in both parts");
        // What was left out is counted.
        let perceived = all.iter().filter(|e| e["action"] == "perceptible");
        assert!(perceived.clone().any(|e| e["outcome"]["folded"].as_u64() > Some(0)));
    }

    /// A user who changes windows all the time has two apps ranked, frozen and thawed each time.
    #[test]
    fn decisions_that_repeat_do_not_push_the_others_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, 400_000).unwrap();
        let (mail, flips): (AppName, AppName) = ("mail".parse().unwrap(), "flips".parse().unwrap());
        let snapshot = Snapshot::default();
        let decision = |t_ns, app| Entry {
            t_ns,
            action: "rank",
            app: Some(app),
            reason: Some(Reason::ALL[0]),
            snapshot: Some(&snapshot),
            ..Entry::default()
        };
        journal.write(&decision(1, &mail));
        (0..20_000).for_each(|t_ns| journal.write(&decision(2 + t_ns, &flips)));
        journal.write(&decision(61_000_000_000, &flips));
        assert_eq!(journal.story(&of(&mail), 10).unwrap().len(), 1);
        let story = journal.story(&of(&flips), usize::MAX).unwrap();
        let folded = story.iter().filter_map(|entry| entry["outcome"]["folded"].as_u64()).sum::<u64>();
        assert_eq!(folded as usize + story.len() - 1, 20_001, "each is told or counted");
    }
}
