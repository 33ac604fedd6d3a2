// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! For how long a probe has waited for memory.

use std::path::PathBuf;
use std::time::Duration;

use crate::cgroup::{parse_membership, Cgroups};
use crate::file::{read_into, Root};
use crate::psi::Pressure;

/// The pressure file of the cgroup that this process and its probes are in.
///
/// While all of memory is short a probe waits for memory as everybody does, and nobody holds it up. The kernel counts that
/// (Documentation/accounting/psi.rst), and does not count a wait for a file server or for a lock that somebody holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Stalls(Option<PathBuf>);

impl Stalls {
    /// Of this process's own cgroup; of none on a kernel without PSI.
    pub fn of_own_cgroup(root: &Root) -> Stalls {
        let own = crate::file::read(&root.join("proc/self/cgroup")).ok().and_then(|text| parse_membership(&text));
        let cgroups = Cgroups::find(root).ok();
        Stalls(own.zip(cgroups).map(|(own, cgroups)| cgroups.mount().join(own).join("memory.pressure")))
    }

    /// Since the cgroup was made.
    pub fn total(&self) -> Duration {
        let mut text = Vec::new();
        let read = self.0.as_ref().and_then(|path| read_into(path, &mut text).ok());
        let stall = read.and_then(|()| Pressure::parse(&text).some);
        stall.map_or(Duration::ZERO, |stall| Duration::from_micros(stall.total_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_own_cgroup_waited_for_memory_is_read_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(folder.path());
        assert_eq!(Stalls::of_own_cgroup(&root).total(), Duration::ZERO, "no cgroups");
        put("proc/self/cgroup", "0::/system.slice/fovea.service\n");
        put("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(Stalls::of_own_cgroup(&root).total(), Duration::ZERO, "no PSI");
        let line = |total_us| format!("avg10=0.00 avg60=0.00 avg300=0.00 total={total_us}\n");
        let file = "sys/fs/cgroup/system.slice/fovea.service/memory.pressure";
        put(file, &format!("some {}full {}", line(70_000), line(3)));
        assert_eq!(Stalls::of_own_cgroup(&root).total(), Duration::from_millis(70));
    }
}
