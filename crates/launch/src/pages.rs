// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sets of a file's pages.

use std::ops::Range;

/// A set of page numbers: ranges that ascend and neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    ranges: Vec<Range<u32>>,
}

impl Pages {
    /// The empty set.
    pub fn new() -> Pages {
        Pages::default()
    }

    /// The pages whose flag is set, counted from 0.
    pub fn of_flags(flags: impl IntoIterator<Item = bool>) -> Pages {
        let mut pages = Pages::new();
        for (page, _) in (0u32..).zip(flags).filter(|&(_, set)| set) {
            pages.push(page..page + 1);
        }
        pages
    }

    /// Adds a range that begins at or after the last one's begin.
    fn push(&mut self, range: Range<u32>) {
        match self.ranges.last_mut() {
            _ if range.is_empty() => (),
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => self.ranges.push(range),
        }
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[Range<u32>] {
        &self.ranges
    }

    /// How many pages.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.end - range.start)).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether a page is in it.
    pub fn contains(&self, page: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.end <= page);
        self.ranges.get(after).is_some_and(|range| range.contains(&page))
    }

    /// Pages of either.
    pub fn union(&self, other: &Pages) -> Pages {
        self.ranges.iter().chain(&other.ranges).cloned().collect()
    }

    /// Pages of both.
    pub fn both(&self, other: &Pages) -> Pages {
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut pages = Pages::new();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            pages.push(a.start.max(b.start)..a.end.min(b.end));
            if a.end < b.end {
                left.next();
            } else {
                right.next();
            }
        }
        pages
    }

    /// Pages of this and not of the other.
    pub fn without(&self, other: &Pages) -> Pages {
        let mut pages = Pages::new();
        let mut holes = other.ranges.iter().peekable();
        for range in &self.ranges {
            let mut start = range.start;
            while let Some(hole) = holes.peek().filter(|hole| hole.start < range.end) {
                pages.push(start..hole.start.max(start));
                start = start.max(hole.end.min(range.end));
                if hole.end > range.end {
                    break;
                }
                holes.next();
            }
            pages.push(start..range.end);
        }
        pages
    }

    /// The largest ranges, at most so many.
    pub fn largest(mut self, most: usize) -> Pages {
        let mut lengths: Vec<u32> = self.ranges.iter().map(|range| range.end - range.start).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(&least) = lengths[..lengths.len().min(most)].last().filter(|_| lengths.len() > most) {
            let mut equal = lengths[..most].iter().filter(|&&length| length == least).count();
            self.ranges.retain(|range| {
                let length = range.end - range.start;
                let stays = length > least || (length == least && equal > 0);
                equal -= usize::from(stays && length == least);
                stays
            });
        }
        self
    }

    /// The same in at most so many ranges: the smallest gaps are filled.
    pub fn in_ranges(mut self, most: usize) -> Pages {
        if self.ranges.len() <= most.max(1) {
            return self;
        }
        let mut gaps: Vec<u32> = self.ranges.windows(2).map(|pair| pair[1].start - pair[0].end).collect();
        gaps.sort_unstable();
        let filled = self.ranges.len() - most.max(1);
        let (limit, mut equal) = (gaps[filled - 1], gaps[..filled].iter().filter(|&&g| g == gaps[filled - 1]).count());
        let mut pages = Pages::new();
        for range in self.ranges.drain(..) {
            let gap = pages.ranges.last().map(|last| range.start - last.end);
            let fills = gap.is_some_and(|gap| gap < limit || (gap == limit && equal > 0));
            if fills {
                equal -= usize::from(gap == Some(limit));
                pages.ranges.last_mut().expect("there is a gap after it").end = range.end;
            } else {
                pages.ranges.push(range);
            }
        }
        pages
    }
}

impl From<Range<u32>> for Pages {
    fn from(range: Range<u32>) -> Pages {
        std::iter::once(range).collect()
    }
}

impl FromIterator<Range<u32>> for Pages {
    fn from_iter<T: IntoIterator<Item = Range<u32>>>(ranges: T) -> Pages {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut pages = Pages::new();
        ranges.into_iter().for_each(|range| pages.push(range));
        pages
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn some() -> impl Strategy<Value = Pages> {
        proptest::collection::vec((0u32..80, 0u32..12), 0..12)
            .prop_map(|ranges| ranges.into_iter().map(|(start, length)| start..start + length).collect())
    }

    fn set(pages: &Pages) -> BTreeSet<u32> {
        pages.ranges().iter().cloned().flatten().collect()
    }

    fn is_sound(pages: &Pages) -> bool {
        pages.ranges().iter().all(|r| r.start < r.end) && pages.ranges().windows(2).all(|r| r[0].end < r[1].start)
    }

    proptest! {
        #[test]
        fn sets_of_ranges_are_sets_of_pages(a in some(), b in some(), most in 1usize..8) {
            let (x, y) = (set(&a), set(&b));
            for (made, naive) in [
                (a.union(&b), &x | &y),
                (a.both(&b), &x & &y),
                (a.without(&b), &x - &y),
                (Pages::of_flags((0..100).map(|page| x.contains(&page))), x.clone()),
            ] {
                prop_assert!(is_sound(&made), "{made:?}");
                prop_assert_eq!(set(&made), naive);
            }
            prop_assert_eq!(a.count(), x.len() as u64);
            prop_assert!((0..100).all(|page| a.contains(page) == x.contains(&page)));
            let few = a.clone().in_ranges(most);
            prop_assert!(is_sound(&few) && few.ranges().len() <= most && set(&few).is_superset(&x));
            let large = a.clone().largest(most);
            let length = |r: &Range<u32>| r.end - r.start;
            prop_assert!(set(&large).is_subset(&x) && large.ranges().len() == a.ranges().len().min(most));
            let left_out = a.ranges().iter().filter(|r| !large.ranges().contains(r)).map(length).max();
            prop_assert!(left_out <= large.ranges().iter().map(length).min());
            // No fewer gaps are filled, and none that is larger than one left open.
            prop_assert_eq!(few.ranges().len(), a.ranges().len().min(most));
            let gaps = |p: &Pages| p.ranges().windows(2).map(|r| r[1].start - r[0].end).collect::<Vec<_>>();
            let (mut all, mut left) = (gaps(&a), gaps(&few));
            all.sort_unstable();
            left.sort_unstable();
            prop_assert_eq!(&all[all.len() - left.len()..], &left[..]);
        }
    }
}
