// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is to be kept of a start at which something was prefetched. The process that prefetches hands it over a pipe and ends; it is written
//! once the start is over, for until then CPU and storage are the app's.

use fovea_launch::UserStore;
use serde::{Deserialize, Serialize};

use crate::files::{now_s, today};

/// Bytes of the paths that are handed over, at most. Files beyond are found to be gone at the next start.
const GONE_MAX_BYTES: usize = 8 << 10;

/// Fits into a pipe (64 KiB), which is read once the writer has ended: a byte takes four at most.
pub const REPORT_MAX_BYTES: usize = 48 << 10;

/// A start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whose.
    pub user: u32,
    /// Of which app.
    pub app: String,
    /// Pages prefetched.
    pub prefetched: u64,
    /// Pages that were expected and missing,
    pub missing: u64,
    /// and that were expected and in memory.
    pub in_memory: u64,
    /// From when it was seen to the first page asked for.
    pub first_us: Option<u64>,
    /// Files that are not as they were.
    pub gone: Vec<Vec<u8>>,
}

impl Report {
    /// Of a start at which nothing was done.
    pub fn of(user: u32, app: &str) -> Report {
        let app = app.to_owned();
        Report { user, app, prefetched: 0, missing: 0, in_memory: 0, first_us: None, gone: Vec::new() }
    }

    /// For the pipe.
    pub fn bytes(mut self) -> Vec<u8> {
        let mut left = GONE_MAX_BYTES;
        self.gone.retain(|path| {
            let fits = path.len() <= left;
            left -= if fits { path.len() } else { 0 };
            fits
        });
        serde_json::to_vec(&self).unwrap_or_default()
    }

    /// From the pipe.
    pub fn parse(bytes: &[u8]) -> Option<Report> {
        serde_json::from_slice(bytes).ok()
    }

    /// Takes it in.
    pub fn keep(&self, store: &mut UserStore) {
        self.gone.iter().for_each(|path| store.forget_path(path));
        store.spend(today(), self.prefetched);
        let app = store.app_mut(&self.app);
        app.ahead.starts(self.in_memory);
        app.left(now_s(), self.prefetched, self.missing);
        app.first_us = self.first_us.unwrap_or(app.first_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_fits_the_pipe_however_many_files_are_gone() {
        let gone: Vec<Vec<u8>> = (0..2048).map(|nth| vec![255 - (nth % 9) as u8; 100 + nth]).collect();
        let report = Report { gone, first_us: Some(7), missing: 9, ..Report::of(1000, &"\u{1}".repeat(255)) };
        let bytes = report.clone().bytes();
        assert!(bytes.len() <= REPORT_MAX_BYTES, "{}", bytes.len());
        let back = Report::parse(&bytes).unwrap();
        assert!(back.gone.len() > 20 && report.gone.starts_with(&back.gone[..20]));
        assert_eq!((back.user, back.missing, back.first_us), (1000, 9, Some(7)));
        assert_eq!(Report::parse(&bytes[..bytes.len() / 2]), None);
    }

    #[test]
    fn what_a_start_did_is_taken_in() {
        let mut store = UserStore::default();
        let report = Report { prefetched: 5, missing: 9, first_us: Some(12_000), ..Report::of(7, "viewer") };
        report.keep(&mut store);
        // One at which nothing was to be read says nothing of how long that takes.
        Report::of(7, "viewer").keep(&mut store);
        let app = store.app("viewer").unwrap();
        assert_eq!((app.prefetched, app.missing, app.first_us, app.starts), (5, 9, 12_000, 2));
        assert_eq!(store.left_today(today(), 100), 95);
    }
}
