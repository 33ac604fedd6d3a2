// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of several speeds: its nodes, where an app's pages lie, and what holds the kernel's means of moving them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use fovea_apps::{MemoryNode, MemoryTiers};
use rustix::io::Errno;

use crate::cgroup::{has_controller, Cgroups, Controller};
use crate::check::{missing, Finding};
use crate::device::TierSetting;
use crate::file::{read, write, write_named, Root};
use crate::page::PageSize;
use crate::{generations, proc, Error};

const NODES: &str = "sys/devices/system/node";
const TIERS: &str = "sys/devices/virtual/memory_tiering";
const DEMOTION: &str = "sys/kernel/mm/numa/demotion_enabled";
const KDAMONDS: &str = "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";

const SCAN_PERIOD: &str = "sys/kernel/debug/sched/numa_balancing/scan_period_min_ms";
const SCAN_PERIOD_MAX: &str = "sys/kernel/debug/sched/numa_balancing/scan_period_max_ms";
const SCAN_DELAY: &str = "sys/kernel/debug/sched/numa_balancing/scan_delay_ms";
const HOT_THRESHOLD: &str = "sys/kernel/debug/sched/numa_balancing/hot_threshold_ms";
const ALLOWED: &str = "cpuset.mems";

/// More nodes than that no kernel has (`NODES_SHIFT` is at most 10), so a longer range is nonsense.
const NODES_MAX: u32 = 1024;

/// A list of nodes as the kernel writes it: "0-1,4".
pub(crate) fn parse_nodes(text: &[u8]) -> Option<BTreeSet<u32>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let number = |text: &str| text.parse::<u32>().ok().filter(|&node| node < NODES_MAX);
    let ranges = text.split(',').filter(|_| !text.is_empty()).map(|range| match range.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?),
        None => number(range).map(|node| node..=node),
    });
    Some(ranges.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// A line of /sys/devices/system/node/nodeN/meminfo: "Node 0 MemTotal:  89900 kB".
fn meminfo_bytes(text: &[u8], node: u32, what: &str) -> Option<u64> {
    let line = proc::after_key(text, format!("Node {node} {what}:").as_bytes())?;
    proc::number(line)?.checked_mul(1024)
}

/// The nodes that have memory now; none on a kernel without NUMA.
pub(crate) fn nodes(root: &Root) -> Result<Vec<MemoryNode>, Error> {
    let path = root.join(NODES).join("has_memory");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read(&path)?;
    let numbers = parse_nodes(&text).ok_or_else(|| Error::parse(&path, &text))?;
    let tiers = tiers(root);
    let with_cpus =
        read(&root.join(NODES).join("has_cpu")).ok().and_then(|text| parse_nodes(&text)).unwrap_or_default();
    let kept = read(&root.join("proc/zoneinfo")).map(|text| kept_bytes(&text, root.page_size())).unwrap_or_default();
    let node = |node: u32| {
        let folder = root.join(NODES).join(format!("node{node}"));
        // Memory may be taken away at any time, and its node with it.
        let meminfo = read(&folder.join("meminfo")).ok()?;
        let latency = read(&folder.join("access0/initiators/read_latency")).ok();
        Some(MemoryNode {
            node,
            tier: tiers.get(&node).copied(),
            read_latency_ns: latency.and_then(|text| proc::number(&text)).and_then(|ns| u32::try_from(ns).ok()),
            has_cpus: with_cpus.contains(&node),
            total_bytes: meminfo_bytes(&meminfo, node, "MemTotal").filter(|&bytes| bytes > 0)?,
            free_bytes: meminfo_bytes(&meminfo, node, "MemFree")?,
            kept_bytes: kept.get(&node).copied().unwrap_or(0),
        })
    };
    Ok(numbers.into_iter().filter_map(node).collect())
}

/// What the kernel keeps free of each node before it moves pages there: the mark above which `kswapd` stops where it promotes (WMARK_PROMO), which
/// lies as far above `high` as that above `low`.
fn kept_bytes(zoneinfo: &[u8], page: PageSize) -> BTreeMap<u32, u64> {
    let mut kept = BTreeMap::new();
    let (mut node, mut low) = (None, 0u64);
    for line in String::from_utf8_lossy(zoneinfo).lines() {
        let mut words = line.split_ascii_whitespace();
        let number = |word: Option<&str>| word.and_then(|word| word.trim_end_matches(',').parse::<u64>().ok());
        match words.next() {
            Some("Node") => node = number(words.next()).and_then(|node| u32::try_from(node).ok()),
            Some("low") => low = number(words.next()).unwrap_or(0),
            Some("high") if line.starts_with(' ') => {
                if let (Some(node), Some(high)) = (node, number(words.next())) {
                    let sum: &mut u64 = kept.entry(node).or_default();
                    *sum =
                        sum.saturating_add(high.saturating_add(high.saturating_sub(low)).saturating_mul(page.bytes()));
                }
            }
            _ => {}
        }
    }
    kept
}

/// The tier of each node that the kernel has put into one.
fn tiers(root: &Root) -> BTreeMap<u32, u32> {
    let entries = std::fs::read_dir(root.join(TIERS)).into_iter().flatten().flatten();
    let tier = |entry: std::fs::DirEntry| {
        let tier = entry.file_name().to_str()?.strip_prefix("memory_tier")?.parse::<u32>().ok()?;
        let nodes = parse_nodes(&read(&entry.path().join("nodelist")).ok()?)?;
        Some(nodes.into_iter().map(move |node| (node, tier)))
    };
    entries.filter_map(tier).flatten().collect()
}

/// An app's memory by node: anonymous, and of files. Empty once it has ended, and without the memory controller.
pub(crate) fn app_bytes(cgroups: &Cgroups, cgroup: &str, text: &mut Vec<u8>) -> Result<BTreeMap<u32, u64>, Error> {
    match cgroups.text(cgroup, "memory.numa_stat", text)? {
        true => Ok(parse_numa_stat(text)),
        false => Ok(BTreeMap::new()),
    }
}

fn parse_numa_stat(text: &[u8]) -> BTreeMap<u32, u64> {
    let mut bytes = BTreeMap::new();
    let lines = [b"anon ", b"file "].into_iter().filter_map(|key| proc::after_key(text, key));
    for word in lines.flat_map(|line| line.split(u8::is_ascii_whitespace)) {
        let Some((node, count)) =
            std::str::from_utf8(word).ok().and_then(|word| word.strip_prefix('N')?.split_once('='))
        else {
            continue;
        };
        if let (Ok(node), Ok(count)) = (node.parse::<u32>(), count.parse::<u64>()) {
            let sum: &mut u64 = bytes.entry(node).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    bytes
}

/// What its parent may have: what it has itself if nobody says otherwise.
fn effective_above(path: &Path) -> Vec<u8> {
    let above = path.ancestors().nth(2).map(|parent| parent.join("cpuset.mems.effective"));
    above.and_then(|above| read(&above).ok()).map_or_else(Vec::new, |text| text.trim_ascii().to_vec())
}

/// The nodes that an app is restricted to; empty if it may have all that its parent may have.
pub(crate) fn allowed(cgroups: &Cgroups, cgroup: &str, text: &mut Vec<u8>) -> Result<Option<String>, Error> {
    if !cgroups.text(cgroup, ALLOWED, text)? {
        return Ok(None);
    }
    let said = text.trim_ascii();
    let is_all = !said.is_empty() && said == effective_above(&cgroups.path(cgroup)?.join(ALLOWED));
    Ok(Some(if is_all { String::new() } else { String::from_utf8_lossy(said).into_owned() }))
}

pub(crate) fn set_allowed(cgroups: &Cgroups, cgroup: &str, nodes: &str) -> Result<(), Error> {
    let path = cgroups.path(cgroup)?.join(ALLOWED);
    if !path.exists() {
        return Ok(());
    }
    match nodes {
        "" => allow_all(&path, write),
        nodes => write_named(&path, nodes),
    }
}

fn allow_all(path: &Path, write: impl Fn(&Path, &str) -> io::Result<()>) -> Result<(), Error> {
    // An empty line, not an empty write, which the kernel never sees.
    let done = match write(path, "\n") {
        // A cgroup with processes does not become empty of nodes again: all by name is the same to it.
        Err(e) if e.raw_os_error() == Some(Errno::NOSPC.raw_os_error()) => {
            write(path, &String::from_utf8_lossy(&effective_above(path)))
        }
        done => done,
    };
    done.map_err(|e| Error::file("writing", path, e))
}

fn setting_path(root: &Root, setting: TierSetting) -> PathBuf {
    root.join(match setting {
        TierSetting::Demotion => DEMOTION,
        TierSetting::ScanPeriod => SCAN_PERIOD,
        TierSetting::ScanPeriodMax => SCAN_PERIOD_MAX,
        TierSetting::ScanDelay => SCAN_DELAY,
        TierSetting::HotThreshold => HOT_THRESHOLD,
    })
}

pub(crate) fn setting(root: &Root, setting: TierSetting) -> Option<String> {
    let text = read(&setting_path(root, setting)).ok()?;
    Some(String::from_utf8_lossy(text.trim_ascii()).into_owned())
}

pub(crate) fn set_setting(root: &Root, setting: TierSetting, value: &str) -> Result<(), Error> {
    write_named(&setting_path(root, setting), value)
}

/// Who, beside us, could be using DAMON: its one list of threads is everybody's.
fn damon_user(root: &Root) -> Result<Option<&'static str>, &'static str> {
    for (module, user) in [("damon_reclaim", "damon_reclaim"), ("damon_lru_sort", "damon_lru_sort")] {
        let enabled = read(&root.join(format!("sys/module/{module}/parameters/enabled")));
        if enabled.is_ok_and(|text| text.starts_with(b"Y")) {
            return Ok(Some(user));
        }
    }
    match read(&root.join(KDAMONDS)).ok().and_then(|text| proc::number(&text)) {
        None => Err("no DAMON"),
        Some(0) => Ok(None),
        Some(_) => Ok(Some("somebody's kdamond")),
    }
}

/// The row `tiers` of `fovea check`.
pub(crate) fn look(root: &Root, cgroups: Option<&Cgroups>) -> Finding {
    let nodes = match nodes(root) {
        Ok(nodes) => nodes,
        Err(e) => return Finding::Unknown(e.to_string()),
    };
    let Some(tiers) = MemoryTiers::of(&nodes) else { return Finding::Unknown("all memory is of one kind".into()) };
    let kind = |of: &BTreeSet<u32>| {
        let bytes: u64 = nodes.iter().filter(|node| of.contains(&node.node)).map(|node| node.total_bytes).sum();
        let names: Vec<_> = of.iter().map(u32::to_string).collect();
        format!("node {} ({} MiB)", names.join(", "), bytes >> 20)
    };
    let mut found = format!("fast {}, slow {}", kind(&tiers.fast), kind(&tiers.slow));
    if !tiers.are_promoted_to(&nodes) {
        return missing(
            format!("{found}; fast memory has no CPUs"),
            "the kernel moves what is used to the node of the CPU that uses it, and nowhere else; such memory is used where a program asks for it (numactl)",
        );
    }
    found += match read(&root.join(DEMOTION)) {
        Ok(text) if text.starts_with(b"true") || text.starts_with(b"1") => "; demotion on",
        Ok(_) => "; demotion off",
        Err(_) => return missing(format!("{found}; no demotion"), "Linux 5.15 or newer with CONFIG_MIGRATION has it"),
    };
    found += &match damon_user(root) {
        Ok(None) => "; DAMON free".to_owned(),
        Ok(Some(user)) => format!("; DAMON held by {user}, which is left alone"),
        Err(none) => format!("; {none}"),
    };
    found += match (read(&root.join(SCAN_PERIOD)).is_ok(), generations::are_known(root)) {
        (true, true) => "; ages known",
        (false, true) => "; ages known, scan period not",
        (_, false) => "; ages unknown (debugfs lru_gen, mm/lru_gen/enabled): nothing is demoted ahead",
    };
    let has_cpuset =
        |file: &str| cgroups.is_some_and(|cgroups| has_controller(cgroups.mount(), file, Controller::Cpuset));
    if !has_cpuset("cgroup.controllers") {
        return missing(
            format!("{found}; no cpuset controller"),
            "boot with systemd.unified_cgroup_hierarchy=1, or cgroup_no_v1=cpuset; else the kernel lacks CONFIG_CPUSETS",
        );
    }
    let passed = has_cpuset("cgroup.subtree_control");
    Finding::Present(found + if passed { "; cpusets passed on" } else { "; cpusets not passed on" })
}

#[cfg(test)]
#[path = "tiers_tests.rs"]
mod tests;
