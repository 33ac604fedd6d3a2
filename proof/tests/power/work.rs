// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Files on the target: filled and evicted before a state of power, read in every way after it, and used all the time in between.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fovea_tests::audit::{self, Watch};
use fovea_tests::content::{Contents, Found, Random};
use fovea_tests::file::{How, TestFile, OPERATION_PAGES};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;

use crate::stack::{drop_caches, pool, Outcome, Stack, MOUNT};
use crate::Options;

/// The same in every boot, so that one can read what another wrote.
pub const SEED: u64 = 1;
/// Files that rest, and pages of each: more blocks than an idle cache would hold by chance.
const FILES: u32 = 6;
const PAGES: usize = 1024;
/// Cached blocks below which a state of power proves nothing.
const CACHED_MIN: u64 = 3000;
/// Pages of the file that is in use meanwhile.
const BUSY_PAGES: usize = 256;

pub struct Work<'a> {
    pub stack: &'a Stack,
    contents: &'a Contents,
    report: &'a Report,
    options: &'a Options,
    watch: Watch,
    files: Vec<TestFile<'a>>,
    busy: TestFile<'a>,
}

fn file<'a>(name: &str, id: u32, contents: &'a Contents, report: &'a Report) -> Outcome<TestFile<'a>> {
    TestFile::create(&Path::new(MOUNT).join(name), id, false, contents, report).map_err(|e| format!("{name}: {e}"))
}

impl<'a> Work<'a> {
    /// Writes the files.
    pub fn begin(
        stack: &'a Stack,
        contents: &'a Contents,
        options: &'a Options,
        report: &'a Report,
    ) -> Outcome<Work<'a>> {
        let watch = Watch::new("").map_err(|e| format!("/dev/kmsg: {e}"))?;
        let mut buffer = Pages::new(OPERATION_PAGES);
        let mut files = Vec::new();
        for id in 0..FILES {
            let mut file = file(&format!("rest{id}"), id, contents, report)?;
            fill(&mut file, PAGES, &mut buffer);
            files.push(file);
        }
        let mut busy = file("busy", FILES, contents, report)?;
        fill(&mut busy, BUSY_PAGES, &mut buffer);
        Ok(Work { stack, contents, report, options, watch, files, busy })
    }

    /// Fills the cache: each page is read and then evicted.
    pub fn fill_cache(&self) -> Outcome<()> {
        drop_caches()?;
        let mut buffer = Pages::new(OPERATION_PAGES);
        self.files.iter().for_each(|file| file.verify(How::Buffered, &mut buffer));
        drop_caches()?;
        if self.options.has_module() {
            let cached = pool("cached");
            self.report.check("the cache is full", cached >= CACHED_MIN, format_args!("{cached} blocks"));
        }
        Ok(())
    }

    /// Enters a state and comes back, with a program at work on a file meanwhile, as on any machine.
    pub fn through<T>(&mut self, enter: impl FnOnce() -> T) -> T {
        let stop = AtomicBool::new(false);
        let busy = &mut self.busy;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random::new(SEED, 1);
                let mut buffer = Pages::new(OPERATION_PAGES);
                while !stop.load(Ordering::Relaxed) {
                    let first = random.index(BUSY_PAGES - OPERATION_PAGES);
                    let count = 1 + random.index(OPERATION_PAGES);
                    match random.below(8) {
                        0 => busy.write(first, count, How::Buffered, &mut buffer),
                        1 => busy.write(first, count, How::Direct, &mut buffer),
                        2 => busy.sync(),
                        3 => busy.evict(first, 4 * OPERATION_PAGES, false),
                        4 => busy.read(first, count, How::Direct, &mut buffer),
                        _ => busy.read(first, count, How::Buffered, &mut buffer),
                    }
                }
            });
            let result = enter();
            stop.store(true, Ordering::Relaxed);
            result
        })
    }

    /// Looks at everything: each block through the target and from the disk, and each file as often as a page may be somewhere else.
    pub fn check(&mut self, what: &str) -> Outcome<()> {
        println!("     after {what}: {} blocks cached", pool("cached"));
        let before = self.report.failures();
        let mut buffer = Pages::new(OPERATION_PAGES);
        // The frames first, before anything else is put or served.
        audit::compare(&self.stack.volume.sides(), self.contents, self.report)?;
        for how in [How::Buffered, How::Direct] {
            self.all(|file| file.verify(how, &mut buffer));
            drop_caches()?;
        }
        // And it goes on: what is read now is cached, and served when it is read again.
        self.all(|file| file.verify(How::Buffered, &mut buffer));
        drop_caches()?;
        let hits = pool("hits");
        self.all(|file| file.verify(How::Buffered, &mut buffer));
        let hits = pool("hits") - hits;
        if self.options.has_module() {
            let serves = format_args!("{what}: it serves again");
            self.report.check(serves, hits >= CACHED_MIN, format_args!("{hits} hits"));
        }
        audit::compare(&self.stack.volume.sides(), self.contents, self.report)?;
        self.watch.look(self.report, false);
        let failed = self.report.failures() - before;
        self.report.check(format_args!("{what}: all content"), failed == 0, format_args!("{failed} failures"));
        Ok(())
    }

    /// The kernel will say this, with good reason.
    pub fn expect_log(&mut self, bad: &'static [&'static str]) {
        self.watch.expect(bad);
    }

    /// Files are written anew, for what was written before is not what the next state may find by chance.
    pub fn renew(&mut self) {
        let mut buffer = Pages::new(OPERATION_PAGES);
        for file in &mut self.files {
            fill(file, PAGES, &mut buffer);
        }
    }

    fn all(&self, look: impl FnMut(&TestFile)) {
        self.files.iter().chain([&self.busy]).for_each(look);
    }
}

fn fill(file: &mut TestFile, pages: usize, buffer: &mut Pages) {
    for first in (0..pages).step_by(OPERATION_PAGES) {
        file.write(first, OPERATION_PAGES, How::Buffered, buffer);
    }
    file.sync();
}

/// The resting files as [`Work::begin`] of another kernel left them, read by one that knows nothing of it.
pub fn check_as_written(contents: &Contents, report: &Report) -> Outcome<()> {
    for id in 0..FILES {
        let path = Path::new(MOUNT).join(format!("rest{id}"));
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let right = |(page, found): (usize, &[u8])| {
            let version = (page / OPERATION_PAGES) as u32 + 1;
            matches!(contents.recognise(found), Found::Whole(state)
                if (state.file, state.page, state.version) == (id, page as u32, version))
        };
        let wrong = bytes.chunks_exact(PAGE).enumerate().filter(|&page| !right(page)).count();
        let whole = bytes.len() == PAGES * PAGE && wrong == 0;
        report.check(path.display(), whole, format_args!("{} bytes, {wrong} wrong pages", bytes.len()));
    }
    Ok(())
}
