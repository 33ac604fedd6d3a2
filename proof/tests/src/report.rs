// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was found, on the console: a line per check, a line per failure.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

/// Failures printed; the rest is counted. The console is slow, and a broken cache has thousands.
const PRINTED_MAX: u32 = 40;

/// Counts failures of all threads.
#[derive(Debug, Default)]
pub struct Report {
    failures: AtomicU32,
}

impl Report {
    /// Something is wrong.
    pub fn fail(&self, what: impl Display) {
        if self.failures.fetch_add(1, Ordering::Relaxed) < PRINTED_MAX {
            println!("FAIL {what}");
        }
    }

    /// Says how a check went.
    pub fn check(&self, what: impl Display, holds: bool, found: impl Display) {
        match holds {
            true => println!("ok   {what}: {found}"),
            false => self.fail(format_args!("{what}: {found}")),
        }
    }

    /// Takes a result that must be there.
    pub fn expect<T, E: Display>(&self, what: impl Display, result: Result<T, E>) -> Option<T> {
        result.map_err(|e| self.fail(format_args!("{what}: {e}"))).ok()
    }

    /// How many so far.
    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }
}
