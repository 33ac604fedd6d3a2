// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The paper's experiment (Aciom11, 6.2): a player beside a copy that takes all, on a disk of 10 MB/s, on the bare disk, on the volume without
//! classes, and with them; and the copy alone.

use std::fs;
use std::time::{Duration, Instant};

use fovea_contract::aciom_classes;
use fovea_tests::kernel::{at, Outcome};
use fovea_tests::report::Report;

use crate::phases::wait;
use crate::stack::{App, Disk, Volume};
use crate::Options;

/// 2.2 MB/s, 30 a second.
const FRAME_BYTES: u64 = 73_728;
const FRAME_NS: u64 = 33_333_333;
/// Of the beginning, counted apart.
const START_FRAMES: usize = 60;
const CMAX: u64 = 10 << 20;

pub fn all(options: &Options, report: &Report) -> Outcome<()> {
    let volume = Volume::build("v", Disk { name: "n0", mib: 64, mbps: 10 })?;
    let [player, copy] = [App::make("player")?, App::make("copy")?];
    let missed_bare = one("bare disk", "/dev/n0", &player, &copy, options)?;
    let node = volume.node.to_string_lossy().into_owned();
    let missed_without = one("no classes", &node, &player, &copy, options)?;
    volume.class(&player, aciom_classes::TIME_SENSITIVE)?;
    volume.class(&copy, aciom_classes::BURSTY)?;
    let missed = one("classes", &node, &player, &copy, options)?;
    volume.message("cmax 0")?;
    let missed_found = one("classes, cmax found", &node, &player, &copy, options)?;
    for name in ["late", "turns", "cuts", "window_bytes", "cmax", "reserved", "budget", "longest_wait_ns"] {
        println!("     {name} {}", volume.count(name)?);
    }
    volume.message(&format!("cmax {CMAX}"))?;
    let bare = alone("bare disk", "/dev/n0", &copy, options)?;
    let through = alone("volume", &node, &copy, options)?;
    let figures = format_args!(
        "missed frames {missed_bare} bare, {missed_without} without, {missed} with, {missed_found} with cmax found; {bare} and {through} bytes/s alone"
    );
    report.check("the player misses no frame", missed == 0, figures);
    report.check("a copy alone gets 98 % of the bare disk", through * 100 >= bare * 98, "");
    volume.remove()
}

fn read(path: &str) -> Outcome<String> {
    at(path, fs::read_to_string(path))
}

/// How many frames were missed after the first ones.
fn one(what: &str, node: &str, player: &App, copy: &App, options: &Options) -> Outcome<usize> {
    let ms = options.seconds * 1000;
    let (bytes, period) = (FRAME_BYTES.to_string(), FRAME_NS.to_string());
    let mut copying = copy.start(&["dperf", node, &(ms + 1000).to_string(), "/tmp/moved"])?;
    std::thread::sleep(Duration::from_millis(500));
    let mut playing = player.start(&["player", node, &bytes, &period, &ms.to_string(), "/tmp/frames"])?;
    let until = Instant::now() + Duration::from_millis(20 * ms);
    let ended = wait(&mut playing, until)? && wait(&mut copying, until)?;
    if !ended {
        return Err(format!("{what}: a child failed"));
    }
    let mut answers: Vec<u64> = read("/tmp/frames")?.lines().filter_map(|line| line.parse().ok()).collect();
    // What was with the disk when the player began is ahead of its first frames, and cannot be recalled.
    let first = answers.drain(..START_FRAMES).filter(|&ns| ns > FRAME_NS).count();
    let missed = answers.iter().filter(|&&ns| ns > FRAME_NS).count();
    answers.sort_unstable();
    let percentile = |percent: usize| answers[(answers.len() - 1) * percent / 100];
    let moved: u64 = read("/tmp/moved")?.trim().parse().unwrap_or(0);
    println!(
        "     measured {what}: missed {first} of the first {START_FRAMES}, then {missed} of {}, p50 {} p80 {} p99 {} ns, copy {} bytes/s",
        answers.len(),
        percentile(50),
        percentile(80),
        percentile(99),
        moved * 1000 / (ms + 1000),
    );
    Ok(missed)
}

/// Bytes a second.
fn alone(what: &str, node: &str, copy: &App, options: &Options) -> Outcome<u64> {
    let ms = options.seconds * 1000;
    let mut copying = copy.start(&["dperf", node, &ms.to_string(), "/tmp/moved"])?;
    let _ = wait(&mut copying, Instant::now() + Duration::from_millis(20 * ms))?;
    let moved: u64 = read("/tmp/moved")?.trim().parse().unwrap_or(0);
    println!("     measured {what}, copy alone: {} bytes/s", moved * 1000 / ms);
    Ok(moved * 1000 / ms)
}
