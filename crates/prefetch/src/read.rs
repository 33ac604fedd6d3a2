// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Has pieces read one after the other, so many at once that the storage is busy, and so few that the app's own reads do not wait behind
//! them.

use std::collections::VecDeque;

use fovea_launch::Piece;

/// What is on its way at the storage takes about so long. While the app computes, nobody else keeps the storage busy.
const AHEAD_US: u64 = 24_000;

/// Pages on their way, at most.
const WINDOW_MAX_PAGES: u64 = 1024;

/// Pieces on their way before it is known how fast the storage is.
const WINDOW_FIRST: u64 = 4;

/// Pieces after which memory is looked at again.
const LOOK_EVERY: usize = 16;

/// What is read from.
pub trait Storage {
    /// Whether all of a piece is in memory.
    fn has(&mut self, piece: &Piece) -> bool;
    /// Starts to read a piece; says whether that worked.
    fn start(&mut self, piece: &Piece) -> bool;
    /// Waits until a piece is there.
    fn wait(&mut self, piece: &Piece);
    /// Whether to stop: memory is short.
    fn is_short(&mut self) -> bool;
    /// Microseconds since some time.
    fn now_us(&mut self) -> u64;
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Pages read.
    pub pages: u64,
    /// It ended early, because memory is short.
    pub short: bool,
    /// When the first was asked for, by the storage's clock.
    pub first_us: Option<u64>,
}

/// How much is to be on its way. The fastest that the storage was counts: what the app itself reads makes it slower only for us.
struct Window {
    largest: u64,
    pages: u64,
    since_us: u64,
    arrived: u64,
}

impl Window {
    fn new(largest: u64, now_us: u64) -> Window {
        Window { largest, pages: WINDOW_FIRST * largest, since_us: now_us, arrived: 0 }
    }

    /// So many pages have arrived. Several can arrive before that is noticed, so it is averaged over the time that the window is for.
    fn arrives(&mut self, pages: u64, now_us: u64) {
        self.arrived += pages;
        let elapsed_us = now_us.saturating_sub(self.since_us);
        if elapsed_us >= AHEAD_US || self.arrived >= WINDOW_MAX_PAGES {
            let pages = self.arrived * AHEAD_US / elapsed_us.max(1);
            self.pages = self.pages.max(pages.min(WINDOW_MAX_PAGES.max(WINDOW_FIRST * self.largest)));
            (self.since_us, self.arrived) = (now_us, 0);
        }
    }
}

/// Reads pieces in their order, at most so many pages. What the app has read by itself meanwhile is passed over.
pub fn read_all(pieces: &[Piece], budget_pages: u64, storage: &mut dyn Storage) -> Done {
    let mut done = Done::default();
    let (mut on_way, mut on_way_pages): (VecDeque<&Piece>, u64) = (VecDeque::new(), 0);
    let mut window = Window::new(pieces.iter().map(length).max().unwrap_or(0), storage.now_us());
    for (nth, piece) in pieces.iter().enumerate() {
        if nth % LOOK_EVERY == 0 && storage.is_short() {
            done.short = true;
            break;
        }
        if storage.has(piece) {
            continue;
        }
        if done.pages + length(piece) > budget_pages {
            break;
        }
        while on_way_pages + length(piece) > window.pages {
            let Some(first) = on_way.pop_front() else { break };
            storage.wait(first);
            on_way_pages -= length(first);
            window.arrives(length(first), storage.now_us());
        }
        if storage.start(piece) {
            done.first_us.get_or_insert(storage.now_us());
            done.pages += length(piece);
            on_way_pages += length(piece);
            on_way.push_back(piece);
        }
    }
    done
}

fn length(piece: &Piece) -> u64 {
    u64::from(piece.pages.end - piece.pages.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One command after the other, each of them a piece.
    struct Flash {
        us_per_piece: u64,
        now_us: u64,
        started: Vec<(Piece, u64)>,
        most_on_way_us: u64,
        there: fn(&Piece) -> bool,
        short_after: Option<usize>,
    }

    fn nothing(_: &Piece) -> bool {
        false
    }

    impl Flash {
        fn new(us_per_piece: u64) -> Flash {
            Flash { us_per_piece, now_us: 0, started: Vec::new(), most_on_way_us: 0, there: nothing, short_after: None }
        }
    }

    impl Storage for Flash {
        fn has(&mut self, piece: &Piece) -> bool {
            (self.there)(piece)
        }
        fn start(&mut self, piece: &Piece) -> bool {
            let free_us = self.started.last().map_or(0, |(_, at)| *at).max(self.now_us);
            self.started.push((piece.clone(), free_us + self.us_per_piece));
            self.most_on_way_us = self.most_on_way_us.max(free_us + self.us_per_piece - self.now_us);
            true
        }
        fn wait(&mut self, piece: &Piece) {
            let at = self.started.iter().find(|(started, _)| started == piece).unwrap().1;
            self.now_us = self.now_us.max(at);
        }
        fn is_short(&mut self) -> bool {
            self.short_after.is_some_and(|pieces| self.started.len() >= pieces)
        }
        fn now_us(&mut self) -> u64 {
            self.now_us
        }
    }

    fn pieces(count: u32) -> Vec<Piece> {
        (0..count)
            .map(|nth| Piece { step: 0, file: 0, pages: nth * 4..nth * 4 + 4, at: Some(u64::from(nth) * 4) })
            .collect()
    }

    #[test]
    fn a_slow_flash_is_kept_busy_and_an_own_read_of_the_apps_waits_no_longer_than_the_window() {
        let mut flash = Flash::new(1510);
        let done = read_all(&pieces(1000), u64::MAX, &mut flash);
        assert_eq!((done.pages, flash.started.len()), (4000, 1000));
        assert!(flash.most_on_way_us <= AHEAD_US + 2 * 1510, "{}", flash.most_on_way_us);
        // Never idle in between.
        assert_eq!(flash.started.last().unwrap().1, 1000 * 1510);
    }

    #[test]
    fn a_fast_device_gets_more_at_once_but_no_more_than_the_window() {
        let mut device = Flash::new(4);
        read_all(&pieces(5000), u64::MAX, &mut device);
        assert!(device.most_on_way_us > 100 && device.most_on_way_us <= 4 * (WINDOW_MAX_PAGES / 4 + 1));
    }

    #[test]
    fn budget_and_memory_end_it_and_what_the_app_has_read_is_passed_over() {
        let done = read_all(&pieces(100), 41, &mut Flash::new(9));
        assert_eq!((done.pages, done.short, done.first_us), (40, false, Some(0)));
        let mut flash = Flash { short_after: Some(20), ..Flash::new(9) };
        let done = read_all(&pieces(100), u64::MAX, &mut flash);
        assert_eq!((done.short, done.pages), (true, 32 * 4));
        // However much that is: what follows is wanted all the same.
        let mut flash = Flash { there: |piece| (80..3600).contains(&piece.pages.start), ..Flash::new(9) };
        let done = read_all(&pieces(1000), u64::MAX, &mut flash);
        assert_eq!((done.pages, flash.started.len()), (80 + 400, 120));
    }

    #[test]
    fn the_window_is_for_the_storage_and_not_for_what_the_app_leaves_of_it() {
        // After a while the app takes three quarters of the flash.
        let mut window = Window::new(4, 0);
        (1..200).for_each(|nth| window.arrives(4, nth * 1510));
        let alone = window.pages;
        assert!((60..=72).contains(&alone), "{alone}");
        (1..200).for_each(|nth| window.arrives(4, 300_000 + nth * 6040));
        assert_eq!(window.pages, alone);
    }
}
