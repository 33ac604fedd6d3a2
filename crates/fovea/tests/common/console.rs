// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a script in the phone has said on the console: lines that begin with a mark.

#![allow(missing_docs)]

pub struct Console(pub String);

impl Console {
    /// What follows the mark, of each line that begins with it.
    pub fn lines(&self, mark: &str) -> Vec<&str> {
        self.0.lines().filter_map(|line| line.trim_end().strip_prefix(mark)).collect()
    }

    /// The number behind a mark that stands once.
    pub fn number(&self, mark: &str) -> u64 {
        let found = self.lines(mark);
        assert_eq!(found.len(), 1, "{mark:?}: {found:?}");
        found[0].trim().parse().unwrap()
    }
}
