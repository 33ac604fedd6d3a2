// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Undoing what the log names.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fovea_apps::Marks;
use fovea_linux::{Device, ZramDevice};

use super::{file, read, Changed, Setting, UndoLog, LOG_NAME};

/// Undoes all that the log of a run folder names, and says what could not be undone. What is left stays in the log for
/// the next start. Undoing needs the log to be read and nothing else: it is written to only afterwards, and where that
/// fails the log names what has been undone already, which does no harm.
pub fn restore(run_folder: &Path, device: &mut impl Device) -> std::io::Result<Vec<String>> {
    let path = run_folder.join(LOG_NAME);
    let mut read = read(&path)?;
    let mut complaints = read.senseless.clone();
    let left = undo(std::mem::take(&mut read.changed), device, &mut complaints);
    if let Some(e) = read.unread {
        // Untouched, for who can read it.
        complaints.push(format!("{}: {e}: what its unread part names is not undone", path.display()));
        return Ok(complaints);
    }
    match read.keep_senseless(&path) {
        Ok(kept) => complaints.extend(kept),
        Err(e) => {
            complaints.push(format!("{}: {e}: left as it is, for the lines that make no sense", path.display()));
            return Ok(complaints);
        }
    }
    let nothing_left = left == Changed::default();
    let written = match nothing_left {
        true => file::empty(&path),
        false => UndoLog::keep(&path, left),
    };
    if let Err(e) = written {
        say!("fovea: {}: {e}: it goes on naming what has been undone: remove it, or free some space", path.display());
    }
    Ok(complaints)
}

/// Returns what could not be undone.
fn undo(changed: Changed, device: &mut impl Device, complaints: &mut Vec<String>) -> Changed {
    let mut left = Changed::default();
    // Thawing first: it is what the user notices.
    for cgroup in changed.frozen {
        if let Err(e) = device.set_frozen(&cgroup, false) {
            complaints.push(e.to_string());
            left.frozen.insert(cgroup);
        }
    }
    for (cgroup, sockets) in changed.windows {
        if let Err(e) = device.release_windows(&cgroup, &sockets) {
            complaints.push(e.to_string());
            left.windows.insert(cgroup, sockets);
        }
    }
    if let Some(settings) = changed.merging {
        if let Err(e) = device.set_merging(&settings) {
            complaints.push(e.to_string());
            left.merging = Some(settings);
        }
    }
    let marked = unmark(&changed.marks, device, complaints);
    for (cgroup, scores) in changed.scores {
        if let Err(e) = device.lower_scores(&scores) {
            complaints.push(e.to_string());
            left.scores.insert(cgroup, scores);
        }
    }
    let mut ours = changed.ours;
    for (name, old) in changed.sysctls {
        let key = Setting::Sysctl(name.clone());
        let is_now = device.sysctl(&name).ok();
        if is_somebody_elses(&mut ours, &key, is_now) {
            continue;
        }
        if let Err(e) = device.set_sysctl(&name, &old) {
            complaints.push(e.to_string());
            left.sysctls.insert(name, old);
        }
    }
    for ((module, name), old) in changed.parameters {
        let key = Setting::Parameter(module.clone(), name.clone());
        let is_now = device.parameter(&module, &name).ok();
        if is_somebody_elses(&mut ours, &key, is_now) {
            continue;
        }
        if let Err(e) = device.set_parameter(&module, &name, &old) {
            complaints.push(e.to_string());
            left.parameters.insert((module, name), old);
        }
    }
    for (cgroup, id) in changed.disk_classes {
        if let Err(e) = device.forget_disk_class(id) {
            complaints.push(e.to_string());
            left.disk_classes.insert(cgroup, id);
        }
    }
    for ((cgroup, file, key), old) in changed.io_settings {
        if let Err(e) = device.set_io_setting(&cgroup, &file, &old) {
            complaints.push(e.to_string());
            left.io_settings.insert((cgroup, file, key), old);
        }
    }
    for cgroup in changed.kept_out {
        if let Err(e) = device.set_allowed_nodes(&cgroup, "") {
            complaints.push(e.to_string());
            left.kept_out.insert(cgroup);
        }
    }
    for (setting, old) in changed.tier_settings {
        let is_now = device.tier_setting(setting).ok().flatten();
        if is_somebody_elses(&mut ours, &Setting::Tier(setting), is_now) {
            continue;
        }
        if let Err(e) = device.set_tier_setting(setting, &old) {
            complaints.push(e.to_string());
            left.tier_settings.insert(setting, old);
        }
    }
    // Last of what is done to an app: by its cgroup all else is found.
    for (cgroup, from) in changed.adopted {
        if let Err(e) = device.give_back(&cgroup, &from) {
            complaints.push(e.to_string());
            left.adopted.insert(cgroup, from);
        }
    }
    // From below: one that passes on what its parent no longer has is refused.
    for (cgroup, controller) in changed.passes.into_iter().rev() {
        if let Err(e) = device.pass_controller_on(&cgroup, controller, false) {
            complaints.push(e.to_string());
            left.passes.insert((cgroup, controller));
        }
    }
    if let Some(zram) = changed.zram {
        match teardown(&zram, device) {
            Ok(()) => {}
            Err(complaint) => {
                complaints.push(complaint);
                left.zram = Some(zram);
            }
        }
    }
    let marked = match marked {
        Marked::Young => {
            std::thread::sleep(YOUNG);
            unmark(&changed.marks, device, complaints)
        }
        marked => marked,
    };
    if marked != Marked::Nobody {
        left.marks = changed.marks;
    }
    left
}

/// Which processes may still have a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marked {
    Nobody,
    /// Some that have just been born.
    Young,
    Unknown,
}

/// Until then a process is not young any more (see `fovea_linux::Ranked`).
const YOUNG: Duration = Duration::from_millis(1100);

/// Gives every process with a mark its own value back.
fn unmark(marks: &Marks, device: &mut impl Device, complaints: &mut Vec<String>) -> Marked {
    match device.unmark(marks) {
        Ok(ranked) => {
            if ranked.refused > 0 {
                let refused = ranked.refused;
                complaints
                    .push(format!("{refused} processes keep a raised oom_score_adj: the kernel refuses to lower it"));
            }
            if ranked.young > 0 {
                Marked::Young
            } else {
                Marked::Nobody
            }
        }
        Err(e) => {
            complaints.push(e.to_string());
            Marked::Unknown
        }
    }
}

/// Whether a setting was set anew since it was ours; if it is not known what ours was, or what it is now, it is put back.
fn is_somebody_elses(ours: &mut BTreeMap<Setting, String>, setting: &Setting, is_now: Option<String>) -> bool {
    let is_theirs = ours.remove(setting).zip(is_now).is_some_and(|(ours, is_now)| ours != is_now);
    if is_theirs {
        say!("fovea: {setting}: somebody has set it meanwhile, and it is left so");
    }
    is_theirs
}

/// Takes the swap away if its pages fit in memory; pressing them in would end in the kernel's OOM killer.
fn teardown(zram: &ZramDevice, device: &mut impl Device) -> Result<(), String> {
    let memory = device.memory().map_err(|e| e.to_string())?;
    // Swap on storage stays where it is.
    let held = memory.zram.map_or(u64::MAX, |zram| zram.original_bytes);
    let used = memory.swap_total_bytes.saturating_sub(memory.swap_free_bytes).min(held);
    // Emptying zram gives back what it occupies as it goes.
    let freed = memory.zram.map_or(0, |z| z.used_bytes);
    if used > memory.available_bytes + freed {
        return Err(format!(
            "zram{} holds {} MiB, more than fits in memory now: it stays, and the next start takes it over",
            zram.number,
            used >> 20
        ));
    }
    device.zram_teardown(zram).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use fovea_linux::TierSetting;

    use super::*;
    use crate::fake::FakeDevice;

    #[test]
    fn what_somebody_has_set_since_then_is_left_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = UndoLog::open(folder.path()).unwrap();
        let mut device = FakeDevice::default();
        let settings = [("vm/page-cluster", "1"), ("vm/swappiness", "100"), ("kernel/numa_balancing", "0")];
        for (name, _) in settings {
            log.sysctl(name, "60").unwrap();
        }
        // What the last was set to is not known: the daemon died first.
        for (name, is_now) in settings {
            device.0.borrow_mut().sysctls.insert(name.into(), is_now.into());
            if name.starts_with("vm") {
                log.ours(Setting::Sysctl(name.into()), "100").unwrap();
            }
        }
        log.tier_setting(TierSetting::ScanPeriod, "1000").unwrap();
        log.ours(Setting::Tier(TierSetting::ScanPeriod), "100").unwrap();
        device.0.borrow_mut().tiers.settings.insert(TierSetting::ScanPeriod, "500".into());
        log.compact().unwrap();
        drop(log);
        assert_eq!(restore(folder.path(), &mut device).unwrap(), Vec::<String>::new());
        let state = device.0.borrow();
        assert_eq!(settings.map(|(name, _)| &*state.sysctls[name]), ["1", "60", "60"]);
        assert_eq!(state.tiers.settings[&TierSetting::ScanPeriod], "500");
        assert!(UndoLog::open(folder.path()).unwrap().changed().is_empty());
    }

    #[test]
    fn lines_that_make_no_sense_are_kept_beside_the_log_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (log, kept) = (folder.path().join(LOG_NAME), folder.path().join("undo.senseless"));
        std::fs::write(&log, "{\"newer\":7}\n{\"sysctl\":[\"vm/page-cluster\",\"3\"]}\n").unwrap();
        let mut device = FakeDevice::default();
        let complaints = restore(folder.path(), &mut device).unwrap();
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].contains("line 1") && complaints[1].contains("undo.senseless"), "{complaints:?}");
        assert_eq!(device.0.borrow().sysctls["vm/page-cluster"], "3");
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "{\"newer\":7}\n");
        std::fs::write(&log, "{\"newer\":8}\n{}\n").unwrap();
        drop(UndoLog::open(folder.path()).unwrap());
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "{\"newer\":7}\n{\"newer\":8}\n{}\n");
        // Where they cannot be kept, the log stays.
        std::fs::remove_file(&kept).unwrap();
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(&log, "{\"newer\":9}\n{}\n").unwrap();
        assert_eq!(restore(folder.path(), &mut device).unwrap().len(), 3);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "{\"newer\":9}\n{}\n");
        let precious = folder.path().join("precious");
        std::fs::rename(&log, &precious).unwrap();
        std::os::unix::fs::symlink(&precious, &log).unwrap();
        assert!(restore(folder.path(), &mut device).is_err());
        assert!(UndoLog::open(folder.path()).is_err());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "{\"newer\":9}\n{}\n");
    }

    /// As a daemon that was upgraded after its death left it.
    #[test]
    fn a_modules_parameter_in_a_log_of_versions_before_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"sysctl\":[\"module/dm_ecache/zero\",\"lazy\"]}\n{\"sysctl\":[\"vm/page-cluster\",\"3\"]}\n";
        std::fs::write(folder.path().join(LOG_NAME), lines).unwrap();
        let mut device = FakeDevice::default();
        assert_eq!(restore(folder.path(), &mut device).unwrap(), Vec::<String>::new());
        let state = device.0.borrow();
        assert_eq!(state.parameters["dm_ecache/zero"], "lazy");
        assert_eq!(state.sysctls["vm/page-cluster"], "3");
        assert_eq!(state.sysctls.len(), 1);
        assert!(UndoLog::open(folder.path()).unwrap().changed().is_empty());
    }
}
