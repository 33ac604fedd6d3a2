// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What went wrong in a look, for whoever tells it.

use std::collections::BTreeSet;

/// Each told once.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    reported: BTreeSet<String>,
    pub fresh: Vec<String>,
}

impl Complaints {
    /// Takes note of it, unless it was told before.
    pub fn add(&mut self, what: String) {
        /// Then whatever it is has been said.
        const MOST: usize = 64;
        if self.reported.len() < MOST && self.reported.insert(what.clone()) {
            self.fresh.push(what);
        }
    }
}
