// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fake device's pages: compressed, looked at, read back.

use super::*;

impl Pages for FakeDevice {
    fn compress(&mut self, cgroup: &str, cursor: CompressCursor, pages: u64, _: u32) -> Result<CompressOutcome, Error> {
        self.check("compress")?;
        let mut state = self.0.borrow_mut();
        state.cursors.push(cursor.address);
        let Some(app) = state.apps.get_mut(cgroup) else { return Ok(CompressOutcome::default()) };
        let swapped_pages = app.compressible_pages.min(pages);
        app.compressible_pages -= swapped_pages;
        app.anon_pages -= swapped_pages;
        app.swap_pages += swapped_pages;
        let next =
            (swapped_pages == pages).then_some(CompressCursor { pid: 1, address: cursor.address + pages * PAGE_BYTES });
        state.memory.free_bytes += swapped_pages * PAGE_BYTES / 2;
        if let Some(zram) = &mut state.memory.zram {
            zram.original_bytes += swapped_pages * PAGE_BYTES;
            zram.used_bytes += swapped_pages * PAGE_BYTES / 2;
            state.memory.swap_free_bytes -= swapped_pages * PAGE_BYTES;
        }
        state.done.push(format!("compress {cgroup}"));
        Ok(CompressOutcome { swapped_pages, scanned_pages: swapped_pages * 2, next, ..Default::default() })
    }

    fn resident(&mut self, cgroup: &str, _: usize) -> Result<Vec<PageRange>, Error> {
        self.did(format!("resident {cgroup}"));
        Ok(vec![PageRange { pid: 1, start: 0, end: PAGE_BYTES }])
    }

    fn prefetch(&mut self, cgroup: &str, ranges: Option<&[PageRange]>, pages: u64) -> Result<u64, Error> {
        let known = if ranges.is_some() { "known" } else { "blind" };
        self.did(format!("prefetch {known} {cgroup}"));
        Ok(self.0.borrow().apps.get(cgroup).map_or(0, |a| a.swap_pages.min(pages)))
    }
}
