// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs that run in their login's own cgroup, beside the compositor: which processes are one program, and moving them to a
//! cgroup of their own and back.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cgroup::{is_within, parse_membership, Cgroups};
use crate::file::{read_into, Root};
use crate::probe::inspect::Inspect;
use crate::{proc, Error};

/// Processes of one program, at most: what has more is no window's.
const PROCESSES_MAX: usize = 512;

/// Looks for processes that were forked while the others were moved.
const PASSES_MAX: usize = 8;

/// A program: the process that has a window, and all that descends from it and is still in the same cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramTree {
    /// The cgroup that it is in now.
    pub cgroup: String,
    /// Whose it is.
    pub uid: u32,
    /// The program's own name, as the kernel has it.
    pub program: String,
    /// Its processes, the one with the window first.
    pub pids: Vec<u32>,
}

struct Processes {
    /// By process: its parent, its cgroup, its name.
    all: BTreeMap<u32, (u32, String)>,
}

impl Processes {
    /// Those in a cgroup itself or below it.
    fn within(root: &Root, inspect: &mut Inspect<'_>, cgroup: &str) -> Result<Processes, Error> {
        let (mut text, mut members) = (Vec::new(), BTreeMap::new());
        for entry in std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if read_into(&entry.path().join("cgroup"), &mut text).is_err() {
                continue;
            }
            // The root cgroup has everybody below it: there only its own processes are meant.
            let Some(member) = parse_membership(&text) else { continue };
            if !(if cgroup.is_empty() { member.is_empty() } else { is_within(&member, cgroup) }) {
                continue;
            }
            members.insert(pid, member);
        }
        let pids: Vec<u32> = members.keys().copied().collect();
        let stats = inspect.stats(cgroup, &pids).map_err(|e| Error::call("looking into processes", cgroup, e))?;
        let of = |stat: proc::Stat| Some((stat.pid, (stat.parent, members.remove(&stat.pid)?)));
        Ok(Processes { all: stats.into_iter().filter_map(of).collect() })
    }

    fn descends(&self, pid: u32, from: u32) -> bool {
        let parent = |pid: &u32| self.all.get(pid).map(|(parent, _)| *parent);
        // Each step is to another process: a circle would be the kernel's.
        std::iter::successors(Some(pid), parent).take(self.all.len() + 1).any(|pid| pid == from)
    }
}

/// The program of a window's process. `None` if it has ended, or is more than a program: the login's first process, or one
/// from which another window's process descends, as they do from what starts programs (a session's manager, a panel).
pub(crate) fn program_tree(root: &Root, pid: u32, windows: &[u32]) -> Result<Option<ProgramTree>, Error> {
    let mut text = Vec::new();
    let folder = root.join(format!("proc/{pid}"));
    let read = |name: &str, text: &mut Vec<u8>| match read_into(&folder.join(name), text) {
        Ok(()) => Ok(true),
        Err(e) if crate::error::is_gone(&e) => Ok(false),
        Err(e) => Err(Error::file("reading", folder.join(name), e)),
    };
    if !read("cgroup", &mut text)? {
        return Ok(None);
    }
    let Some(member) = parse_membership(&text) else { return Ok(None) };
    let unit = fovea_apps::place_of_cgroup(&member).unit.to_owned();
    let processes = Processes::within(root, &mut Inspect::Here(root), &unit)?;
    let Some((parent, _)) = processes.all.get(&pid) else { return Ok(None) };
    let is_first = !unit.is_empty() && !processes.all.contains_key(parent) && *parent > 1;
    let starts_others = windows.iter().any(|&other| other != pid && processes.descends(other, pid));
    if is_first || starts_others || !read("comm", &mut text)? {
        return Ok(None);
    }
    let program = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
    let uid = match std::fs::metadata(&folder) {
        Ok(metadata) => metadata.uid(),
        Err(e) if crate::error::is_gone(&e) => return Ok(None),
        Err(e) => return Err(Error::file("reading", folder, e)),
    };
    let mut pids: Vec<u32> = processes.all.keys().copied().filter(|&other| processes.descends(other, pid)).collect();
    pids.sort_by_key(|&other| (other != pid, other));
    Ok((pids.len() <= PROCESSES_MAX).then_some(ProgramTree { cgroup: unit, uid, program, pids }))
}

/// Moves a program into a cgroup that is made for it; says how many processes were moved.
pub(crate) fn adopt(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroups: &Cgroups,
    tree: &ProgramTree,
    to: &str,
) -> Result<usize, Error> {
    let folder = cgroups.create(to)?;
    // Where the controller cannot be had, processes are summed up instead.
    let _ = cgroups.enable(to, &["memory"]);
    let Some(&first) = tree.pids.first() else { return Ok(0) };
    let mut moved = 0;
    // What one of them forks before it is moved stays behind: looked for until there is none.
    for _ in 0..PASSES_MAX {
        let processes = Processes::within(root, inspect, &tree.cgroup)?;
        let mut left: Vec<u32> = tree.pids.iter().copied().filter(|pid| processes.all.contains_key(pid)).collect();
        let here = Processes::within(root, inspect, to)?;
        let is_child = |pid: &u32| {
            processes.all.get(pid).is_some_and(|(parent, _)| here.all.contains_key(parent))
                || processes.descends(*pid, first)
        };
        left.extend(processes.all.keys().copied().filter(|pid| !tree.pids.contains(pid)).filter(is_child));
        if left.is_empty() {
            break;
        }
        for pid in left {
            moved += usize::from(move_to(&folder, pid)?);
        }
    }
    Ok(moved)
}

/// Moves all processes of a cgroup to another, and removes the one that they were in; nothing happens if it is gone.
pub(crate) fn give_back(cgroups: &Cgroups, from: &str, to: &str) -> Result<(), Error> {
    let folder = if to.is_empty() { cgroups.mount().to_owned() } else { cgroups.path(to)? };
    let mut pids = Vec::new();
    for _ in 0..PASSES_MAX {
        pids.clear();
        cgroups.processes_within(from, usize::MAX, &mut pids)?;
        if pids.is_empty() {
            break;
        }
        for &pid in &pids {
            move_to(&folder, pid)?;
        }
    }
    cgroups.remove(from)?;
    // Those above it go with the last one below them.
    for above in Path::new(from).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if std::fs::remove_dir(cgroups.mount().join(above)).is_err() {
            break;
        }
    }
    Ok(())
}

/// False if the process has ended.
fn move_to(folder: &Path, pid: u32) -> Result<bool, Error> {
    let file = folder.join("cgroup.procs");
    match std::fs::write(&file, pid.to_string()) {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(false),
        Err(e) => Err(Error::file("writing", file, e)),
        Ok(()) => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: &str = "user.slice/user-1000.slice/session-4.scope";

    fn machine(processes: &[(u32, u32, &str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent, program, cgroup) in processes {
            let folder = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cgroup"), format!("0::/{cgroup}\n")).unwrap();
            std::fs::write(folder.join("comm"), format!("{program}\n")).unwrap();
            let stat = format!("{pid} ({program}) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 0 0");
            std::fs::write(folder.join("stat"), stat).unwrap();
        }
        root
    }

    /// XFCE: the display manager's child, the session, its panel, programs that the panel started, a terminal with a shell.
    #[test]
    fn a_windows_program_is_its_process_and_what_descends_from_it_and_what_starts_others_is_none() {
        let elsewhere = format!("{LOGIN}x");
        let root = machine(&[
            (1, 0, "systemd", "init.scope"),
            (40, 1, "lightdm", "system.slice/lightdm.service"),
            (50, 40, "lightdm", LOGIN),
            (51, 50, "xfce4-session", LOGIN),
            (52, 51, "xfwm4", LOGIN),
            (53, 51, "xfce4-panel", LOGIN),
            (60, 53, "xfce4-terminal", LOGIN),
            (61, 60, "bash", LOGIN),
            (62, 61, "make", &format!("{LOGIN}/below")),
            (63, 61, "moved", &elsewhere),
            (70, 53, "firefox", LOGIN),
        ]);
        let of = |pid, windows: &[u32]| {
            let tree = program_tree(&Root::at(root.path()), pid, windows).unwrap();
            tree.map(|tree| (tree.program, tree.pids))
        };
        let windows = [53, 60, 70];
        assert_eq!(of(60, &windows), Some(("xfce4-terminal".into(), vec![60, 61, 62])));
        assert_eq!(of(70, &windows), Some(("firefox".into(), vec![70])));
        assert_eq!(of(53, &windows), None, "it started others that have windows");
        assert_eq!(of(51, &[51, 70]), None, "the session's own dialog");
        assert_eq!(of(50, &[50]), None, "the login's first process");
        assert_eq!(of(99, &windows), None, "ended");
    }
}
