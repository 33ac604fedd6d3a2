// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Has pieces read one after the other, so many at once that the storage is busy, and so few that the app's own reads do not wait behind
//! them.

use std::collections::VecDeque;

use fovea_launch::Piece;

/// What is on its way at the storage takes about so long.
const AHEAD_US: u64 = 8_000;

/// Pages on their way, at most.
const WINDOW_MAX_PAGES: u64 = 1024;

/// Pieces after which memory is looked at again.
const LOOK_EVERY: usize = 16;

/// Of so many pieces in a row, three quarters were in memory already: the app is ahead, and what is left it reads by itself.
const LATE_OF: usize = 32;

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
    /// It ended early, because the app was ahead.
    pub late: bool,
}

/// Reads pieces in their order, at most so many pages.
pub fn read_all(pieces: &[Piece], budget_pages: u64, storage: &mut dyn Storage) -> Done {
    let mut done = Done::default();
    let (mut on_way, mut on_way_pages): (VecDeque<&Piece>, u64) = (VecDeque::new(), 0);
    let mut late: VecDeque<bool> = VecDeque::new();
    let (began_us, mut arrived) = (storage.now_us(), 0);
    let largest = pieces.iter().map(length).max().unwrap_or(0);
    let mut window = 2 * largest;
    for (nth, piece) in pieces.iter().enumerate() {
        if nth % LOOK_EVERY == 0 && storage.is_short() {
            done.short = true;
            break;
        }
        let was_there = storage.has(piece);
        late.push_back(was_there);
        if late.len() > LATE_OF {
            late.pop_front();
        }
        if late.len() == LATE_OF && late.iter().filter(|&&late| late).count() > LATE_OF * 3 / 4 {
            done.late = true;
            break;
        }
        if was_there {
            continue;
        }
        if done.pages + length(piece) > budget_pages {
            break;
        }
        while on_way_pages + length(piece) > window.max(length(piece)) {
            let Some(first) = on_way.pop_front() else { break };
            storage.wait(first);
            on_way_pages -= length(first);
            arrived += length(first);
            let elapsed_us = (storage.now_us().saturating_sub(began_us)).max(1);
            window = (arrived * AHEAD_US / elapsed_us).clamp(2 * largest, WINDOW_MAX_PAGES.max(2 * largest));
        }
        if storage.start(piece) {
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
        (0..count).map(|nth| Piece { file: 0, pages: nth * 4..nth * 4 + 4, at: Some(u64::from(nth) * 4) }).collect()
    }

    #[test]
    fn a_slow_flash_is_kept_busy_and_an_own_read_of_the_apps_waits_a_few_milliseconds() {
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
    fn budget_memory_and_an_app_that_is_ahead_end_it() {
        let done = read_all(&pieces(100), 41, &mut Flash::new(9));
        assert_eq!((done.pages, done.short, done.late), (40, false, false));
        let mut flash = Flash { short_after: Some(20), ..Flash::new(9) };
        let done = read_all(&pieces(100), u64::MAX, &mut flash);
        assert_eq!((done.short, done.pages), (true, 32 * 4));
        let mut flash = Flash { there: |piece| piece.pages.start >= 80, ..Flash::new(9) };
        let done = read_all(&pieces(1000), u64::MAX, &mut flash);
        assert_eq!((done.late, done.pages), (true, 80));
    }
}
