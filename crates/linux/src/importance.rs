// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `oom_score_adj`: the kernel's own word on whom to kill, kept in step with ours in case it must act before we can.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{openat, Mode, OFlags};

use crate::cgroup::Cgroups;
use crate::error::is_gone;
use crate::file::Root;
use crate::proc::{self, Stat};
use crate::process::{open_folder, read_at, Process};
use crate::{Error, OldScore};

pub(crate) const FILE: &str = "oom_score_adj";

/// Does something to every process of an app. Processes that end meanwhile are passed over.
pub(crate) fn each(
    root: &Root,
    cgroups: &Cgroups,
    cgroup: &str,
    act: impl FnMut(&Process, &mut Vec<u8>) -> io::Result<()>,
) -> Result<(), Error> {
    let mut pids = Vec::new();
    cgroups.processes(cgroup, &mut pids)?;
    each_of(root, cgroup, &pids, act)
}

/// The same to those of these that are the app's.
pub(crate) fn each_of(
    root: &Root,
    cgroup: &str,
    pids: &[u32],
    mut act: impl FnMut(&Process, &mut Vec<u8>) -> io::Result<()>,
) -> Result<(), Error> {
    let mut text = Vec::new();
    for &pid in pids {
        let Some(process) = Process::open_in(root, cgroup, pid)? else { continue };
        match act(&process, &mut text) {
            Err(e) if !is_gone(&e) => return Err(Error::file("accessing", format!("/proc/{pid}/{FILE}"), e)),
            _ => (),
        }
    }
    Ok(())
}

/// What every process of an app has.
pub(crate) fn scores(root: &Root, cgroups: &Cgroups, cgroup: &str) -> Result<Vec<OldScore>, Error> {
    let mut scores = Vec::new();
    each(root, cgroups, cgroup, |process, text| {
        let Some(stat) = process.stat(text)? else { return Ok(()) };
        process.read(FILE, text)?;
        let score = parse(text).map(|oom_score_adj| OldScore {
            pid: process.pid,
            start_ticks: stat.start_ticks,
            oom_score_adj,
        });
        scores.extend(score);
        Ok(())
    })?;
    Ok(scores)
}

/// Gives an app's processes back what they had: those named in `scores` wherever they are now, and those of the cgroup that are
/// not named, its children born since, what the first one had.
pub(crate) fn restore_app(root: &Root, cgroups: &Cgroups, cgroup: &str, scores: &[OldScore]) -> Result<(), Error> {
    let named = restore(root, scores);
    let Some(first) = scores.first() else { return named.map(drop) };
    let children = each(root, cgroups, cgroup, |process, text| {
        let Some(stat) = process.stat(text)? else { return Ok(()) };
        match scores.iter().any(|s| (s.pid, s.start_ticks) == (process.pid, stat.start_ticks)) {
            true => Ok(()),
            false => write(process, first.oom_score_adj),
        }
    });
    named.and(children)
}

fn write(process: &Process, value: i32) -> io::Result<()> {
    File::from(process.open_file(FILE, OFlags::WRONLY)?).write_all(value.to_string().as_bytes())
}

/// Gives processes the values named; those that ended, and whoever has their PID now, are left alone. Returns how many
/// were changed. Goes on after a failure, and reports the first.
pub(crate) fn restore(root: &Root, scores: &[OldScore]) -> Result<u32, Error> {
    let mut restored = 0;
    let mut failure = None;
    for score in scores {
        match restore_one(root, score) {
            Ok(done) => restored += u32::from(done),
            Err(e) if is_gone(&e) => (),
            Err(e) => {
                failure.get_or_insert(Error::file("writing", format!("/proc/{}/{FILE}", score.pid), e));
            }
        }
    }
    failure.map_or(Ok(restored), Err)
}

fn restore_one(root: &Root, score: &OldScore) -> io::Result<bool> {
    // Start time and value are reached through one open folder, so they are the same process's.
    let folder: OwnedFd = open_folder(root, score.pid)?;
    let mut text = Vec::new();
    read_at(&folder, "stat", &mut text)?;
    if Stat::parse(&text).is_none_or(|stat| stat.start_ticks != score.start_ticks) {
        return Ok(false);
    }
    let fd = openat(&folder, FILE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(fd).write_all(score.oom_score_adj.to_string().as_bytes())?;
    Ok(true)
}

/// Reads an `oom_score_adj`.
pub(crate) fn parse(text: &[u8]) -> Option<i32> {
    i32::try_from(proc::signed(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_the_process_of_that_start_time_is_restored() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("proc/70");
        fs::create_dir_all(&process).unwrap();
        fs::write(process.join("stat"), "70 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 555 0 0").unwrap();
        fs::write(process.join(FILE), "900").unwrap();
        let root = Root::at(folder.path());
        let score = |pid, start_ticks| OldScore { pid, start_ticks, oom_score_adj: -17 };
        assert_eq!(restore(&root, &[score(70, 554), score(71, 1)]).unwrap(), 0);
        assert_eq!(fs::read_to_string(process.join(FILE)).unwrap(), "900");
        assert_eq!(restore(&root, &[score(70, 555)]).unwrap(), 1);
        assert_eq!(fs::read_to_string(process.join(FILE)).unwrap(), "-17");
    }
}
