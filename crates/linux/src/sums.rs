// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app occupies by its processes, where no memory controller tells it of the whole.

use fovea_apps::limits::SUMMED_AT_ONCE_MAX;
use fovea_apps::AppUsage;

use crate::file::Root;
use crate::proc::Status;
use crate::process::read_of_memory;

/// Apps with more processes than are read at once of which the others are remembered.
const APPS_MAX: usize = 64;

/// What was last read of those of an app's processes that are too many to be read at once.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    of: Vec<Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    cgroup: String,
    /// Ascending.
    read: Vec<(u32, Status)>,
    /// Whose turn it is.
    next: u32,
}

impl Sums {
    /// The sum over an app's processes, which are ascending. Of many, those that were never read are read first, then the
    /// others in turn.
    pub fn usage(&mut self, root: &Root, cgroup: &str, pids: &[u32], text: &mut Vec<u8>) -> AppUsage {
        let at = self.of.iter().position(|sum| sum.cgroup == cgroup);
        let mut sum = at.map(|at| self.of.swap_remove(at)).unwrap_or_default();
        let place = |read: &[(u32, Status)], pid: &u32| read.binary_search_by_key(pid, |(pid, _)| *pid);
        sum.read.retain(|(pid, _)| pids.binary_search(pid).is_ok());
        let (early, late) = pids.split_at(pids.partition_point(|&pid| pid < sum.next));
        let fresh = pids.iter().filter(|pid| place(&sum.read, pid).is_err());
        let known = late.iter().chain(early).filter(|pid| place(&sum.read, pid).is_ok());
        let turn: Vec<u32> = fresh.chain(known).copied().take(SUMMED_AT_ONCE_MAX).collect();
        for pid in turn {
            let read = read_of_memory(root, pid, "status", text);
            let status = read.map(|()| Status::parse(text)).unwrap_or_default();
            match place(&sum.read, &pid) {
                Ok(at) => {
                    sum.read[at].1 = status;
                    sum.next = pid + 1;
                }
                Err(at) => sum.read.insert(at, (pid, status)),
            }
        }
        let mut usage = AppUsage { processes: pids.len() as u32, ..AppUsage::default() };
        for (_, status) in &sum.read {
            // Mapped by one of them: what several map would count several times.
            usage.shmem_bytes = usage.shmem_bytes.max(status.shmem_bytes);
            usage.anon_bytes = usage.anon_bytes.saturating_add(status.anon_bytes);
            usage.current_bytes = usage.current_bytes.saturating_add(status.resident_bytes);
            usage.swap_bytes = usage.swap_bytes.saturating_add(status.swap_bytes);
        }
        if pids.len() > SUMMED_AT_ONCE_MAX {
            if self.of.len() >= APPS_MAX {
                self.of.clear();
            }
            self.of.push(Sum { cgroup: cgroup.to_owned(), ..sum });
        }
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_processes_some_are_read_at_a_time_and_all_count_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let pids: Vec<u32> = (1..=3 * SUMMED_AT_ONCE_MAX as u32).collect();
        let set = |pid: u32, kib: u64| {
            crate::file::capture(folder.path(), &format!("proc/{pid}/status"), &format!("RssAnon:\t{kib} kB\n"));
        };
        pids.iter().for_each(|&pid| set(pid, 1));
        let (mut sums, mut text) = (Sums::default(), Vec::new());
        let mut kib = |pids: &[u32]| sums.usage(&root, "a", pids, &mut text).anon_bytes >> 10;
        let most = SUMMED_AT_ONCE_MAX as u64;
        assert_eq!([kib(&pids), kib(&pids), kib(&pids)], [most, 2 * most, 3 * most]);
        // One grows, and its turn comes.
        set(most as u32 + 1, 101);
        assert_eq!([kib(&pids), kib(&pids), kib(&pids)], [3 * most, 3 * most + 100, 3 * most + 100]);
        assert_eq!(kib(&pids[1..]), 3 * most + 99, "one has ended");
        assert_eq!(kib(&pids[..2]), 2);
    }
}
