// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a recording holds and lacks: for the user, as JSON, and in the trace file's notes.

use std::collections::BTreeMap;
use std::path::Path;

use super::recording::{Recording, Tally};
use fovea_lab::{FORMAT_KEY, FORMAT_RECORDED};
use fovea_linux::trace::Loss;
use serde::Serialize;

use super::end::End;
use super::Record;
use crate::failure::Failure;
use crate::output;

/// What the kernel did not tell.
pub struct Lacks {
    pub loss: Loss,
    pub missing: Vec<&'static str>,
}

/// All that is counted.
#[derive(Serialize)]
pub struct Summary {
    pub output: String,
    pub whose: String,
    pub kernel: String,
    pub ended: String,
    pub partial: bool,
    pub command_exit_status: Option<i32>,
    pub command_still_runs: bool,
    pub records: u64,
    pub lost_events: u64,
    pub bad_buffer_pages: u64,
    pub late_events: u64,
    pub missing_tracepoints: Vec<&'static str>,
    pub files: u64,
    pub files_named: u64,
    #[serde(flatten)]
    pub tally: Tally,
}

impl Summary {
    pub fn new(args: &Record, recording: &Recording, end: &End, open_ended: bool, lacks: Lacks) -> Summary {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        Summary {
            output: args.output.display().to_string(),
            whose: whose(args),
            kernel,
            ended: end.words(),
            partial: end.is_partial(open_ended),
            command_exit_status: match end {
                End::Command(status) => status.code(),
                _ => None,
            },
            command_still_runs: false,
            records: 0,
            lost_events: lacks.loss.events,
            bad_buffer_pages: lacks.loss.bad_pages,
            late_events: lacks.loss.late,
            missing_tracepoints: lacks.missing,
            files: 0,
            files_named: 0,
            tally: recording.tally().clone(),
        }
    }

    /// Notes of the trace file.
    pub fn notes(&self) -> BTreeMap<String, String> {
        BTreeMap::from(
            [
                (FORMAT_KEY, FORMAT_RECORDED.to_owned()),
                ("fovea.trace.source", self.whose.clone()),
                ("fovea.record.kernel", self.kernel.clone()),
                ("fovea.record.ended", self.ended.clone()),
                ("fovea.record.partial", self.partial.to_string()),
                ("fovea.record.lost-events", self.lost_events.to_string()),
                ("fovea.record.bad-buffer-pages", self.bad_buffer_pages.to_string()),
                ("fovea.record.late-events", self.late_events.to_string()),
                ("fovea.record.missing-tracepoints", self.missing_tracepoints.join(" ")),
                ("fovea.record.tally", serde_json::to_string(&self.tally).unwrap_or_default()),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        )
    }

    /// Says it: beside the command's own output, not among it.
    pub fn print(&self, json: Option<&Path>) -> Result<(), Failure> {
        match json {
            Some(path) if path == Path::new("-") => return output::print_json(self),
            Some(path) => {
                let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
                std::fs::write(path, text).map_err(|e| {
                    Failure::failed(format!("{}: {e}: name a file that can be written", path.display()))
                })?;
            }
            None => {}
        }
        self.text().lines().for_each(output::say_as_is);
        Ok(())
    }

    fn text(&self) -> String {
        let list = |counts: &BTreeMap<&'static str, u64>| {
            let all: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            if all.is_empty() {
                "none".into()
            } else {
                all.join(", ")
            }
        };
        let part = if self.partial { " (partial)" } else { "" };
        let mut text = format!("{}: {} records{part}; {}\n", self.output, self.records, self.ended);
        let mut line = |name: &str, what: String| text += &format!("  {:14}{what}\n", format!("{name}:"));
        line("events", list(&self.tally.events));
        if self.tally.continued > 0 {
            line("of them", format!("{} go on with a read recorded before", self.tally.continued));
        }
        line("lost", format!("{} events", self.lost_events));
        if self.lost_events > 0 {
            line("", "a larger --buffer-kib loses fewer".into());
        }
        if self.bad_buffer_pages + self.late_events > 0 {
            line("unclear", format!("{} buffer pages, {} late events", self.bad_buffer_pages, self.late_events));
        }
        line("unattributed", list(&self.tally.unattributed));
        if self.tally.others > 0 {
            line("left out", format!("{} block requests of others", self.tally.others));
        }
        if let Some(mean_ns) = self.tally.service_ns.checked_div(self.tally.answered) {
            line(
                "disk",
                format!("{} requests answered, after {:.3} ms on average", self.tally.answered, mean_ns as f64 / 1e6),
            );
        }
        line("files", format!("{}, {} of them with a name", self.files, self.files_named));
        for missing in &self.missing_tracepoints {
            line("not in kernel", (*missing).into());
        }
        if self.command_still_runs {
            line("command", "still runs, unrecorded".into());
        }
        text
    }
}

fn whose(args: &Record) -> String {
    let command: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let mut parts = Vec::new();
    parts.extend(args.pid.iter().map(|pid| format!("--pid {pid}")));
    parts.extend(args.cgroup.iter().map(|cgroup| format!("--cgroup {cgroup}")));
    parts.extend(args.all.then(|| "--all".to_owned()));
    parts.extend(args.seconds.map(|seconds| format!("--seconds {seconds}")));
    if !command.is_empty() {
        parts.push(format!("-- {}", command.join(" ")));
    }
    parts.join(" ")
}
