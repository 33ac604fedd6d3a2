// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pages of an app's processes.

use std::io;

use super::System;
use crate::device_traits::Pages;
use crate::error::is_gone;
use crate::pageout::{Budget, Tally};
use crate::probe::inspect::{number, senseless};
use crate::probe::task::{Outcome, Task};
use crate::probe::watched;
use crate::process::Process;
use crate::{Codec, CompressCursor, CompressOutcome, Error, NormalPriority, PageRange};

impl Pages for System {
    fn compress(
        &mut self,
        cgroup: &str,
        cursor: CompressCursor,
        pages: u64,
        under_permille: u32,
    ) -> Result<CompressOutcome, Error> {
        if !self.acts {
            return Ok(CompressOutcome::default());
        }
        let codec = self.memory.codec(&self.root);
        let is_zstd = codec == Codec::Zstd;
        let task = || Task::Compress { cgroup: cgroup.to_owned(), cursor, pages, under_permille, is_zstd };
        match self.by_probe(cgroup, task) {
            None => self.compress_by(cgroup, cursor, pages, under_permille, codec),
            Some(done) => match done? {
                Outcome::Compressed(outcome) => Ok(outcome),
                _ => Err(senseless()),
            },
        }
    }

    fn resident(&mut self, cgroup: &str, most: usize) -> Result<Vec<PageRange>, Error> {
        if let Some(done) = self.by_probe(cgroup, || Task::Resident { cgroup: cgroup.to_owned(), most }) {
            return match done? {
                Outcome::Ranges(ranges) => Ok(ranges),
                _ => Err(senseless()),
            };
        }
        let _normal_priority = NormalPriority::of_thread();
        self.list_processes(cgroup)?;
        let mut found = Vec::new();
        for &pid in &self.pids {
            if !watched::touch(pid) {
                continue;
            }
            let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
            match self.prefetcher.resident(&process, &mut found, most) {
                Err(e) if !is_gone(&e) => {
                    return Err(Error::call("reading pagemap", format!("process {pid} of {cgroup}"), e))
                }
                _ => (),
            }
        }
        Ok(found)
    }

    fn prefetch(&mut self, cgroup: &str, ranges: Option<&[PageRange]>, pages: u64) -> Result<u64, Error> {
        if !self.acts {
            return Ok(0);
        }
        let owned = || ranges.map(<[PageRange]>::to_vec);
        let task = || Task::Prefetch { cgroup: cgroup.to_owned(), ranges: owned(), pages };
        if let Some(done) = self.by_probe(cgroup, task) {
            return number(done?).ok_or_else(senseless);
        }
        let _normal_priority = NormalPriority::of_thread();
        self.list_processes(cgroup)?;
        let page = self.root.page_size();
        let (pages, mut asked) = (page.of_policy(pages), 0);
        for &pid in &self.pids {
            if asked >= pages {
                break;
            }
            if !watched::touch(pid) {
                continue;
            }
            let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
            let done = match ranges {
                Some(ranges) => self.prefetcher.prefetch_ranges(&process, ranges, pages - asked),
                None => self.prefetcher.prefetch(&process, pages - asked),
            };
            match done {
                Ok(more) => asked += more,
                Err(e) if is_gone(&e) => (),
                Err(e) => return Err(explain("process_madvise", "MADV_WILLNEED", pid, cgroup, e)),
            }
        }
        Ok(page.to_policy(asked))
    }
}

impl System {
    /// Compresses by this process, judging by a codec.
    pub(crate) fn compress_by(
        &mut self,
        cgroup: &str,
        cursor: CompressCursor,
        pages: u64,
        under_permille: u32,
        codec: Codec,
    ) -> Result<CompressOutcome, Error> {
        let _normal_priority = NormalPriority::of_thread();
        self.list_processes(cgroup)?;
        self.pager.sampler.set_codec(codec);
        let mut budget = Budget::new(pages, under_permille, self.root.page_size());
        let mut tally = Tally::default();
        for &pid in self.pids.iter().filter(|&&pid| pid >= cursor.pid) {
            let mut address = if pid == cursor.pid { cursor.address } else { 0 };
            if !budget.is_spent() {
                if !watched::touch(pid) {
                    continue;
                }
                let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
                match self.pager.compress(&process, address, &mut budget, &mut tally) {
                    Ok(None) => continue,
                    Ok(Some(next)) => address = next,
                    Err(e) if is_gone(&e) => continue,
                    Err(e) => return Err(explain("process_madvise", "MADV_PAGEOUT", pid, cgroup, e)),
                }
            }
            tally.outcome.next = Some(CompressCursor { pid, address });
            break;
        }
        Ok(tally.finish(self.root.page_size()))
    }
}

fn explain(call: &'static str, advice: &str, pid: u32, cgroup: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => Error::Missing { what: "process_madvise", mend: "Linux 5.10 or newer has it".into() },
        Some(libc::EPERM | libc::EACCES) => Error::Missing {
            what: "the right to advise on other processes",
            mend: "run as root (CAP_SYS_PTRACE and CAP_SYS_NICE)".into(),
        },
        _ => Error::call(call, format!("process {pid} of {cgroup} ({advice})"), error),
    }
}
