// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an importer reads from and gives its records to.

mod block;
mod sink;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

pub use block::Block;
pub use sink::{Objects, Sink};

use sink::object_record;

use super::{AppRule, CsvOptions, ImportOptions};
use crate::{input::Input, Error, Names, Record, Result};

/// What to do with a record that is earlier than the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Stop there.
    #[default]
    Reject,
    /// Keep the file's order, which is what replay follows.
    Keep,
    /// Sort by time; records of the same time stay in the file's order.
    Sort,
}

/// What was left out and what is not known, counted by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Lines and records that are not in the trace.
    pub dropped: BTreeMap<String, u64>,
    /// Records in the trace whose app is not known.
    pub unattributed: BTreeMap<String, u64>,
    /// Records earlier than the one before them.
    pub backwards: u64,
    /// Where time jumps ahead by [`JUMP_NS`] and more.
    #[serde(default, skip_serializing_if = "Jumps::is_none")]
    pub jumps: Jumps,
}

/// Longer than a phone or a server is left alone: a clock was set, or two recordings were joined.
pub const JUMP_NS: u64 = 6 * 3600 * 1_000_000_000;

/// Jumps of a trace's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jumps {
    /// How many.
    pub count: u64,
    /// The longest one.
    pub longest_ns: u64,
    /// The record behind the longest one, from 1.
    pub record: u64,
}

impl Jumps {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Looks at a record, numbered from 1, and the time of the one before it.
    pub fn look(&mut self, record: u64, before_ns: u64, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(before_ns);
        if record > 1 && gap_ns >= JUMP_NS {
            self.count += 1;
            if gap_ns > self.longest_ns {
                (self.longest_ns, self.record) = (gap_ns, record);
            }
        }
    }

    /// A warning in words.
    pub fn warning(&self) -> Option<String> {
        (self.count > 0).then(|| {
            let longest_s = self.longest_ns / 1_000_000_000;
            format!(
                "time jumps {} times by 6 h and more, by {longest_s} s before record {}: a clock was set or recordings were joined, so rates and pauses mean nothing there",
                self.count, self.record
            )
        })
    }
}

impl Tally {
    fn count(counts: &mut BTreeMap<String, u64>, kind: &str) {
        match counts.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                counts.insert(kind.to_owned(), 1);
            }
        }
    }

    /// The counts in words; empty if there is nothing to tell.
    pub fn summary(&self) -> String {
        let dropped = self.dropped.iter().map(|(kind, count)| format!("dropped {count} {kind}"));
        let unattributed = self.unattributed.iter().map(|(kind, count)| format!("no app for {count} ({kind})"));
        let backwards = (self.backwards > 0).then(|| format!("{} earlier than the record before", self.backwards));
        dropped.chain(unattributed).chain(backwards).collect::<Vec<_>>().join(", ")
    }
}

/// A file being imported: lines or records in, trace records out.
pub struct Source<'a> {
    input: Input,
    line: Vec<u8>,
    names: Names,
    nobody: Arc<str>,
    order: Order,
    skip_bad: bool,
    last_ns: u64,
    records: u64,
    tally: Tally,
    understood: Option<String>,
    sink: &'a mut dyn Sink,
    /// Columns of a csv file.
    pub csv: CsvOptions,
    /// Which event of blkparse's is the request.
    pub blkparse_action: char,
    apps: Vec<AppRule>,
    whole_requests: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(input: Input, options: &ImportOptions, sink: &'a mut dyn Sink) -> Self {
        Source {
            input,
            line: Vec::new(),
            names: Names::default(),
            nobody: "".into(),
            order: options.order,
            skip_bad: options.skip_bad,
            last_ns: 0,
            records: 0,
            tally: Tally::default(),
            understood: None,
            sink,
            csv: options.csv.clone(),
            blkparse_action: options.blkparse_action.unwrap_or('Q'),
            apps: options.apps.clone(),
            whole_requests: options.whole_requests,
        }
    }

    pub(super) fn finish(self) -> (u64, Tally, Option<String>) {
        (self.records, self.tally, self.understood)
    }

    /// What the file was understood as, in words, where the format alone does not say it.
    pub fn understood(&mut self, words: String) {
        self.understood = Some(words);
    }

    /// Whole lines of what comes next; see [`Input::lines`].
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn lines(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        self.input.lines(buffer)
    }

    /// One more line of those is looked at.
    ///
    /// # Errors
    /// If it is too long for one.
    pub fn took_line(&mut self, length: usize) -> Result<()> {
        self.input.took_line(length)
    }

    /// The next line, owned by the caller until it is given back with the next call.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn line(&mut self) -> Result<Option<String>> {
        Ok(self.input.line(&mut self.line)?.map(Cow::into_owned))
    }

    /// The next record of `N` bytes. A record cut short at the end of the file is a bad one.
    ///
    /// # Errors
    /// If the file cannot be read, or is cut short and bad records are not skipped.
    pub fn record<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        match self.input.record() {
            Err(Error::Content { what, .. }) if self.skip_bad && what.starts_with("truncated") => {
                self.drop("truncated records");
                Ok(None)
            }
            other => other,
        }
    }

    /// What comes next, without taking it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn peek(&mut self, limit: usize) -> Result<Vec<u8>> {
        self.input.peek(limit)
    }

    /// The app of a thread that the trace calls so, in its shared form.
    pub fn app(&mut self, name: &str) -> Arc<str> {
        self.names.share(AppRule::app_of(&self.apps, name))
    }

    /// The name of no app; counts why it is not known.
    pub fn nobody(&mut self, why: &str) -> Arc<str> {
        Tally::count(&mut self.tally.unattributed, why);
        self.nobody.clone()
    }

    /// Counts something that is left out.
    pub fn drop(&mut self, kind: &str) {
        Tally::count(&mut self.tally.dropped, kind);
    }

    /// The line delivered last is bad: stops, or counts it.
    ///
    /// # Errors
    /// Unless bad records are skipped.
    pub fn bad_line(&mut self, what: &str, mend: &str) -> Result<()> {
        self.reject(self.input.bad(what, &format!("{mend}, or leave bad lines out with --skip-bad")))
    }

    /// The record delivered last is bad: stops, or counts it.
    ///
    /// # Errors
    /// Unless bad records are skipped.
    pub fn bad_record(&mut self, what: &str, mend: &str) -> Result<()> {
        self.reject(self.input.bad(what, &format!("{mend}, or leave bad records out with --skip-bad")))
    }

    fn reject(&mut self, error: Error) -> Result<()> {
        if !self.skip_bad {
            return Err(error);
        }
        self.drop("bad records");
        Ok(())
    }

    /// The whole file is wrong, as seen at the record delivered last.
    pub fn wrong_file(&self, what: &str, mend: &str) -> Error {
        self.input.bad(what, mend)
    }

    /// Gives a record to the trace.
    ///
    /// # Errors
    /// If time goes back and that is to be refused, or the trace cannot be written.
    pub fn emit(&mut self, record: Record) -> Result<()> {
        if record.time_ns < self.last_ns {
            self.tally.backwards += 1;
            if self.order == Order::Reject {
                let back = (self.last_ns - record.time_ns) as f64 / 1e9;
                return Err(self.input.bad(
                    &format!("time goes back by {back} s"),
                    "import with --order sort, or --order keep for the file's order",
                ));
            }
        }
        self.records += 1;
        self.tally.jumps.look(self.records, self.last_ns, record.time_ns);
        self.last_ns = record.time_ns;
        self.sink.record(record)
    }

    /// Gives a request for an object to the trace.
    ///
    /// # Errors
    /// As [`Source::emit`].
    pub fn emit_object(&mut self, time_ns: u64, space: &str, object: u64, size_bytes: u64) -> Result<()> {
        self.emit_request(time_ns, space, object, size_bytes, false)
    }

    /// The same for a request that may write.
    ///
    /// # Errors
    /// As [`Source::emit`].
    pub fn emit_request(&mut self, time_ns: u64, space: &str, object: u64, size_bytes: u64, write: bool) -> Result<()> {
        let space = self.names.share(space);
        self.emit(Record { write, ..object_record(time_ns, self.nobody.clone(), space, object, size_bytes) })
    }

    /// Gives a request for a part of an object to the trace.
    ///
    /// # Errors
    /// As [`Source::emit`].
    pub fn emit_part(&mut self, block: Block<'_>, object: u64) -> Result<()> {
        let space = self.names.share(block.disk);
        let app = self.nobody.clone();
        let Block { time_ns, op, offset_bytes, length_bytes, write, sync, .. } = block;
        let importance = None;
        let record = Record {
            time_ns,
            app,
            importance,
            op,
            space,
            object,
            offset_bytes,
            length_bytes,
            write,
            sync,
            size_bytes: None,
        };
        self.emit(record)
    }

    /// The records of `length` bytes that need no waiting for; may be none although there is one, which [`Source::record`] takes.
    pub fn records_at_hand(&mut self, length: usize) -> &[u8] {
        self.input.records_at_hand(length)
    }

    /// The time of the last record, if there was one.
    pub fn last_ns(&self) -> Option<u64> {
        (self.records > 0).then_some(self.last_ns)
    }

    /// Gives the trace requests for objects that were decoded of the records of `length` bytes at hand, one of each. Time must neither go
    /// back among them nor jump; such records, and the first of a file, go through [`Source::emit`].
    ///
    /// # Errors
    /// If the trace cannot be written.
    pub fn emit_objects(
        &mut self,
        space: &str,
        times_ns: &[u64],
        objects: &[u64],
        sizes_bytes: &[u64],
        length: usize,
    ) -> Result<()> {
        self.input.took_records(objects.len(), length);
        self.emit_columns(space, [times_ns, objects, sizes_bytes], &[])
    }

    /// The same of lines, one of each, and some may write.
    ///
    /// # Errors
    /// As [`Source::emit_objects`].
    pub fn emit_lines(&mut self, space: &str, columns: [&[u64]; 3], writes: &[bool]) -> Result<()> {
        self.input.took_lines(columns[0].len() as u64);
        self.emit_columns(space, columns, writes)
    }

    fn emit_columns(&mut self, space: &str, columns: [&[u64]; 3], writes: &[bool]) -> Result<()> {
        let [times_ns, objects, sizes_bytes] = columns;
        self.records += objects.len() as u64;
        self.last_ns = times_ns.last().copied().unwrap_or(self.last_ns);
        let space = self.names.share(space);
        self.sink.objects(&Objects { space: &space, nobody: &self.nobody, times_ns, objects, sizes_bytes, writes })
    }
}
