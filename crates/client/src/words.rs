// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The journal's entries in words, as `fovea explain` and `fovea top` show them. Names in them are as they stand in the journal: whoever prints
//! them escapes them.

use fovea_apps::{Classified, DiskControl, IoClass, Perceived};
use fovea_policy::Reason;
use serde_json::Value;

use crate::Status;

/// One entry in words: when, what, whom, why, on what readings, with what outcome.
pub fn sentence(entry: &Value) -> String {
    let seconds = entry["t_ns"].as_u64().unwrap_or(0) as f64 / 1e9;
    let day = entry["unix_ms"].as_u64().map(|ms| format!("{}  ", time_of_day(ms))).unwrap_or_default();
    format!("{day}{seconds:12.3} s  {}", event(entry))
}

/// The same without the time.
pub fn event(entry: &Value) -> String {
    let mut line = format!("{:<11}", entry["action"].as_str().unwrap_or("?"));
    if let Some(app) = entry["app"].as_str() {
        let process = &entry["outcome"]["process"];
        if let (Some(name), Some(pid)) = (process["name"].as_str(), process["pid"].as_u64()) {
            line += &format!(" {name} (process {pid}) of");
        }
        line += &format!(" {app}");
    }
    if let Some(reason) = entry["reason"].as_str() {
        line += &format!(": {}", reason_in_words(reason));
    }
    if entry["action"] == "perceptible" {
        let by = serde_json::from_value::<Option<Perceived>>(entry["outcome"]["by"].clone()).ok();
        return match by {
            Some(Some(by)) => line + &format!(": it {by}, and is left alone"),
            Some(None) => line + ": not any more",
            // Of a newer daemon.
            None => line + &format!(": {}", entry["outcome"]["by"]),
        };
    }
    if entry["action"] == "io-class" {
        let classified = serde_json::from_value::<Classified>(entry["outcome"].clone());
        return match classified {
            Ok(classified) => line + &format!(": {classified}"),
            // Of a newer daemon.
            Err(_) => line + &format!(": {}", entry["outcome"]),
        };
    }
    if entry["action"] == "udp" {
        let sockets = &entry["outcome"]["connected_sockets"];
        return line
            + &format!(
                ": it receives by UDP ({sockets} connected sockets: QUIC, calls), which no receive window can hold ([net] limit_udp limits it)"
            );
    }
    if entry["action"] == "warn" {
        line += &format!(": apps were asked to give memory back (level {} of 255)", entry["outcome"]["level"]);
        return line;
    }
    if entry["only_decided"] == true {
        line += " (decided, not done)";
    }
    let readings = &entry["readings"];
    if let (Some(free), Some(file)) = (readings["free_bytes"].as_u64(), readings["file_bytes"].as_u64()) {
        line += &format!(" (free {} MiB, file cache {} MiB)", free >> 20, file >> 20);
    }
    if let Some(outcome) = entry["outcome"].as_object() {
        let parts: Vec<String> = outcome.iter().map(|(key, value)| format!("{key} {value}")).collect();
        line += &format!(" -> {}", parts.join(", "));
    }
    line
}

/// What the mechanisms beside memory do: the mechanism, and what in words.
pub fn mechanisms(status: &Status) -> Vec<(&'static str, String)> {
    let of_class = |class| status.apps.iter().filter(|app| app.io_class.class == class).count();
    let disk = match status.disk {
        DiskControl::Absent => "classes count for nothing (see `fovea check`)",
        DiskControl::Volumes => "dm-aciom orders each request",
        DiskControl::Limits => "bursty apps are held by io.max",
        DiskControl::Weights => "shares by weight, no deadlines",
    };
    let (timely, bursty) = (of_class(IoClass::TimeSensitive), of_class(IoClass::Bursty));
    let windows = status.apps.iter().filter(|app| app.receive_window_bytes > 0).count();
    let rates = status.apps.iter().filter(|app| app.udp_limit_bytes_per_s > 0).count();
    let net = match (windows, rates) {
        (0, 0) => "nobody is held".to_owned(),
        (windows, 0) => format!("{windows} held by window"),
        (windows, rates) => format!("{windows} held by window, {rates} by UDP rate"),
    };
    let mut lines = vec![("disk", format!("{disk}; {timely} time-sensitive, {bursty} bursty")), ("net", net)];
    if let Some(merging) = status.merging {
        let looking = if merging.looking { ", looking" } else { "" };
        let (apps, saved) = (merging.registered_apps, merging.saved_bytes >> 20);
        lines.push(("merge", format!("{saved} MiB saved in {apps} apps{looking}")));
    }
    if let Some(tiers) = status.tiers {
        let (free, all) = (tiers.fast_free_bytes >> 20, tiers.fast_bytes >> 20);
        let (demoted, out) = (tiers.demoted_bytes >> 20, tiers.kept_out);
        let words = format!("{free} of {all} MiB of fast memory free, {demoted} MiB demoted, {out} apps kept out");
        lines.push(("tier", words));
    }
    lines
}

/// Universal time, so that it can be held against any log's: `2026-03-01 12:00:00Z`.
pub fn time_of_day(unix_ms: u64) -> String {
    let (days, seconds) = (unix_ms / 86_400_000, unix_ms / 1000 % 86_400);
    // Years begin in March, so that the leap day is the last of one: 400 of them have 146,097 days.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day_of_month:02} {:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A reason's words; of a newer daemon's, its name.
pub fn reason_in_words(reason: &str) -> &str {
    let known: Option<Reason> = serde_json::from_value(reason.into()).ok();
    known.map_or(reason, |reason| reason.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_the_policy_has_words() {
        for &reason in Reason::ALL {
            let name = serde_json::to_value(reason).unwrap();
            let name = name.as_str().unwrap();
            let words = reason_in_words(name);
            assert!(words == reason.words() && !words.contains('-'), "{name}");
        }
    }

    #[test]
    fn each_mechanism_says_what_it_does() {
        let status = Status {
            disk: DiskControl::Limits,
            merging: Some(crate::Merging {
                registered_apps: 3,
                saved_bytes: 7 << 20,
                looking: true,
                ..Default::default()
            }),
            tiers: Some(crate::Tiers {
                fast_bytes: 512 << 20,
                fast_free_bytes: 9 << 20,
                kept_out: 2,
                demoted_bytes: 5 << 20,
            }),
            ..Status::default()
        };
        let lines: Vec<_> = mechanisms(&status).into_iter().map(|(name, words)| format!("{name} {words}")).collect();
        assert_eq!(
            lines,
            [
                "disk bursty apps are held by io.max; 0 time-sensitive, 0 bursty",
                "net nobody is held",
                "merge 7 MiB saved in 3 apps, looking",
                "tier 9 of 512 MiB of fast memory free, 5 MiB demoted, 2 apps kept out"
            ]
        );
        let few = mechanisms(&Status::default()).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(few, ["disk", "net"], "what is not there is left out");
    }

    #[test]
    fn the_time_of_day_is_what_date_says() {
        for (unix_ms, text) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399_999, "2000-02-28 23:59:59Z"),
            (951_782_400_000, "2000-02-29 00:00:00Z"),
            (1_709_251_199_000, "2024-02-29 23:59:59Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(time_of_day(unix_ms), text);
        }
    }

    #[test]
    fn a_kill_is_told_with_its_readings() {
        let entry = serde_json::json!({ "t_ns": 1_500_000_000u64, "action": "kill", "app": "game", "reason": "swap-full",
            "readings": { "free_bytes": 5 << 20, "file_bytes": 7 << 20 } });
        let line = sentence(&entry);
        assert!(line.contains("1.500 s") && line.contains("kill") && line.contains("game"));
        assert!(line.contains("zram can really take no more") && line.contains("free 5 MiB, file cache 7 MiB"));
    }

    #[test]
    fn a_kill_of_one_process_says_which() {
        let entry = serde_json::json!({ "t_ns": 1, "action": "kill", "app": "konsole",
            "outcome": { "process": { "name": "python3", "pid": 4711, "processes": 1, "bytes": 7 }, "size_bytes": 7 } });
        assert!(sentence(&entry).contains("kill        python3 (process 4711) of konsole"), "{}", sentence(&entry));
    }

    #[test]
    fn why_an_app_has_its_class_is_told_in_words() {
        let told = |outcome: serde_json::Value| {
            sentence(&serde_json::json!({ "t_ns": 1, "action": "io-class", "app": "mail", "outcome": outcome }))
        };
        let database = serde_json::json!({ "class": "bursty", "by": { "service": "a database" }, "by_place": true });
        assert!(told(database).ends_with("mail: bursty: it uses a database and is not seen"));
        let music = serde_json::json!({ "class": "time-sensitive", "by": { "heard": "plays-sound" } });
        assert!(told(music).ends_with("mail: time-sensitive: it plays sound"));
        assert!(told("telepathy".into()).ends_with("mail: \"telepathy\""));
    }

    #[test]
    fn what_no_window_can_hold_is_told_in_words() {
        let entry =
            serde_json::json!({ "t_ns": 1, "action": "udp", "app": "browser", "outcome": { "connected_sockets": 3 } });
        assert!(sentence(&entry).contains("browser: it receives by UDP (3 connected sockets"));
    }

    #[test]
    fn why_an_app_is_left_alone_is_told_in_words() {
        let told = |by: serde_json::Value| {
            sentence(
                &serde_json::json!({ "t_ns": 1, "action": "perceptible", "app": "music", "outcome": { "by": by } }),
            )
        };
        assert!(told("plays-sound".into()).ends_with("music: it plays sound, and is left alone"));
        assert!(told("uses-server".into()).contains("it uses a sound server that is running"));
        assert!(told(Value::Null).ends_with("music: not any more"));
        assert!(told("telepathy".into()).ends_with("music: \"telepathy\""));
    }
}
