// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is read of the machine as a whole.

use std::io;

use fovea_apps::{BufferHolder, CpuReading, MemoryReading, PoolReading};

use super::System;
use crate::device_traits::Meters;
use crate::file::read_into;
use crate::Error;

impl Meters for System {
    fn memory(&mut self) -> Result<MemoryReading, Error> {
        self.memory.read(&self.root)
    }

    fn low_watermark_bytes(&mut self) -> Result<u64, Error> {
        let path = self.root.join("proc/zoneinfo");
        match read_into(&path, &mut self.text) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(Error::file("reading", path, e)),
            Ok(()) => Ok(crate::memory::low_watermark_bytes(&self.text, self.root.page_size())),
        }
    }

    fn cpu(&mut self) -> Result<CpuReading, Error> {
        let path = self.root.join("proc/uptime");
        read_into(&path, &mut self.text).map_err(|e| Error::file("reading", &path, e))?;
        let idle_ns = parse_idle_ns(&self.text).ok_or_else(|| Error::parse(&path, &self.text))?;
        let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Ok(CpuReading { idle_ns, own_ns: own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64 })
    }

    fn ecache(&mut self) -> Result<Option<PoolReading>, Error> {
        crate::ecache::pool(&self.root)
    }

    fn buffer_holders(&mut self) -> Result<Vec<BufferHolder>, Error> {
        crate::heap_module::holders(&self.root).map(Option::unwrap_or_default)
    }
}

/// The second number of /proc/uptime, seconds with two decimals.
fn parse_idle_ns(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, hundredths) = text.split_ascii_whitespace().nth(1)?.split_once('.')?;
    let (seconds, hundredths): (u64, u64) = (seconds.parse().ok()?, hundredths.parse().ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(hundredths.checked_mul(10_000_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_the_second_number() {
        assert_eq!(parse_idle_ns(b"350735.47 234388.90\n"), Some(234_388_900_000_000));
        assert_eq!(parse_idle_ns(b"350735.47"), None);
        assert_eq!(parse_idle_ns(b"1.0 99999999999999999999.1"), None);
    }
}
