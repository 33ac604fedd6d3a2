// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Disk requests by whose they are.

use fovea_apps::{DiskControl, IoClass};

use super::System;
use crate::device_traits::Disks;
use crate::{disk, Error};

impl System {
    fn io_text(&mut self, cgroup: &str, file: &str) -> Result<Option<String>, Error> {
        let mut text = std::mem::take(&mut self.text);
        let read = self.cgroups().and_then(|cgroups| disk::text(cgroups, cgroup, file, &mut text));
        self.text = text;
        read
    }
}

impl Disks for System {
    fn disk_control(&mut self, with_rate: bool) -> Result<DiskControl, Error> {
        disk::control(&self.root, self.cgroups()?, with_rate)
    }

    fn disk_id(&mut self, cgroup: &str) -> Result<Option<u64>, Error> {
        disk::id(self.cgroups()?, cgroup)
    }

    fn set_disk_class(&mut self, id: u64, class: IoClass) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        disk::set_class(&self.root, id, class)
    }

    fn forget_disk_class(&mut self, id: u64) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        disk::forget_class(&self.root, id)
    }

    fn set_disk_rate(&mut self, bytes_per_s: u64) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        disk::set_rate(&self.root, bytes_per_s)
    }

    fn disk_usage(&mut self, cgroup: &str) -> Result<Vec<(String, u64)>, Error> {
        Ok(self.io_text(cgroup, "io.stat")?.map(|text| disk::parse_usage(&text)).unwrap_or_default())
    }

    fn io_setting(&mut self, cgroup: &str, file: &str, device: Option<&str>) -> Result<Option<String>, Error> {
        Ok(self.io_text(cgroup, file)?.and_then(|text| disk::parse_setting(&text, device)))
    }

    fn set_io_setting(&mut self, cgroup: &str, file: &str, value: &str) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        disk::set_setting(self.cgroups()?, cgroup, file, value)
    }

    fn io_weights(&mut self) -> Result<Vec<&'static str>, Error> {
        Ok(disk::weights(&self.root, self.cgroups()?))
    }
}
