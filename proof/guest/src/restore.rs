// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a device looks like before a daemon touches it, and what differs after the daemon's death.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fovea_scenario::EventBody;

use crate::outcome::{write_file, At, Outcome};
use crate::phone::RunningApp;
use crate::readings::{list, processes, swap_areas, zram_devices};
use crate::setup::{cgroup_path, APPS, CGROUP_ROOT};

/// Settings of the kernel that a memory manager might change.
const SETTINGS: [&str; 17] = [
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/min_free_kbytes",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/ksm/pages_to_scan",
    "/sys/kernel/mm/ksm/sleep_millisecs",
    "/sys/kernel/mm/ksm/advisor_mode",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
    "/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/apps/cgroup.subtree_control",
];

/// Settings of an app's cgroup that it might change.
const LIMITS: [&str; 10] = [
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.max",
    "memory.swap.max",
    "memory.zswap.max",
    "cpu.max",
    "cpu.weight",
    "io.max",
    "pids.max",
];

/// What an administrator sets while the daemon runs, at every second death of it: what the daemon has never set and would not have found.
const THEIRS: (&str, &str) = ("/proc/sys/vm/page-cluster", "1");

/// The device before its daemon first started.
pub struct Baseline {
    deaths: Cell<u32>,
    settings: BTreeMap<&'static str, String>,
    limits: BTreeMap<&'static str, String>,
    oom_score_adj: String,
    swap: BTreeSet<String>,
    zram: BTreeSet<String>,
}

/// A file's text without its end, or nothing if it is not there: then it cannot differ either.
fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim_end().to_owned()
}

impl Baseline {
    /// Looks at the device.
    pub fn take() -> Outcome<Self> {
        // What a cgroup has that nobody has touched.
        let probe = cgroup_path(APPS).join("untouched");
        std::fs::create_dir(&probe).at(|| format!("making {}", probe.display()))?;
        let limits = LIMITS.iter().map(|name| (*name, text(probe.join(name)))).collect();
        std::fs::remove_dir(&probe).at(|| format!("removing {}", probe.display()))?;
        Ok(Self {
            deaths: Cell::new(0),
            settings: SETTINGS.iter().map(|path| (*path, text(path))).collect(),
            limits,
            // Apps inherit this process's.
            oom_score_adj: text("/proc/self/oom_score_adj"),
            swap: swap_areas()?.into_iter().collect(),
            zram: zram_devices()?.into_iter().collect(),
        })
    }

    /// Before the daemon is killed: sets a setting of the daemon's anew, as an administrator would, at every second death; says whether it did.
    pub fn meddle(&self) -> Outcome<bool> {
        let (path, theirs) = THEIRS;
        let deaths = self.deaths.replace(self.deaths.get() + 1);
        // One that the daemon has not set says nothing.
        let meddles = deaths % 2 == 1 && text(path) != self.settings[path];
        if meddles {
            write_file(path, theirs)?;
        }
        Ok(meddles)
    }

    /// After a death before which somebody meddled: it must stand, and is put back for what follows.
    pub fn stands(&self) -> Outcome<()> {
        let (path, theirs) = THEIRS;
        let found = text(path);
        if found != theirs {
            return Err(format!(
                "{path} was set to {theirs} by somebody while the daemon ran, and is {found} after its death"
            ));
        }
        write_file(path, &self.settings[path])
    }

    /// What is not as it was.
    pub fn compare(&self, apps: &BTreeMap<String, RunningApp>) -> Outcome<EventBody> {
        let mut settings: Vec<String> = self
            .settings
            .iter()
            .filter(|(path, was)| text(path) != **was)
            .map(|(path, _)| (*path).to_owned())
            .collect();
        let mut adjusted = 0;
        for app in apps.values() {
            let folder = cgroup_path(&app.cgroup);
            let changed = self.limits.iter().filter(|(name, was)| text(folder.join(name)) != **was);
            settings.extend(changed.map(|(name, _)| format!("{}/{name}", app.cgroup)));
            for pid in processes(&folder) {
                // Empty: it has ended since.
                let score = text(format!("/proc/{pid}/oom_score_adj"));
                adjusted += u32::from(!score.is_empty() && score != self.oom_score_adj);
            }
        }
        // Nobody here sets them but the daemon; apps that are not `apps`, too.
        let nodes = cgroups_where("cpuset.mems", |nodes| !nodes.is_empty())?;
        settings.extend(nodes.into_iter().map(|cgroup| format!("{cgroup}/cpuset.mems")));
        Ok(EventBody::AfterKill {
            frozen: frozen_cgroups()?.len() as u32,
            adjusted,
            zram_left: zram_left(
                &self.swap,
                &self.zram,
                &swap_areas()?.into_iter().collect(),
                &zram_devices()?.into_iter().collect(),
            ),
            settings,
        })
    }
}

/// Swap areas and zram devices that are new, each device counted once.
fn zram_left(
    swap_before: &BTreeSet<String>,
    zram_before: &BTreeSet<String>,
    swap_now: &BTreeSet<String>,
    zram_now: &BTreeSet<String>,
) -> u32 {
    let areas = swap_now.difference(swap_before).map(|path| path.rsplit('/').next().unwrap_or(path));
    let devices = zram_now.difference(zram_before).map(String::as_str);
    areas.chain(devices).collect::<BTreeSet<_>>().len() as u32
}

/// Every cgroup that has been frozen, as a path below the mount.
pub fn frozen_cgroups() -> Outcome<Vec<String>> {
    cgroups_where("cgroup.freeze", |text| text == "1")
}

/// Every cgroup of which a file's text is as asked, as a path below the mount.
fn cgroups_where(file: &str, is_wanted: fn(&str) -> bool) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    walk("", file, is_wanted, &mut found)?;
    Ok(found)
}

fn walk(cgroup: &str, file: &str, is_wanted: fn(&str) -> bool, found: &mut Vec<String>) -> Outcome<()> {
    let folder = Path::new(CGROUP_ROOT).join(cgroup);
    if is_wanted(&text(folder.join(file))) {
        found.push(cgroup.to_owned());
    }
    for name in list(&folder)? {
        if folder.join(&name).is_dir() {
            let below = if cgroup.is_empty() { name } else { format!("{cgroup}/{name}") };
            walk(&below, file, is_wanted, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn a_device_used_as_swap_counts_once_and_what_was_there_before_not_at_all() {
        let none = set(&[]);
        assert_eq!(zram_left(&none, &none, &set(&["/dev/zram0"]), &set(&["zram0"])), 1);
        assert_eq!(zram_left(&none, &none, &none, &set(&["zram0", "zram1"])), 2);
        assert_eq!(zram_left(&set(&["/dev/sda2"]), &set(&["zram0"]), &set(&["/dev/sda2"]), &set(&["zram0"])), 0);
        assert_eq!(zram_left(&none, &set(&["zram0"]), &set(&["/dev/zram0"]), &set(&["zram0"])), 1);
    }
}
