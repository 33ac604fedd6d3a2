// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the module's locks cost readers of cached files on two volumes: how often each is taken for a page that is put or got, and how
//! many instructions (in exact mode; else clock ticks of the host's) it is held.

use fovea_contract::ecache_parameters::MEASURE_HELD;
use fovea_contract::ecache_statistics::{HELD_COUNT, HELD_INSNS, HITS, PUTS, VOLUME_HELD_COUNT, VOLUME_HELD_INSNS};
use fovea_tests::content::Contents;
use fovea_tests::file::{How, TestFile, OPERATION_PAGES};
use fovea_tests::raw::Pages;
use fovea_tests::report::Report;

use crate::stack::{module_file, statistic, Outcome, Stack, A, B};

/// All files together fit into the cache beside what it holds to spare.
const PAGES: usize = 320;
const ROUNDS: u32 = 12;

struct Counts {
    pages: u64,
    pool: (u64, u64),
    volumes: (u64, u64),
}

fn counts() -> Outcome<Counts> {
    let number = statistic;
    Ok(Counts {
        pages: number(PUTS)? + number(HITS)?,
        pool: (number(HELD_COUNT)?, number(HELD_INSNS)?),
        volumes: (number(VOLUME_HELD_COUNT)?, number(VOLUME_HELD_INSNS)?),
    })
}

/// So many threads, each with a file of its own that leaves the page cache and comes back, on two volumes in turn.
pub fn read(stack: &Stack, contents: &Contents, report: &Report, readers: u32) -> Outcome<()> {
    let files = (0..readers).map(|number| file(stack, contents, report, number)).collect::<Outcome<Vec<_>>>()?;
    let rounds = || {
        std::thread::scope(|scope| {
            for file in &files {
                scope.spawn(|| {
                    let mut buffer = Pages::new(OPERATION_PAGES);
                    for _ in 0..ROUNDS {
                        // By way of reclaim: only what that takes is put.
                        file.evict(0, PAGES, true);
                        file.verify(How::Buffered, &mut buffer);
                    }
                });
            }
        });
    };
    // Whatever else was cached goes.
    rounds();
    std::fs::write(module_file("parameters").join(MEASURE_HELD), "Y").map_err(|e| e.to_string())?;
    let before = counts()?;
    rounds();
    let after = counts()?;
    let pages = after.pages - before.pages;
    let each = |now: u64, then: u64| (now - then) as f64 / pages.max(1) as f64;
    report.check(
        format_args!("{readers} readers of two volumes"),
        // Of each round most is served.
        pages > u64::from(readers * ROUNDS) * PAGES as u64,
        format_args!(
            "{pages} pages; for each a volume's lock is taken {:.2} times and held {:.0} insns, the pool's {:.3} times and {:.0} insns",
            each(after.volumes.0, before.volumes.0),
            each(after.volumes.1, before.volumes.1),
            each(after.pool.0, before.pool.0),
            each(after.pool.1, before.pool.1),
        ),
    );
    // Else each page would take it.
    let seldom = each(after.pool.0, before.pool.0);
    report.check(
        "the pool's lock is taken for many pages at once",
        seldom < 0.25,
        format_args!("{seldom:.3} times a page"),
    );
    files.into_iter().for_each(|mut file| file.renew());
    Ok(())
}

fn file<'a>(stack: &Stack, contents: &'a Contents, report: &'a Report, number: u32) -> Outcome<TestFile<'a>> {
    let volume = if number % 2 == 0 { A } else { B };
    let folder = stack.volumes[volume].mount.as_ref().ok_or("not mounted")?;
    let path = folder.join(format!("readers{number}"));
    let mut file = TestFile::create(&path, 3600 + number, false, contents, report).map_err(|e| e.to_string())?;
    let mut buffer = Pages::new(OPERATION_PAGES);
    for first in (0..PAGES).step_by(OPERATION_PAGES) {
        file.write(first, OPERATION_PAGES, How::Buffered, &mut buffer);
    }
    file.sync();
    Ok(file)
}
