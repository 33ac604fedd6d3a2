// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Undoing what the log names.

use std::path::Path;

use fovea_linux::{Device, ZramDevice};

use super::{Changed, UndoLog};

/// Undoes all that the log of a run folder names, and says what could not be undone. What is left stays in the log for the next start.
pub fn restore(run_folder: &Path, device: &mut impl Device) -> std::io::Result<Vec<String>> {
    let mut log = UndoLog::open(run_folder)?;
    let changed = std::mem::take(&mut log.changed);
    let mut left = Changed::default();
    let mut complaints = Vec::new();
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
    for (cgroup, scores) in changed.scores {
        if let Err(e) = device.restore_importance(&cgroup, &scores) {
            complaints.push(e.to_string());
            left.scores.insert(cgroup, scores);
        }
    }
    for (name, old) in changed.sysctls {
        if let Err(e) = device.set_sysctl(&name, &old) {
            complaints.push(e.to_string());
            left.sysctls.insert(name, old);
        }
    }
    for ((module, name), old) in changed.parameters {
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
        if let Err(e) = device.set_tier_setting(setting, &old) {
            complaints.push(e.to_string());
            left.tier_settings.insert(setting, old);
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
    log.changed = left;
    log.compact()?;
    Ok(complaints)
}

/// Takes the swap away if its pages fit in memory; pressing them in would end in the kernel's OOM killer.
fn teardown(zram: &ZramDevice, device: &mut impl Device) -> Result<(), String> {
    let memory = device.memory().map_err(|e| e.to_string())?;
    let used = memory.swap_total_bytes.saturating_sub(memory.swap_free_bytes);
    // Emptying zram gives back what it occupies as it goes.
    let freed = memory.zram.map_or(0, |z| z.used_bytes);
    if used > memory.available_bytes + freed {
        return Err(format!(
            "zram{} holds {} MB, more than fits in memory now: it stays, and the next start takes it over",
            zram.number,
            used >> 20
        ));
    }
    device.zram_teardown(zram).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeDevice;
    use crate::undo::LOG_NAME;

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
