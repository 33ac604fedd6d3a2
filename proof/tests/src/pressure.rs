// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Making the page cache give up its pages: by order, and by taking the memory it lives on.

use crate::content::Random;
use crate::kernel::{at, write_file, Outcome};

/// Empties the page cache of what is clean; what is dirty is written first.
pub fn drop_caches() -> Outcome<()> {
    rustix::fs::sync();
    write_file("/proc/sys/vm/drop_caches", "3")
}

/// `MemAvailable` of /proc/meminfo.
pub fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

/// Pages written to swap since boot, `pswpout` of /proc/vmstat.
pub fn swapped_pages() -> Outcome<u64> {
    let text = at("/proc/vmstat", std::fs::read_to_string("/proc/vmstat"))?;
    let count = text.lines().find_map(|line| line.strip_prefix("pswpout ")?.parse().ok());
    count.ok_or_else(|| "no pswpout in /proc/vmstat".into())
}

/// Memory taken, so that little is left for the page cache. In pieces that can be given back one by one.
#[derive(Default)]
pub struct Hog(Vec<Vec<u8>>);

impl Hog {
    const PIECE_BYTES: usize = 4 << 20;

    /// Takes memory until only so much is left.
    pub fn squeeze(&mut self, left_bytes: u64) {
        while available_bytes() > left_bytes + Self::PIECE_BYTES as u64 {
            let mut piece = vec![0u8; Self::PIECE_BYTES];
            // Touched, or it would be none.
            piece.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            self.0.push(piece);
        }
    }

    /// Gives a piece back.
    pub fn give(&mut self, random: &mut Random) {
        if !self.0.is_empty() {
            self.0.swap_remove(random.index(self.0.len()));
        }
    }
}
