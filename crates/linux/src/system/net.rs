// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What comes over the network.

use std::io;

use super::System;
use crate::cgroup::Cgroups;
use crate::device_traits::Net;
use crate::net::{Hand, Network, Source};
use crate::probe::ByProbe;
use crate::{Error, HeldSocket, HoldOutcome, Root, Traffic};

impl System {
    /// Calls the network with the hand by which connections are touched.
    fn by_hand<T>(
        &mut self,
        call: impl FnOnce(&mut Network, &mut dyn Hand, &Root, &Cgroups) -> Result<T, Error>,
    ) -> Result<T, Error> {
        // Looked for, so that it is there.
        self.cgroups()?;
        let System { net, root, cgroups, probes, .. } = self;
        let cgroups = cgroups.get().ok_or_else(|| Error::Missing { what: "cgroup v2", mend: "mount it".into() })?;
        match probes {
            Some(probes) => call(net, &mut ByProbe(probes), root, cgroups),
            None => call(net, &mut Source::default(), root, cgroups),
        }
    }
}

impl Net for System {
    fn has_network(&mut self) -> Result<bool, Error> {
        crate::net::has_network(&self.root)
    }

    fn traffic(&mut self, cgroups: &[&str]) -> Result<Traffic, Error> {
        self.by_hand(|net, hand, root, all| net.traffic(hand, root, all, cgroups))
    }

    fn hold_windows(
        &mut self,
        cgroup: &str,
        window_bytes: u32,
        claimed: &mut dyn FnMut(&[HeldSocket]) -> io::Result<()>,
    ) -> Result<HoldOutcome, Error> {
        if !self.acts {
            return Ok(HoldOutcome::default());
        }
        self.by_hand(|net, hand, root, all| net.hold(hand, root, all, cgroup, window_bytes, claimed))
    }

    fn release_windows(&mut self, cgroup: &str, sockets: &[HeldSocket]) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        self.by_hand(|net, hand, root, all| net.release(hand, root, all, cgroup, sockets))
    }

    fn limit_udp(&mut self, cgroup: &str, rate_bytes_per_s: Option<u64>) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        self.by_hand(|net, hand, root, all| net.limit_udp(hand, root, all, cgroup, rate_bytes_per_s))
    }

    fn forget_traffic(&mut self) {
        self.net.forget();
    }
}
