// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Counts of what the journal tells, each entry once, however often it is read and however often its files begin anew.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an entry is known again by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    t_ns: u64,
    unix_ms: u64,
    action: String,
    app: String,
}

/// The counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Kills, by the reason's name; "" where none is said.
    pub kills: BTreeMap<String, u64>,
    /// All entries, by what was done or happened.
    pub actions: BTreeMap<String, u64>,
    /// Times that more was written than could be read: entries are missing in the counts.
    pub gaps: u64,
    last: Option<Mark>,
}

impl Mark {
    fn of(entry: &Value) -> Mark {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| entry[key].as_u64().unwrap_or_default();
        Mark { t_ns: number("t_ns"), unix_ms: number("unix_ms"), action: text("action"), app: text("app") }
    }
}

impl Tally {
    /// Reads what [`Tally::written`] gave; of a file that is not there, nothing.
    pub fn read(path: &Path) -> Result<Tally, String> {
        match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|e| format!("{}: {e}: remove it, and the counts begin anew", path.display())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Tally::default()),
            Err(e) => Err(format!("{}: {e}: name a file that can be read and written", path.display())),
        }
    }

    /// As JSON.
    pub fn written(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Counts what is new in the journal's end, oldest entry first.
    pub fn take(&mut self, entries: &[Value]) {
        let known = self.last.as_ref().and_then(|last| entries.iter().rposition(|entry| Mark::of(entry) == *last));
        let new = match (known, &self.last) {
            (Some(at), _) => &entries[at + 1..],
            (None, None) => entries,
            (None, Some(last)) => {
                // The device was started anew if its clock was, and then nothing is missing that was ever there.
                let is_anew = entries.last().is_none_or(|latest| Mark::of(latest).t_ns < last.t_ns);
                self.gaps += u64::from(!is_anew);
                entries
            }
        };
        for entry in new {
            let mark = Mark::of(entry);
            if mark.action == "kill" {
                *self.kills.entry(entry["reason"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
            }
            // What repeats too often is folded, and told as a number.
            let count = entry["outcome"]["folded"].as_u64().unwrap_or(1);
            *self.actions.entry(mark.action).or_default() += count;
        }
        self.last = entries.last().map(Mark::of).or(self.last.take());
    }
}
