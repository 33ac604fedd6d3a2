// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Load of all classes on the raw volume, and what is done to it meanwhile.

use std::os::unix::fs::FileExt;
use std::process::Child;
use std::time::{Duration, Instant};

use fovea_contract::aciom_classes;
use fovea_linux::dm::Suspend;
use fovea_tests::content::Random;
use fovea_tests::init::returns_within;
use fovea_tests::kernel::{at, comes, open_direct, Outcome};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;

use crate::stack::{App, Volume};
use crate::Options;

/// Longer than anything is held, and than a suspend or a killed app may then take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Requests of each class after which all of them are under way.
const UNDER_WAY: u64 = 16;

/// Waits for a child; whether it came to its end well, and in time.
pub fn wait(child: &mut Child, until: Instant) -> Outcome<bool> {
    let mut ended = None;
    comes(until.saturating_duration_since(Instant::now()), || {
        ended = at("waiting", child.try_wait())?;
        Ok(ended.is_some())
    })?;
    let stuck = || format!("wrong content: process {} is stuck: its requests are lost", child.id());
    ended.map(|status| status.success()).ok_or_else(stuck)
}

/// What fails below fails above, and works again after.
pub fn errors(volume: &Volume, options: &Options, report: &Report) -> Outcome<()> {
    let apps = ["error-sensitive", "error-bursty", "error-plain"].map(App::make);
    let apps: Vec<App> = apps.into_iter().collect::<Outcome<_>>()?;
    for (app, class) in apps.iter().zip([aciom_classes::TIME_SENSITIVE, aciom_classes::BURSTY]) {
        volume.class(app, class)?;
    }
    volume.fail(true)?;
    let file = open_direct(&volume.node)?;
    let mut pages = Pages::new(1);
    let read = file.read_exact_at(pages.bytes(1), 0);
    let code = read.as_ref().err().and_then(std::io::Error::raw_os_error);
    match code {
        Some(libc::EIO) => println!("ok   an error of the disk is an error of the volume"),
        _ => report.fail(format_args!("wrong content: a read that the disk failed is {read:?}")),
    }
    let written = file.write_all_at(pages.bytes(1), 0);
    report.check("the same of a write", written.is_err(), format_args!("{written:?}"));
    volume.fail(false)?;
    let again = file.read_exact_at(pages.bytes(1), 0);
    report.check("and none once the disk works", again.is_ok(), format_args!("{again:?}"));
    // Requests of each class that fail under way: nobody comes to his end otherwise.
    let node = volume.node.to_string_lossy().into_owned();
    let seed = options.seed.to_string();
    let classes = ["time_sensitive", "bursty", "plain"];
    let counts = || classes.iter().map(|class| volume.count(class)).collect::<Outcome<Vec<u64>>>();
    let before = counts()?;
    let mut children: Vec<Child> = Vec::new();
    for (nth, app) in apps.iter().enumerate() {
        children.push(app.start_to_fail(&[
            "player",
            &node,
            "65536",
            "5000000",
            "60000",
            &format!("/tmp/error{nth}"),
        ])?);
        children.push(app.start_to_fail(&["dperf", &node, "60000", &format!("/tmp/moved{nth}"), &seed])?);
    }
    comes(PATIENCE, || Ok(counts()?.iter().zip(&before).all(|(now, before)| *now >= before + UNDER_WAY)))?;
    volume.fail(true)?;
    let until = Instant::now() + PATIENCE;
    let mut failed = 0;
    for child in &mut children {
        failed += u32::from(!wait(child, until)?);
    }
    volume.fail(false)?;
    report.check("every app under load sees the error", failed == 6, failed);
    report.check("and nothing is left", volume.count("in_flight")? + volume.count("queued")? == 0, "");
    apps.iter().take(2).try_for_each(|app| volume.forget(app))
}

/// Held while somebody is time-sensitive, and not a moment longer; an app that is killed with requests held.
pub fn gates(volume: &Volume, options: &Options, report: &Report) -> Outcome<()> {
    let [player, copy] = [App::make("gate-player")?, App::make("gate-copy")?];
    let node = volume.node.to_string_lossy().into_owned();
    volume.message("cmax 4000000")?;
    volume.class(&copy, aciom_classes::BURSTY)?;
    let held = volume.count("held")?;
    let mut alone = copy.start(&["dperf", &node, "1000", "/tmp/alone"])?;
    wait(&mut alone, Instant::now() + PATIENCE)?;
    report.check("nobody is held while nobody is time-sensitive", volume.count("held")? == held, "");
    volume.class(&player, aciom_classes::TIME_SENSITIVE)?;
    let mut stream = player.start(&["player", &node, "65536", "30000000", "4000", "/tmp/stream"])?;
    comes(PATIENCE, || Ok(volume.count("active_time_sensitive")? > 0))?;
    let mut killed = copy.start(&["dperf", &node, "60000", "/tmp/never"])?;
    let (mut waiting, mut at_once) = (0, 0);
    comes(PATIENCE, || {
        (waiting, at_once) = (volume.count("queued")?, volume.count("held")?);
        Ok(waiting > 0 && at_once > held)
    })?;
    report.check("a bursty app is held beside a player", waiting > 0 && at_once > held, format_args!("{waiting} now"));
    let _ = killed.kill();
    let _ = wait(&mut killed, Instant::now() + PATIENCE)?;
    // Its end is that of its last request; what then waits for a moment is the player's.
    let gone = comes(PATIENCE, || Ok(volume.count("queued")? == 0))?;
    report.check("a killed app's requests go, and it with them", gone, "");
    report.check("the player came to its end", wait(&mut stream, Instant::now() + PATIENCE)?, "");
    // Removed under way: what it has queued goes.
    let mut stream = player.start(&["player", &node, "65536", "30000000", "1500", "/tmp/stream"])?;
    let mut copying = copy.start(&["dperf", &node, "1000", "/tmp/moved"])?;
    comes(PATIENCE, || Ok(volume.count("active_bursty")? > 0 && volume.count("queued")? > 0))?;
    volume.forget(&copy)?;
    report.check("a forgotten app's requests go at once", volume.count("active_bursty")? == 0, "");
    let ended = wait(&mut copying, Instant::now() + PATIENCE)? && wait(&mut stream, Instant::now() + PATIENCE)?;
    report.check("and it goes on", ended, "");
    volume.forget(&player)?;
    let _ = options;
    volume.message(&format!("cmax {}", 40 << 20))
}

/// What comes over the volume while children work; until they end.
pub fn churn(volume: &Volume, apps: &[App], children: &mut [Child], options: &Options, report: &Report) -> Outcome<()> {
    let mut random = Random::new(options.seed, 99);
    let until = Instant::now() + Duration::from_secs(options.seconds) + 3 * PATIENCE;
    let (mut changes, mut reloads, mut good) = (0, 0, 0);
    let mut running: Vec<&mut Child> = children.iter_mut().collect();
    let all = running.len();
    while !running.is_empty() {
        std::thread::sleep(Duration::from_millis(10));
        let app = &apps[random.index(apps.len())];
        match random.below(8) {
            0 => drop(volume.forget(app)),
            1 => volume.message(&format!("cmax {}", [0, 1, 4 << 20, 40 << 20][random.index(4)]))?,
            class => volume.class(app, aciom_classes::ALL[class as usize % 3])?,
        }
        changes += 1;
        if changes % 8 == 0 {
            let how = [Suspend::Freeze, Suspend::Flush, Suspend::Hold][random.index(3)];
            let begin = Instant::now();
            let anew = random.below(2) == 0;
            // It waits for all that is under way, and for ever for what is lost.
            let what = format!("wrong content: requests are lost: suspend {how:?}");
            returns_within(3 * PATIENCE, &what, report, || volume.reload(how, anew))?;
            reloads += 1;
            if begin.elapsed() > PATIENCE {
                report.fail(format_args!("suspend {how:?} took {:?}", begin.elapsed()));
            }
        }
        let mut left = Vec::new();
        for child in running {
            match at("waiting", child.try_wait())? {
                Some(status) => good += usize::from(status.success()),
                None => left.push(child),
            }
        }
        running = left;
        if Instant::now() > until {
            return Err("wrong content: processes are stuck: their requests are lost".into());
        }
    }
    report.check("every block was right", good == all, format_args!("{changes} changes, {reloads} suspends"));
    volume.message(&format!("{} {}", fovea_contract::ACIOM_FORGET, fovea_contract::ACIOM_ALL))?;
    volume.message(&format!("cmax {}", 40 << 20))?;
    let left = volume.count("queued")? + volume.count("in_flight")?;
    report.check("nothing is left", left == 0, left);
    Ok(())
}

/// Apps of all classes on blocks of their own.
pub fn content(volume: &Volume, options: &Options, report: &Report) -> Outcome<()> {
    let names = ["player", "copy", "sync", "shell"];
    let apps: Vec<App> = names.into_iter().map(App::make).collect::<Outcome<_>>()?;
    let share = volume.size_bytes / PAGE as u64 / apps.len() as u64;
    let node = volume.node.to_string_lossy().into_owned();
    let mut children = Vec::new();
    for (nth, app) in (0..).zip(&apps) {
        let words = [nth * share, share, options.seconds * 1000, options.seed].map(|word| word.to_string());
        children.push(app.start(&["blocks", &node, &words[0], &words[1], &words[2], &words[3]])?);
    }
    churn(volume, &apps, &mut children, options, report)
}
