// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of several speeds.

use std::collections::{BTreeMap, BTreeSet};

use fovea_apps::MemoryNode;

use super::System;
use crate::device::{DemoteOutcome, TierSetting};
use crate::device_traits::Tiers;
use crate::Error;

impl Tiers for System {
    fn memory_nodes(&mut self) -> Result<Vec<MemoryNode>, Error> {
        crate::tiers::nodes(&self.root)
    }

    fn node_bytes(&mut self, cgroup: &str) -> Result<BTreeMap<u32, u64>, Error> {
        let mut text = std::mem::take(&mut self.text);
        let bytes = self.cgroups().and_then(|cgroups| crate::tiers::app_bytes(cgroups, cgroup, &mut text));
        self.text = text;
        bytes
    }

    fn allowed_nodes(&mut self, cgroup: &str) -> Result<Option<String>, Error> {
        let mut text = std::mem::take(&mut self.text);
        let allowed = self.cgroups().and_then(|cgroups| crate::tiers::allowed(cgroups, cgroup, &mut text));
        self.text = text;
        allowed
    }

    fn set_allowed_nodes(&mut self, cgroup: &str, nodes: &str) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        crate::tiers::set_allowed(self.cgroups()?, cgroup, nodes)
    }

    fn demote(
        &mut self,
        cgroup: &str,
        nodes: &BTreeSet<u32>,
        pages: u64,
        unused_ms: u64,
    ) -> Result<DemoteOutcome, Error> {
        if !self.acts {
            return Ok(DemoteOutcome::default());
        }
        let _normal_priority = crate::NormalPriority::of_thread();
        self.cgroups()?.path(cgroup)?;
        let page = self.root.page_size();
        let outcome = crate::generations::demote(&self.root, cgroup, nodes, page.of_policy(pages), unused_ms)?;
        Ok(DemoteOutcome { pages: page.to_policy(outcome.pages), ..outcome })
    }

    fn tier_setting(&mut self, setting: TierSetting) -> Result<Option<String>, Error> {
        Ok(crate::tiers::setting(&self.root, setting))
    }

    fn set_tier_setting(&mut self, setting: TierSetting, value: &str) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        crate::tiers::set_setting(&self.root, setting, value)
    }
}
