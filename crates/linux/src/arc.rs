// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! ZFS's cache (ARC). It is neither page cache nor slab, so MemAvailable leaves it out, though it
//! is given back when memory is short.

use crate::file::{KernelFile, Root};
use crate::proc::{after_key, number};

const STATS: &str = "proc/spl/kstat/zfs/arcstats";

/// Readings after which the file is looked for again: ZFS may be loaded later, and a daemon without
/// it reads memory often.
const READINGS: u32 = 64;

#[derive(Debug, Default)]
pub(crate) struct Arc {
    file: Option<KernelFile>,
    until_next: u32,
}

impl Arc {
    /// What it can give back; nothing without ZFS.
    pub fn spare_bytes(&mut self, root: &Root, buffer: &mut Vec<u8>) -> u64 {
        if self.file.is_none() {
            if self.until_next > 0 {
                self.until_next -= 1;
                return 0;
            }
            self.until_next = READINGS;
            self.file = KernelFile::open(root.join(STATS)).ok();
        }
        match self.file.as_ref().map(|file| file.read(buffer)) {
            Some(Ok(())) => spare_bytes(buffer),
            _ => {
                self.file = None;
                0
            }
        }
    }
}

/// As its shrinker counts (OpenZFS, module/os/linux/zfs/arc_os.c, arc_evictable_memory): what is
/// not in use, and not below its minimum. Lines are name, type, value.
fn spare_bytes(stats: &[u8]) -> u64 {
    let of = |key: &[u8]| {
        let mut fields = after_key(stats, key)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        number(fields.nth(1)?)
    };
    let Some((size_bytes, least_bytes)) = of(b"size ").zip(of(b"c_min ")) else { return 0 };
    const EVICTABLE: [&[u8]; 4] =
        [b"mru_evictable_data ", b"mru_evictable_metadata ", b"mfu_evictable_data ", b"mfu_evictable_metadata "];
    let evictable_bytes = EVICTABLE.iter().filter_map(|key| of(key)).fold(0, u64::saturating_add);
    size_bytes.saturating_sub(least_bytes).min(evictable_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;
    use proptest::prelude::*;

    const STATS_TEXT: &str = "\
13 1 0x01 147 39984 4163062271 92538123456
name                            type data
hits                            4    81342
c                               4    8000000000
c_min                           4    1000000000
c_max                           4    8000000000
size                            4    5000000000
compressed_size                 4    4000000000
mru_evictable_data              4    1500000000
mru_evictable_metadata          4    100000000
mru_ghost_size                  4    999
mfu_evictable_data              4    2000000000
mfu_evictable_metadata          4    50000000
";

    #[test]
    fn what_is_not_in_use_and_above_the_minimum_can_be_had() {
        assert_eq!(spare_bytes(STATS_TEXT.as_bytes()), 3_650_000_000);
        let near_minimum = STATS_TEXT.replace("5000000000", "1200000000");
        assert_eq!(spare_bytes(near_minimum.as_bytes()), 200_000_000);
        assert_eq!(spare_bytes(b"size 4 5\n"), 0);
    }

    #[test]
    fn zfs_that_is_loaded_later_is_found() {
        let root = tempfile::tempdir().unwrap();
        let (at, mut arc, mut buffer) = (Root::at(root.path()), Arc::default(), Vec::new());
        assert_eq!(arc.spare_bytes(&at, &mut buffer), 0);
        capture(root.path(), STATS, STATS_TEXT);
        let found = (0..=READINGS).map(|_| arc.spare_bytes(&at, &mut buffer)).max();
        assert_eq!(found, Some(3_650_000_000));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..200), lines in "((size|c_min|mru_evictable_data) +[0-9] +[0-9]{0,30}\n){0,4}") {
            let _ = (spare_bytes(&text), spare_bytes(lines.as_bytes()));
        }
    }
}
