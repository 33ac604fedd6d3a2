// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea check`.

use fovea_linux::{Report, State, System};

use crate::failure::Failure;
use crate::output::{print, print_json};

/// Without these nothing of Fovea works; without the others the rest does.
const NEEDED: [&str; 2] = ["root", "cgroup2"];

/// Prints what this machine can do. Fails with exit code 3 if it lacks what nothing works without.
pub fn check(json: bool) -> Result<(), Failure> {
    let report = fovea_daemon::check(&System::new().map_err(|e| Failure::Lacks(e.to_string()))?);
    match json {
        true => print_json(&report)?,
        false => print(&table(&report))?,
    }
    let lacking: Vec<_> =
        NEEDED.into_iter().filter(|n| report.row(n).is_some_and(|r| r.state == State::Missing)).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Failure::Lacks(format!("this machine lacks {}: see the mend beside each", lacking.join(" and ")))),
    }
}

fn table(report: &Report) -> String {
    let mut out = format!("kernel {}\n", report.kernel);
    for row in &report.rows {
        let mark = match row.state {
            State::Present => "yes",
            State::Missing => "NO",
            State::Unknown => "?",
        };
        out += &format!("{mark:>4}  {:<18} {}\n", row.name, row.found);
        if row.state != State::Present {
            let to = if row.used_by.is_empty() { String::new() } else { format!(" ({})", row.used_by.join(", ")) };
            out += &format!("      {:<18} would give{to}: {}\n", "", row.gives);
            if !row.mend.is_empty() {
                out += &format!("      {:<18} mend: {}\n", "", row.mend);
            }
        }
    }
    out
}
