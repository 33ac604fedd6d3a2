// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Threads that allocate, use, resize, look at, and release the same buffers at random, while memory pressure, settings and the driver's
//! coming and going end mappings. One seed decides what each thread does, not how they interleave.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fovea_contract::heap_mapcache_statistics as statistics;
use fovea_edu::{Direction, Edu};
use fovea_heap::{Access, Buffer};
use fovea_tests::content::Random;
use fovea_tests::kernel::{at, write_file, Outcome};

use crate::bench::{address, set_cache, set_system, total, Bench, View, MIB, PAGE, SLOTS};
use crate::calls::resize;

const THREADS: u64 = 4;
const BUFFERS: usize = 24;
const PAGES_MAX: u64 = 96;

struct Soak<'a> {
    bench: &'a Bench<'a>,
    buffers: Mutex<Vec<Option<Arc<Buffer>>>>,
    /// Operations that are still to be done.
    left: AtomicU64,
    uses: AtomicU64,
    transfers: AtomicU64,
    resizes: AtomicU64,
    heap: File,
}

pub fn run(bench: &Bench, operations: u64) -> Outcome<()> {
    let soak = Soak {
        bench,
        buffers: Mutex::new((0..BUFFERS).map(|_| None).collect()),
        left: AtomicU64::new(operations),
        uses: AtomicU64::new(0),
        transfers: AtomicU64::new(0),
        resizes: AtomicU64::new(0),
        heap: at("the node", File::open(bench.system.path()))?,
    };
    let (began, hits, misses) = (Instant::now(), total(statistics::HITS)?, total(statistics::MISSES)?);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let soak = &soak;
            scope.spawn(move || {
                let mut random = Random::new(soak.bench.options.seed, 1000 + thread);
                while soak.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    if let Err(e) = soak.step(&mut random) {
                        soak.bench.report.fail(format_args!("soak: {e}"));
                    }
                }
            });
        }
    });
    soak.buffers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    set_cache("mapcache", 1)?;
    set_cache("device_cap_bytes", 256 * MIB)?;
    set_system("scatter", "0")?;
    let (hits, misses) = (total(statistics::HITS)? - hits, total(statistics::MISSES)? - misses);
    let (uses, transfers, resizes) = (soak.uses.into_inner(), soak.transfers.into_inner(), soak.resizes.into_inner());
    bench.check(
        "soak",
        (hits > 0) != bench.options.bounces() && misses > 0 && uses > 0 && resizes > 0,
        format_args!(
            "{operations} operations in {:.1?}: {uses} uses, {resizes} resized, {transfers} transfers, {hits} hits, {misses} misses",
            began.elapsed()
        ),
    );
    Ok(())
}

impl Soak<'_> {
    fn buffer(&self, random: &mut Random) -> Option<Arc<Buffer>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)[random.index(BUFFERS)].clone()
    }

    fn place(&self, random: &mut Random, buffer: Option<Arc<Buffer>>) {
        let index = random.index(BUFFERS);
        let old = std::mem::replace(&mut self.buffers.lock().unwrap_or_else(PoisonError::into_inner)[index], buffer);
        drop(old);
    }

    fn step(&self, random: &mut Random) -> Outcome<()> {
        match random.below(1000) {
            0..150 => {
                let size = (1 + random.below(PAGES_MAX)) * PAGE as u64;
                self.place(random, Some(Arc::new(at("a buffer", self.bench.system.allocate(size))?)));
            }
            150..260 => self.place(random, None),
            260..850 => self.use_one(random)?,
            850..900 => self.resize(random)?,
            900..985 => self.look(random)?,
            985 => write_file("/proc/sys/vm/drop_caches", "2")?,
            986..988 => set_cache("mapcache", random.below(4).min(1))?,
            988..991 => set_cache("device_cap_bytes", random.below(4) * MIB)?,
            991..993 => set_system("scatter", &random.below(2).to_string())?,
            993 => self.driver(random),
            994 => self.transfer(random)?,
            _ => std::thread::yield_now(),
        }
        Ok(())
    }

    /// One that is there: its driver comes and goes.
    fn device(random: &mut Random) -> Option<Edu> {
        Edu::open(SLOTS[random.index(2)]).ok()
    }

    fn use_one(&self, random: &mut Random) -> Outcome<()> {
        let (Some(buffer), Some(device)) = (self.buffer(random), Self::device(random)) else { return Ok(()) };
        let direction = Direction::ALL[random.index(3)];
        let done = match random.below(4) {
            0 => device.hold(buffer.as_fd(), direction).map(drop),
            _ => device.touch(buffer.as_fd(), direction, 1 + random.below(3) as u32).map(drop),
        };
        match done {
            Err(e) if e.raw_os_error() != Some(libc::ENODEV) => Err(format!("use: {e}")),
            _ => {
                self.uses.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Whatever others do with it meanwhile.
    fn resize(&self, random: &mut Random) -> Outcome<()> {
        let Some(buffer) = self.buffer(random) else { return Ok(()) };
        let size_bytes = (1 + random.below(PAGES_MAX)) * PAGE as u64;
        match resize(&self.heap, buffer.as_fd().as_raw_fd(), size_bytes, random.below(2) as u32) {
            // A device has it.
            Err(e) if e.raw_os_error() != Some(libc::EBUSY) => Err(format!("resize: {e}")),
            Err(_) => Ok(()),
            Ok(()) => {
                self.resizes.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn look(&self, random: &mut Random) -> Outcome<()> {
        let Some(buffer) = self.buffer(random) else { return Ok(()) };
        let access = [Access::Read, Access::Write, Access::ReadWrite][random.index(3)];
        at("an access", buffer.access(access, || ()))
    }

    /// On a buffer of its own, of which nobody else knows.
    fn transfer(&self, random: &mut Random) -> Outcome<()> {
        let buffer = at("a buffer", self.bench.system.allocate(4 * PAGE as u64))?;
        let view = View::of(&buffer)?;
        // The other device's driver stays.
        let device = at("the first device", Edu::open(SLOTS[0]))?;
        let direction = [Direction::Both, Direction::FromDevice][random.index(2)];
        // The device's memory is everybody's, so what is written is not known: only that nothing else is.
        at("DMA", device.transfer(buffer.as_fd(), direction, PAGE as u64, 1024, true))?;
        let beside = view.read(2 * PAGE, PAGE)?;
        if beside.iter().any(|&byte| byte != 0) {
            return Err("wrong content: DMA beside its place".into());
        }
        self.transfers.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The second device's goes and comes. Others do the same beside, so it may be gone, or there, already.
    fn driver(&self, random: &mut Random) {
        let file = |name: &str| format!("/sys/bus/pci/drivers/edu-importer/{name}");
        let _ = write_file(file("unbind"), &address(SLOTS[1]));
        std::thread::sleep(Duration::from_millis(random.below(5)));
        let _ = write_file(file("bind"), &address(SLOTS[1]));
    }
}
