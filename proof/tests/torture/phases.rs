// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Short tests, each of which provokes what one safety of the module is for. A module built without that safety (kmod's BROKEN=)
//! must fail here.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fovea_contract::ecache_statistics::{HITS, SALVAGED};
use fovea_contract::ECACHE_DROP;
use fovea_heap::Heap;
use fovea_tests::audit::compare;
use fovea_tests::content::{Contents, Random};
use fovea_tests::file::{How, TestFile, OPERATION_PAGES};
use fovea_tests::pressure::{drop_caches, Hog};
use fovea_tests::raw::{frame_bytes, Pages, PAGE};
use fovea_tests::report::Report;
use rustix::fs::{fadvise, Advice};

use crate::stack::{statistic, Outcome, Stack, A, B, C};
use crate::volume_io::RawVolume;
use crate::DEVICES;

const PAGES: usize = 512;
const ROUNDS: u32 = 4;

/// What the phases share.
pub struct Phases<'a> {
    pub stack: &'a Stack,
    pub contents: &'a Contents,
    pub report: &'a Report,
    pub seed: u64,
}

impl<'a> Phases<'a> {
    fn file(&self, volume: usize, name: &str, id: u32) -> Outcome<TestFile<'a>> {
        let folder = self.stack.volumes[volume].mount.as_ref().ok_or("not mounted")?;
        TestFile::create(&folder.join(name), id, false, self.contents, self.report).map_err(|e| e.to_string())
    }

    fn fill(&self, file: &mut TestFile, buffer: &mut Pages) {
        for first in (0..PAGES).step_by(OPERATION_PAGES) {
            file.write(first, OPERATION_PAGES, How::Buffered, buffer);
        }
        file.sync();
    }

    /// Filled files, on a and b in turn.
    pub fn files(&self, name: &str, first_id: u32, count: u32, buffer: &mut Pages) -> Outcome<Vec<TestFile<'a>>> {
        let one = |number: u32| {
            let volume = if number % 2 == 0 { A } else { B };
            let mut file = self.file(volume, &format!("{name}{number}"), first_id + number)?;
            self.fill(&mut file, buffer);
            Ok(file)
        };
        (0..count).map(one).collect()
    }

    /// Blocks that are cached are written: what is served afterwards must be new.
    pub fn write(&self) -> Outcome<()> {
        let mut buffer = Pages::new(OPERATION_PAGES);
        for volume in [A, B] {
            let mut file = self.file(volume, "write", 3000)?;
            self.fill(&mut file, &mut buffer);
            for round in 0..ROUNDS {
                // Into the cache, and out of the page cache.
                file.verify(How::Buffered, &mut buffer);
                file.evict(0, PAGES, round % 2 == 1);
                for first in (0..PAGES).step_by(2 * OPERATION_PAGES) {
                    let how = [How::Direct, How::Buffered, How::Mapped, How::Halves][round as usize % 4];
                    file.write(first, OPERATION_PAGES, how, &mut buffer);
                }
                file.sync();
                file.evict(0, PAGES, false);
                file.verify(How::Direct, &mut buffer);
                file.verify(How::Buffered, &mut buffer);
            }
            file.renew();
        }
        Ok(())
    }

    /// Pages that differ from their block leave the page cache by truncation: the cache must not take them. On b, which has no
    /// discard: that would cover the traces up.
    pub fn truncated(&self) -> Outcome<()> {
        let mut buffer = Pages::new(OPERATION_PAGES);
        for round in 0..ROUNDS {
            let mut file = self.file(B, "truncated", 3100)?;
            self.fill(&mut file, &mut buffer);
            drop_caches()?;
            file.verify(How::Buffered, &mut buffer);
            for first in (0..PAGES).step_by(OPERATION_PAGES) {
                file.write(first, OPERATION_PAGES, How::Buffered, &mut buffer);
            }
            match round % 2 {
                0 => file.resize(0, false, &mut buffer),
                _ => file.renew(),
            }
            file.sync();
            rustix::fs::sync();
            compare(&self.stack.volumes[B].sides(), self.contents, self.report)?;
            file.renew();
        }
        Ok(())
    }

    /// A page is read and evicted while a direct write of its block is under way. Writes to c take long, reads do not.
    pub fn direct(&self) -> Outcome<()> {
        const BLOCKS: usize = 16;
        let node = &self.stack.volumes[C].node;
        let mut volume = RawVolume::open(node, 3200, self.seed, self.contents, self.report)?;
        let reader = fs::File::open(node).map_err(|e| e.to_string())?;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = Pages::new(BLOCKS);
                let size = std::num::NonZeroU64::new((BLOCKS * PAGE) as u64);
                while !over.load(Ordering::Relaxed) {
                    let read = std::os::unix::fs::FileExt::read_at(&reader, buffer.bytes(BLOCKS), 0);
                    let advised = fadvise(&reader, 0, size, Advice::DontNeed);
                    if read.is_err() || advised.is_err() {
                        self.report.fail(format_args!("reading c: {read:?} {advised:?}"));
                        break;
                    }
                }
            });
            for _ in 0..100 {
                volume.write(0, BLOCKS, true);
                volume.read(0, BLOCKS, true);
            }
            over.store(true, Ordering::Relaxed);
        });
        volume.verify();
        drop_caches()?;
        compare(&self.stack.volumes[C].sides(), self.contents, self.report)
    }

    /// Devices take most of the cache's memory, and its pages are salvaged when the first word is written there: what was saved must
    /// still be what is on disk. With most of the cache in use, so that pages are moved to free frames and to others'.
    pub fn salvaged(&self) -> Outcome<()> {
        let mut buffer = Pages::new(OPERATION_PAGES);
        let mut files = self.files("salvaged", 3400, 7, &mut buffer)?;
        // What other phases read again and again would be protected from these files, which come by but once a round.
        for volume in [A, B, C] {
            self.stack.message(volume, ECACHE_DROP)?;
        }
        let before = statistic(SALVAGED)?;
        for round in 0..ROUNDS {
            files.iter().for_each(|file| file.verify(How::Buffered, &mut buffer));
            drop_caches()?;
            // The first words, of the first device alone or of two in turn.
            let taken = DEVICES[..2].iter().map(|&(name, size_bytes)| -> Outcome<_> {
                let heap = Heap::open(format!("/dev/ecache/{name}")).map_err(|e| e.to_string())?;
                let held = heap.allocate(size_bytes).map_err(|e| format!("{name}: {e}"))?;
                held.map().map_err(|e| format!("{name}: {e}"))
            });
            let taken = taken.collect::<Outcome<Vec<_>>>()?;
            for mapping in &taken[..1 + round as usize % 2] {
                mapping.words()[0].store(u64::MAX, Ordering::Relaxed);
            }
            files.iter().for_each(|file| file.verify(How::Buffered, &mut buffer));
        }
        let moved = statistic(SALVAGED)? - before;
        self.report.check("pages were salvaged", moved > u64::from(ROUNDS) * 256, format_args!("{moved}"));
        for volume in [A, B] {
            compare(&self.stack.volumes[volume].sides(), self.contents, self.report)?;
        }
        files.iter_mut().for_each(TestFile::renew);
        Ok(())
    }

    /// A device takes memory while pages are copied to and from it, and writes to all of it: it may not see theirs, nor they its own.
    pub fn pinned(&self) -> Outcome<()> {
        const OPENED: u32 = 40;
        let (name, size_bytes) = DEVICES[0];
        let mut files = self.files("pinned", 3500, 4, &mut Pages::new(OPERATION_PAGES))?;
        let heap = Heap::open(format!("/dev/ecache/{name}")).map_err(|e| e.to_string())?;
        let over = AtomicBool::new(false);
        let work = || -> Outcome<()> {
            for round in 1..=OPENED {
                // The readers are in the midst of it.
                let before = statistic(HITS)?;
                while statistic(HITS)? < before + 64 && self.report.failures() == 0 {
                    std::thread::yield_now();
                }
                let held = heap.allocate(size_bytes).map_err(|e| format!("{name}: {e}"))?;
                let mapping = held.map().map_err(|e| format!("{name}: {e}"))?;
                let stale = mapping.words().iter().filter(|word| word.swap(!0, Ordering::Relaxed) != 0).count();
                let changed = mapping.words().iter().filter(|word| word.load(Ordering::Relaxed) != !0).count();
                if stale + changed > 0 {
                    self.report.fail(format_args!(
                        "wrong content: buffer {round} of {name} shows {stale} old words, and {changed} changed"
                    ));
                }
            }
            Ok(())
        };
        let done = std::thread::scope(|scope| {
            for file in &files {
                scope.spawn(|| {
                    let mut buffer = Pages::new(OPERATION_PAGES);
                    while !over.load(Ordering::Relaxed) {
                        file.evict(0, PAGES, false);
                        file.verify(How::Buffered, &mut buffer);
                    }
                });
            }
            let done = work();
            over.store(true, Ordering::Relaxed);
            done
        });
        files.iter_mut().for_each(TestFile::renew);
        done
    }

    /// Pages move to where other pages were a moment ago, and are evicted: each must be cached as what it is. Two blocks of movable
    /// memory are emptied in turn, each into the other, by taking them offline: compaction alone moves pages one way only.
    pub fn migration(&self) -> Outcome<()> {
        drop_caches()?;
        let mut blocks: Vec<u32> = movable_blocks().into_iter().filter(|&block| set_state(block, "offline")).collect();
        for &block in blocks.iter().skip(2) {
            set_state(block, ONLINE);
        }
        blocks.truncate(2);
        let [one, two] = blocks[..] else {
            return Err(format!(
                "{} blocks of memory can be taken offline: give the kernel movablecore=",
                blocks.len()
            ));
        };
        // All other memory is taken, so that the two are each other's only way out.
        let mut hog = Hog::default();
        hog.squeeze(LEFT_PAGES * frame_bytes() as u64);
        set_state(one, ONLINE);
        let mut buffer = Pages::new(OPERATION_PAGES);
        let mut files = self.files("migration", 3300, 16, &mut buffer)?;
        let mut random = Random::new(self.seed, 500);
        let mut moved = 0;
        for _ in 0..ROUNDS {
            drop_caches()?;
            files.iter().for_each(|file| file.verify(How::Buffered, &mut buffer));
            set_state(two, ONLINE);
            for block in [one, two] {
                moved += u32::from(set_state(block, "offline"));
                set_state(block, ONLINE);
                for file in &files {
                    file.evict(random.index(PAGES), OPERATION_PAGES, false);
                }
            }
            files.iter().for_each(|file| file.evict(0, PAGES, false));
            files.iter().for_each(|file| file.verify(How::Buffered, &mut buffer));
            drop_caches()?;
            set_state(two, "offline");
        }
        set_state(two, ONLINE);
        drop(hog);
        for volume in [A, B] {
            compare(&self.stack.volumes[volume].sides(), self.contents, self.report)?;
        }
        self.report.check("memory was moved", moved > ROUNDS, format_args!("{moved} blocks taken offline"));
        files.iter_mut().for_each(TestFile::renew);
        Ok(())
    }
}

/// What brings a block of memory back, for movable pages only.
const ONLINE: &str = "online_movable";
/// What is left of memory while the two blocks are offline.
const LEFT_PAGES: u64 = 10 << 10;
const MEMORY: &str = "/sys/devices/system/memory";

/// Memory blocks that hold nothing but movable pages.
fn movable_blocks() -> Vec<u32> {
    let entries = fs::read_dir(MEMORY).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("memory")?.parse().ok());
    let movable = |number: &u32| {
        let zones = fs::read_to_string(Path::new(MEMORY).join(format!("memory{number}/valid_zones")));
        zones.is_ok_and(|zones| zones.starts_with("Movable"))
    };
    let mut blocks: Vec<u32> = numbers.filter(movable).collect();
    blocks.sort_unstable();
    blocks
}

/// Takes a block offline or online; whether it worked. It may hold something that cannot move just now.
fn set_state(number: u32, state: &str) -> bool {
    fs::write(Path::new(MEMORY).join(format!("memory{number}/state")), state).is_ok()
}
