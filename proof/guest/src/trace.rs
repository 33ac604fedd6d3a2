// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Hits and misses of the eCache by kind of file: the kernel counts the module's trace events by inode, and inodes are looked up here.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fovea_contract::ecache_get_fields::{HIT, INO};
use fovea_contract::{ecache_events, ECACHE_EVENTS_FOLDER};
use fovea_scenario::{FileKind, Plan};

use crate::files::FLASH_ROOT;
use crate::outcome::{read_file, write_file, At, Outcome};
use crate::recording::{mount_tracefs, TRACEFS};

/// A file of the event that tells of each page read.
fn event(file: &str) -> String {
    format!("{TRACEFS}/events/{ECACHE_EVENTS_FOLDER}/{}/{file}", ecache_events::GET)
}

/// Hits and misses by inode.
type Counts = BTreeMap<u64, [u64; 2]>;

/// Counting by file.
pub struct Trace {
    kinds: BTreeMap<u64, FileKind>,
    begin: Counts,
}

impl Trace {
    /// Begins to count. Files that are made later (pictures) are of the kind `Other`.
    pub fn begin(plan: &Plan) -> Outcome<Self> {
        mount_tracefs()?;
        let mut kinds = BTreeMap::new();
        for file in plan.apps.iter().flat_map(|app| app.files()) {
            let path = Path::new(FLASH_ROOT).join(&file.path);
            let found = std::fs::metadata(&path).at(|| format!("looking at {}", path.display()))?;
            kinds.insert(found.ino(), FileKind::of(&file.path));
        }
        write_file(event("trigger"), &format!("hist:keys={INO},{HIT}"))?;
        Ok(Self { kinds, begin: Counts::new() })
    }

    /// What is counted until now does not belong to the apps.
    pub fn mark(&mut self) -> Outcome<()> {
        self.begin = self.read()?;
        Ok(())
    }

    /// Counts now, to be given to [`Trace::since`].
    pub fn read(&self) -> Outcome<Counts> {
        let path = event("hist");
        parse(&read_file(&path)?).ok_or_else(|| format!("{path}: not as expected"))
    }

    /// Since the mark, by kind.
    pub fn all(&self) -> Outcome<BTreeMap<String, [u64; 2]>> {
        self.since(&self.begin)
    }

    /// Since an earlier state, by kind.
    pub fn since(&self, before: &Counts) -> Outcome<BTreeMap<String, [u64; 2]>> {
        let mut sums = BTreeMap::<String, [u64; 2]>::new();
        for (inode, now) in self.read()? {
            let before = before.get(&inode).copied().unwrap_or_default();
            let kind = self.kinds.get(&inode).copied().unwrap_or(FileKind::Other);
            let sum = sums.entry(kind.name().into()).or_default();
            for i in 0..2 {
                sum[i] += now[i] - before[i];
            }
        }
        Ok(sums)
    }
}

/// Lines like `{ ino:         12, hit:          1 } hitcount:        345`, and a number of dropped entries that must be 0.
fn parse(text: &str) -> Option<Counts> {
    let mut counts = Counts::new();
    let [inode, hit] = [INO, HIT].map(|field| format!(" {field}:"));
    for line in text.lines().map(str::trim).filter(|line| line.starts_with('{')) {
        let number = |name: &str| -> Option<u64> {
            let rest = line.split_once(name)?.1.trim_start();
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let of = counts.entry(number(&inode)?).or_default();
        // Hits first.
        of[usize::from(number(&hit)? == 0)] += number("hitcount:")?;
    }
    let dropped = text.lines().map(str::trim).find_map(|line| line.strip_prefix("Dropped:"))?;
    (dropped.trim() == "0").then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "# event histogram\n#\n# trigger info: hist:keys=ino,hit:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n\
        { ino:         12, hit:          0 } hitcount:          3\n{ ino:         12, hit:          1 } hitcount:        345\n\
        { ino:          0, hit:          0 } hitcount:          7\n\nTotals:\n    Hits: 355\n    Entries: 3\n    Dropped: 0\n";

    #[test]
    fn the_kernels_histogram_is_read() {
        assert_eq!(parse(TEXT), Some(BTreeMap::from([(12, [345, 3]), (0, [0, 7])])));
        assert_eq!(parse(&TEXT.replace("Dropped: 0", "Dropped: 1")), None, "an incomplete count is none");
        assert_eq!(parse(""), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }
    }
}
