// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The generations of the kernel's multi-generational LRU, by cgroup and node (`/sys/kernel/debug/lru_gen`;
//! Documentation/admin-guide/mm/multigen_lru.rst): how long pages have not been used, and reclaim of the oldest on one node, which is demotion
//! where that is on. No other interface of Linux 6.12 names both a cgroup and a node: `memory.reclaim` would drop or swap what is on the slow one.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::time::{clock_gettime, ClockId};

use crate::cgroup::is_within;
use crate::device::DemoteOutcome;
use crate::file::{read, write_named, Root};
use crate::Error;

pub(crate) const FILE: &str = "sys/kernel/debug/lru_gen";
const ENABLED: &str = "sys/kernel/mm/lru_gen/enabled";

/// The youngest generations, which are never reclaimed (the kernel's MIN_NR_GENS).
const YOUNG: u64 = 2;

/// A younger generation is not closed: between two looks at pages' accessed bits there has to be time for an access.
const AGE_MS: u64 = 500;

/// After so long pages are looked at before any is moved: what lay in an old generation may be in use since.
const STALE_MS: u64 = 2_000;

/// Anonymous pages before those of files, which are demoted as well.
const SWAPPINESS: u32 = 200;

/// Pages of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Generation {
    number: u64,
    age_ms: u64,
    pages: u64,
}

/// The generations of a cgroup on a node, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lru {
    memcg: u64,
    node: u32,
    generations: Vec<Generation>,
}

impl Lru {
    /// The youngest generation of which no page was used between two looks that were so far apart. A generation begins with a look, and what is used
    /// after it was found unused goes on to a younger one: so nothing in it was used from the beginning of the next one to that of the youngest.
    /// While memory is being reclaimed the kernel looks every few milliseconds, and by its own rule all but the two youngest would be old by then.
    fn last_unused(&self, unused_ms: u64) -> Option<u64> {
        let youngest = self.generations.last()?;
        let last_old = youngest.number.checked_sub(YOUNG)?;
        let is_unused = |pair: &&[Generation]| {
            let [old, next] = pair else { return false };
            old.number <= last_old && next.age_ms.saturating_sub(youngest.age_ms) >= unused_ms
        };
        self.generations.windows(2).rev().find(is_unused).map(|pair| pair[0].number)
    }

    fn pages_up_to(&self, last: u64) -> u64 {
        self.generations.iter().filter(|g| g.number <= last).fold(0, |sum, g| g.pages.saturating_add(sum))
    }

    fn pages(&self) -> u64 {
        self.generations.iter().fold(0, |sum, g| g.pages.saturating_add(sum))
    }
}

/// Those of an app's cgroups on the nodes named.
fn parse(text: &[u8], cgroup: &str, nodes: &BTreeSet<u32>) -> Vec<Lru> {
    let mut found: Vec<Lru> = Vec::new();
    let mut memcg = None;
    for line in String::from_utf8_lossy(text).lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("memcg") => {
                // A name may hold spaces: it is all that is left of the line.
                let ours = line.split_once(" /").is_some_and(|(_, path)| is_within(path, cgroup));
                memcg = words.next().and_then(|id| id.parse::<u64>().ok()).filter(|_| ours);
            }
            Some("node") => {
                let node = words.next().and_then(|node| node.parse().ok());
                match (memcg, node) {
                    (Some(memcg), Some(node)) => found.push(Lru { memcg, node, generations: Vec::new() }),
                    _ => memcg = None,
                }
            }
            Some(number) if memcg.is_some() => {
                let count = |word: Option<&str>| word.and_then(|w| w.trim_end_matches('x').parse::<u64>().ok());
                let numbers = (number.parse().ok(), count(words.next()), count(words.next()), count(words.next()));
                if let ((Some(number), Some(age_ms), Some(anon), Some(file)), Some(lru)) = (numbers, found.last_mut()) {
                    lru.generations.push(Generation { number, age_ms, pages: anon.saturating_add(file) });
                }
            }
            _ => {}
        }
    }
    found.retain(|lru| nodes.contains(&lru.node) && !lru.generations.is_empty());
    found
}

/// Whether the kernel tells pages' ages: as root, and with its generations switched on (bit 0), without which all pages are in lists that no
/// generation counts.
pub(crate) fn are_known(root: &Root) -> bool {
    let is_on = |text: Vec<u8>| {
        let text = String::from_utf8_lossy(text.trim_ascii()).into_owned();
        u32::from_str_radix(text.trim_start_matches("0x"), 16).is_ok_and(|bits| bits & 1 != 0)
    };
    read(&root.join(ENABLED)).is_ok_and(is_on) && read(&root.join(FILE)).is_ok()
}

fn lrus(root: &Root, cgroup: &str, nodes: &BTreeSet<u32>) -> Result<Vec<Lru>, Error> {
    Ok(parse(&read(&root.join(FILE))?, cgroup, nodes))
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}

/// Has the kernel find out which pages have been used, where it has not for so long; says whether that was anywhere.
fn age(path: &Path, lrus: &[Lru], ms: u64) -> Result<bool, Error> {
    let mut aged = false;
    for lru in lrus {
        if let Some(youngest) = lru.generations.last().filter(|g| g.age_ms >= ms && lru.pages() > 0) {
            // The 1: also if there are as many generations as there can be.
            write_named(path, &format!("+ {} {} {} {SWAPPINESS} 1", lru.memcg, lru.node, youngest.number))?;
            aged = true;
        }
    }
    Ok(aged)
}

/// Has the kernel move up to so many pages of an app off some nodes, those first that were unused longest. Where no page is old enough, the pages in
/// use are found out instead, and the next call knows more.
pub(crate) fn demote(
    root: &Root,
    cgroup: &str,
    nodes: &BTreeSet<u32>,
    pages: u64,
    unused_ms: u64,
) -> Result<DemoteOutcome, Error> {
    let began_ns = cpu_ns();
    if !are_known(root) {
        return Err(Error::Refused {
            what: format!("{} and {}", root.join(FILE).display(), root.join(ENABLED).display()),
            mend: "mount debugfs, and write y to the second".into(),
        });
    }
    let path = root.join(FILE);
    let mut before = lrus(root, cgroup, nodes)?;
    if age(&path, &before, STALE_MS)? {
        before = lrus(root, cgroup, nodes)?;
    }
    let mut left = pages;
    for lru in &before {
        let Some(last) = lru.last_unused(unused_ms) else { continue };
        let asked = lru.pages_up_to(last).min(left);
        if asked > 0 {
            write_named(&path, &format!("- {} {} {last} {SWAPPINESS} {asked}", lru.memcg, lru.node))?;
            left -= asked;
        }
    }
    let aged = left == pages && age(&path, &before, AGE_MS)?;
    let sum = |lrus: &[Lru]| lrus.iter().fold(0u64, |sum, lru| lru.pages().saturating_add(sum));
    let moved = match left == pages {
        true => 0,
        false => sum(&before).saturating_sub(sum(&lrus(root, cgroup, nodes)?)),
    };
    Ok(DemoteOutcome { pages: moved, aged, cpu_ns: cpu_ns().saturating_sub(began_ns) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"memcg     1 /\n node     0\n          0      10       5          6 \n\
memcg    42 /apps/app-0\n node     0\n          3   9000      100         10x\n          4   2000       50          0 \n          5    700        7          1 \n          6    100        3          0 \n node     1\n          1   9000      900         90 \n          2   8000       0          0 \n\
memcg    43 /apps/app-0/sub dir\n node     0\n          1   9000      20         0 \n\
memcg    44 /apps/app-01\n node     0\n          1   9000      20         0 \n";

    fn of(cgroup: &str, nodes: &[u32]) -> Vec<Lru> {
        parse(TEXT, cgroup, &nodes.iter().copied().collect())
    }

    #[test]
    fn an_apps_generations_are_those_of_its_subtree_on_the_nodes_named() {
        let found = of("apps/app-0", &[0]);
        let unused = |lru: &Lru| lru.last_unused(0).map_or(0, |last| lru.pages_up_to(last));
        let seen: Vec<_> = found.iter().map(|lru| (lru.memcg, lru.node, lru.pages(), unused(lru))).collect();
        assert_eq!(seen, [(42, 0, 171, 160), (43, 0, 20, 0)]);
        assert_eq!(of("apps/app-0", &[1]).len(), 1);
        assert_eq!(of("apps", &[0]).len(), 3);
        assert!(of("gone", &[0, 1]).is_empty());
    }

    /// Generations 3 to 6 of the text, each with the next one's age less the youngest's 100 ms: 1900 and 600.
    #[test]
    fn a_page_is_unused_only_if_two_looks_far_enough_apart_found_it_so() {
        let lru = &of("apps/app-0", &[0])[0];
        for (unused_ms, last) in [(0, Some(4)), (600, Some(4)), (601, Some(3)), (1900, Some(3)), (1901, None)] {
            assert_eq!(lru.last_unused(unused_ms), last, "{unused_ms} ms");
        }
        let busy = Lru {
            generations: lru.generations.iter().map(|g| Generation { age_ms: 9, ..*g }).collect(),
            ..lru.clone()
        };
        assert_eq!(busy.last_unused(1000), None, "the kernel looks every few milliseconds");
        let young = Lru { generations: lru.generations[2..].to_vec(), ..lru.clone() };
        assert_eq!(young.last_unused(0), None, "the two youngest are never old");
    }

    #[test]
    fn the_oldest_are_asked_for_and_where_none_is_old_pages_are_aged() {
        let folder = tempfile::tempdir().unwrap();
        crate::file::capture(folder.path(), FILE, std::str::from_utf8(TEXT).unwrap());
        let root = Root::at(folder.path());
        let nodes: BTreeSet<u32> = [0].into();
        for off in ["0x0000\n", "0x0006\n", "", "y\n"] {
            crate::file::capture(folder.path(), ENABLED, off);
            assert!(demote(&root, "apps/app-0", &nodes, 150, 0).is_err(), "ages that nobody keeps are none: {off:?}");
        }
        crate::file::capture(folder.path(), ENABLED, "0x0007\n");
        let asked = || std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        demote(&root, "apps/app-0", &nodes, 150, 0).unwrap();
        assert!(asked().starts_with("- 42 0 4 200 150"));
        crate::file::capture(folder.path(), FILE, std::str::from_utf8(TEXT).unwrap());
        assert!(demote(&root, "apps/app-01", &nodes, 150, 0).unwrap().aged);
        assert!(asked().starts_with("+ 44 0 1 200 1"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), at in 0..TEXT.len()) {
            parse(&text, "apps", &[0].into());
            let mut cut = TEXT[..at].to_vec();
            cut.extend(text);
            for lru in parse(&cut, "apps", &[0, 1].into()) {
                assert!(lru.last_unused(0).is_none_or(|last| lru.pages_up_to(last) <= lru.pages()));
            }
        }
    }
}
