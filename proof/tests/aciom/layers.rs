// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Other file systems than ext4 on the volume, dm-ecache below it and above, and the machine that goes to sleep with requests held.

use std::path::Path;
use std::process::Child;

use fovea_contract::{aciom_classes, ECACHE_MODULE, ECACHE_TARGET};
use fovea_linux::dm::device_number;
use fovea_linux::{module, Root};
use fovea_tests::kernel::{at, comes, load_module, target, write_file, Outcome, SECTOR};
use fovea_tests::raw::PAGE;
use fovea_tests::report::Report;

use crate::files::{self, FileSystem, BTRFS, EXT4, XFS};
use crate::phases::{wait, PATIENCE};
use crate::stack::{App, Disk, Volume};
use crate::{writeback, Options};

const MBPS: u64 = 40;
/// What the kernel is told to leave (`boots.rs`).
const CARVEOUTS: &str = "carveouts=32M@0x10000000 devices=camera:8M";

/// One by its name.
pub fn case(name: &str, options: &Options, report: &Report) -> Outcome<()> {
    println!("     {name}");
    match name {
        "xfs" => file_system(&XFS, options, report),
        "btrfs" => file_system(&BTRFS, options, report),
        "ecache-below" => ecache_below(options, report),
        "ecache-above" => ecache_above(options, report),
        "sleep" => sleep(options, report),
        _ => Err(format!("{name}: no such case")),
    }
}

fn file_system(system: &FileSystem, options: &Options, report: &Report) -> Outcome<()> {
    load_module(system.kind)?;
    let disk = Disk { name: system.kind, mib: system.mib, mbps: MBPS };
    let volume = Volume::build("f", disk)?;
    files::all(&volume, &volume.node, system, options, report)?;
    writeback::all(&volume, &volume.node, system, report)?;
    volume.remove()?;
    disk.remove()
}

fn with_ecache(work: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    at(ECACHE_MODULE, module::load_with(&Root::at("/"), ECACHE_MODULE, CARVEOUTS))?;
    work()?;
    at(ECACHE_MODULE, module::remove(ECACHE_MODULE))
}

/// What the cache misses, and every write, comes to it in dm-aciom's order.
fn ecache_below(options: &Options, report: &Report) -> Outcome<()> {
    let disk = Disk { name: "b", mib: EXT4.mib, mbps: MBPS };
    with_ecache(|| {
        let node = disk.make()?;
        let number = at(node.display(), device_number(&node))?;
        let cached = target(ECACHE_TARGET, 0, (disk.mib << 20) / SECTOR, format!("{number} 0"));
        let volume = Volume::on("b", vec![cached], &format!("cmax={}", MBPS << 20))?;
        files::all(&volume, &volume.node, &EXT4, options, report)?;
        volume.remove()
    })?;
    disk.remove()
}

/// The cache's own requests are its user's: their classes reach dm-aciom.
fn ecache_above(options: &Options, report: &Report) -> Outcome<()> {
    const NAME: &str = "above";
    let disk = Disk { name: "a", mib: EXT4.mib, mbps: MBPS };
    with_ecache(|| {
        let volume = Volume::build("a", disk)?;
        let number = at("a", device_number(&volume.node))?;
        let cached = target(ECACHE_TARGET, 0, volume.size_bytes / SECTOR, format!("{number} 0"));
        at(NAME, volume.mapper.create(NAME))?;
        at(NAME, volume.mapper.load(NAME, &[cached]))?;
        let node = at(NAME, volume.mapper.resume(NAME))?.node();
        files::all(&volume, &node, &EXT4, options, report)?;
        writeback::all(&volume, &node, &EXT4, report)?;
        at(NAME, volume.mapper.remove(NAME))?;
        volume.remove()
    })?;
    disk.remove()
}

/// Hibernation without a place for the image goes all the way down and comes back; where the kernel has `pm_test`, so do its steps. Nobody can be
/// frozen who waits for a held request: they go by time.
fn sleep(options: &Options, report: &Report) -> Outcome<()> {
    const PM_TEST: &str = "/sys/power/pm_test";
    let disk = Disk { name: "s", mib: 32, mbps: MBPS };
    let volume = Volume::build("s", disk)?;
    volume.message("cmax 4000000")?;
    let refused = || match write_file("/sys/power/state", "disk") {
        Ok(()) => Err("hibernation without swap was not refused".to_owned()),
        Err(e) => {
            println!("     refused: {e}");
            Ok(())
        }
    };
    down("hibernation without swap", &volume, options, report, || {
        write_file("/sys/power/disk", "shutdown")?;
        refused()
    })?;
    if Path::new(PM_TEST).exists() {
        for (level, state) in [("freezer", "mem"), ("devices", "mem"), ("core", "mem"), ("core", "disk")] {
            down(&format!("{state} up to {level}"), &volume, options, report, || {
                write_file(PM_TEST, level)?;
                write_file("/sys/power/disk", "platform")?;
                write_file("/sys/power/state", state)?;
                write_file(PM_TEST, "none")
            })?;
        }
    }
    volume.remove()?;
    disk.remove()
}

/// With requests held, and every block looked at after.
fn down(
    what: &str,
    volume: &Volume,
    options: &Options,
    report: &Report,
    enter: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    let apps = [App::make("sleep-player")?, App::make("sleep-copy")?];
    volume.class(&apps[0], aciom_classes::TIME_SENSITIVE)?;
    volume.class(&apps[1], aciom_classes::BURSTY)?;
    let node = volume.node.to_string_lossy().into_owned();
    let share = volume.size_bytes / PAGE as u64 / 2;
    let mut children: Vec<Child> = Vec::new();
    for (nth, app) in (0..).zip(&apps) {
        let words = [nth * share, share, options.seconds * 1000, options.seed].map(|word| word.to_string());
        children.push(app.start(&["blocks", &node, &words[0], &words[1], &words[2], &words[3]])?);
    }
    let held = volume.count("held")?;
    let holds = comes(PATIENCE, || Ok(volume.count("held")? > held && volume.count("queued")? > 0))?;
    let entered = enter();
    report.check(what, holds && entered.is_ok(), format_args!("{entered:?}"));
    // Guest time stands still in between, wherever the children's clocks do not.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(options.seconds) + 3 * PATIENCE;
    let mut good = 0;
    for child in &mut children {
        good += u32::from(wait(child, until)?);
    }
    report.check("every block is right after it", good == 2, good);
    report.check("and nothing is left", volume.count("queued")? + volume.count("in_flight")? == 0, "");
    apps.iter().try_for_each(|app| volume.forget(app))
}
