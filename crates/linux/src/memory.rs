// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The state of memory, read from files that stay open into one buffer: the daemon asks for it at every turn.

use crate::arc::Arc;
use crate::file::{read, KernelFile, Root};
use crate::page::PageSize;
use crate::proc::{Meminfo, Vmstat};
use crate::psi::Pressure;
use crate::sample::Codec;
use crate::swap::{self, SwapArea};
use crate::zram::{algorithm_in_use, parse_mm_stat};
use crate::Error;
use fovea_apps::{MemoryReading, ZramReading};

/// The sum of the zones' low watermarks in a /proc/zoneinfo. A CPU's list of pages has a `high:` of its own, with a colon.
pub(crate) fn low_watermark_bytes(zoneinfo: &[u8], page: PageSize) -> u64 {
    let lows = zoneinfo.split(|&b| b == b'\n').filter_map(|line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        (words.next()? == b"low").then(|| crate::proc::number(words.next()?)).flatten()
    });
    lows.fold(0u64, u64::saturating_add).saturating_mul(page.bytes())
}

/// Open files and what was last found out about the swap areas.
#[derive(Debug, Default)]
pub(crate) struct MemoryReader {
    meminfo: Option<KernelFile>,
    vmstat: Option<KernelFile>,
    /// `None`: not tried yet; `Some(None)`: this kernel has no PSI.
    pressure: Option<Option<KernelFile>>,
    arc: Arc,
    swaps: Option<Swaps>,
    buffer: Vec<u8>,
}

/// The swap areas as of some SwapTotal.
#[derive(Debug)]
struct Swaps {
    total_bytes: u64,
    zrams: Vec<Zram>,
    codec: Codec,
}

#[derive(Debug)]
struct Zram {
    mm_stat: KernelFile,
    disk_bytes: u64,
}

impl MemoryReader {
    /// Forgets what the swap areas were, because they changed.
    pub(crate) fn forget_swaps(&mut self) {
        self.swaps = None;
    }

    /// The codec of the swap area that is filled first; LZ4 if that is no zram.
    pub(crate) fn codec(&mut self, root: &Root) -> Codec {
        if self.swaps.is_none() {
            // Unreadable memory shows as an error where it is asked for; judging by LZ4 is right for want of anything better.
            let _ = self.read(root);
        }
        self.swaps.as_ref().map_or(Codec::Lz4, |swaps| swaps.codec)
    }

    pub(crate) fn read(&mut self, root: &Root) -> Result<MemoryReading, Error> {
        let buffer = &mut self.buffer;
        let file = opened(&mut self.meminfo, root, "proc/meminfo")?;
        file.read(buffer)?;
        let meminfo = Meminfo::parse(buffer).ok_or_else(|| Error::parse(file.path(), buffer))?;

        let file = opened(&mut self.vmstat, root, "proc/vmstat")?;
        file.read_until(buffer, Vmstat::is_complete)?;
        let vmstat = Vmstat::parse(buffer);

        let arc_bytes = self.arc.spare_bytes(root, buffer);

        let pressure = self.pressure.get_or_insert_with(|| KernelFile::open(root.join("proc/pressure/memory")).ok());
        // psi=0 on the command line leaves the file there and makes reading it fail.
        if pressure.as_ref().is_some_and(|file| file.read(buffer).is_err()) {
            *pressure = None;
        }
        let pressure = pressure.as_ref().map(|_| Pressure::parse(buffer)).unwrap_or_default();

        Ok(MemoryReading {
            total_bytes: meminfo.total_bytes,
            free_bytes: meminfo.free_bytes,
            available_bytes: meminfo.available_bytes.saturating_add(arc_bytes),
            file_bytes: meminfo.file_bytes,
            reclaimable_bytes: meminfo.reclaimable_bytes,
            arc_bytes,
            swap_total_bytes: meminfo.swap_total_bytes,
            swap_free_bytes: meminfo.swap_free_bytes,
            zram: self.zram(root, meminfo.swap_total_bytes),
            psi_some_avg10: pressure.some.map(|s| s.avg10),
            psi_full_avg10: pressure.full.map(|s| s.avg10),
            psi_some_total_us: pressure.some.map(|s| s.total_us),
            refault_file: vmstat.refault_file,
            refault_anon: vmstat.refault_anon,
            oom_kills: vmstat.oom_kills,
        })
    }

    /// The sum over all zram devices in use as swap. Which those are is found out anew only when SwapTotal changes or one of
    /// them fails: swap areas come and go rarely, and memory is read often.
    fn zram(&mut self, root: &Root, swap_total_bytes: u64) -> Option<ZramReading> {
        for _ in 0..2 {
            if self.swaps.as_ref().is_none_or(|swaps| swaps.total_bytes != swap_total_bytes) {
                self.swaps = Some(Swaps::find(root, swap_total_bytes));
            }
            match self.swaps.as_ref()?.sum(&mut self.buffer) {
                Ok(sum) => return sum,
                Err(_) => self.swaps = None,
            }
        }
        None
    }
}

impl Swaps {
    /// Nothing that is missing or broken here is an error: without zram there is no reading of it.
    fn find(root: &Root, total_bytes: u64) -> Swaps {
        let mut areas = swap::areas(root);
        areas.sort_by_key(|area| std::cmp::Reverse(area.priority));
        let algorithm = areas.first().and_then(SwapArea::zram_number).and_then(|n| algorithm_in_use(root, n).ok());
        let zrams = areas.iter().filter_map(SwapArea::zram_number).filter_map(|number| Zram::open(root, number).ok());
        let codec = algorithm.map_or(Codec::Lz4, |name| Codec::for_algorithm(&name).0);
        Swaps { total_bytes, zrams: zrams.collect(), codec }
    }

    fn sum(&self, buffer: &mut Vec<u8>) -> Result<Option<ZramReading>, Error> {
        let mut sum: Option<ZramReading> = None;
        for zram in &self.zrams {
            zram.mm_stat.read(buffer)?;
            let mut one = parse_mm_stat(buffer).ok_or_else(|| Error::parse(zram.mm_stat.path(), buffer))?;
            one.disk_bytes = zram.disk_bytes;
            sum = Some(sum.map_or(one, |sum| add(sum, one)));
        }
        Ok(sum)
    }
}

impl Zram {
    fn open(root: &Root, number: u32) -> Result<Zram, Error> {
        let path = root.join(format!("sys/block/zram{number}/disksize"));
        let text = read(&path)?;
        let disk_bytes = crate::proc::number(&text).ok_or_else(|| Error::parse(path, &text))?;
        Ok(Zram { mm_stat: KernelFile::open(root.join(format!("sys/block/zram{number}/mm_stat")))?, disk_bytes })
    }
}

fn add(a: ZramReading, b: ZramReading) -> ZramReading {
    ZramReading {
        disk_bytes: a.disk_bytes.saturating_add(b.disk_bytes),
        original_bytes: a.original_bytes.saturating_add(b.original_bytes),
        compressed_bytes: a.compressed_bytes.saturating_add(b.compressed_bytes),
        used_bytes: a.used_bytes.saturating_add(b.used_bytes),
        // One device without a limit leaves the whole without one.
        limit_bytes: if a.limit_bytes == 0 || b.limit_bytes == 0 {
            0
        } else {
            a.limit_bytes.saturating_add(b.limit_bytes)
        },
    }
}

fn opened<'a>(slot: &'a mut Option<KernelFile>, root: &Root, path: &str) -> Result<&'a KernelFile, Error> {
    match slot {
        Some(file) => Ok(file),
        None => Ok(slot.insert(KernelFile::open(root.join(path))?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two zones of 6.12, shortened.
    const ZONEINFO: &[u8] = b"\
Node 0, zone      DMA
  pages free     3840
        boost    0
        min      66
        low      82
        high     98
        promo    114
        managed  3840
  pagesets
    cpu: 0
              count:    0
              high:     28
              batch:    1
Node 0, zone    DMA32
  pages free     16000
        min      11200
        low      14000
        high     16800
  start_pfn:           4096
";

    #[test]
    fn the_low_watermarks_of_all_zones_are_summed() {
        for bytes in [4096, 16384] {
            let page = PageSize::new(bytes).unwrap();
            assert_eq!(low_watermark_bytes(ZONEINFO, page), (82 + 14000) * bytes);
            assert_eq!(low_watermark_bytes(b"", page), 0);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..200), line in "( low +[0-9]{0,30}\n){0,4}") {
            let _ = [&text, line.as_bytes()].map(|text| low_watermark_bytes(text, PageSize::SMALLEST));
        }
    }
}
