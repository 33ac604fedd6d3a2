// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Compressing an app: its private pages go to the compressed swap, 32 at a time (LowMem13, section 3.3), where a sample of the
//! 32 shrinks enough (LowMem13, section 3.2: only pages with a ratio better than a half).
//!
//! What is cheap here is cheap because the kernel is asked about a whole page table at once (512 pages) and told about a window
//! in one call; nothing is allocated per window.

use std::io;

use rustix::fs::OFlags;

use crate::maps::{Mapping, Maps};
use crate::page::PageSize;
use crate::pagemap::{Entry, Pagemap, Wanted, BLOCK_PAGES};
use crate::process::Process;
use crate::sample::Sampler;
use crate::sys::{process_madvise, RemoteRange, RANGES_MAX};
use crate::CompressOutcome;

/// Pages of policy judged and paged out together: 128 KiB, in fewer pages where the kernel's are larger.
const WINDOW_PAGES: usize = 32;

/// Pages of a window that are compressed for a trial.
const SAMPLES: usize = 2;

/// Page-map entries read per page wanted, empty ones and other apps' included: bounds a call on an app that maps much and has
/// little. The scan of resident private pages is bounded by the contract.
const ENTRIES_PER_PAGE: u64 = 64;

/// Private pages looked at per page wanted (the contract's bound).
const SCANNED_PER_PAGE: u64 = 16;

/// Pages advised per page wanted: when the swap is full nothing leaves however often it is asked for.
const ADVISED_PER_PAGE: u64 = 4;

/// What remains of one call's allowance.
#[derive(Debug)]
pub(crate) struct Budget {
    swap: u64,
    scan: u64,
    entries: u64,
    advise: u64,
    under_permille: u32,
}

impl Budget {
    /// `pages` are policy's; all that is counted here is the kernel's.
    pub(crate) fn new(pages: u64, under_permille: u32, page: PageSize) -> Budget {
        let pages = page.of_policy(pages);
        let blocks = BLOCK_PAGES as u64;
        Budget {
            swap: pages,
            scan: pages.saturating_mul(SCANNED_PER_PAGE),
            entries: pages.saturating_mul(ENTRIES_PER_PAGE).saturating_add(8 * blocks),
            advise: pages.saturating_mul(ADVISED_PER_PAGE),
            under_permille,
        }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.swap == 0 || self.scan == 0 || self.entries == 0 || self.advise == 0
    }
}

/// What one call did, with the samples' sum.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) outcome: CompressOutcome,
    sample_sum: u64,
    samples: u64,
}

impl Tally {
    /// In policy's pages.
    pub(crate) fn finish(mut self, page: PageSize) -> CompressOutcome {
        let CompressOutcome { swapped_pages, scanned_pages, incompressible_pages, .. } = &mut self.outcome;
        for count in [swapped_pages, scanned_pages, incompressible_pages] {
            *count = page.to_policy(*count);
        }
        self.outcome.sample_permille = self.sample_sum.checked_div(self.samples).map_or(1000, |mean| mean as u32);
        self.outcome
    }
}

/// Buffers that live as long as the daemon.
#[derive(Debug)]
pub(crate) struct Pager {
    entries: Box<[u64; BLOCK_PAGES]>,
    pages: Vec<u8>,
    page: PageSize,
    pub(crate) sampler: Sampler,
}

/// The pages of a block that the kernel was asked to page out.
#[derive(Debug, Default)]
struct Advised {
    bits: [u64; BLOCK_PAGES / 64],
    count: u64,
}

impl Advised {
    fn add(&mut self, index: usize) {
        self.bits[index / 64] |= 1 << (index % 64);
        self.count += 1;
    }

    fn has(&self, index: usize) -> bool {
        self.bits[index / 64] >> (index % 64) & 1 == 1
    }
}

/// How a block ended.
enum Block {
    /// Judged up to this address.
    UpTo(u64),
    /// The kernel pages nothing of this mapping out (locked, or device memory).
    Unpageable,
}

impl Pager {
    pub(crate) fn new(page: PageSize) -> Pager {
        Pager {
            entries: Box::new([0; BLOCK_PAGES]),
            pages: vec![0; SAMPLES * page.bytes() as usize],
            page,
            sampler: Sampler::new(page),
        }
    }

    /// Works on one process from `address` on. Returns where to go on, `None` when it is done or has ended.
    pub(crate) fn compress(
        &mut self,
        process: &Process,
        mut address: u64,
        budget: &mut Budget,
        tally: &mut Tally,
    ) -> io::Result<Option<u64>> {
        let mut maps = Maps::new(process.open_file("maps", OFlags::RDONLY)?);
        let mut pagemap = Pagemap::new(process.open_file("pagemap", OFlags::RDONLY)?, self.page);
        while let Some(mapping) = maps.next(address)? {
            address = address.max(mapping.start);
            while address < mapping.end {
                if budget.is_spent() {
                    return Ok(Some(address));
                }
                address = match self.block(process, &mut pagemap, mapping, address, budget, tally)? {
                    Block::UpTo(next) => next,
                    Block::Unpageable => mapping.end,
                };
            }
        }
        Ok(None)
    }

    /// Works on the pages of one page table, within the mapping and from `start` on.
    fn block(
        &mut self,
        process: &Process,
        pagemap: &mut Pagemap,
        mapping: Mapping,
        start: u64,
        budget: &mut Budget,
        tally: &mut Tally,
    ) -> io::Result<Block> {
        let page_bytes = self.page.bytes();
        let window_pages = self.page.of_policy(WINDOW_PAGES as u64) as usize;
        let block_bytes = BLOCK_PAGES as u64 * page_bytes;
        let end = mapping.end.min((start / block_bytes + 1) * block_bytes);
        let wanted = ((end - start) / page_bytes) as usize;
        let count = pagemap.read(start, &mut self.entries[..wanted])?;
        budget.entries = budget.entries.saturating_sub(wanted as u64);
        if !self.entries[..count].iter().any(|&e| Entry(e).is_private_resident()) {
            // A mapping may be mostly hole (a runtime's reserved heap): the kernel walks over holes faster than we read them.
            return Ok(Block::UpTo(pagemap.skip_to(Wanted::Resident, end, mapping.end)?.unwrap_or(mapping.end)));
        }
        let mut advised = Advised::default();
        let mut at = 0;
        let mut result = None;
        // Pages advised in this block are not counted yet, and may all leave: enough is enough.
        while at < count && result.is_none() && !budget.is_spent() && advised.count < budget.swap {
            // Windows lie at multiples of their size, so that a call that goes on sees the same ones.
            let page = (start / page_bytes) as usize + at;
            let stop = count.min(at + window_pages - page % window_pages);
            match self.window(process, start, at..stop, &mut advised, budget, tally) {
                Ok(next) => at = next,
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => result = Some(Ok(Block::Unpageable)),
                // The range was unmapped meanwhile.
                Err(e)
                    if matches!(e.raw_os_error(), Some(libc::ENOMEM | libc::EFAULT | libc::EAGAIN | libc::EINTR)) =>
                {
                    at = stop;
                }
                Err(e) => result = Some(Err(e)),
            }
        }
        // Counted even if the process ended: what left, left.
        let swapped = self.count_swapped(pagemap, start, &advised);
        tally.outcome.swapped_pages += swapped;
        budget.swap = budget.swap.saturating_sub(swapped);
        // A short read is the end of the address space.
        let next = if count == 0 { mapping.end } else { start + at as u64 * page_bytes };
        result.unwrap_or(Ok(Block::UpTo(next)))
    }

    /// Judges the window `range` of the block's pages and pages it out if its sample is good. Returns the index to go on at.
    fn window(
        &mut self,
        process: &Process,
        start: u64,
        range: std::ops::Range<usize>,
        advised: &mut Advised,
        budget: &mut Budget,
        tally: &mut Tally,
    ) -> io::Result<usize> {
        let page_bytes = self.page.bytes();
        let mut eligible = [0u16; WINDOW_PAGES];
        let mut count = 0;
        for index in range.clone() {
            if Entry(self.entries[index]).is_private_resident() {
                eligible[count] = index as u16;
                count += 1;
            }
        }
        if count == 0 {
            return Ok(range.end);
        }
        let eligible = &eligible[..count];
        tally.outcome.scanned_pages += count as u64;
        budget.scan = budget.scan.saturating_sub(count as u64);
        if self.sample(process, start, eligible, tally)? >= budget.under_permille {
            tally.outcome.incompressible_pages += count as u64;
            return Ok(range.end);
        }
        let room = budget.swap.saturating_sub(advised.count).min(budget.advise);
        let taken = &eligible[..eligible.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        let mut ranges: [RemoteRange; RANGES_MAX] = [(0, 0); RANGES_MAX];
        let mut runs = 0usize;
        for &index in taken {
            let address = start + u64::from(index) * page_bytes;
            match runs.checked_sub(1).map(|last| &mut ranges[last]) {
                Some((from, length)) if *from + *length == address => *length += page_bytes,
                _ => {
                    ranges[runs] = (address, page_bytes);
                    runs += 1;
                }
            }
        }
        taken.iter().for_each(|&index| advised.add(index.into()));
        budget.advise -= taken.len() as u64;
        process_madvise(process.pidfd()?, &ranges[..runs], libc::MADV_PAGEOUT)?;
        Ok(eligible.get(taken.len()).map_or(range.end, |&index| usize::from(index)))
    }

    /// Mean compressed size of two of the pages, in thousandths; those at a quarter and three quarters, since neighbours are
    /// alike and the ends belong to other things more often.
    fn sample(&mut self, process: &Process, start: u64, eligible: &[u16], tally: &mut Tally) -> io::Result<u32> {
        let picks = [eligible[eligible.len() / 4], eligible[eligible.len() * 3 / 4]];
        let picks = if picks[0] == picks[1] { &picks[..1] } else { &picks[..] };
        let mut ranges: [RemoteRange; SAMPLES] = [(0, 0); SAMPLES];
        for (range, &index) in ranges.iter_mut().zip(picks) {
            *range = (start + u64::from(index) * self.page.bytes(), self.page.bytes());
        }
        let page = self.page.bytes() as usize;
        let copied = process.copy_memory(&ranges[..picks.len()], &mut self.pages[..picks.len() * page])? / page;
        let sum: u32 = self.pages.chunks_exact(page).take(copied).map(|bytes| self.sampler.permille(bytes)).sum();
        tally.sample_sum += u64::from(sum);
        tally.samples += copied as u64;
        // Nothing could be read: leave it alone.
        Ok(sum.checked_div(copied as u32).unwrap_or(1000))
    }

    /// How many of the advised pages are in swap now.
    fn count_swapped(&mut self, pagemap: &Pagemap, start: u64, advised: &Advised) -> u64 {
        let Some(last) = (0..BLOCK_PAGES).rev().find(|&i| advised.has(i)) else { return 0 };
        let first = (0..last).find(|&i| advised.has(i)).unwrap_or(last);
        // A process that ended has no map any more, and its memory is free: nothing is in swap.
        let Ok(count) = pagemap.read(start + first as u64 * self.page.bytes(), &mut self.entries[first..=last]) else {
            return 0;
        };
        let after = &self.entries[first..first + count];
        after.iter().enumerate().filter(|&(i, &e)| advised.has(first + i) && Entry(e).is_swapped()).count() as u64
    }
}
