// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fake's merging: the test is ksmd.

use fovea_apps::{Kinship, MergeReading, MergeSettings, SpareReading};
use fovea_linux::device_traits::Merging;
use fovea_linux::Error;

use super::FakeDevice;

impl Merging for FakeDevice {
    fn merging(&mut self) -> Result<Option<MergeReading>, Error> {
        self.check("merging")?;
        self.did("merging".into());
        Ok(self.0.borrow().merging.clone())
    }

    fn set_merging(&mut self, settings: &MergeSettings) -> Result<(), Error> {
        self.check("set_merging")?;
        self.did(format!("set merging run={} pages={}", settings.run, settings.pages_to_scan));
        if let Some(merging) = &mut self.0.borrow_mut().merging {
            merging.settings = settings.clone();
        }
        Ok(())
    }

    fn kinship(&mut self, cgroup: &str) -> Result<Option<Kinship>, Error> {
        self.did(format!("kinship {cgroup}"));
        if self.0.borrow().failing == Some("kinship") {
            return Err(Error::PutOff { what: "told to put it off".into() });
        }
        Ok(self.0.borrow().kin.get(cgroup).copied())
    }

    fn spare(&mut self) -> Result<SpareReading, Error> {
        Ok(self.0.borrow().spare)
    }
}
