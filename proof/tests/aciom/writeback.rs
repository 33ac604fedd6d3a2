// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is written back is charged to the app that dirtied it, not to the kernel's thread that writes: files written through the page cache by
//! apps of each class, and then written back at somebody else's word.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_contract::aciom_classes;
use fovea_tests::kernel::{at, comes, Outcome};
use fovea_tests::report::Report;

use crate::files::{FileSystem, MOUNT};
use crate::phases::{wait, PATIENCE};
use crate::stack::{App, Volume};

const BYTES: usize = 4 << 20;
/// Of whoever keeps requests ordered meanwhile: few of them, and never so long a pause that it counts as one.
const PLAYER_PERIOD_NS: &str = "240000000";
/// A request has at most 128 KiB.
const REQUESTS: u64 = (BYTES >> 17) as u64;

/// The child's part: nothing of it is on the disk when it ends.
pub fn dirty(file: &Path, bytes: usize) -> Outcome<()> {
    let mut file = at(file.display(), File::create(file))?;
    at("dirtying", file.write_all(&vec![0x5a; bytes]))
}

/// On the volume, or on a device above it.
pub fn all(volume: &Volume, node: &Path, system: &FileSystem, report: &Report) -> Outcome<()> {
    system.begin(node)?;
    let [player, copy, nobody] = [App::make("wb-player")?, App::make("wb-copy")?, App::make("wb-nobody")?];
    volume.class(&player, aciom_classes::TIME_SENSITIVE)?;
    volume.class(&copy, aciom_classes::BURSTY)?;
    // Requests pass by the queue, uncounted, while nobody is active who is time-sensitive.
    let playing = volume.node.to_string_lossy();
    let mut stream = player.start(&["player", &playing, "4096", PLAYER_PERIOD_NS, "60000", "/tmp/stream"])?;
    let active = comes(PATIENCE, || Ok(volume.count("active_time_sensitive")? > 0))?;
    report.check("a player is active", active, "");
    let classes = ["time_sensitive", "bursty", "plain"];
    let counts = || classes.iter().map(|class| volume.count(class)).collect::<Outcome<Vec<u64>>>();
    for (app, class) in [(&copy, "bursty"), (&player, "time_sensitive"), (&nobody, "plain")] {
        let before = counts()?;
        let mut child = app.start(&["dirty", &format!("{MOUNT}/{class}"), &BYTES.to_string()])?;
        let dirtied = wait(&mut child, Instant::now() + Duration::from_secs(10))?;
        rustix::fs::sync();
        let more: Vec<u64> = counts()?.iter().zip(&before).map(|(now, before)| now - before).collect();
        // The journal is nobody's, and so plain; maps of blocks are whose memory they came to first.
        let right = classes.iter().zip(&more).all(|(name, &more)| match *name {
            name if name == class => more >= REQUESTS,
            "plain" => true,
            _ => more < REQUESTS / 2,
        });
        let what = format!("on {}, what a {class} app dirtied is written back as its own", system.kind);
        report.check(what, dirtied && right, format_args!("{classes:?} {more:?}"));
    }
    let _ = stream.kill();
    let _ = wait(&mut stream, Instant::now() + PATIENCE)?;
    volume.forget(&player)?;
    volume.forget(&copy)?;
    system.end(node, report)
}
