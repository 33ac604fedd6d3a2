// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea check`.

use fovea_daemon::Loaded;
use fovea_linux::{Report, Row, State, System};

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::settings::Settings;

/// Without these nothing of Fovea works; without the others the rest does.
const NEEDED: [&str; 2] = ["root", "cgroup2"];

/// Prints what this machine can do, and what the daemon makes of the configuration. Fails with exit code 3 if the machine lacks what nothing
/// works without, and with 1 if the configuration cannot be used, or, where one is `strict`, has unknown keys.
pub fn check(json: bool, settings: &Settings, strict: bool) -> Result<(), Failure> {
    let mut report = fovea_daemon::check(&System::new().map_err(|e| Failure::Lacks(e.to_string()))?);
    let (row, wrong) = configuration(settings, strict);
    report.rows.insert(report.rows.len().min(1), row);
    match json {
        true => print_json(&report)?,
        false => print(&table(&report))?,
    }
    let lacking: Vec<_> =
        NEEDED.into_iter().filter(|n| report.row(n).is_some_and(|r| r.state == State::Missing)).collect();
    match lacking.is_empty() {
        true => wrong.map_or(Ok(()), |wrong| Err(Failure::Failed(wrong))),
        false => Err(Failure::Lacks(format!("this machine lacks {}: see the mend beside each", lacking.join(" and ")))),
    }
}

/// The row of the configuration, and what is wrong with it as one line.
fn configuration(settings: &Settings, strict: bool) -> (Row, Option<String>) {
    let files: Vec<_> = settings.files().iter().map(|file| file.display().to_string()).collect();
    let file = if files.is_empty() { "no file: the defaults count".to_owned() } else { files.join(", ") };
    let (state, found, wrong) = match settings.read() {
        Ok(Loaded { problems, .. }) => {
            let found = [&[file][..], &problems].concat().join("; ");
            (State::Present, found, problems.into_iter().next().filter(|_| strict))
        }
        Err(wrong) => {
            let wrong = wrong.line();
            (State::Missing, wrong.clone(), Some(wrong))
        }
    };
    let mend = match state {
        State::Missing => "mend the file; until then the daemon goes by the last good one, or by the defaults",
        _ => "",
    };
    let gives = "the owner's wishes in place of the defaults".to_owned();
    (Row { name: "config".into(), state, gives, found, used_by: Vec::new(), mend: mend.into() }, wrong)
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
