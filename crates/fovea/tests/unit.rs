// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How much the units may do, by systemd's own reckoning, and that docs/design/threat-model.md has these figures and the bounds'
//! table as they are. Skipped, with a word, where systemd is not installed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Units, and their exposure at most, in tenths.
const UNITS: [(&str, u32); 3] = [("fovea.service", 28), ("fovea-watch@.service", 20), ("fovea-session@.service", 20)];

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
    let mut units = String::from("| unit | exposure |\n|---|---|\n");
    for (unit, _) in UNITS {
        // Other versions of systemd weigh otherwise.
        let version = Command::new("systemd-analyze").arg("--version").output();
        if !version.is_ok_and(|version| version.stdout.starts_with(b"systemd 252")) {
            return;
        }
        let Some(exposure) = exposure(unit) else { return };
        writeln!(units, "| {unit} | {exposure} |").unwrap();
    }
    assert_eq!(part(&page, "exposure"), units, "write this there:\n{units}");
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
