// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `oom_score_adj`: the kernel's own word on whom to kill, kept in step with ours in case it must
//! act before we can.
//!
//! A process's value is known only by reading it, and processes fork, move and end meanwhile. So
//! nothing is remembered of single processes: what is written is a mark ([`Marks`]), which says by
//! itself what the process has without us. The rules, each for one way in which a guess crept in:
//!
//! - A value is read and written through one open folder, one right after the other.
//! - In an app only processes with the first process's value are marked. An app that gives some of
//!   its processes higher values ranks them by itself, and is left as it is.
//! - A process younger than [`YOUNG_NS`] is left alone, for programs give their children values
//!   right after birth, and that must not fall between our read and our write. Its turn comes
//!   later.
//! - CAP_SYS_RESOURCE is dropped for the write: with it the kernel would also raise the value below
//!   which the program may not go by itself (fs/proc/base.c, __set_oom_adj, oom_score_adj_min), and
//!   without it the kernel refuses to put a process below that value.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

use rustix::fs::OFlags;
use rustix::thread::{capabilities, set_capabilities, CapabilitySet, CapabilitySets};

use crate::cgroup::Cgroups;
use crate::device::{MarkTable, Ranked};
use crate::error::is_gone;
use crate::file::Root;
use crate::probe::inspect::{Inspect, AT_ONCE};
use crate::probe::watched;
use crate::proc::{self, Stat};
use crate::process::{now_ticks, Process};
use crate::{Error, OldScore};
use fovea_apps::{limits, Marks};

pub(crate) const FILE: &str = "oom_score_adj";

/// Programs give children their own values within this time of their birth.
const YOUNG_NS: u64 = 1_000_000_000;

/// Looks at the processes, each for children that were born marked, or unmarked, during the one
/// before.
const LOOKS_MAX: usize = 16;

/// Processes, and what is asked of them: the kernel's, or a model's.
pub(crate) trait Processes {
    type Process;

    /// Those there are now.
    fn list(&mut self, pids: &mut Vec<u32>) -> io::Result<()>;

    /// Takes hold of one; `None` if it is not one of these any more.
    fn open(&mut self, pid: u32) -> io::Result<Option<Self::Process>>;

    /// When it began, in the kernel's ticks, and whether it is young.
    fn began(&mut self, process: &Self::Process) -> io::Result<(u64, bool)>;

    fn score(&mut self, process: &Self::Process) -> io::Result<i32>;

    fn set_score(&mut self, process: &Self::Process, score: i32) -> io::Result<()>;
}

/// Has an app's processes stand where they should: marked as `wanted`, or as they are by themselves
/// where that is 0 or the app ranks them.
pub(crate) fn rank(of: &mut impl Processes, wanted: i32, table: &mut dyn MarkTable) -> io::Result<Ranked> {
    let mark = match base_of(of, table.marks())? {
        Some(base) if wanted > 0 => table.mark(base, wanted).map(|mark| (base, mark)),
        _ => None,
    };
    settle(of, table.marks(), mark)
}

/// Gives every process its own value back.
pub(crate) fn unmark(of: &mut impl Processes, marks: &Marks) -> io::Result<Ranked> {
    settle(of, marks, None)
}

/// The own value of an app's first process; `None` if there is none, or others have higher ones.
fn base_of(of: &mut impl Processes, marks: &Marks) -> io::Result<Option<i32>> {
    let (mut pids, mut first, mut highest) = (Vec::new(), None, i32::MIN);
    of.list(&mut pids)?;
    for pid in pids {
        let read = passing_over_the_dead(of, pid, |of, process| {
            let (start_ticks, _) = of.began(process)?;
            Ok((start_ticks, of.score(process)?))
        });
        // Of one that cannot be read the error shows where it is to be marked.
        let Ok(Some((start_ticks, score))) = read else { continue };
        let own = marks.own_score(score);
        highest = highest.max(own);
        if first.is_none_or(|known| (start_ticks, pid, own) < known) {
            first = Some((start_ticks, pid, own));
        }
    }
    Ok(first.map(|(_, _, own)| own).filter(|&own| own == highest))
}

/// Marks those whose own value is the base, and gives all others their own value back, until a look
/// finds nothing to do.
fn settle(of: &mut impl Processes, marks: &Marks, mark: Option<(i32, i32)>) -> io::Result<Ranked> {
    let mut ranked = Ranked::default();
    let (mut pids, mut failure) = (Vec::new(), None);
    for _ in 0..LOOKS_MAX {
        let changed_before = ranked.changed;
        pids.clear();
        of.list(&mut pids)?;
        ranked.young = 0;
        for &pid in &pids {
            let done = passing_over_the_dead(of, pid, |of, process| {
                // Age first: it must not lie between reading the value and writing it.
                let (_, is_young) = of.began(process)?;
                let score = of.score(process)?;
                let own = marks.own_score(score);
                let target = mark.filter(|&(base, _)| base == own).map_or(own, |(_, mark)| mark);
                if target != score && is_young {
                    ranked.young += 1;
                } else if target != score {
                    match of.set_score(process, target) {
                        Err(e) if e.raw_os_error() == Some(libc::EACCES) => ranked.refused += 1,
                        done => {
                            done?;
                            ranked.changed += 1;
                        }
                    }
                }
                Ok(())
            });
            // One that cannot be read or written keeps none of the others from their place.
            failure = failure.or(done.err());
        }
        if ranked.changed == changed_before {
            break;
        }
    }
    failure.map_or(Ok(ranked), Err)
}

/// Leaves those of an app's processes that are ranked at once: its first ones, by which the others
/// are judged, and of the others some in each second, so that the turn of all comes. Returns how
/// many were left out.
fn some_of(pids: &mut Vec<u32>, second: u64) -> u32 {
    const FIRST: usize = limits::RANKED_AT_ONCE_MAX / 4;
    const SHARE: usize = limits::RANKED_AT_ONCE_MAX - FIRST;
    let before = pids.len();
    if before > limits::RANKED_AT_ONCE_MAX {
        let shares = (before - FIRST).div_ceil(SHARE) as u64;
        let from = FIRST + (second % shares) as usize * SHARE;
        pids.drain(FIRST..from);
        pids.truncate(limits::RANKED_AT_ONCE_MAX);
    }
    (before - pids.len()) as u32
}

fn passing_over_the_dead<P: Processes, T>(
    of: &mut P,
    pid: u32,
    act: impl FnOnce(&mut P, &P::Process) -> io::Result<T>,
) -> io::Result<Option<T>> {
    let done = match of.open(pid) {
        Ok(Some(process)) => act(of, &process).map(Some),
        Ok(None) => Ok(None),
        Err(e) => Err(e),
    };
    match done {
        Err(e) if is_gone(&e) => Ok(None),
        done => done,
    }
}

/// An app's processes, or all there are.
pub(crate) struct Live<'a> {
    root: &'a Root,
    inspect: Inspect<'a>,
    listed: Vec<u32>,
    /// Opened ahead, for many are asked about as fast as one.
    ahead: BTreeMap<u32, (Process, Stat)>,
    cgroup: Option<(&'a Cgroups, &'a str)>,
    now_ticks: u64,
    /// Processes whose turn comes later, for there are too many.
    pub put_off: u32,
    text: Vec<u8>,
    _unprivileged: Unprivileged,
}

impl<'a> Live<'a> {
    /// Of the cgroup; of the whole machine if none is named.
    pub fn new(root: &'a Root, inspect: Inspect<'a>, cgroup: Option<(&'a Cgroups, &'a str)>) -> Live<'a> {
        Live {
            root,
            inspect,
            listed: Vec::new(),
            ahead: BTreeMap::new(),
            cgroup,
            // Before any is listed.
            now_ticks: now_ticks(),
            put_off: 0,
            text: Vec::new(),
            _unprivileged: Unprivileged::new(),
        }
    }

    fn open_one(&mut self, pid: u32) -> io::Result<Option<Process>> {
        match self.cgroup {
            Some((_, cgroup)) => Process::open_listed(&mut self.inspect, self.root, cgroup, pid, self.now_ticks)
                .map_err(io::Error::other),
            None => match Process::open(self.root, pid) {
                Err(e) if is_gone(&e) => Ok(None),
                opened => opened.map(Some),
            },
        }
    }

    /// Opens a process and those listed after it, and asks when they began.
    fn open_ahead(&mut self, pid: u32) -> io::Result<()> {
        let from = self.listed.iter().position(|&listed| listed == pid);
        let some: Vec<u32> = match from {
            Some(at) => self.listed[at..].iter().copied().take(AT_ONCE).collect(),
            None => vec![pid],
        };
        let mut opened = BTreeMap::new();
        for some in some {
            match self.open_one(some) {
                Ok(process) => drop(process.map(|process| opened.insert(some, process))),
                // Its own turn comes, and its error is told then.
                Err(e) if some == pid => return Err(e),
                Err(_) => (),
            }
        }
        let pids: Vec<u32> = opened.keys().copied().collect();
        let (stats, failure) = match self.cgroup {
            Some((_, cgroup)) => (self.inspect.stats(cgroup, &pids)?, None),
            None => self.inspect.stats_of_any(&pids),
        };
        let with = |stat: Stat| Some((stat.pid, (opened.remove(&stat.pid)?, stat)));
        self.ahead = stats.into_iter().filter_map(with).collect();
        // What is wrong with one keeps none of the others from their place.
        failure.filter(|_| !self.ahead.contains_key(&pid)).map_or(Ok(()), Err)
    }

    /// The error of a call, with the file it is about.
    pub fn named(error: io::Error) -> Error {
        Error::file("accessing", format!("/proc/PID/{FILE}"), error)
    }
}

impl Processes for Live<'_> {
    type Process = (Process, Stat);

    fn list(&mut self, pids: &mut Vec<u32>) -> io::Result<()> {
        self.ahead.clear();
        match self.cgroup {
            Some((cgroups, cgroup)) => {
                cgroups.processes(cgroup, pids).map_err(io::Error::other)?;
                self.put_off = some_of(pids, self.now_ticks / rustix::param::clock_ticks_per_second());
            }
            None => {
                let names = std::fs::read_dir(self.root.join("proc"))?.flatten().map(|entry| entry.file_name());
                pids.extend(names.filter_map(|name| name.to_str()?.parse::<u32>().ok()));
                pids.sort_unstable();
            }
        }
        self.listed.clone_from(pids);
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<Option<Self::Process>> {
        if !self.ahead.contains_key(&pid) {
            self.open_ahead(pid)?;
        }
        // Held before it was asked about, and alive: it is the one that was asked about.
        Ok(self.ahead.remove(&pid).filter(|(process, _)| !process.has_ended()))
    }

    fn began(&mut self, (_, stat): &Self::Process) -> io::Result<(u64, bool)> {
        let young_ticks = YOUNG_NS * rustix::param::clock_ticks_per_second() / 1_000_000_000;
        Ok((stat.start_ticks, self.now_ticks.saturating_sub(stat.start_ticks) < young_ticks))
    }

    fn score(&mut self, (process, _): &Self::Process) -> io::Result<i32> {
        process.read(FILE, &mut self.text)?;
        parse(&self.text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn set_score(&mut self, (process, _): &Self::Process, score: i32) -> io::Result<()> {
        File::from(process.open_file(FILE, OFlags::WRONLY)?).write_all(score.to_string().as_bytes())
    }
}

/// The calling thread has no CAP_SYS_RESOURCE for as long as this lives.
struct Unprivileged(Option<CapabilitySets>);

impl Unprivileged {
    fn new() -> Unprivileged {
        let dropped = capabilities(None).ok().filter(|sets| sets.effective.contains(CapabilitySet::SYS_RESOURCE));
        Unprivileged(dropped.filter(|&sets| {
            let fewer = CapabilitySets { effective: sets.effective - CapabilitySet::SYS_RESOURCE, ..sets };
            set_capabilities(None, fewer).is_ok()
        }))
    }
}

impl Drop for Unprivileged {
    fn drop(&mut self) {
        if let Some(sets) = self.0 {
            // Permitted still has it, so that this cannot fail.
            let _ = set_capabilities(None, sets);
        }
    }
}

/// Does something to those of these processes that are the app's, which were listed a moment ago.
/// Processes that end meanwhile are passed over.
pub(crate) fn each_of(
    root: &Root,
    cgroup: &str,
    pids: &[u32],
    mut act: impl FnMut(&Process, &mut Vec<u8>) -> io::Result<()>,
) -> Result<(), Error> {
    let (mut text, mut inspect) = (Vec::new(), Inspect::Here(root));
    let ticks = now_ticks().saturating_sub(rustix::param::clock_ticks_per_second());
    for &pid in pids {
        if !watched::touch(pid) {
            continue;
        }
        let Some(process) = Process::open_listed(&mut inspect, root, cgroup, pid, ticks)? else { continue };
        match act(&process, &mut text) {
            Err(e) if !is_gone(&e) => return Err(Error::file("accessing", format!("/proc/{pid}"), e)),
            _ => (),
        }
    }
    Ok(())
}

/// Undoes what the log of a version without marks names: those values were read before others were
/// written, and of children guessed. A process is never put below its value now by more than the
/// guess can be trusted: not below 0, and not up. Goes on after a failure, and reports the first.
pub(crate) fn lower(root: &Root, inspect: &mut Inspect<'_>, scores: &[OldScore]) -> Result<u32, Error> {
    let (mut lowered, mut failure, mut text) = (0, None, Vec::new());
    for score in scores.iter().filter(|score| score.oom_score_adj >= 0) {
        let mut lower_one = || {
            let process = Process::open(root, score.pid)?;
            let (stats, failure) = inspect.stats_of_any(&[score.pid]);
            failure.map_or(Ok(()), Err)?;
            let is_same = stats.iter().any(|stat| stat.start_ticks == score.start_ticks) && !process.has_ended();
            process.read(FILE, &mut text)?;
            if is_same && parse(&text).is_some_and(|now| now > score.oom_score_adj) {
                File::from(process.open_file(FILE, OFlags::WRONLY)?)
                    .write_all(score.oom_score_adj.to_string().as_bytes())?;
                lowered += 1;
            }
            Ok(())
        };
        match lower_one() {
            Err(e) if !is_gone(&e) => {
                failure.get_or_insert(Error::file("writing", format!("/proc/{}/{FILE}", score.pid), e));
            }
            _ => (),
        }
    }
    failure.map_or(Ok(lowered), Err)
}

/// Reads an `oom_score_adj`.
pub(crate) fn parse(text: &[u8]) -> Option<i32> {
    i32::try_from(proc::signed(text)?).ok()
}

#[cfg(test)]
#[path = "importance_tests.rs"]
mod tests;
