// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fake's network.

use std::io;

use fovea_linux::device_traits::Net;
use fovea_linux::{Error, HeldSocket, HoldOutcome, Traffic};

use super::FakeDevice;

impl Net for FakeDevice {
    fn has_network(&mut self) -> Result<bool, Error> {
        self.check("has_network")?;
        Ok(self.0.borrow().traffic.is_some())
    }

    fn traffic(&mut self, _: &[&str]) -> Result<Traffic, Error> {
        self.check("traffic")?;
        let mut state = self.0.borrow_mut();
        state.looked_at_traffic += 1;
        Ok(state.traffic.clone().unwrap_or_default())
    }

    fn hold_windows(
        &mut self,
        cgroup: &str,
        window_bytes: u32,
        claimed: &mut dyn FnMut(&[HeldSocket]) -> io::Result<()>,
    ) -> Result<HoldOutcome, Error> {
        self.check("hold_windows")?;
        self.did(format!("hold {cgroup} {window_bytes}"));
        let mut state = self.0.borrow_mut();
        let connections = state.connections.entry(cgroup.into()).or_default();
        let all: Vec<HeldSocket> = connections.iter().map(|&(held, _)| held).collect();
        if connections.iter().any(|&(_, window_bytes)| window_bytes == 0) {
            claimed(&all).map_err(|source| Error::Call { call: "claim", what: cgroup.into(), source })?;
        }
        connections.iter_mut().for_each(|(_, now_bytes)| *now_bytes = window_bytes);
        Ok(HoldOutcome { held: all.len() as u32, missed: 0 })
    }

    fn release_windows(&mut self, cgroup: &str, sockets: &[HeldSocket]) -> Result<(), Error> {
        self.check("release_windows")?;
        self.did(format!("release {cgroup}"));
        let mut state = self.0.borrow_mut();
        let connections = state.connections.entry(cgroup.into()).or_default();
        let named = connections.iter_mut().filter(|(held, _)| sockets.contains(held));
        named.for_each(|(_, window_bytes)| *window_bytes = 0);
        Ok(())
    }

    fn limit_udp(&mut self, cgroup: &str, rate_bytes_per_s: Option<u64>) -> Result<(), Error> {
        if let Err(e) = self.check("limit_udp") {
            self.0.borrow_mut().udp_limits.clear();
            return Err(e);
        }
        self.did(format!("limit UDP {cgroup} {rate_bytes_per_s:?}"));
        let limits = &mut self.0.borrow_mut().udp_limits;
        match rate_bytes_per_s {
            Some(rate_bytes_per_s) => drop(limits.insert(cgroup.into(), rate_bytes_per_s)),
            None => drop(limits.remove(cgroup)),
        }
        Ok(())
    }

    fn forget_traffic(&mut self) {
        self.did("forget traffic".into());
    }
}
