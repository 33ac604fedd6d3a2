// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of several speeds: NUMA nodes, and which of them are the fast ones.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A NUMA node that has memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNode {
    /// Its number.
    pub node: u32,
    /// The kernel's number of its tier: the smaller, the faster. None where the kernel does not tell.
    pub tier: Option<u32>,
    /// What firmware tells of a read by the nearest CPU.
    pub read_latency_ns: Option<u32>,
    /// CPUs are in it.
    #[serde(default)]
    pub has_cpus: bool,
    /// All of its memory.
    pub total_bytes: u64,
    /// What is free of it.
    pub free_bytes: u64,
    /// What the kernel keeps free of it: pages are moved there from other nodes only while more is.
    #[serde(default)]
    pub kept_bytes: u64,
}

/// The nodes of a machine with memory of several speeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryTiers {
    /// Nodes of the fastest kind.
    pub fast: BTreeSet<u32>,
    /// All others.
    pub slow: BTreeSet<u32>,
}

impl MemoryTiers {
    /// Which nodes are fast: by the kernel's tiers, and where it tells those of no or not of all nodes, by firmware's latencies. Whether a node
    /// has CPUs does not matter, since fast memory may have none (HBM). `None` where all memory is of one kind, or nothing tells.
    pub fn of(nodes: &[MemoryNode]) -> Option<MemoryTiers> {
        let by = |speed: fn(&MemoryNode) -> Option<u32>| {
            let speeds: BTreeMap<u32, u32> =
                nodes.iter().map(|node| Some((node.node, speed(node)?))).collect::<Option<_>>()?;
            let best = speeds.values().copied().min()?;
            let (fast, slow): (BTreeSet<u32>, BTreeSet<u32>) =
                speeds.keys().partition(|node| speeds.get(node) == Some(&best));
            (!slow.is_empty()).then_some(MemoryTiers { fast, slow })
        };
        match nodes.iter().all(|node| node.tier.is_some()) {
            true => by(|node| node.tier),
            false => by(|node| node.read_latency_ns),
        }
    }

    /// Whether the kernel moves what is used to fast memory: it moves it to where the CPU that uses it is, and nowhere else.
    pub fn are_promoted_to(&self, nodes: &[MemoryNode]) -> bool {
        nodes.iter().any(|node| node.has_cpus && self.fast.contains(&node.node))
    }

    /// All nodes.
    pub fn all(&self) -> BTreeSet<u32> {
        &self.fast | &self.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(node: u32, tier: Option<u32>, read_latency_ns: Option<u32>) -> MemoryNode {
        let bytes = 1 << 30;
        MemoryNode {
            node,
            tier,
            read_latency_ns,
            has_cpus: node == 0,
            total_bytes: bytes,
            free_bytes: bytes / 2,
            kept_bytes: 0,
        }
    }

    fn tiers(fast: &[u32], slow: &[u32]) -> Option<MemoryTiers> {
        Some(MemoryTiers { fast: fast.iter().copied().collect(), slow: slow.iter().copied().collect() })
    }

    #[test]
    fn the_kernels_tiers_come_first() {
        let of = |nodes: &[MemoryNode]| MemoryTiers::of(nodes);
        assert_eq!(of(&[node(0, Some(4), Some(50)), node(1, Some(900), Some(1000))]), tiers(&[0], &[1]));
        // HBM without CPUs, and two sockets' memory.
        assert_eq!(of(&[node(0, Some(4), None), node(1, Some(4), None), node(2, Some(2), None)]), tiers(&[2], &[0, 1]));
        assert_eq!(
            of(&[node(0, Some(4), None), node(1, Some(22), None), node(2, Some(99), None)]),
            tiers(&[0], &[1, 2])
        );
        assert_eq!(
            of(&[node(0, Some(4), Some(50)), node(1, Some(4), Some(60))]),
            None,
            "one tier, whatever firmware says"
        );
    }

    #[test]
    fn the_kernel_moves_nothing_to_fast_memory_without_cpus() {
        for (tiers, promoted) in [([4, 900], true), ([4, 2], false)] {
            let nodes = [node(0, Some(tiers[0]), None), node(1, Some(tiers[1]), None)];
            assert_eq!(MemoryTiers::of(&nodes).unwrap().are_promoted_to(&nodes), promoted);
        }
    }

    #[test]
    fn without_tiers_latencies_tell() {
        let of = |nodes: &[MemoryNode]| MemoryTiers::of(nodes);
        assert_eq!(of(&[node(0, Some(4), Some(50)), node(1, None, Some(200))]), tiers(&[0], &[1]));
        assert_eq!(of(&[node(0, None, Some(50)), node(1, None, None)]), None, "nothing is guessed");
        assert_eq!(of(&[node(0, None, Some(50)), node(1, None, Some(50))]), None);
        assert_eq!(of(&[node(0, None, Some(50))]), None);
        assert_eq!(of(&[]), None);
    }
}
