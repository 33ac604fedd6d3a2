// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Traces like those of Hybrid15, section 4, from what it says of them; it published none.
//!
//! Both were taken at the buffer cache of a Nexus 7. The first has Chrome in the foreground, and Hangouts, Gmail and an mp3 player
//! behind it, 15 foreground requests to one of the background; its hit ratio grows until memory is 70 % of the footprint. In
//! the second, apps change between foreground and background "in short interval", 3 to 1, and "most of read and write requests
//! are concentrated in small number of pages": hit ratios are saturated at 40 %.
//!
//! An app here has pages of its own that it refers to by a Zipf law (databases, code, caches), and fresh pages, in runs, each used
//! by a few requests soon after one another and then no more (a web page's pictures, a song being played). What the paper does not
//! tell, the share of writes, of fresh pages, and how many pages there are, is a choice, and [`Mix`]'s fields vary it.
//!
//! A page is either read or written, but for [`MIXED_PERMILLE`] of them. That is fitted to public traces of phones and to no figure of the
//! paper: of the pages asked for twice and more in MobileBlockIOTraces' `slideshow_exec`, 2.2 % are neither read nor written in nine
//! requests of ten, and in `telegram_precond` none is. A test measures it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{HybridTrace, Request};

/// Of a thousand pages so many are both read and written.
pub const MIXED_PERMILLE: u32 = 22;

/// An app's requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AppMix {
    /// Its name.
    pub name: &'static str,
    /// Pages of its own.
    pub pages: u32,
    /// Exponent of the Zipf law over them.
    pub skew: f64,
    /// Share of its pages that are written, and of the requests that write to a page that is both.
    pub write_percent: u32,
    /// Share of its requests that go to fresh pages.
    pub fresh_percent: u32,
    /// Requests that a fresh page gets in all.
    pub fresh_uses: u32,
    /// How often it asks when in the background, relative to others there.
    pub background_weight: u32,
}

/// A trace's recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// The apps. The first is in front, if `switch_requests` is 0.
    pub apps: Vec<AppMix>,
    /// Foreground requests for each one of the background.
    pub foreground_share: f64,
    /// Requests until another app comes to the foreground; 0 for never.
    pub switch_requests: u32,
    /// Requests in all.
    pub requests: u32,
}

impl Mix {
    /// The paper's first trace.
    pub fn first(requests: u32) -> Self {
        let app = |name, pages, skew, write_percent, fresh_percent, fresh_uses, background_weight| AppMix {
            name,
            pages,
            skew,
            write_percent,
            fresh_percent,
            fresh_uses,
            background_weight,
        };
        Mix {
            apps: vec![
                app("chrome", 9000, 0.75, 35, 12, 3, 0),
                app("hangouts", 1200, 0.9, 50, 2, 2, 2),
                app("gmail", 1500, 0.9, 50, 4, 2, 2),
                // It reads each page of a song once or twice, and little else.
                app("mp3-player", 400, 0.9, 5, 70, 2, 4),
            ],
            foreground_share: 15.0,
            switch_requests: 0,
            requests,
        }
    }

    /// The paper's second trace.
    pub fn second(requests: u32) -> Self {
        let app = |name, pages, skew, write_percent, fresh_percent| AppMix {
            name,
            pages,
            skew,
            write_percent,
            fresh_percent,
            fresh_uses: 3,
            background_weight: 1,
        };
        Mix {
            apps: vec![
                app("browser", 4000, 1.4, 40, 1),
                app("messenger", 2500, 1.4, 50, 0),
                app("mail", 2500, 1.4, 50, 0),
                app("game", 3000, 1.4, 30, 0),
                app("music", 1500, 1.4, 20, 2),
            ],
            foreground_share: 3.0,
            switch_requests: 2000,
            requests,
        }
    }

    /// The trace.
    pub fn trace(&self, seed: u64) -> HybridTrace {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut next_page = 0;
        let mut players: Vec<Player> = self.apps.iter().map(|app| Player::new(app, &mut next_page)).collect();
        let background_probability = 1.0 / (1.0 + self.foreground_share);
        let mut front = 0;
        let mut requests = Vec::with_capacity(self.requests as usize);
        for at in 0..self.requests {
            if self.switch_requests > 0 && at % self.switch_requests == 0 && at > 0 {
                // Another one, evenly.
                front = (front + rng.gen_range(1..players.len().max(2))) % players.len();
            }
            let foreground = !rng.gen_bool(background_probability);
            let who = if foreground { front } else { self.behind(front, &mut rng) };
            requests.push(players[who].request(foreground, &mut next_page, &mut rng));
        }
        dense(requests, next_page)
    }

    /// An app of the background, by weight; the foreground's if there is none.
    fn behind(&self, front: usize, rng: &mut ChaCha8Rng) -> usize {
        let weight = |at: usize| if at == front { 0 } else { self.apps[at].background_weight };
        let total: u32 = (0..self.apps.len()).map(weight).sum();
        let mut left = rng.gen_range(0..total.max(1));
        for at in 0..self.apps.len() {
            if left < weight(at) {
                return at;
            }
            left -= weight(at);
        }
        front
    }
}

/// Numbers the pages anew: those that nobody asked for are no footprint.
fn dense(mut requests: Vec<Request>, pages: u32) -> HybridTrace {
    let mut numbers = vec![None; pages as usize];
    let mut next = 0;
    for request in &mut requests {
        request.page = *numbers[request.page as usize].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
    }
    HybridTrace { requests, pages: next }
}

/// An app while it makes requests.
struct Player<'a> {
    app: &'a AppMix,
    first_page: u32,
    /// Sums of the Zipf law's weights, for drawing by bisection.
    sums: Vec<f64>,
    /// Fresh pages in use, with the uses left.
    fresh: Vec<(u32, u32)>,
}

/// What is done to a page.
enum Kind {
    Read,
    Written,
    Both,
}

/// Drawn by the page's number, so that it stays what it is.
fn kind(page: u32, write_percent: u32) -> Kind {
    let mut hash = page.wrapping_add(1).wrapping_mul(0x9e37_79b9);
    hash = (hash ^ hash >> 15).wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    match hash % 1000 {
        at if at < MIXED_PERMILLE => Kind::Both,
        at if at - MIXED_PERMILLE < (1000 - MIXED_PERMILLE) * write_percent / 100 => Kind::Written,
        _ => Kind::Read,
    }
}

/// Fresh pages that an app uses at a time.
const FRESH_AT_A_TIME: usize = 16;

impl<'a> Player<'a> {
    fn new(app: &'a AppMix, next_page: &mut u32) -> Self {
        let mut sum = 0.0;
        let sums = (1..=app.pages)
            .map(|rank| {
                sum += f64::from(rank).powf(-app.skew);
                sum
            })
            .collect();
        let first_page = *next_page;
        *next_page += app.pages;
        Player { app, first_page, sums, fresh: Vec::new() }
    }

    fn request(&mut self, foreground: bool, next_page: &mut u32, rng: &mut ChaCha8Rng) -> Request {
        let page = if rng.gen_range(0..100) < self.app.fresh_percent {
            self.fresh_page(next_page, rng)
        } else {
            let at = rng.gen_range(0.0..self.sums.last().copied().unwrap_or(1.0));
            let rank = self.sums.partition_point(|&sum| sum <= at) as u32;
            self.first_page + rank.min(self.app.pages.saturating_sub(1))
        };
        let write = match kind(page, self.app.write_percent) {
            Kind::Read => false,
            Kind::Written => true,
            Kind::Both => rng.gen_range(0..100) < self.app.write_percent,
        };
        Request { page, foreground, write }
    }

    fn fresh_page(&mut self, next_page: &mut u32, rng: &mut ChaCha8Rng) -> u32 {
        if self.fresh.len() < FRESH_AT_A_TIME {
            self.fresh.push((*next_page, self.app.fresh_uses));
            *next_page += 1;
        }
        let at = rng.gen_range(0..self.fresh.len());
        let (page, left) = &mut self.fresh[at];
        let page = *page;
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.fresh.swap_remove(at);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_or_written_and_few_are_both() {
        for mix in [Mix::first(60_000), Mix::second(60_000)] {
            let trace = mix.trace(1);
            let mut counts = vec![[0u32; 2]; trace.pages as usize];
            trace.requests.iter().for_each(|r| counts[r.page as usize][usize::from(r.write)] += 1);
            let again = counts.iter().filter(|[reads, writes]| reads + writes > 1).count();
            let both = counts.iter().filter(|[reads, writes]| *reads > 0 && *writes > 0).count();
            assert!(1000 * both <= 3 * MIXED_PERMILLE as usize * again / 2, "{both} of {again}");
            let writes = trace.requests.iter().filter(|r| r.write).count() as f64 / trace.requests.len() as f64;
            assert!((0.2..0.6).contains(&writes), "{writes} of the requests write");
        }
    }

    #[test]
    fn traces_have_the_seeds_shares_and_are_the_same_for_the_same_seed() {
        for (mix, share) in [(Mix::first(60_000), 15.0), (Mix::second(60_000), 3.0)] {
            let trace = mix.trace(1);
            let front = trace.requests.iter().filter(|r| r.foreground).count() as f64;
            let found = front / (trace.requests.len() as f64 - front);
            assert!((found / share - 1.0).abs() < 0.1, "{found} for {share}");
            assert!(trace.requests.iter().all(|r| r.page < trace.pages));
            assert_eq!(trace.requests, mix.trace(1).requests);
            assert_ne!(trace.requests, mix.trace(2).requests);
        }
    }
}
