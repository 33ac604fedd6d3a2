// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea explain --replay`: the decisions of a journal made again.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use fovea_apps::AppName;
use fovea_client::replay::{line_of, Difference, Replay};
use fovea_policy::{Action, Reason};
use serde_json::json;

use crate::failure::Failure;
use crate::output::print_line;
use crate::settings::Settings;

/// No line of a journal is longer: that would be thousands of apps.
const LINE_MAX_BYTES: u64 = 16 << 20;

/// Prints the decisions that would be others, and how many there are of each kind.
pub fn replay(path: &Path, settings: &Settings, app: Option<AppName>, json: bool) -> Result<(), Failure> {
    let config = settings.named()?.map(|config| config.policy());
    let failed = |e: std::io::Error| Failure::failed(format!("{}: {e}: name a journal", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut replay = Replay::new(config.as_ref());
    let (mut text, mut lines) = (Vec::new(), 0u64);
    loop {
        text.clear();
        if file.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        // A torn line, or an event that is none of the journal's.
        let Some(line) = line_of(&text) else { continue };
        lines += 1;
        let Some(difference) = replay.line(line) else { continue };
        if app.is_some() && difference.line.app != app {
            continue;
        }
        match json {
            true => print_line(as_json(&difference))?,
            false => print_line(sentence(&difference))?,
        }
    }
    let tally = replay.tally();
    if lines == 0 {
        return Err(Failure::failed(format!("{}: no line of a journal is in it: name a journal", path.display())));
    }
    if json {
        let (decisions, different, unknown) = (tally.decisions, tally.different, tally.unknown);
        return print_line(json!({ "decisions": decisions, "different": different, "unknown": unknown }));
    }
    let mut line = format!("{} decisions, {} of them would be others", tally.decisions, tally.different);
    if tally.unknown > 0 {
        line +=
            &format!("; {} more are without what they depended on (an older daemon, or a torn file)", tally.unknown);
    }
    print_line(line)
}

fn as_json(difference: &Difference) -> serde_json::Value {
    let instead: Vec<_> =
        difference.instead.iter().map(|(action, reason)| json!({ "do": action, "reason": reason })).collect();
    json!({ "line": difference.line, "instead": instead })
}

fn sentence(difference: &Difference) -> String {
    let line = &difference.line;
    let app = line.app.as_ref().map(|app| format!(" {app}")).unwrap_or_default();
    let was = line.reason.map(|reason| format!(": {}", reason.words())).unwrap_or_default();
    let instead: Vec<String> = difference
        .instead
        .iter()
        .map(|(action, reason): &(Action, Reason)| format!("{} ({})", action.describe(), reason.words()))
        .collect();
    let instead = if instead.is_empty() { "nothing".to_owned() } else { instead.join(", ") };
    format!("{:12.3} s  {}{app}{was}\n                instead: {instead}", line.t_ns as f64 / 1e9, line.action)
}
