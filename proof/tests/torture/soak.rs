// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The long part: threads that write and read files in every way, one that has writes and reads fail, one that works on a raw
//! device, one that gives and takes device buffers, and one that disturbs them all. Each object belongs to one thread, which
//! therefore knows what it must hold.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::time::Instant;

use fovea_tests::audit::Watch;
use fovea_tests::content::{Contents, Random};
use fovea_tests::file::{How, TestFile, OPERATION_PAGES};
use fovea_tests::raw::{block_of, Pages};
use fovea_tests::report::Report;

use crate::buffers::{self, Now};
use crate::disturb::Disturber;
use crate::stack::{Outcome, Stack, A, B};
use crate::volume_io::RawVolume;
use crate::Options;

/// Threads on files.
const WORKERS: u32 = 4;
/// Files of each on each file system, and their largest size.
const FILES: u32 = 5;
const FILE_PAGES: usize = 560;
/// Pages of the file whose blocks fail at times.
const VICTIM_PAGES: usize = 128;
/// Operations of a worker between two words to the disturber.
const TICK: u64 = 128;
/// Operations in which devices want memory, and then as many in which they do not.
const BUFFER_TURN: u64 = 4096;

/// What all threads share.
pub struct Shared<'a> {
    pub stack: &'a Stack,
    pub contents: &'a Contents,
    pub report: &'a Report,
    pub options: &'a Options,
    /// Operations done, and whether there are enough.
    pub done: AtomicU64,
    pub stop: AtomicBool,
}

impl Shared<'_> {
    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Half of the time devices want memory, half of the time the cache has it.
    fn buffers_now(&self) -> Now {
        match self.done.load(Ordering::Relaxed) / BUFFER_TURN % 2 {
            _ if self.over() => Now::End,
            0 => Now::Work,
            _ => Now::Rest,
        }
    }

    fn count(&self, tick: &SyncSender<()>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done >= self.options.operations || self.options.stop_early && self.report.failures() > 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
        if done % TICK == 0 {
            // A disturber that is busy misses one.
            let _ = tick.try_send(());
        }
    }
}

/// Runs it, then reads every file once more, cold. Returns the operations done and the seconds they took.
pub fn run(
    stack: &Stack,
    contents: &Contents,
    report: &Report,
    options: &Options,
    watch: &mut Watch,
    after: impl FnOnce() -> Outcome<()>,
) -> Outcome<(u64, f64)> {
    let shared = Shared { stack, contents, report, options, done: AtomicU64::new(0), stop: AtomicBool::new(false) };
    let (tick, ticks) = sync_channel(1);
    let disturber = Disturber::new(stack, report, options);
    let began = Instant::now();
    let files = std::thread::scope(|scope| {
        let disturber = scope.spawn(|| disturb(&shared, disturber, watch, ticks));
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let (shared, tick) = (&shared, tick.clone());
                scope.spawn(move || worker(shared, number, &tick))
            })
            .collect();
        let victim = {
            let (shared, tick) = (&shared, tick.clone());
            scope.spawn(move || victim(shared, &tick))
        };
        let raw = {
            let (shared, tick) = (&shared, tick.clone());
            scope.spawn(move || raw(shared, &tick))
        };
        let buffers = options.has_module().then(|| {
            let shared = &shared;
            scope.spawn(move || {
                buffers::under_load(shared.report, shared.options.seed, || shared.buffers_now());
            })
        });
        drop(tick);
        let mut files: Vec<TestFile> = Vec::new();
        for worker in workers {
            files.extend(worker.join().unwrap_or_else(|_| panicked(report)));
        }
        files.extend(victim.join().unwrap_or_else(|_| panicked(report)));
        raw.join().unwrap_or_else(|_| report.fail("the raw thread panicked"));
        disturber.join().unwrap_or_else(|_| report.fail("the disturber panicked"));
        if let Some(buffers) = buffers {
            buffers.join().unwrap_or_else(|_| report.fail("the buffer thread panicked"));
        }
        files
    });
    let seconds = began.elapsed().as_secs_f64();
    after()?;
    let mut buffer = Pages::new(OPERATION_PAGES);
    for (round, how) in [How::Buffered, How::Direct, How::Buffered].into_iter().enumerate() {
        fovea_tests::pressure::drop_caches()?;
        files.iter().for_each(|file| file.verify(how, &mut buffer));
        report.check(format_args!("cold read {round}"), true, format_args!("{} files", files.len()));
    }
    Ok((shared.done.load(Ordering::Relaxed), seconds))
}

fn panicked<'a>(report: &Report) -> Vec<TestFile<'a>> {
    report.fail("a worker panicked: see the console");
    Vec::new()
}

fn worker<'a>(shared: &Shared<'a>, number: u32, tick: &SyncSender<()>) -> Vec<TestFile<'a>> {
    let mut random = Random::new(shared.options.seed, 100 + u64::from(number));
    let mut buffer = Pages::new(OPERATION_PAGES);
    let mut files = Vec::new();
    for volume in [A, B] {
        let Some(folder) = &shared.stack.volumes[volume].mount else { continue };
        for file in 0..FILES {
            let id = 1 + (volume as u32 * WORKERS + number) * FILES + file;
            let path = folder.join(format!("file{id}"));
            let made = TestFile::create(&path, id, false, shared.contents, shared.report);
            files.extend(shared.report.expect(path.display(), made).map(|made| (made, volume == A)));
        }
    }
    while !shared.over() && !files.is_empty() {
        let index = random.index(files.len());
        if index > 0 && random.below(40) == 0 {
            let (before, rest) = files.split_at_mut(index);
            let (file, other) = (&mut rest[0].0, &mut before[random.index(index)].0);
            let count = 1 + random.index(OPERATION_PAGES);
            let (first, other_first) = (random.index(FILE_PAGES), random.index(FILE_PAGES));
            file.copy(first, count, other, other_first, random.below(2) == 0);
        } else {
            let (file, small_sectors) = &mut files[index];
            operation(file, *small_sectors, &mut random, &mut buffer);
        }
        shared.count(tick);
    }
    files.iter_mut().for_each(|(file, _)| file.sync());
    files.into_iter().map(|(file, _)| file).collect()
}

/// One operation on a file.
fn operation(file: &mut TestFile, small_sectors: bool, random: &mut Random, buffer: &mut Pages) {
    let first = random.index(FILE_PAGES - OPERATION_PAGES);
    let count = 1 + random.index(OPERATION_PAGES);
    // Within the file, for what does not extend it.
    let inside = random.index(file.pages().max(1));
    match random.below(1000) {
        0..=129 => file.write(first, count, How::Buffered, buffer),
        130..=159 => file.write(inside, 1, How::Halves, buffer),
        160..=229 => file.write(first, count, How::Direct, buffer),
        230..=249 if small_sectors => file.write(inside, 1, How::DirectHalves, buffer),
        250..=299 => file.write(first, count, How::Mapped, buffer),
        300..=309 => file.write(first, count, How::MappedSync, buffer),
        310..=559 => file.read(inside, count, How::Buffered, buffer),
        560..=639 => file.read(inside, count, How::Direct, buffer),
        640..=719 => file.read(inside, count, How::Mapped, buffer),
        720..=739 => file.sync(),
        740..=869 => file.evict(inside, 4 * OPERATION_PAGES, false),
        870..=939 => file.evict(inside, 4 * OPERATION_PAGES, true),
        940..=954 => file.resize(random.index(FILE_PAGES), random.below(2) == 0, buffer),
        955..=974 => file.punch(inside, count),
        975..=981 => file.renew(),
        982..=991 => {
            let name = format!("name{}-{}", file.path().display().to_string().len(), random.draw());
            let to = file.path().with_file_name(name);
            file.rename(to);
        }
        _ => file.verify(How::Buffered, buffer),
    }
}

/// A file on b whose blocks fail at times: its content is then the last one or an older one.
fn victim<'a>(shared: &Shared<'a>, tick: &SyncSender<()>) -> Vec<TestFile<'a>> {
    let Some(folder) = &shared.stack.volumes[B].mount else { return Vec::new() };
    let mut random = Random::new(shared.options.seed, 200);
    let mut buffer = Pages::new(OPERATION_PAGES);
    let path = folder.join("victim");
    let made = TestFile::create(&path, 1000, true, shared.contents, shared.report);
    let Some(mut file) = shared.report.expect("the victim", made) else { return Vec::new() };
    for first in (0..VICTIM_PAGES).step_by(OPERATION_PAGES) {
        file.write(first, OPERATION_PAGES, How::Direct, &mut buffer);
    }
    file.sync();
    let blocks: Result<Vec<u32>, _> = (0..VICTIM_PAGES as u32).map(|page| block_of(file.file(), page)).collect();
    let Some(mut blocks) = shared.report.expect("the victim's blocks", blocks) else { return vec![file] };
    blocks.sort_unstable();
    if blocks.first() == Some(&0) {
        shared.report.fail("the victim has a hole");
    }
    // Linux 6.1 cannot fail reads alone. Whatever else is wrong with such a table is wrong with the others too, and reported there.
    let reads_alone = shared.stack.flaky(&blocks, Some("1 error_reads")).is_ok();
    if !reads_alone {
        println!("     dm-flakey has no error_reads: where reads are to fail, writes do too");
    }
    let mut left = 0;
    while !shared.over() {
        if left == 0 {
            let feature = match random.below(5) {
                1 if reads_alone => Some("1 error_reads"),
                0 | 1 => Some(""),
                2 | 3 => Some("1 error_writes"),
                _ => None,
            };
            let _ = shared.report.expect("flakey", shared.stack.flaky(&blocks, feature));
            left = 20 + random.below(200);
        }
        left -= 1;
        let first = random.index(VICTIM_PAGES - OPERATION_PAGES);
        let count = 1 + random.index(OPERATION_PAGES);
        match random.below(100) {
            0..=24 => file.write(first, count, How::Buffered, &mut buffer),
            25..=34 => file.write(first, count, How::Direct, &mut buffer),
            35..=64 => file.read(first, count, How::Buffered, &mut buffer),
            65..=74 => file.read(first, count, How::Direct, &mut buffer),
            75..=84 => file.sync(),
            _ => file.evict(first, 2 * count, false),
        }
        shared.count(tick);
    }
    let _ = shared.report.expect("flakey off", shared.stack.flaky(&blocks, None));
    file.sync();
    vec![file]
}

fn raw(shared: &Shared, tick: &SyncSender<()>) {
    let seed = shared.options.seed;
    let volume = &shared.stack.volumes[crate::stack::C];
    let opened = RawVolume::open(Path::new(&volume.node), 2000, seed, shared.contents, shared.report);
    let Some(mut volume) = shared.report.expect("opening c", opened) else { return };
    while !shared.over() {
        volume.operation();
        shared.count(tick);
    }
    volume.verify();
}

fn disturb(shared: &Shared, mut disturber: Disturber, watch: &mut Watch, ticks: Receiver<()>) {
    let began = Instant::now();
    let mut told = 0;
    for () in ticks {
        disturber.disturb();
        watch.look(shared.report, false);
        let done = shared.done.load(Ordering::Relaxed);
        let step = (shared.options.operations / 10).max(1);
        if done / step > told {
            told = done / step;
            println!("     {done} operations, {:.0} a second", done as f64 / began.elapsed().as_secs_f64());
        }
    }
    disturber.calm_down();
}
