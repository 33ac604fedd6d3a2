// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What happens to the page cache and the targets from outside while files are worked on.

use fovea_contract::{ecache_parameters, ecache_zero, ECACHE_CACHE, ECACHE_DROP, ECACHE_OFF, ECACHE_ON};
use fovea_linux::dm::Suspend;
use fovea_tests::content::Random;
use fovea_tests::pressure::{available_bytes, Hog};
use fovea_tests::raw::frame_bytes;
use fovea_tests::report::Report;

use crate::stack::{module_file, write_file, Outcome, Stack};
use crate::Options;

/// What the page cache is left when memory is short. More than it dirties at once, less than all files.
const LEFT_PAGES: u64 = 10 << 10;

/// How often times are measured, each time for a moment.
const MEASURED_MAX: u32 = 32;

/// Disturbs, one thing at a time.
pub struct Disturber<'a> {
    stack: &'a Stack,
    report: &'a Report,
    options: &'a Options,
    random: Random,
    hog: Hog,
    drops_caches: bool,
    measured: u32,
}

impl<'a> Disturber<'a> {
    pub fn new(stack: &'a Stack, report: &'a Report, options: &'a Options) -> Disturber<'a> {
        let mut disturber = Disturber {
            stack,
            report,
            options,
            random: Random::new(options.seed, 300),
            hog: Hog::default(),
            drops_caches: false,
            measured: 0,
        };
        let began = std::time::Instant::now();
        disturber.hog.squeeze(LEFT_PAGES * frame_bytes() as u64);
        println!("     memory squeezed to {} MiB in {:.1?}", available_bytes() >> 20, began.elapsed());
        disturber
    }

    /// One thing.
    pub fn disturb(&mut self) {
        let volume = self.random.index(self.stack.volumes.len());
        let result = match self.random.below(24) {
            0..=2 => write_file("/proc/sys/vm/compact_memory", "1"),
            3 => {
                self.drops_caches = !self.drops_caches;
                match self.drops_caches {
                    true => write_file("/proc/sys/vm/drop_caches", "3"),
                    false => write_file("/proc/sys/vm/drop_caches", "1"),
                }
            }
            4..=7 => {
                // Memory comes free in places that are anywhere, and is taken again.
                for _ in 0..4 {
                    self.hog.give(&mut self.random);
                }
                self.hog.squeeze(LEFT_PAGES * frame_bytes() as u64);
                Ok(())
            }
            8..=9 => self.stack.reload(volume, Suspend::Freeze, None),
            10 => self.stack.reload(volume, Suspend::Flush, None),
            11 => self.stack.reload(volume, Suspend::Hold, None),
            12..=13 => self.stack.reload(volume, Suspend::Freeze, Some(true)),
            14 => self.stack.reload(volume, Suspend::Flush, Some(true)),
            15 => self.stack.reload(volume, Suspend::Freeze, Some(false)),
            16 => self.stack.reload(volume, Suspend::Hold, Some(false)),
            choice if self.options.has_module() => self.of_the_module(choice, volume),
            _ => Ok(()),
        };
        if let Err(e) = result {
            self.report.fail(format_args!("disturbing: {e}"));
        }
    }

    fn of_the_module(&mut self, choice: u64, volume: usize) -> Outcome<()> {
        let parameter = |name: &str, value: &str| write_file(module_file("parameters").join(name), value);
        match choice {
            // Seldom: it empties the cache, and a full one is what evicts.
            17..=19 if self.random.below(8) != 0 => Ok(()),
            17 => self.stack.message(volume, ECACHE_DROP),
            18 => {
                self.stack.message(volume, &format!("{ECACHE_CACHE} {ECACHE_OFF}"))?;
                self.stack.message(volume, &format!("{ECACHE_CACHE} {ECACHE_ON}"))
            }
            19 => {
                parameter(ecache_parameters::CACHING, "N")?;
                parameter(ecache_parameters::CACHING, "Y")
            }
            20 | 21 => parameter(ecache_parameters::SALVAGE_PAGES, ["0", "64", "4096"][self.random.index(3)]),
            22 => parameter(ecache_parameters::ZERO, ecache_zero::ALL[self.random.index(2)]),
            // Each time the kernel patches code that other CPUs run, and QEMU before 8.1 does not always survive that: a few dozen times are
            // enough for the module, and a million operations come to an end.
            _ if self.measured >= MEASURED_MAX => Ok(()),
            _ => {
                self.measured += 1;
                parameter(ecache_parameters::MEASURE, "Y")?;
                self.stack.status(volume)?;
                parameter(ecache_parameters::MEASURE, "N")
            }
        }
    }

    /// Gives all memory back.
    pub fn calm_down(&mut self) {
        self.hog = Hog::default();
    }
}
