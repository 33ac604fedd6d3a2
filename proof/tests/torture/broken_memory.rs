// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Phases in which memory breaks: what is in the cache's frames changes behind its back, as a device that still writes to a buffer which
//! was freed, or a bit that flips, would change it; and pages of the page cache that the kernel was told are broken leave it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use fovea_contract::ecache_statistics::DAMAGED;
use fovea_contract::ecache_status;
use fovea_tests::audit::KernelLog;
use fovea_tests::content::Random;
use fovea_tests::file::{How, TestFile, OPERATION_PAGES};
use fovea_tests::pressure::drop_caches;
use fovea_tests::raw::{frame_bytes, FileMapping, Pages};

use crate::phases::Phases;
use crate::stack::{statistic, Outcome, C};
use crate::CARVEOUTS;

/// What the module says of a damaged frame, once.
pub const DAMAGED_LINE: &str = "does not hold what was put there";
/// What the log may say after these phases.
pub const SAID: [&str; 1] = [DAMAGED_LINE];

impl Phases<'_> {
    /// One bit of every third frame flips: all files must be read as they are on disk, and the frames be counted.
    pub fn damaged(&self) -> Outcome<()> {
        const STEP: u64 = 3;
        let memory = File::options().read(true).write(true).open("/dev/mem").map_err(|e| format!("/dev/mem: {e}"))?;
        let mut log = KernelLog::new().map_err(|e| format!("/dev/kmsg: {e}"))?;
        let mut buffer = Pages::new(OPERATION_PAGES);
        let mut files = self.files("damaged", 3600, 6, &mut buffer)?;
        let mut random = Random::new(self.seed, 501);
        let frame = frame_bytes() as u64;
        for how in [How::Buffered, How::Direct] {
            files.iter().for_each(|file| file.verify(How::Buffered, &mut buffer));
            drop_caches()?;
            let before = statistic(DAMAGED)?;
            for (size, at) in CARVEOUTS {
                for first in (at..at + size).step_by((STEP * frame) as usize) {
                    let (address, mut byte) = (first + random.below(frame), [0]);
                    let read = memory.read_exact_at(&mut byte, address);
                    byte[0] ^= 1 << random.below(8);
                    read.and_then(|()| memory.write_all_at(&byte, address))
                        .map_err(|e| format!("{address:#x}: {e}"))?;
                }
            }
            files.iter().for_each(|file| file.verify(how, &mut buffer));
            let found = statistic(DAMAGED)? - before;
            // One of those that a request reads together is enough to have it read from disk: 16 requests and more a file.
            let enough = 8 * files.len() as u64;
            self.report.check(format_args!("damaged frames were found, {how:?}"), found > enough, found);
        }
        // The rest goes before anybody else meets it.
        for volume in 0..self.stack.volumes.len() {
            self.stack.message(volume, fovea_contract::ECACHE_DROP)?;
        }
        let said = log.lines().into_iter().filter(|(_, line)| line.contains(DAMAGED_LINE)).count();
        self.report.check("a damaged frame is named once", said == 1, said);
        files.iter_mut().for_each(TestFile::renew);
        Ok(())
    }

    /// Pages of a disk's own that the kernel drops because their memory is broken: nobody may read them, least of all to cache them.
    pub fn poisoned(&self) -> Outcome<()> {
        const POISONED: usize = 16;
        let volume = &self.stack.volumes[C];
        let disk = File::options().read(true).write(true).open(&volume.node).map_err(|e| e.to_string())?;
        drop_caches()?;
        let mut mapping = FileMapping::new(&disk, 0, POISONED * frame_bytes()).map_err(|e| e.to_string())?;
        let touched: usize = mapping.bytes().iter().step_by(frame_bytes()).map(|&byte| usize::from(byte)).sum();
        let before = self.puts_of_c()?;
        let poisoned = mapping.poison();
        let copied = self.puts_of_c()? - before;
        if poisoned == 0 {
            println!("     this kernel does not take memory for broken on request ({touched})");
            return Ok(());
        }
        if copied > 0 {
            self.report.fail(format_args!("wrong content: {copied} of {poisoned} pages of broken memory were cached"));
        }
        self.report.check("broken memory was dropped", poisoned == POISONED, poisoned);
        Ok(())
    }

    fn puts_of_c(&self) -> Outcome<u64> {
        let status = self.stack.status(C)?;
        let mut words = status.split(' ').skip_while(|word| *word != ecache_status::PUTS).skip(1);
        words.next().and_then(|word| word.parse().ok()).ok_or_else(|| format!("status: {status:?}"))
    }
}
