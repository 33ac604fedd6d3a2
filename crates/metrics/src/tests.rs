// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The text of states as the daemon gives them, read by the grammar.

use std::collections::BTreeSet;

use fovea_apps::{AppUsage, DiskControl, MemoryReading, PoolReading, ZramReading};
use fovea_client::{Merging, Status, Tiers};
use proptest::prelude::*;
use serde_json::{json, Value};

use crate::families::{families, without_daemon};
use crate::parser::{parsed, Sample};
use crate::tally::Tally;
use crate::text::{written, Family, Kind};

/// A state in which everything is told.
fn status() -> Status {
    let app = |name: &str, window: u64| {
        let usage = AppUsage { anon_bytes: 5 << 20, swap_bytes: 7 << 20, ..AppUsage::default() };
        serde_json::from_value(json!({ "name": name, "cgroup": "/x", "importance": "hidden", "frozen": true,
            "receive_window_bytes": window, "udp_limit_bytes_per_s": 2 * window, "usage": usage }))
        .unwrap()
    };
    Status {
        memory: MemoryReading {
            total_bytes: 1 << 30,
            zram: Some(ZramReading { original_bytes: 12, used_bytes: 4, ..ZramReading::default() }),
            psi_some_avg10: Some(12.5),
            psi_full_avg10: Some(2.5),
            psi_some_total_us: Some(1_500_000),
            oom_kills: 1,
            ..MemoryReading::default()
        },
        ecache: Some(PoolReading {
            frames: 10,
            cached: 4,
            device: 2,
            free: 4,
            gets: 9,
            hits: 6,
            ..PoolReading::default()
        }),
        disk: DiskControl::Volumes,
        merging: Some(Merging { saved_bytes: 1 << 20, cpu_ns: 2_500_000_000, ..Merging::default() }),
        tiers: Some(Tiers::default()),
        kills: 3,
        missing: vec!["psi".into()],
        runaways: vec!["user.slice/a\"b\\c\nd\u{202e}.scope".into()],
        apps: vec![app("mail", 4096), app("copy", 0)],
        ..Status::default()
    }
}

fn entry(t_ns: u64, action: &str, reason: &str) -> Value {
    json!({ "t_ns": t_ns, "unix_ms": 1000 + t_ns, "action": action, "app": "mail", "reason": reason })
}

fn value(samples: &[Sample], name: &str, label: &str) -> f64 {
    let found =
        |sample: &&Sample| sample.0 == name && (label.is_empty() || sample.1.values().any(|value| value == label));
    samples.iter().find(found).unwrap_or_else(|| panic!("{name} {label} in {samples:?}")).2
}

#[test]
fn the_text_is_openmetrics_and_says_what_the_status_says() {
    let mut tally = Tally::default();
    tally.take(&[
        entry(1, "kill", "swap-full"),
        entry(2, "kill", "swap-full"),
        entry(3, "kill", "thrashing"),
        entry(4, "freeze", "x"),
    ]);
    let text = written(&families(&status(), &tally));
    let samples = parsed(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for (name, label, expected) in [
        ("fovea_up", "", 1.0),
        ("fovea_memory_bytes", "total", f64::from(1 << 30)),
        ("fovea_memory_pressure_ratio", "some", 0.125),
        ("fovea_memory_stall_seconds_total", "", 1.5),
        ("fovea_kills_total", "", 3.0),
        ("fovea_kills_by_reason_total", "swap-full", 2.0),
        ("fovea_kills_by_reason_total", "thrashing", 1.0),
        ("fovea_journal_entries_total", "freeze", 1.0),
        ("fovea_oom_kills_total", "", 1.0),
        ("fovea_ecache_hits_total", "", 6.0),
        ("fovea_ecache_bytes", "files", 16384.0),
        ("fovea_zram_bytes", "original", 12.0),
        ("fovea_apps", "hidden", 2.0),
        ("fovea_frozen_apps", "", 2.0),
        ("fovea_app_resident_bytes", "mail", f64::from(5 << 20)),
        ("fovea_app_receive_window_bytes", "mail", 4096.0),
        ("fovea_disk_control", "volumes", 1.0),
        ("fovea_disk_control", "weights", 0.0),
        ("fovea_merging_cpu_seconds_total", "", 2.5),
        ("fovea_lacking", "psi", 1.0),
    ] {
        assert_eq!(value(&samples, name, label), expected, "{name} {label}");
    }
    assert!(!samples.iter().any(|sample| sample.0 == "fovea_app_receive_window_bytes" && sample.1["app"] == "copy"));
    let runaway = samples.iter().find(|sample| sample.0 == "fovea_runaway").unwrap();
    assert_eq!(runaway.1["cgroup"], "user.slice/a\"b\\c\\nd\\u{202e}.scope", "as it is printed everywhere");
}

#[test]
fn a_daemon_that_is_gone_is_told() {
    let samples = parsed(&written(&without_daemon(&Tally::default()))).unwrap();
    assert_eq!(value(&samples, "fovea_up", ""), 0.0);
    let samples = parsed(&written(&families(&Status::default(), &Tally::default()))).unwrap();
    assert!(!samples.iter().any(|sample| sample.0.contains("pressure") || sample.0.contains("zram")), "absent, not 0");
}

/// The parser refuses what the grammar refuses: else the test above says nothing.
#[test]
fn what_is_no_openmetrics_is_refused() {
    for wrong in [
        "# TYPE a gauge\na 1\n",
        "# TYPE a gauge\na 1\n# EOF",
        "a 1\n# EOF\n",
        "# TYPE a counter\na 1\n# EOF\n",
        "# TYPE a counter\na_total -1\n# EOF\n",
        "# TYPE a gauge\n# TYPE a gauge\na 1\n# EOF\n",
        "# TYPE a gauge\na 1\na 1\n# EOF\n",
        "# TYPE a gauge\na{b=\"c} 1\n# EOF\n",
        "# TYPE a gauge\na{b=\"\\d\"} 1\n# EOF\n",
        "# TYPE a gauge\na{b=\"c\",b=\"d\"} 1\n# EOF\n",
        "# TYPE a gauge\na{1b=\"c\"} 1\n# EOF\n",
        "# TYPE a gauge\na one\n# EOF\n",
        "# TYPE a gauge\na inf\n# EOF\n",
        "# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n",
        "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# HELP a x\n# EOF\n",
        "# TYPE a gauge\n\na 1\n# EOF\n",
    ] {
        assert!(parsed(wrong).is_err(), "{wrong}");
    }
    assert!(parsed(
        "# TYPE a_bytes counter\n# UNIT a_bytes bytes\n# HELP a_bytes x\na_bytes_total{b=\"\\\"\"} 1e3\n# EOF\n"
    )
    .is_ok());
}

proptest! {
    #[test]
    fn no_label_and_no_number_breaks_the_text(values in prop::collection::btree_map(".*", any::<f64>(), 0..5)) {
        let shown: BTreeSet<_> = values.keys().map(|label| fovea_apps::printable(label).into_owned()).collect();
        // Two that are printed alike are one to a reader.
        prop_assume!(shown.len() == values.len());
        let samples = values.iter().map(|(label, value)| crate::text::Sample { labels: vec![("x", label.clone())], value: *value }).collect();
        let text = written(&[Family { name: "a", kind: Kind::Gauge, unit: "", help: "A\n\"\\b", samples }]);
        let back = parsed(&text).unwrap();
        prop_assert_eq!(back.len(), values.len());
        for ((label, value), (_, labels, read)) in values.iter().zip(&back) {
            prop_assert_eq!(&labels["x"], &fovea_apps::printable(label));
            prop_assert!(value == read || (value.is_nan() && read.is_nan()));
        }
    }
}

#[test]
fn each_entry_of_the_journal_counts_once() {
    let all: Vec<_> = (1..=10).map(|n| entry(n, "kill", "swap-full")).collect();
    let mut tally = Tally::default();
    for end in [3, 3, 4, 10, 10] {
        // What is kept between two calls is all that counts.
        tally = serde_json::from_slice(&tally.written()).unwrap();
        tally.take(&all[..end]);
        assert_eq!((tally.kills["swap-full"], tally.gaps), (end as u64, 0));
    }
    // Several at one moment.
    let more: Vec<_> = all.iter().cloned().chain([entry(10, "freeze", "x"), entry(11, "rank", "x")]).collect();
    tally.take(&more);
    assert_eq!((tally.kills["swap-full"], tally.actions["freeze"], tally.actions["rank"]), (10, 1, 1));
    // The journal's beginning is gone meanwhile: what was known last is not.
    tally.take(&more[8..]);
    assert_eq!((tally.kills["swap-full"], tally.gaps), (10, 0));
    // More was written than is told.
    tally.take(&[entry(50, "kill", "swap-full")]);
    assert_eq!((tally.kills["swap-full"], tally.gaps), (11, 1));
    // The device was started anew, and its clock with it.
    tally.take(&[entry(2, "kill", "thrashing")]);
    assert_eq!((tally.kills["thrashing"], tally.gaps), (1, 1));
    tally.take(&[]);
    tally.take(&[
        entry(2, "kill", "thrashing"),
        json!({ "t_ns": 3, "unix_ms": 9, "action": "focus", "outcome": { "folded": 40 } }),
    ]);
    assert_eq!((tally.kills["thrashing"], tally.actions["focus"], tally.gaps), (1, 40, 1));
}

/// What the dashboard asks for is told.
#[test]
fn the_dashboard_asks_for_names_that_there_are() {
    let dashboard: Value = serde_json::from_str(include_str!("../../../packaging/grafana/fovea.json")).unwrap();
    let mut tally = Tally::default();
    tally.take(&[entry(1, "kill", "swap-full")]);
    let told: BTreeSet<String> =
        parsed(&written(&families(&status(), &tally))).unwrap().into_iter().map(|sample| sample.0).collect();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut asked = BTreeSet::new();
    for expression in targets.map(|target| target["expr"].as_str().unwrap()) {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        asked.extend(words.filter(|word| word.starts_with("fovea_")).map(str::to_owned));
    }
    let unknown: Vec<_> = asked.difference(&told).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(asked.len() > 15, "{asked:?}");
}
