// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea explain --export`: the journal as a timeline for Perfetto or Chrome (the Trace Event Format): a track for each app with its importance,
//! what was done as instants, and counters of memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use fovea_apps::{printable_json, AppName, Importance};
use fovea_client::journal::{Decoder, Line};
use fovea_client::replay::line_of;
use fovea_client::words::event;
use fovea_policy::{AppState, Snapshot};
use serde_json::{json, Value};

use crate::failure::Failure;
use crate::output::say;

/// No line of a journal is longer: that would be thousands of apps.
const LINE_MAX_BYTES: u64 = 16 << 20;
/// The process that counters and events of no app are on.
const DEVICE: u64 = 1;
/// The threads of an app's process.
const IMPORTANCE: u64 = 1;
const FROZEN: u64 = 2;
const MIB: u64 = 1 << 20;

/// Writes what is in a journal, of a run folder if no file is named.
pub fn export(to: &Path, journal: Option<PathBuf>, run_folder: &Path) -> Result<(), Failure> {
    let of_daemon = || ["journal.old.jsonl", "journal.jsonl"].map(|name| run_folder.join(name)).to_vec();
    let files = journal.map_or_else(of_daemon, |file| vec![file]);
    let mut timeline = Timeline::default();
    for (at, file) in files.iter().enumerate() {
        match read(file, &mut timeline) {
            // The older part: there is none in the first days.
            Err(e) if at + 1 < files.len() && e.kind() == std::io::ErrorKind::NotFound => {}
            done => done.map_err(|e| {
                Failure::failed(format!("{}: {e}: name a journal with --replay, or ask as root", file.display()))
            })?,
        }
    }
    if timeline.lines == 0 {
        return Err(Failure::failed(format!(
            "{}: no line of a journal is in it: name a journal",
            files[files.len() - 1].display()
        )));
    }
    let failed = |e: std::io::Error| Failure::failed(format!("{}: {e}: name a file that can be written", to.display()));
    let mut out = BufWriter::new(File::create(to).map_err(failed)?);
    let (lines, apps) = (timeline.lines, timeline.apps.len());
    let text = printable_json(&timeline.finished().to_string()).into_owned();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)?;
    say(format!("{}: {lines} lines of the journal, {apps} apps: open it at https://ui.perfetto.dev", to.display()));
    Ok(())
}

fn read(path: &Path, timeline: &mut Timeline) -> std::io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let mut text = Vec::new();
    loop {
        text.clear();
        if file.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut text)? == 0 {
            return Ok(());
        }
        // A torn line, or an event that is none of the journal's.
        if let Some(line) = line_of(&text) {
            timeline.take(&line);
        }
    }
}

/// What is known of an app while its journal is read.
struct Track {
    pid: u64,
    importance: Option<(Importance, u64)>,
    frozen_since_ns: Option<u64>,
    /// Memory as last told, MiB.
    memory: Option<(u64, u64)>,
}

/// The events so far.
#[derive(Default)]
struct Timeline {
    decoder: Decoder,
    events: Vec<Value>,
    apps: BTreeMap<AppName, Track>,
    lines: u64,
    latest_ns: u64,
    /// Of the latest snapshot.
    seen_ns: u64,
    counters: BTreeMap<&'static str, Value>,
}

/// The format's unit.
fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn name_of(importance: Importance) -> Value {
    serde_json::to_value(importance).unwrap_or_default()
}

impl Timeline {
    fn take(&mut self, line: &Line) {
        self.lines += 1;
        self.latest_ns = self.latest_ns.max(line.t_ns);
        if let Some(snapshot) = self.decoder.decode(line) {
            self.snapshot(&snapshot);
        }
        // The tracks say it.
        if line.action != "rank" {
            self.instant(line);
        }
    }

    fn instant(&mut self, line: &Line) {
        let as_json = serde_json::to_value(Line { basis: None, ..line.clone() }).unwrap_or_default();
        let (pid, scope) = match &line.app {
            Some(app) => (self.track(app).pid, "p"),
            None => (DEVICE, "g"),
        };
        self.events.push(json!({
            "ph": "i", "s": scope, "name": line.action, "cat": "decision", "ts": us(line.t_ns), "pid": pid, "tid": IMPORTANCE,
            "args": { "words": event(&as_json), "outcome": line.outcome },
        }));
    }

    fn track(&mut self, app: &AppName) -> &mut Track {
        let (pid, events) = (DEVICE + 1 + self.apps.len() as u64, &mut self.events);
        self.apps.entry(app.clone()).or_insert_with(|| {
            for (what, tid, name) in [
                ("process_name", IMPORTANCE, app.as_str()),
                ("thread_name", IMPORTANCE, "importance"),
                ("thread_name", FROZEN, "frozen"),
            ] {
                events.push(json!({ "ph": "M", "name": what, "pid": pid, "tid": tid, "args": { "name": name } }));
            }
            Track { pid, importance: None, frozen_since_ns: None, memory: None }
        })
    }

    fn slice(&mut self, pid: u64, tid: u64, name: Value, from_ns: u64, to_ns: u64) {
        if to_ns <= from_ns {
            return;
        }
        let duration = us(to_ns - from_ns);
        self.events.push(json!({ "ph": "X", "name": name, "cat": "app", "pid": pid, "tid": tid, "ts": us(from_ns), "dur": duration }));
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let now_ns = snapshot.now_ns;
        // A line may be written after those of later decisions.
        if now_ns < self.seen_ns {
            return;
        }
        self.seen_ns = now_ns;
        let gone: Vec<AppName> = self
            .apps
            .iter()
            .filter(|(name, track)| track.importance.is_some() && !snapshot.apps.iter().any(|app| app.name == **name))
            .map(|(name, _)| name.clone())
            .collect();
        gone.iter().for_each(|name| self.end(name, now_ns));
        snapshot.apps.iter().for_each(|app| self.app(app, now_ns));
        self.memory(snapshot);
    }

    fn app(&mut self, app: &AppState, now_ns: u64) {
        let track = self.track(&app.name);
        let (pid, before) = (track.pid, track.importance);
        if before.is_none_or(|(importance, _)| importance != app.importance) {
            track.importance = Some((app.importance, now_ns));
            if let Some((importance, since_ns)) = before {
                self.slice(pid, IMPORTANCE, name_of(importance), since_ns, now_ns);
            }
        }
        let track = self.track(&app.name);
        match (app.frozen, track.frozen_since_ns) {
            (true, None) => track.frozen_since_ns = Some(now_ns),
            (false, Some(since_ns)) => {
                track.frozen_since_ns = None;
                self.slice(pid, FROZEN, "frozen".into(), since_ns, now_ns);
            }
            _ => {}
        }
        let resident = app.anon_bytes.saturating_add(app.shmem_bytes).saturating_add(app.kernel_bytes) / MIB;
        let memory = Some((resident, app.swap_bytes / MIB));
        if std::mem::replace(&mut self.track(&app.name).memory, memory) != memory {
            let args = json!({ "resident": resident, "swap": app.swap_bytes / MIB });
            self.events.push(json!({ "ph": "C", "name": "memory MiB", "pid": pid, "ts": us(now_ns), "args": args }));
        }
    }

    /// An app is there no longer.
    fn end(&mut self, app: &AppName, now_ns: u64) {
        let track = self.track(app);
        let pid = track.pid;
        let (importance, frozen) = (track.importance.take(), track.frozen_since_ns.take());
        if let Some((importance, since_ns)) = importance {
            self.slice(pid, IMPORTANCE, name_of(importance), since_ns, now_ns);
        }
        if let Some(since_ns) = frozen {
            self.slice(pid, FROZEN, "frozen".into(), since_ns, now_ns);
        }
    }

    fn memory(&mut self, snapshot: &Snapshot) {
        let (memory, net) = (&snapshot.memory, &snapshot.net);
        self.counter(
            "memory MiB",
            snapshot,
            json!({ "free": memory.free_bytes / MIB, "file cache": memory.file_bytes / MIB }),
        );
        let pressure = json!({ "some, since the last look": memory.stall_percent, "all, 10 s": memory.psi_full_avg10 });
        self.counter("pressure percent", snapshot, pressure);
        self.counter(
            "refaults per s",
            snapshot,
            json!({ "all": memory.refaults_per_s, "from storage": memory.storage_refaults_per_s }),
        );
        if let Some(swap) = memory.swap {
            let used = swap.total_bytes.saturating_sub(swap.free_bytes) / MIB;
            self.counter("swap MiB", snapshot, json!({ "used": used }));
            if let Some(zram) = swap.zram {
                let held = json!({ "holds": zram.original_bytes / MIB, "takes": zram.used_bytes / MIB });
                self.counter("zram MiB", snapshot, held);
            }
        }
        if net.looked_ns.is_some() {
            let budget = json!({ "received": net.received_bytes_per_s, "window": net.window_bytes, "UDP limit": net.udp_bytes_per_s });
            self.counter("network bytes", snapshot, budget);
        }
    }

    /// A counter, where it has changed.
    fn counter(&mut self, name: &'static str, snapshot: &Snapshot, args: Value) {
        if self.counters.get(name) != Some(&args) {
            self.events
                .push(json!({ "ph": "C", "name": name, "pid": DEVICE, "ts": us(snapshot.now_ns), "args": args }));
            self.counters.insert(name, args);
        }
    }

    /// All of it; what lasts still ends with the journal.
    fn finished(mut self) -> Value {
        let apps: Vec<AppName> = self.apps.keys().cloned().collect();
        apps.iter().for_each(|app| self.end(app, self.latest_ns));
        let name = json!({ "ph": "M", "name": "process_name", "pid": DEVICE, "args": { "name": "device" } });
        self.events.insert(0, name);
        json!({ "displayTimeUnit": "ms", "traceEvents": self.events })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a daemon wrote in the virtual phone, until its third victim was gone.
    const RECORDED: &str = include_str!("../tests/data/journal.jsonl");

    /// Begin, end, name.
    type Slice = (f64, f64, String);

    fn events(journal: &str) -> Vec<Value> {
        let mut timeline = Timeline::default();
        journal.lines().filter_map(|line| line_of(line.as_bytes())).for_each(|line| timeline.take(&line));
        timeline.finished()["traceEvents"].as_array().unwrap().clone()
    }

    fn of<'a>(events: &'a [Value], ph: &str) -> Vec<&'a Value> {
        events.iter().filter(|event| event["ph"] == ph).collect()
    }

    #[test]
    fn each_decision_of_a_recorded_journal_is_an_instant_at_its_app() {
        let events = events(RECORDED);
        let lines: Vec<Value> = RECORDED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines.iter().filter(|line| line["action"] != "rank").collect();
        let instants = of(&events, "i");
        assert_eq!(instants.len(), told.len());
        let name_of = |pid: &Value| {
            let named = |event: &&Value| event["name"] == "process_name" && event["pid"] == *pid;
            events.iter().find(named).unwrap()["args"]["name"].clone()
        };
        for (line, instant) in told.iter().zip(&instants) {
            assert_eq!(line["action"], instant["name"]);
            assert_eq!(line["t_ns"].as_u64().unwrap() as f64 / 1000.0, instant["ts"].as_f64().unwrap());
            let expected = line.get("app").cloned().unwrap_or_else(|| "device".into());
            assert_eq!(name_of(&instant["pid"]), expected);
        }
        let kills: Vec<_> = instants.iter().filter(|instant| instant["name"] == "kill").collect();
        assert!(kills.len() >= 3, "{kills:?}");
        assert!(kills[0]["args"]["words"].as_str().unwrap().contains("zram can really take no more"), "{}", kills[0]);
    }

    #[test]
    fn an_apps_track_has_one_importance_at_a_time_and_ends_with_it() {
        let events = events(RECORDED);
        let mut tracks: BTreeMap<(u64, u64), Vec<Slice>> = BTreeMap::new();
        for slice in of(&events, "X") {
            let number = |key: &str| slice[key].as_f64().unwrap();
            let at = (slice["pid"].as_u64().unwrap(), slice["tid"].as_u64().unwrap());
            let name = slice["name"].as_str().unwrap().to_owned();
            tracks.entry(at).or_default().push((number("ts"), number("ts") + number("dur"), name));
        }
        assert!(tracks.len() > 3, "{}", tracks.len());
        for slices in tracks.values() {
            for pair in slices.windows(2) {
                assert!(pair[0].1 <= pair[1].0 + 1e-3, "{pair:?}");
                assert!(pair[0].2 != pair[1].2 || pair[0].1 < pair[1].0, "one slice, not two: {pair:?}");
            }
        }
        let names: std::collections::BTreeSet<_> = tracks.values().flatten().map(|slice| slice.2.as_str()).collect();
        assert!(names.contains("foreground") && names.contains("hidden"), "{names:?}");
        let killed = of(&events, "i").into_iter().find(|event| event["name"] == "kill").unwrap();
        let (pid, at) = (killed["pid"].as_u64().unwrap(), killed["ts"].as_f64().unwrap());
        assert!(tracks[&(pid, IMPORTANCE)].iter().any(|slice| slice.0 <= at && at <= slice.1), "it lived until then");
    }

    #[test]
    fn counters_say_what_the_readings_say() {
        let events = events(RECORDED);
        let (mut decoder, mut known) = (Decoder::default(), Vec::new());
        for line in RECORDED.lines().filter_map(|line| line_of(line.as_bytes())) {
            known.extend(decoder.decode(&line));
        }
        let counters = of(&events, "C");
        for (name, key, expected) in [
            ("memory MiB", "free", (|s: &Snapshot| s.memory.free_bytes / MIB) as fn(&Snapshot) -> u64),
            ("zram MiB", "holds", |s| s.memory.swap.unwrap().zram.unwrap().original_bytes / MIB),
        ] {
            let of_device = |event: &&&Value| event["name"] == name && event["pid"] == DEVICE;
            let last = counters.iter().rev().find(of_device).unwrap();
            assert_eq!(
                last["args"][key].as_u64().unwrap(),
                expected(known.iter().max_by_key(|known| known.now_ns).unwrap()),
                "{name}"
            );
            assert!(counters.iter().filter(of_device).count() > 3, "{name}");
        }
        assert!(counters.iter().any(|event| event["name"] == "pressure percent"));
    }

    #[test]
    fn a_frozen_app_is_a_slice_of_its_own() {
        use fovea_client::journal::Encoder;
        let mut encoder = Encoder::default();
        let mut journal = String::new();
        for (now_ns, frozen) in [(1000, false), (2000, true), (5000, true), (9000, false)] {
            let app = AppState { frozen, ..AppState::new("mail".parse().unwrap(), Importance::Hidden) };
            let snapshot = Snapshot { now_ns, apps: vec![app], ..Snapshot::default() };
            let (readings, basis) = encoder.encode(&snapshot);
            let line = Line { t_ns: now_ns, action: "freeze".into(), readings, basis: Some(basis), ..Line::default() };
            journal += &(serde_json::to_string(&line).unwrap() + "\n");
        }
        let events = events(&journal);
        let frozen: Vec<_> = of(&events, "X").into_iter().filter(|slice| slice["name"] == "frozen").collect();
        assert_eq!(frozen.len(), 1);
        assert_eq!((frozen[0]["ts"].as_f64(), frozen[0]["dur"].as_f64()), (Some(2.0), Some(7.0)));
        let hidden: Vec<_> = of(&events, "X").into_iter().filter(|slice| slice["name"] == "hidden").collect();
        assert_eq!((hidden.len(), hidden[0]["dur"].as_f64()), (1, Some(8.0)));
    }
}
