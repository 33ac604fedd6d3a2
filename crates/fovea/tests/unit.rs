// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How much the units may do, by systemd's own reckoning, and that docs/design/threat-model.md has these figures and the bounds'
//! table as they are. Skipped, with a word, where systemd is not installed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Units, and their exposure at most, in tenths.
const UNITS: [(&str, u32); 6] = [
    ("fovea.service", 27),
    ("fovea-source@.service", 20),
    ("fovea-session@.service", 20),
    ("metrics/fovea-metrics.service", 15),
    ("bus/fovea-bus.service", 15),
    ("prefetch/fovea-prefetch.service", 25),
];

/// What the daemon's unit leaves open, by systemd's name for it, and what for.
const NEEDED: [(&str, &str); 20] = [
    ("User=/DynamicUser=", "/proc/sys/vm"),
    ("CapabilityBoundingSet=~CAP_SYS_ADMIN", "swap, device-mapper, namespaces"),
    ("CapabilityBoundingSet=~CAP_SYS_PTRACE", "advice, samples, descriptors"),
    ("CapabilityBoundingSet=~CAP_(DAC_*|FOWNER|IPC_OWNER)", "users' cgroups"),
    ("PrivateDevices=", "zram, device-mapper, watching sound"),
    ("PrivateUsers=", "others' processes"),
    ("ProtectControlGroups=", "freezing, limits"),
    ("SystemCallFilter=~@debug", "pidfd_getfd"),
    ("SystemCallFilter=~@privileged", "swapon, capset"),
    ("SystemCallFilter=~@resources", "sched_setscheduler"),
    ("SystemCallFilter=~@swap", "swapon, swapoff"),
    ("CapabilityBoundingSet=~CAP_KILL", "kills"),
    ("CapabilityBoundingSet=~CAP_SYS_(NICE|RESOURCE)", "process_madvise, oom_score_adj"),
    ("DeviceAllow=", "as PrivateDevices="),
    ("ProcSubset=", "PSI, meminfo, vmstat"),
    ("RestrictAddressFamilies=~AF_NETLINK", "sock_diag, nftables"),
    ("RestrictAddressFamilies=~AF_UNIX", "its sockets"),
    ("RestrictNamespaces=~net", "sock_diag"),
    ("RestrictRealtime=", "kills"),
    ("RootDirectory=/RootImage=", "/proc, /sys, users' folders"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A unit's exposure, as systemd-analyze prints it; `None` where there is none.
fn exposure(unit: &str) -> Option<String> {
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--no-pager"])
        .arg(root().join("packaging").join(unit))
        .output();
    let Ok(output) = judged else {
        eprintln!("skipped: no systemd-analyze here");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let after = text.split("exposure level for ").nth(1).unwrap_or_else(|| panic!("{text}"));
    Some(after.split_once(": ").unwrap().1.split_whitespace().next().unwrap().to_owned())
}

/// What each of a unit's settings costs, the dearest first; `None` where systemd-analyze is none that tells.
fn costs(unit: &str) -> Option<Vec<(String, String)>> {
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--json=short"])
        .arg(root().join("packaging").join(unit))
        .output();
    let settings: serde_json::Value = serde_json::from_slice(&judged.ok()?.stdout).ok()?;
    let text = |setting: &serde_json::Value, key: &str| setting[key].as_str().map(str::to_owned);
    let cost = |setting: &serde_json::Value| Some((text(setting, "exposure")?, text(setting, "name")?));
    let mut costs: Vec<_> = settings.as_array()?.iter().filter_map(cost).collect();
    costs.sort_by(|(cost, name), (other, other_name)| other.cmp(cost).then(name.cmp(other_name)));
    Some(costs)
}

#[test]
fn units_are_exposed_to_no_more_than_their_work_takes() {
    for (unit, most) in UNITS {
        let Some(exposure) = exposure(unit) else { return };
        let tenths = (exposure.parse::<f64>().unwrap() * 10.0).round() as u32;
        assert!(tenths <= most, "{unit}: {exposure}");
    }
}

/// What stands between two markers of the page.
fn part<'a>(page: &'a str, name: &str) -> &'a str {
    let begin = format!("<!-- {name}: generated -->\n");
    let after = page.split(&begin).nth(1).unwrap_or_else(|| panic!("{name} is marked in docs/design/threat-model.md"));
    after.split("<!-- generated: end -->").next().unwrap()
}

#[test]
fn the_threat_models_page_has_the_bounds_as_they_are() {
    let page = std::fs::read_to_string(root().join("docs/design/threat-model.md")).unwrap();
    let mut table = String::from("| bound | at most | of | beyond |\n|---|---|---|---|\n");
    for limit in fovea_apps::limits::TABLE {
        writeln!(table, "| `{}` | {} {} | {} | {} |", limit.name, limit.most, limit.unit, limit.of, limit.beyond)
            .unwrap();
    }
    assert_eq!(part(&page, "bounds"), table, "write this there:\n{table}");
    // Other versions of systemd weigh otherwise.
    let version = Command::new("systemd-analyze").arg("--version").output();
    if !version.is_ok_and(|version| version.stdout.starts_with(b"systemd 252")) {
        return;
    }
    let mut units = String::from("| unit | exposure |\n|---|---|\n");
    for (unit, _) in UNITS {
        let Some(exposure) = exposure(unit) else { return };
        writeln!(units, "| {unit} | {exposure} |").unwrap();
    }
    assert_eq!(part(&page, "exposure"), units, "write this there:\n{units}");
    let costs = costs("fovea.service").expect("systemd 252 tells");
    let mut lines = String::new();
    for (nth, (cost, name)) in costs.iter().enumerate() {
        let (_, what_for) = NEEDED.iter().find(|(needed, _)| needed == name).unwrap_or_else(|| {
            panic!("packaging/fovea.service: {name} costs {cost}: close it, or say in NEEDED what it is for")
        });
        let prefixes = ["CapabilityBoundingSet=~", "SystemCallFilter=~", "RestrictAddressFamilies=~"];
        let short = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        match nth > 0 && costs[nth - 1].0 == *cost {
            true => write!(lines, "; `{short}`: {what_for}").unwrap(),
            false => write!(lines, "{}- {cost} each: `{short}`: {what_for}", if nth > 0 { "\n" } else { "" }).unwrap(),
        }
    }
    lines.push('\n');
    assert_eq!(costs.len(), NEEDED.len(), "NEEDED has what costs nothing");
    assert_eq!(part(&page, "costs"), lines, "write this there:\n{lines}");
}

/// Names that others choose reach a terminal through one function each for standard output and standard error.
#[test]
fn nothing_is_printed_but_by_the_functions_that_escape_names() {
    let printing = ["println!(", "print!(", "eprintln!(", "eprint!(", "io::stdout()", "io::stderr()"];
    let allowed = ["fovea/src/output.rs", "daemon/src/lib.rs"];
    let mut found = Vec::new();
    for krate in ["fovea", "daemon", "focus", "client", "apps", "policy"] {
        let mut folders = vec![root().join("crates").join(krate).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let shown = path.display().to_string();
                if path.is_dir() {
                    folders.push(path);
                } else if shown.ends_with(".rs") && !allowed.iter().any(|allowed| shown.ends_with(allowed)) {
                    let text = std::fs::read_to_string(&path).unwrap();
                    // What tests print is for who tests.
                    let code = text.split("#[cfg(test)]").next().unwrap();
                    let is_tests = shown.ends_with("tests.rs") || shown.contains("/tests/") || shown.contains("fake");
                    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                    let prints = |line: &&str| printing.iter().any(|call| line.contains(call));
                    found.extend(lines.filter(prints).filter(|_| !is_tests).map(|line| format!("{shown}: {line}")));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
