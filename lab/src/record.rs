// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One record of a trace, and the shared names in it.

use std::{collections::HashSet, fmt, str::FromStr, sync::Arc};

use fovea_apps::Importance;

/// Where an access was seen. The page operations are the kernel's filemap tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// A request for a whole object, as in key-value and CDN traces.
    Object,
    /// A block request to a disk.
    Block,
    /// Blocks given back to a disk (TRIM).
    Discard,
    /// A disk told to write back its cache; no data.
    Flush,
    /// A read through the page cache, hit or miss (`mm_filemap_get_pages`).
    PageGet,
    /// Pages mapped around a fault (`mm_filemap_map_pages`): an upper bound of what was touched.
    PageMap,
    /// A fault on a file page (`mm_filemap_fault`).
    PageFault,
    /// A page entered the page cache.
    PageAdd,
    /// A page left the page cache.
    PageDelete,
}

impl Op {
    /// Every operation.
    pub const ALL: [Op; 9] = [
        Op::Object,
        Op::Block,
        Op::Discard,
        Op::Flush,
        Op::PageGet,
        Op::PageMap,
        Op::PageFault,
        Op::PageAdd,
        Op::PageDelete,
    ];

    /// The name in trace files.
    pub fn name(self) -> &'static str {
        ["object", "block", "discard", "flush", "page-get", "page-map", "page-fault", "page-add", "page-delete"]
            [self as usize]
    }

    /// Whether a cache sees the operation as a request for data. What happened inside the page cache itself is not one.
    pub fn is_request(self) -> bool {
        matches!(self, Op::Object | Op::Block | Op::PageGet | Op::PageMap | Op::PageFault)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Op {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Op::ALL.into_iter().find(|op| op.name() == name).ok_or(())
    }
}

/// The name of a class of importance in trace files.
pub fn importance_name(importance: Importance) -> &'static str {
    ["foreground", "visible", "service", "hidden", "content-provider", "empty"][importance.index()]
}

/// The class of a name.
pub fn importance_from_name(name: &str) -> Option<Importance> {
    Importance::ALL.into_iter().find(|&i| importance_name(i) == name)
}

/// One access.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When, in the trace's own clock.
    pub time_ns: u64,
    /// Who; empty if the trace does not tell.
    pub app: Arc<str>,
    /// How much the app mattered then, if known.
    pub importance: Option<Importance>,
    /// What was seen.
    pub op: Op,
    /// Namespace of `object`, e.g. `disk:8:0`, `file:254:12`, `object`: two disks, or a disk and a file, never alias.
    pub space: Arc<str>,
    /// Object or inode number within `space`; 0 for a disk.
    pub object: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes accessed.
    pub length_bytes: u64,
    /// Written, not read.
    pub write: bool,
    /// Somebody waits for it.
    pub sync: bool,
    /// Size of the whole object, in object traces.
    pub size_bytes: Option<u64>,
}

/// Shares equal strings. Its memory is bounded: past a limit it forgets, and merely shares less.
#[derive(Default)]
pub struct Names {
    known: HashSet<Arc<str>>,
    last: Option<Arc<str>>,
}

/// Names remembered at a time; phones have hundreds of apps, servers have thousands of volumes.
const NAMES_LIMIT: usize = 65_536;

impl Names {
    /// The shared form of a name.
    pub fn share(&mut self, name: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|last| &***last == name) {
            return last.clone();
        }
        let shared = match self.known.get(name) {
            Some(shared) => shared.clone(),
            None => {
                if self.known.len() >= NAMES_LIMIT {
                    self.known.clear();
                }
                let shared: Arc<str> = name.into();
                self.known.insert(shared.clone());
                shared
            }
        };
        self.last = Some(shared.clone());
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operations_and_classes_round_trip() {
        for op in Op::ALL {
            assert_eq!(op.name().parse(), Ok(op));
        }
        for importance in Importance::ALL {
            assert_eq!(importance_from_name(importance_name(importance)), Some(importance));
        }
    }

    #[test]
    fn names_stay_right_past_the_limit() {
        let mut names = Names::default();
        for i in 0..NAMES_LIMIT + 10 {
            assert_eq!(&*names.share(&i.to_string()), i.to_string());
        }
        assert!(names.known.len() <= NAMES_LIMIT);
    }
}
