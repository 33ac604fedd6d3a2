// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Android's cpuset of the app in front. Its framework moves processes in and out; the kernel tells nobody when (cgroup v1 has no
//! notification for members), so that one can only look.

use std::path::Path;

use crate::file::{read_into, Root};
use crate::{proc, Error};

/// The processes in a cpuset folder, ascending and each once.
pub fn processes(folder: &Path) -> Result<Vec<u32>, Error> {
    let file = folder.join("cgroup.procs");
    let (mut text, mut pids) = (Vec::new(), Vec::new());
    read_into(&file, &mut text).map_err(|e| Error::file("reading", &file, e))?;
    crate::cgroup::parse_processes(&text, &mut pids);
    // cgroup v1 lists a process once for each of its threads that is in it, in no order.
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// `oom_score_adj` of a process, by which Android ranks it: below 0 for the system's own, 0 in front, above 0 otherwise;
/// `None` once it has ended.
pub fn oom_score_adj(root: &Root, pid: u32) -> Option<i32> {
    let mut text = Vec::new();
    read_into(&root.join(format!("proc/{pid}/oom_score_adj")), &mut text).ok()?;
    i32::try_from(proc::signed(&text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_once_and_ascending_and_a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cgroup.procs"), "812\n40\n812\n\n0\nx\n").unwrap();
        assert_eq!(processes(folder.path()).unwrap(), [40, 812]);
        let error = processes(&folder.path().join("nowhere")).unwrap_err().to_string();
        assert!(error.contains("nowhere/cgroup.procs"), "{error}");
    }

    #[test]
    fn scores_are_read_with_their_sign() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(root.join("proc/7")).unwrap();
        std::fs::write(root.join("proc/7/oom_score_adj"), "-900\n").unwrap();
        assert_eq!(oom_score_adj(&root, 7), Some(-900));
        assert_eq!(oom_score_adj(&root, 8), None);
    }
}
