// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Ending long work early, from another thread.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    Arc,
};

use crate::{Error, Result};

/// A wish that work end, shared by whoever wishes and whoever works. Work looks at it once every
/// [chunk](crate::dense::CHUNK_REQUESTS) of requests.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Wishes it.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// If it was wished.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }
}
