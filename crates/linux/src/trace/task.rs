// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who a task is, while it lives.

use std::collections::BTreeSet;
use std::fs;

use super::Comm;
use crate::cgroup::parse_membership;
use crate::file::{self, Root};
use crate::proc;

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub comm: Comm,
    /// Its cgroup v2, without leading slash; empty in the root cgroup.
    pub cgroup: String,
    /// A thread of the kernel, which works on somebody's behalf.
    pub kernel: bool,
}

/// PF_KTHREAD (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Asks /proc; `None` once the task has ended. Threads can be asked for like processes.
pub fn describe(root: &Root, tid: u32) -> Option<Task> {
    let read = |name: &str| file::read(&root.join(format!("proc/{tid}/{name}"))).ok();
    let stat = read("stat")?;
    let (open, close) = (memchr::memchr(b'(', &stat)?, memchr::memrchr(b')', &stat)?);
    // Field 9; the first behind the name is field 3.
    let flags = proc::number(stat.get(close + 1..)?.split(|&b| b == b' ').nth(7)?)?;
    Some(Task {
        comm: Comm::new(stat.get(open + 1..close)?),
        cgroup: read("cgroup").and_then(|text| parse_membership(&text)).unwrap_or_default(),
        kernel: flags & KERNEL_THREAD != 0,
    })
}

/// The threads of processes and of all processes below them, ascending. Those that come while we look are not all found: fork
/// events tell of them once the recording runs.
pub fn with_descendants(root: &Root, pids: &[u32]) -> Vec<u32> {
    let mut family: BTreeSet<u32> = pids.iter().copied().collect();
    let parents: Vec<(u32, u32)> =
        numbered(root, "proc").into_iter().filter_map(|pid| Some((pid, parent(root, pid)?))).collect();
    loop {
        let before = family.len();
        family.extend(
            parents.iter().filter(|(_, parent)| family.contains(parent)).map(|&(pid, _)| pid).collect::<Vec<_>>(),
        );
        if family.len() == before {
            break;
        }
    }
    threads(root, family)
}

/// The threads of processes, ascending.
pub fn threads(root: &Root, pids: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let all: BTreeSet<u32> = pids.into_iter().flat_map(|pid| numbered(root, &format!("proc/{pid}/task"))).collect();
    all.into_iter().collect()
}

fn numbered(root: &Root, folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(root: &Root, pid: u32) -> Option<u32> {
    let stat = file::read(&root.join(format!("proc/{pid}/stat"))).ok()?;
    let rest = stat.get(memchr::memrchr(b')', &stat)? + 1..)?;
    proc::number(rest.split(|&b| b == b' ').nth(2)?).and_then(|parent| u32::try_from(parent).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_described_and_has_its_threads() {
        let (root, pid) = (Root::at("/"), std::process::id());
        let task = describe(&root, pid).unwrap();
        assert!(!task.kernel && !task.comm.text().is_empty());
        assert_eq!(describe(&root, u32::MAX), None);
        assert!(threads(&root, [pid]).contains(&pid));
        assert_eq!(threads(&root, [u32::MAX]), Vec::<u32>::new());
    }

    #[test]
    fn names_with_anything_in_them_do_not_hide_the_flags() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, parent, comm, flags) in
            [(7, 1, "a) S 1 (", 0x40_0040), (8, 7, "kworker/0:1", 0x20_8040), (9, 8, "x", 0), (10, 1, "y", 0)]
        {
            let base = folder.path().join(format!("proc/{pid}"));
            fs::create_dir_all(base.join(format!("task/{pid}"))).unwrap();
            fs::create_dir_all(base.join(format!("task/{}", pid + 100))).unwrap();
            fs::write(base.join("stat"), format!("{pid} ({comm}) S {parent} 7 7 0 -1 {flags} 3 0\n")).unwrap();
            fs::write(base.join("cgroup"), "0::/app.slice/x\n").unwrap();
        }
        let root = Root::at(folder.path());
        let seven = describe(&root, 7).unwrap();
        assert_eq!(
            (seven.comm.text().as_ref(), seven.cgroup.as_str(), seven.kernel),
            ("a) S 1 (", "app.slice/x", false)
        );
        assert!(describe(&root, 8).unwrap().kernel);
        assert_eq!(with_descendants(&root, &[7]), [7, 8, 9, 107, 108, 109]);
    }
}
