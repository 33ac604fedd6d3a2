// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Undoing while the run folder's file system fails: every call in turn, by ENOSPC, EROFS and EIO, once and for good.
//! Whatever happens, each change is undone or named.

use std::path::Path;

use rustix::io::Errno;

use super::{faults, restore, UndoLog, LOG_NAME};
use crate::fake::{FakeApp, FakeDevice};

const APPS: [&str; 3] = ["apps/a", "apps/b", "apps/c"];

fn frozen_device() -> FakeDevice {
    let device = FakeDevice::default();
    {
        let mut state = device.0.borrow_mut();
        for cgroup in APPS {
            state.apps.insert(cgroup.into(), FakeApp { frozen: true, ..FakeApp::default() });
        }
        state.sysctls.insert("vm/page-cluster".into(), "0".into());
    }
    device
}

/// The log of a daemon that has frozen three apps and changed a setting, in a folder of its own.
fn log_of_the_dead() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut log = UndoLog::open(folder.path()).unwrap();
    log.sysctl("vm/page-cluster", "3").unwrap();
    APPS.iter().for_each(|cgroup| log.freezing(cgroup).unwrap());
    folder
}

fn not_undone(device: &FakeDevice) -> Vec<String> {
    let state = device.0.borrow();
    let frozen = state.apps.iter().filter(|(_, app)| app.frozen).map(|(cgroup, _)| cgroup.clone());
    let setting = (state.sysctls["vm/page-cluster"] != "3").then(|| "vm/page-cluster".to_owned());
    frozen.chain(setting).collect()
}

/// Restores what a dead daemon left with the n-th call failing, for each n that there is; `writes_only` leaves reading
/// alone.
fn with_each_call_failing(
    errno: Errno,
    for_good: bool,
    writes_only: bool,
    check: impl Fn(usize, &Path, &FakeDevice, std::io::Result<Vec<String>>),
) {
    for at in 0.. {
        let folder = log_of_the_dead();
        let mut device = frozen_device();
        faults::plan(at, errno, for_good, writes_only);
        let restored = restore(folder.path(), &mut device);
        let calls = faults::end();
        check(at, folder.path(), &device, restored);
        if calls <= at {
            assert!(at > 1, "no call could fail");
            return;
        }
    }
}

#[test]
fn on_a_full_or_read_only_disk_everything_is_undone() {
    for errno in [Errno::NOSPC, Errno::ROFS] {
        for for_good in [false, true] {
            with_each_call_failing(errno, for_good, true, |at, _, device, restored| {
                assert_eq!(restored.unwrap(), Vec::<String>::new());
                assert_eq!(not_undone(device), Vec::<String>::new(), "{errno} at {at}");
            });
        }
    }
}

#[test]
fn what_cannot_be_read_is_named_and_stays_for_the_next_start() {
    let whole = std::fs::read(log_of_the_dead().path().join(LOG_NAME)).unwrap();
    for for_good in [false, true] {
        with_each_call_failing(Errno::IO, for_good, false, |at, folder, device, restored| {
            let left = not_undone(device);
            if restored.is_ok_and(|complaints| complaints.is_empty()) {
                return assert_eq!(left, Vec::<String>::new(), "at {at}: nothing was said");
            }
            assert_eq!(std::fs::read(folder.join(LOG_NAME)).unwrap(), whole, "at {at}");
            // Later the disk answers again.
            let mut device = frozen_device();
            assert_eq!(restore(folder, &mut device).unwrap(), Vec::<String>::new());
            assert_eq!(not_undone(&device), Vec::<String>::new());
        });
    }
}

/// A line is written before its change is made. If it could not be, the change is not made; whatever was written of
/// it must not spoil the next one.
#[test]
fn a_log_that_fails_while_it_is_written_names_every_change_that_was_made() {
    for errno in [Errno::NOSPC, Errno::ROFS, Errno::IO] {
        for for_good in [false, true] {
            for at in 0..24 {
                let folder = tempfile::tempdir().unwrap();
                let device = frozen_device();
                device.0.borrow_mut().apps.values_mut().for_each(|app| app.frozen = false);
                let mut log = UndoLog::open(folder.path()).unwrap();
                faults::plan(at, errno, for_good, false);
                for round in 0..6 {
                    for cgroup in APPS {
                        if log.freezing(cgroup).is_ok() {
                            device.0.borrow_mut().apps.get_mut(cgroup).unwrap().frozen = true;
                        }
                    }
                    if round % 2 == 1 {
                        log.compact_or_say();
                    }
                }
                faults::end();
                drop(log);
                device.0.borrow_mut().sysctls.insert("vm/page-cluster".into(), "3".into());
                let mut device = device;
                assert_eq!(restore(folder.path(), &mut device).unwrap(), Vec::<String>::new(), "{errno} at {at}");
                assert_eq!(not_undone(&device), Vec::<String>::new(), "{errno} at {at}");
            }
        }
    }
}

/// The log torn at every byte: all whole lines are undone, and a line in the middle that makes no sense is named.
#[test]
fn a_log_that_is_torn_anywhere_is_undone_as_far_as_it_goes() {
    let folder = log_of_the_dead();
    let path = folder.path().join(LOG_NAME);
    let whole = std::fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let mut device = frozen_device();
        assert_eq!(restore(folder.path(), &mut device).unwrap(), Vec::<String>::new());
        let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
        // A line whose end alone is missing is whole too.
        let left = not_undone(&device).len();
        assert!(left == 4 - lines || left + 1 == 4 - lines, "{length}: {left} with {lines} lines");
    }
    let spoiled = [&whole[..20], b"\n", &whole[..]].concat();
    std::fs::write(&path, spoiled).unwrap();
    let mut device = frozen_device();
    let complaints = restore(folder.path(), &mut device).unwrap();
    assert!(complaints.len() == 2 && complaints[0].contains("line 1 makes no sense"), "{complaints:?}");
    assert_eq!(not_undone(&device), Vec::<String>::new());
}

/// On a file system of its own, filled to the last byte: the space for a daemon's whole life was reserved.
#[test]
fn on_a_disk_that_somebody_fills_lines_go_on_being_written() {
    let Some(disk) = SmallDisk::of(400 << 10) else { return };
    let mut log = UndoLog::open(disk.path()).unwrap();
    assert!(log.file.as_ref().unwrap().unreserved().is_none());
    disk.fill();
    // Several times what makes it be written anew.
    for _ in 0..6000 {
        log.freezing("apps/a-with-a-long-name").unwrap();
        log.thawed("apps/a-with-a-long-name").unwrap();
    }
    log.freezing("apps/a").unwrap();
    drop(log);
    let mut device = frozen_device();
    device.0.borrow_mut().apps.retain(|cgroup, _| cgroup == "apps/a");
    device.0.borrow_mut().sysctls.insert("vm/page-cluster".into(), "3".into());
    assert_eq!(restore(disk.path(), &mut device).unwrap(), Vec::<String>::new());
    assert_eq!(not_undone(&device), Vec::<String>::new());
}

/// Without room for a reserve a write is cut off in the middle at last: nothing of it is left, and the next line, once
/// there is room, is one of its own.
#[test]
fn a_line_that_was_cut_off_spoils_no_other() {
    let Some(disk) = SmallDisk::of(16 << 10) else { return };
    let mut log = UndoLog::open(disk.path()).unwrap();
    assert!(log.file.as_ref().unwrap().unreserved().is_some());
    disk.fill();
    let long = format!("apps/{}", "x".repeat(700));
    while log.freezing(&long).is_ok() {}
    assert!(log.freezing(&long).is_err());
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    log.freezing("apps/a").unwrap();
    drop(log);
    let mut device = frozen_device();
    {
        let mut state = device.0.borrow_mut();
        state.sysctls.insert("vm/page-cluster".into(), "3".into());
        state.apps.retain(|cgroup, _| cgroup == "apps/a");
        state.apps.insert(long, FakeApp { frozen: true, ..FakeApp::default() });
    }
    assert_eq!(restore(disk.path(), &mut device).unwrap(), Vec::<String>::new());
    assert!(!device.0.borrow().apps["apps/a"].frozen);
}

/// A tmpfs of a few pages, where we may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn of(size_bytes: u64) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size_bytes}"), "none"])
            .arg(folder.path())
            .output();
        match mounted {
            Ok(done) if done.status.success() => Some(SmallDisk(folder)),
            _ => {
                eprintln!("skipped: no tmpfs can be mounted here");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn fill(&self) {
        use std::io::Write;
        let mut filler = std::fs::File::create(self.path().join("filler")).unwrap();
        while filler.write_all(&[7; 512]).is_ok() {}
        assert!(std::fs::write(self.path().join("more"), "x").is_err(), "it is full");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}
