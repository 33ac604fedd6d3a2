// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What administrators do to a volume in use: it grows and shrinks, messages come while it is suspended, a cgroup goes with its requests held, a
//! volume lies on a file of another volume's, and the module is unloaded while somebody loads tables.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fovea_contract::{aciom_classes, ACIOM_MODULE, ACIOM_TARGET};
use fovea_linux::dm::{device_number, DeviceMapper, Suspend};
use fovea_linux::{module, Root};
use fovea_tests::content::Random;
use fovea_tests::init::returns_within;
use fovea_tests::kernel::{at, comes, load_module, run, target, write_file, Outcome, SECTOR};
use fovea_tests::raw::PAGE;
use fovea_tests::report::Report;

use crate::files::{FileSystem, EXT4, MOUNT};
use crate::phases::{wait, PATIENCE};
use crate::stack::{App, Disk, Volume};
use crate::Options;

const MBPS: u64 = 40;
const SMALL_MIB: u64 = 24;
const LOOP: &str = "/dev/loop0";
/// Times that the module goes, and tables that are made.
const FEW: u32 = 8;
const PAUSE: Duration = Duration::from_millis(5);

/// One by its name; none of others.
pub fn case(name: &str, options: &Options, report: &Report) -> Option<Outcome<()>> {
    Some(match name {
        "resized" => resized(options, report),
        "told" => told(options, report),
        "gone" => gone(options, report),
        "over-loop" => over_loop(options, report),
        "unloaded" => unloaded(report),
        _ => return None,
    })
}

/// Of every class, on blocks of their own in the first part of the volume.
fn load(volume: &Volume, names: [&'static str; 3], mib: u64, options: &Options) -> Outcome<(Vec<App>, Vec<Child>)> {
    let apps: Vec<App> = names.into_iter().map(App::make).collect::<Outcome<_>>()?;
    volume.class(&apps[0], aciom_classes::TIME_SENSITIVE)?;
    volume.class(&apps[1], aciom_classes::BURSTY)?;
    let node = volume.node.to_string_lossy().into_owned();
    let share = (mib << 20) / PAGE as u64 / apps.len() as u64;
    let mut children = Vec::new();
    for (nth, app) in (0..).zip(&apps) {
        let words = [nth * share, share, options.seconds * 1000, options.seed].map(|word| word.to_string());
        children.push(app.start(&["blocks", &node, &words[0], &words[1], &words[2], &words[3]])?);
    }
    Ok((apps, children))
}

/// All children came to their ends, and no request is left.
fn ended(volume: &Volume, apps: &[App], children: &mut [Child], options: &Options, report: &Report) -> Outcome<()> {
    let until = Instant::now() + Duration::from_secs(options.seconds) + 3 * PATIENCE;
    let mut good = 0;
    for child in children.iter_mut() {
        good += usize::from(wait(child, until)?);
    }
    report.check("every block was right", good == children.len(), good);
    let left = volume.count("queued")? + volume.count("in_flight")?;
    report.check("and nothing is left", left == 0, left);
    apps.iter().try_for_each(|app| volume.forget(app).or_else(|_| volume.message("forget all")))
}

fn at_work(children: &mut [Child]) -> Outcome<bool> {
    let mut running = false;
    for child in children {
        running |= at("waiting", child.try_wait())?.is_none();
    }
    Ok(running)
}

fn resized(options: &Options, report: &Report) -> Outcome<()> {
    let disk = Disk { name: "resized", mib: 64, mbps: MBPS };
    let mut volume = Volume::build("r", disk)?;
    volume.message("cmax 8000000")?;
    let (apps, mut children) = load(&volume, ["grow-player", "grow-copy", "grow-shell"], SMALL_MIB, options)?;
    let (whole, mut rounds) = (volume.table[0].size_sectors, 0);
    while at_work(&mut children)? {
        rounds += 1;
        volume.table[0].size_sectors = if rounds % 2 == 1 { (SMALL_MIB << 20) / SECTOR } else { whole };
        returns_within(3 * PATIENCE, "wrong content: a resize", report, || volume.reload(Suspend::Flush, true))?;
        let size =
            at(volume.node.display(), fs::read_to_string(format!("/sys/class/block/{}/size", name(&volume.node))))?;
        if size.trim().parse() != Ok(volume.table[0].size_sectors) {
            report.fail(format_args!("the volume has {size} sectors"));
        }
        std::thread::sleep(PAUSE);
    }
    report.check("the volume was grown and shrunk under load", rounds > 5, format_args!("{rounds} times"));
    ended(&volume, &apps, &mut children, options, report)?;
    volume.remove()?;
    disk.remove()
}

fn name(node: &Path) -> String {
    node.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Messages and questions in a loop, whether the volume is suspended or not.
fn told(options: &Options, report: &Report) -> Outcome<()> {
    let disk = Disk { name: "told", mib: SMALL_MIB, mbps: MBPS };
    let volume = Volume::build("m", disk)?;
    let (apps, mut children) = load(&volume, ["told-player", "told-copy", "told-shell"], SMALL_MIB, options)?;
    let (stop, told) = (AtomicBool::new(false), AtomicU32::new(0));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(options.seed, 42);
            while !stop.load(Ordering::Relaxed) {
                let app = &apps[random.index(apps.len())];
                let said = match random.below(4) {
                    0 => volume.class(app, aciom_classes::ALL[random.index(3)]),
                    1 => volume.message(&format!("cmax {}", [0, 4 << 20, 40 << 20][random.index(3)])),
                    2 => at("table", volume.mapper.table(volume.name)).map(drop),
                    _ => volume.count("queued").map(drop),
                };
                match said {
                    Ok(()) => drop(told.fetch_add(1, Ordering::Relaxed)),
                    Err(e) => report.fail(format_args!("a message in between: {e}")),
                }
            }
        });
        let mut work = || -> Outcome<u32> {
            let mut suspends = 0;
            while at_work(&mut children)? {
                let how = [Suspend::Freeze, Suspend::Flush, Suspend::Hold][suspends as usize % 3];
                at("suspend", volume.mapper.suspend(volume.name, how))?;
                // Some of them come now.
                let before = told.load(Ordering::Relaxed);
                comes(PATIENCE, || Ok(told.load(Ordering::Relaxed) > before + 3))?;
                at("resume", volume.mapper.resume(volume.name))?;
                suspends += 1;
                std::thread::sleep(PAUSE);
            }
            Ok(suspends)
        };
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })?;
    let found = format_args!("{} messages, {done} suspends", told.load(Ordering::Relaxed));
    report.check("messages come while the volume is suspended", done > 5, found);
    ended(&volume, &apps, &mut children, options, report)?;
    volume.remove()?;
    disk.remove()
}

/// Cgroups are removed while requests of theirs are held, and their numbers forgotten or not.
fn gone(options: &Options, report: &Report) -> Outcome<()> {
    let disk = Disk { name: "gone", mib: SMALL_MIB, mbps: MBPS };
    let volume = Volume::build("g", disk)?;
    volume.message("cmax 3000000")?;
    let (mut apps, mut children) = load(&volume, ["gone-player", "gone-copy", "gone-shell"], SMALL_MIB, options)?;
    let mut removed = 0;
    while at_work(&mut children)? {
        let nth = 1 + removed % 2;
        comes(Duration::from_millis(200), || Ok(volume.count("queued")? > 2))?;
        let other = App::make(&format!("gone-{removed}"))?;
        write_file(other.path.join("cgroup.procs"), &children[nth].id().to_string()).or_else(|e| {
            match at_work(&mut children)? {
                true => Err(e),
                false => Ok(()),
            }
        })?;
        if removed % 3 > 0 {
            volume.class(&other, aciom_classes::BURSTY)?;
        }
        at(apps[nth].path.display(), fs::remove_dir(&apps[nth].path))?;
        // A third stay in the table, as where the daemon has died.
        if removed % 3 < 2 {
            let _ = volume.forget(&apps[nth]);
        }
        apps[nth] = other;
        removed += 1;
        std::thread::sleep(PAUSE);
    }
    report.check("cgroups went with requests held", removed > 5, format_args!("{removed} of them"));
    ended(&volume, &apps, &mut children, options, report)?;
    volume.message("forget all")?;
    volume.remove()?;
    disk.remove()
}

/// A volume on a loop device, whose file is on a file system on another volume: both have requests held, and memory is short.
fn over_loop(options: &Options, report: &Report) -> Outcome<()> {
    load_module("loop")?;
    let system: &FileSystem = &EXT4;
    let disk = Disk { name: "below", mib: system.mib, mbps: MBPS };
    let lower = Volume::build("below", disk)?;
    system.begin(&lower.node)?;
    let file = format!("{MOUNT}/disk");
    at(&file, fs::write(&file, vec![0; (SMALL_MIB << 20) as usize]))?;
    run("/bin/busybox", &["losetup", LOOP, &file])?;
    let upper = Volume::direct("upper", Path::new(LOOP), (SMALL_MIB << 20) / SECTOR, "cmax=6000000")?;
    lower.message("cmax 8000000")?;
    let (apps, mut children) = load(&upper, ["loop-player", "loop-copy", "loop-shell"], SMALL_MIB, options)?;
    let mut rounds = 0;
    while at_work(&mut children)? {
        rustix::fs::sync();
        write_file("/proc/sys/vm/drop_caches", "3")?;
        returns_within(3 * PATIENCE, "wrong content: a suspend below", report, || lower.reload(Suspend::Flush, true))?;
        returns_within(3 * PATIENCE, "wrong content: a suspend above", report, || upper.reload(Suspend::Flush, true))?;
        rounds += 1;
        std::thread::sleep(10 * PAUSE);
    }
    report.check("a volume on another volume's file", rounds > 2, format_args!("{rounds} suspends of both"));
    ended(&upper, &apps, &mut children, options, report)?;
    upper.remove()?;
    run("/bin/busybox", &["losetup", "-d", LOOP])?;
    system.end(&lower.node, report)?;
    lower.remove()?;
    disk.remove()
}

/// Whoever loads a table has the module or is refused; nobody is left with half of it.
fn unloaded(report: &Report) -> Outcome<()> {
    let disk = Disk { name: "race", mib: 16, mbps: 0 };
    let node = disk.make()?;
    let number = at("race", device_number(&node))?;
    let table = [target(ACIOM_TARGET, 0, (disk.mib << 20) / SECTOR, number)];
    // What is refused is said, a line each, and the console is slow.
    write_file("/proc/sys/kernel/printk", "2")?;
    let (stop, made, refused) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    let gone = std::thread::scope(|scope| {
        let (stop, made, refused, table) = (&stop, &made, &refused, &table);
        for name in ["race-0", "race-1"] {
            scope.spawn(move || -> Outcome<()> {
                let mapper = at("device-mapper", DeviceMapper::open(&Root::at("/")))?;
                while !stop.load(Ordering::Relaxed) {
                    at(name, mapper.create(name))?;
                    let loaded = mapper.load(name, table).is_ok() && mapper.resume(name).is_ok();
                    if if loaded { made } else { refused }.fetch_add(1, Ordering::Relaxed) % 4 == 0 {
                        std::thread::sleep(PAUSE);
                    }
                    at(name, mapper.remove(name))?;
                }
                Ok(())
            });
        }
        // As long as a slow host needs for some of each.
        let end = Instant::now() + 6 * PATIENCE;
        let (mut gone, mut result) = (0, Ok(()));
        let few = |gone: u32| gone <= FEW || made.load(Ordering::Relaxed) <= FEW;
        while few(gone) && Instant::now() < end && result.is_ok() {
            if module::remove(ACIOM_MODULE).is_ok() {
                gone += 1;
                result = load_module("dm_aciom");
            }
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        result.map(|()| gone)
    })?;
    let counts = [&made, &refused].map(|count| count.load(Ordering::Relaxed));
    let found = format_args!("{gone} times gone, {} tables made and {} refused", counts[0], counts[1]);
    report.check("the module goes and comes beside tables", gone > FEW && counts[0] > FEW, found);
    disk.remove()
}
