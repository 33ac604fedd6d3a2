// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What goes on above the eCache while a trace is generated: eCache12's figure 5.

use std::collections::BTreeMap;

/// What apps asked of the page cache, and how much it held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Pages read from files while an app that a user opened was in front, by app, in order; numbers of [`super::Trace::pages`].
    pub reads: BTreeMap<String, Vec<u32>>,
    /// Pages in the page cache, at the end of each second.
    pub cached_pages: Vec<u64>,
    /// Apps alive behind the one in front at the end of each second, without services.
    pub alive_behind: Vec<u64>,
}

impl Record {
    pub(super) fn read(&mut self, app: &str, page: u32) {
        match self.reads.get_mut(app) {
            Some(pages) => pages.push(page),
            None => drop(self.reads.insert(app.to_owned(), vec![page])),
        }
    }
}
