// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of several speeds.

use std::collections::BTreeMap;

use fovea_apps::MemoryNode;

use super::System;
use crate::rooms::Tiers;
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
}
