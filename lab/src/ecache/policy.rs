// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The ways of choosing a device's region that are compared (eCache12, section 5.4), and what is new.

/// Which pages are worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Worth {
    /// Those that will be got before they would leave: knows the future, and is the most that salvage can do.
    Future,
    /// Those that had been put before: who came back once may come back again.
    Returned,
}

/// What chooses the region that is salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// [`RegionPolicy::Aged`].
    Aged,
    /// [`RegionPolicy::Count`]: fewest pages to move.
    Count,
    /// [`RegionPolicy::Lru`].
    Lru,
}

/// Share of the cache that pages which came back may keep: the kernel module's default.
pub const PROTECT_PERCENT: u32 = 75;

/// A way of choosing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegionPolicy {
    /// Each device's own place, the places in this order.
    Static(Vec<usize>),
    /// Any candidate; the number seeds it.
    Random(u64),
    /// Fewest cached pages.
    Count,
    /// Least sum of LRU distances.
    Lru,
    /// Least sum of ages, kept up to date.
    Aged,
    /// The region as the first says, then at most so many pages move out of it before it is given away.
    Salvage(Base, u32),
    /// The region as [`RegionPolicy::Aged`] says; then the pages of it that are worth it take the places of pages elsewhere that
    /// are not, all of them, the most recently put first. What a core could do that knew pages' worth.
    Selective(Worth),
    /// The region as [`RegionPolicy::Aged`] says, in a cache that keeps pages which came back from those read once, as the kernel
    /// module does ([`PROTECT_PERCENT`]); the others have the paper's one LRU list. At most so many pages are salvaged.
    Protected(u32),
    /// Knows the future, decision by decision: least number of pages that would be got before they would leave. Greedy: it does not
    /// see what a region means for the next decision.
    Greedy,
    /// What no cache can exceed with devices that take their frames: [`super::bound`]. No policy either.
    Belady,
    /// No device ever gets anything: what the eCache could do at most, and no policy.
    Undisturbed,
}

impl std::fmt::Display for RegionPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RegionPolicy::Static(order) => {
                write!(f, "static:{}", order.iter().map(usize::to_string).collect::<Vec<_>>().join("-"))
            }
            RegionPolicy::Random(seed) => write!(f, "random:{seed}"),
            RegionPolicy::Count => f.write_str("count"),
            RegionPolicy::Lru => f.write_str("lru"),
            RegionPolicy::Aged => f.write_str("aged"),
            RegionPolicy::Salvage(base, pages) => {
                f.write_str(match base {
                    Base::Aged => "salvage",
                    Base::Count => "salvage-count",
                    Base::Lru => "salvage-lru",
                })?;
                if *pages < u32::MAX {
                    write!(f, ":{pages}")?;
                }
                Ok(())
            }
            RegionPolicy::Selective(Worth::Future) => f.write_str("salvage-future"),
            RegionPolicy::Selective(Worth::Returned) => f.write_str("salvage-returned"),
            RegionPolicy::Protected(0) => f.write_str("protected"),
            RegionPolicy::Protected(u32::MAX) => f.write_str("protected-salvage"),
            RegionPolicy::Protected(pages) => write!(f, "protected-salvage:{pages}"),
            RegionPolicy::Greedy => f.write_str("greedy"),
            RegionPolicy::Belady => f.write_str("belady"),
            RegionPolicy::Undisturbed => f.write_str("undisturbed"),
        }
    }
}

/// All orders of `count` devices: 24 for the paper's four.
pub fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(count - 1) {
        for at in 0..count {
            let mut order = shorter.clone();
            order.insert(at, count - 1);
            all.push(order);
        }
    }
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_devices_have_24_orders() {
        let orders = orders(4);
        assert_eq!(orders.len(), 24);
        let mut distinct = orders.clone();
        distinct.dedup();
        assert_eq!(distinct, orders);
        assert!(orders.iter().all(|o| (0..4).all(|d| o.contains(&d))));
    }
}
