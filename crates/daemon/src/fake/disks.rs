// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fake device's disks.

use super::*;

impl Disks for FakeDevice {
    fn disk_control(&mut self, with_rate: bool) -> Result<DiskControl, Error> {
        let control = self.0.borrow().disk;
        Ok(if control == DiskControl::Limits && !with_rate { DiskControl::Absent } else { control })
    }

    /// By its place among the apps there have been.
    fn disk_id(&mut self, cgroup: &str) -> Result<Option<u64>, Error> {
        Ok(self.0.borrow().apps.keys().position(|of| of == cgroup).map(|nth| 100 + nth as u64))
    }

    fn set_disk_class(&mut self, id: u64, class: IoClass) -> Result<(), Error> {
        self.check("set_disk_class")?;
        let mut state = self.0.borrow_mut();
        state.disk_messages += 1;
        state.disk_classes.insert(id, class);
        Ok(())
    }

    fn forget_disk_class(&mut self, id: u64) -> Result<(), Error> {
        self.check("forget_disk_class")?;
        let mut state = self.0.borrow_mut();
        state.disk_messages += 1;
        state.disk_classes.remove(&id);
        Ok(())
    }

    fn set_disk_rate(&mut self, bytes_per_s: u64) -> Result<(), Error> {
        self.0.borrow_mut().disk_rate = bytes_per_s;
        Ok(())
    }

    fn disk_usage(&mut self, cgroup: &str) -> Result<Vec<(String, u64)>, Error> {
        self.did(format!("disk usage {cgroup}"));
        Ok(self.0.borrow().disk_usage.get(cgroup).map(|&bytes| ("8:0".to_owned(), bytes)).into_iter().collect())
    }

    fn io_setting(&mut self, cgroup: &str, file: &str, device: Option<&str>) -> Result<Option<String>, Error> {
        let state = self.0.borrow();
        let value = state.io_files.get(&(cgroup.to_owned(), file.to_owned()));
        let unlimited = device.map(|device| format!("{device} rbps=max wbps=max"));
        Ok(value.map(|value| unlimited.filter(|_| value.is_empty()).unwrap_or_else(|| value.clone())))
    }

    fn set_io_setting(&mut self, cgroup: &str, file: &str, value: &str) -> Result<(), Error> {
        self.check("set_io_setting")?;
        if let Some(now) = self.0.borrow_mut().io_files.get_mut(&(cgroup.to_owned(), file.to_owned())) {
            *now = value.to_owned();
        }
        Ok(())
    }

    fn io_weights(&mut self) -> Result<Vec<&'static str>, Error> {
        Ok(vec!["io.bfq.weight"])
    }
}
