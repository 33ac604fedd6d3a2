// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What comes over the network.

use std::io;

use super::System;
use crate::cgroup::Cgroups;
use crate::net::Network;
use crate::rooms::Net;
use crate::{Error, HeldSocket, HoldOutcome, Root, Traffic};

impl System {
    fn network(&mut self) -> Result<(&mut Network, &Root, &Cgroups), Error> {
        // Looked for, so that it is there.
        self.cgroups()?;
        let System { net, root, cgroups, .. } = self;
        let cgroups = cgroups.get().ok_or_else(|| Error::Missing { what: "cgroup v2", mend: "mount it".into() })?;
        Ok((net, root, cgroups))
    }
}

impl Net for System {
    fn has_network(&mut self) -> Result<bool, Error> {
        crate::net::has_network(&self.root)
    }

    fn traffic(&mut self, cgroups: &[&str]) -> Result<Traffic, Error> {
        let (net, root, all) = self.network()?;
        net.traffic(root, all, cgroups)
    }

    fn hold_windows(
        &mut self,
        cgroup: &str,
        window_bytes: u32,
        claimed: &mut dyn FnMut(&[HeldSocket]) -> io::Result<()>,
    ) -> Result<HoldOutcome, Error> {
        let (net, root, cgroups) = self.network()?;
        net.hold(root, cgroups, cgroup, window_bytes, claimed)
    }

    fn release_windows(&mut self, cgroup: &str, sockets: &[HeldSocket]) -> Result<(), Error> {
        let (net, root, cgroups) = self.network()?;
        net.release(root, cgroups, cgroup, sockets)
    }

    fn limit_udp(&mut self, cgroup: &str, rate_bytes_per_s: Option<u64>) -> Result<(), Error> {
        let (net, root, cgroups) = self.network()?;
        net.limit_udp(root, cgroups, cgroup, rate_bytes_per_s)
    }

    fn forget_traffic(&mut self) {
        self.net.forget();
    }
}
