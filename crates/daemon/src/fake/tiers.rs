// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fake's memory of two speeds: node 0 is fast, node 1 slow.

use std::collections::{BTreeMap, BTreeSet};

use fovea_apps::{MemoryNode, PAGE_BYTES};
use fovea_linux::device_traits::Tiers;
use fovea_linux::{DemoteOutcome, Error, TierSetting};

use super::FakeDevice;

#[derive(Debug, Default)]
pub struct FakeTiers {
    pub nodes: Vec<MemoryNode>,
    /// Pages of cgroups in fast memory, and those of them that were not used for long.
    pub fast_pages: BTreeMap<String, u64>,
    pub cold_pages: BTreeMap<String, u64>,
    pub slow_pages: BTreeMap<String, u64>,
    /// `cpuset.mems` of cgroups.
    pub allowed: BTreeMap<String, String>,
    pub settings: BTreeMap<TierSetting, String>,
}

impl Tiers for FakeDevice {
    fn memory_nodes(&mut self) -> Result<Vec<MemoryNode>, Error> {
        self.check("memory_nodes")?;
        self.did("memory nodes".into());
        Ok(self.0.borrow().tiers.nodes.clone())
    }

    fn node_bytes(&mut self, cgroup: &str) -> Result<BTreeMap<u32, u64>, Error> {
        let tiers = &self.0.borrow().tiers;
        let bytes = |pages: &BTreeMap<String, u64>| pages.get(cgroup).copied().unwrap_or(0) * PAGE_BYTES;
        Ok([(0, bytes(&tiers.fast_pages)), (1, bytes(&tiers.slow_pages))].into())
    }

    fn allowed_nodes(&mut self, cgroup: &str) -> Result<Option<String>, Error> {
        Ok(Some(self.0.borrow().tiers.allowed.get(cgroup).cloned().unwrap_or_default()))
    }

    fn set_allowed_nodes(&mut self, cgroup: &str, nodes: &str) -> Result<(), Error> {
        self.check("set_allowed_nodes")?;
        self.did(format!("allowed {cgroup} {nodes}"));
        let tiers = &mut self.0.borrow_mut().tiers;
        tiers.allowed.insert(cgroup.to_owned(), nodes.to_owned());
        if nodes == "1" {
            let moved = tiers.fast_pages.insert(cgroup.to_owned(), 0).unwrap_or(0);
            *tiers.slow_pages.entry(cgroup.to_owned()).or_default() += moved;
            tiers.nodes[0].free_bytes += moved * PAGE_BYTES;
        }
        Ok(())
    }

    fn demote(
        &mut self,
        cgroup: &str,
        nodes: &BTreeSet<u32>,
        pages: u64,
        _unused_ms: u64,
    ) -> Result<DemoteOutcome, Error> {
        self.check("demote")?;
        self.did(format!("demote {cgroup} {pages}"));
        assert_eq!(*nodes, BTreeSet::from([0]));
        let tiers = &mut self.0.borrow_mut().tiers;
        let cold = tiers.cold_pages.entry(cgroup.to_owned()).or_default();
        let moved = pages.min(*cold);
        *cold -= moved;
        *tiers.fast_pages.entry(cgroup.to_owned()).or_default() -= moved;
        *tiers.slow_pages.entry(cgroup.to_owned()).or_default() += moved;
        tiers.nodes[0].free_bytes += moved * PAGE_BYTES;
        tiers.nodes[1].free_bytes -= moved * PAGE_BYTES;
        Ok(DemoteOutcome { pages: moved, aged: moved == 0, cpu_ns: moved * 16_000 })
    }

    fn tier_setting(&mut self, setting: TierSetting) -> Result<Option<String>, Error> {
        Ok(self.0.borrow().tiers.settings.get(&setting).cloned())
    }

    fn set_tier_setting(&mut self, setting: TierSetting, value: &str) -> Result<(), Error> {
        self.0.borrow_mut().tiers.settings.insert(setting, value.to_owned());
        Ok(())
    }
}
