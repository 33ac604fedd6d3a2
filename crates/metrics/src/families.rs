// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is told of the daemon's state. Names are a contract: the dashboard in packaging/grafana goes by them.

use fovea_apps::{DiskControl, Importance, PAGE_BYTES};
use fovea_client::{AppStatus, Status};
use serde::Serialize;

use crate::tally::Tally;
use crate::text::{Family, Kind, Sample};

struct Families(Vec<Family>);

impl Families {
    fn add(
        &mut self,
        kind: Kind,
        (name, unit): (&'static str, &'static str),
        help: &'static str,
        samples: impl IntoIterator<Item = Sample>,
    ) {
        self.0.push(Family { name, kind, unit, help, samples: samples.into_iter().collect() });
    }

    fn gauge(
        &mut self,
        of: (&'static str, &'static str),
        help: &'static str,
        samples: impl IntoIterator<Item = Sample>,
    ) {
        self.add(Kind::Gauge, of, help, samples);
    }

    fn counter(
        &mut self,
        of: (&'static str, &'static str),
        help: &'static str,
        samples: impl IntoIterator<Item = Sample>,
    ) {
        self.add(Kind::Counter, of, help, samples);
    }
}

fn one(value: u64) -> [Sample; 1] {
    [Sample { labels: Vec::new(), value: value as f64 }]
}

fn by(label: &'static str, value: impl Into<String>, number: f64) -> Sample {
    Sample { labels: vec![(label, value.into())], value: number }
}

/// The name that JSON has for it.
fn named(what: impl Serialize) -> String {
    serde_json::to_value(what).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// That nobody answers, and what was counted before.
pub fn without_daemon(tally: &Tally) -> Vec<Family> {
    let mut all = Families(Vec::new());
    all.gauge(("fovea_up", ""), "1 while the daemon answers.", one(0));
    journal(&mut all, tally);
    all.0
}

/// All of it.
pub fn families(status: &Status, tally: &Tally) -> Vec<Family> {
    let mut all = Families(Vec::new());
    all.gauge(("fovea_up", ""), "1 while the daemon answers.", one(1));
    memory(&mut all, status);
    decisions(&mut all, status);
    journal(&mut all, tally);
    apps(&mut all, status);
    mechanisms(&mut all, status);
    all.0
}

fn memory(all: &mut Families, status: &Status) {
    let memory = &status.memory;
    let bytes = [
        ("total", memory.total_bytes),
        ("free", memory.free_bytes),
        ("available", memory.available_bytes),
        ("file-cache", memory.file_bytes),
    ];
    let samples = bytes.map(|(of, bytes)| by("of", of, bytes as f64));
    all.gauge(("fovea_memory_bytes", "bytes"), "Memory, as last read; the parts overlap.", samples);
    let bytes = [("total", memory.swap_total_bytes), ("free", memory.swap_free_bytes)];
    let samples = bytes.map(|(of, bytes)| by("of", of, bytes as f64));
    all.gauge(("fovea_swap_bytes", "bytes"), "Swap over all areas.", samples);
    let samples = memory.zram.into_iter().flat_map(|zram| {
        let bytes = [
            ("original", zram.original_bytes),
            ("used", zram.used_bytes),
            ("size", zram.disk_bytes),
            ("limit", zram.limit_bytes),
        ];
        bytes.map(|(of, bytes)| by("of", of, bytes as f64))
    });
    all.gauge(
        ("fovea_zram_bytes", "bytes"),
        "Compressed swap: what it holds, the memory that takes, its size, and the most memory it may take (0: no limit).",
        samples,
    );
    let shares = [("some", memory.psi_some_avg10), ("full", memory.psi_full_avg10)];
    let samples = shares.into_iter().filter_map(|(tasks, share)| Some(by("tasks", tasks, share? / 100.0)));
    all.gauge(
        ("fovea_memory_pressure_ratio", "ratio"),
        "Share of the last 10 s in which some task, or all, waited for memory.",
        samples,
    );
    let stalled = memory.psi_some_total_us.map(|us| Sample { labels: Vec::new(), value: us as f64 / 1e6 });
    all.counter(("fovea_memory_stall_seconds", "seconds"), "Time some task waited for memory.", stalled);
    let refaults = [("file", memory.refault_file), ("anon", memory.refault_anon)];
    let samples = refaults.map(|(of, pages)| by("of", of, pages as f64));
    all.counter(("fovea_refaults", ""), "Pages that were evicted and had to be read again.", samples);
    all.counter(("fovea_oom_kills", ""), "Kills by the kernel's OOM killer.", one(memory.oom_kills));
}

fn decisions(all: &mut Families, status: &Status) {
    all.counter(("fovea_kills", ""), "Kills since the daemon began.", one(status.kills));
    let compressed = one(status.compressed_pages.saturating_mul(PAGE_BYTES));
    all.counter(("fovea_compressed_bytes", "bytes"), "Compressed since the daemon began.", compressed);
    let told =
        [("screen-on", status.screen_on), ("focus-told", status.focus_told), ("only-listed", status.only_listed)];
    all.gauge(
        ("fovea_state", ""),
        "1 while it holds: the screen is on; somebody tells who is in front; only apps on the owner's lists are left to kill.",
        told.map(|(what, holds)| by("state", what, f64::from(u8::from(holds)))),
    );
    let lacking = status.missing.iter().map(|what| by("what", what, 1.0));
    all.gauge(("fovea_lacking", ""), "1 for each thing that this device lacks.", lacking);
    all.gauge(
        ("fovea_config_problems", ""),
        "What is wrong with the configuration file.",
        one(status.config_problems.len() as u64),
    );
    let runaways = status.runaways.iter().map(|cgroup| by("cgroup", cgroup, 1.0));
    all.gauge(("fovea_runaway", ""), "1 for each cgroup of no app that grew fast while memory was short.", runaways);
}

fn journal(all: &mut Families, tally: &Tally) {
    let kills = tally.kills.iter().map(|(reason, count)| by("reason", reason, *count as f64));
    all.counter(("fovea_kills_by_reason", ""), "Kills that the journal tells of, by why.", kills);
    let actions = tally.actions.iter().map(|(action, count)| by("action", action, *count as f64));
    all.counter(("fovea_journal_entries", ""), "Decisions and events in the journal.", actions);
    all.counter(
        ("fovea_journal_gaps", ""),
        "Times that more was journalled between two looks than could be read.",
        one(tally.gaps),
    );
}

fn apps(all: &mut Families, status: &Status) {
    let counts = Importance::ALL.map(|importance| {
        let count = status.apps.iter().filter(|app| app.importance == importance).count();
        by("importance", named(importance), count as f64)
    });
    all.gauge(("fovea_apps", ""), "Apps, by importance.", counts);
    let frozen = status.apps.iter().filter(|app| app.frozen).count() as u64;
    all.gauge(("fovea_frozen_apps", ""), "Apps that are frozen.", one(frozen));
    let each = |value: fn(&AppStatus) -> u64| {
        status.apps.iter().map(move |app| by("app", app.name.as_str(), value(app) as f64)).collect::<Vec<_>>()
    };
    let resident = each(|app| app.usage.taken_bytes().saturating_sub(app.usage.swap_bytes));
    all.gauge(("fovea_app_resident_bytes", "bytes"), "What an app has in memory for itself.", resident);
    all.gauge(("fovea_app_swap_bytes", "bytes"), "What an app has in swap.", each(|app| app.usage.swap_bytes));
    let held = |samples: Vec<Sample>| samples.into_iter().filter(|sample| sample.value > 0.0);
    all.gauge(
        ("fovea_app_receive_window_bytes", "bytes"),
        "What each TCP connection of an app is held to; absent if it is not.",
        held(each(|app| app.receive_window_bytes)),
    );
    all.gauge(
        ("fovea_app_udp_limit_bytes_per_second", "bytes_per_second"),
        "What arrives for an app by UDP at most; absent if that is not limited.",
        held(each(|app| app.udp_limit_bytes_per_s)),
    );
}

fn mechanisms(all: &mut Families, status: &Status) {
    let controls = [DiskControl::Absent, DiskControl::Volumes, DiskControl::Limits, DiskControl::Weights];
    let samples = controls.map(|by_what| by("by", named(by_what), f64::from(u8::from(by_what == status.disk))));
    all.gauge(("fovea_disk_control", ""), "1 for what apps' classes count by on the disk.", samples);
    let buffers = status.buffer_holders.iter().fold(0, |sum: u64, holder| sum.saturating_add(holder.bytes));
    all.gauge(("fovea_device_buffer_bytes", "bytes"), "Device buffers of the 16 largest holders.", one(buffers));
    if let Some(pool) = &status.ecache {
        let pages = [("files", pool.cached), ("devices", pool.device), ("free", pool.free)];
        let samples = pages.map(|(of, pages)| by("of", of, pages.saturating_mul(PAGE_BYTES) as f64));
        all.gauge(("fovea_ecache_bytes", "bytes"), "Memory reserved for devices, by what it holds.", samples);
        let counts = [
            ("fovea_ecache_puts", "Pages that came out of the page cache and were kept.", pool.puts),
            ("fovea_ecache_gets", "Pages asked for.", pool.gets),
            ("fovea_ecache_hits", "Pages asked for that were there.", pool.hits),
            ("fovea_ecache_allocs", "Allocations by devices.", pool.allocs),
            ("fovea_ecache_discarded", "Cached pages lost to devices.", pool.discarded),
        ];
        for (name, help, count) in counts {
            all.counter((name, ""), help, one(count));
        }
    }
    if let Some(merging) = status.merging {
        all.gauge(
            ("fovea_merging_saved_bytes", "bytes"),
            "Memory saved by merging equal pages.",
            one(merging.saved_bytes),
        );
        let seconds = [Sample { labels: Vec::new(), value: merging.cpu_ns as f64 / 1e9 }];
        all.counter(("fovea_merging_cpu_seconds", "seconds"), "CPU time of the kernel's merging thread.", seconds);
    }
    if let Some(tiers) = status.tiers {
        let samples = [("total", tiers.fast_bytes), ("free", tiers.fast_free_bytes)];
        let samples = samples.map(|(of, bytes)| by("of", of, bytes as f64));
        all.gauge(("fovea_fast_memory_bytes", "bytes"), "The faster of two kinds of memory.", samples);
        all.counter(
            ("fovea_demoted_bytes", "bytes"),
            "Moved to slow memory since the daemon began.",
            one(tiers.demoted_bytes),
        );
    }
}
