// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How much the daemon's unit may do, by systemd's own reckoning. Skipped, with a word, where systemd is not installed.

use std::path::Path;
use std::process::Command;

#[test]
fn the_unit_is_exposed_to_3_of_10_at_most() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/fovea.service");
    // The threshold is in tenths.
    let judged =
        Command::new("systemd-analyze").args(["security", "--offline=yes", "--threshold=30"]).arg(unit).output();
    let Ok(output) = judged else {
        eprintln!("skipped: no systemd-analyze here");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("exposure level"), "{text}");
}
