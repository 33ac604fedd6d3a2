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
//! [`MIXED_PERMILLE`], [`LIFETIME_WRITES`] and [`REQUESTS_PER_S`] are fitted to public traces of phones, and to no figure of the paper
//! (`calibration/phone_traces.py` measures them; `docs/history/lab.md` has what was found): how many pages are both read and written, for
//! how long a page keeps its popularity, and how many pages a phone asks for in a second.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{HybridTrace, Request};

/// Of a thousand pages so many are both read and written.
pub const MIXED_PERMILLE: u32 = 161;

/// An app's written requests until a page's popularity has passed to another one, on average: the set of hot pages drifts.
pub const LIFETIME_WRITES: f64 = 21_000.0;

/// Pages asked for in a second of the trace's clock.
pub const REQUESTS_PER_S: f64 = 11.2;

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
    /// An app's written requests until a page's popularity has passed to another one, on average; 0 for never.
    pub lifetime_writes: f64,
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
            lifetime_writes: LIFETIME_WRITES,
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
            lifetime_writes: LIFETIME_WRITES,
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
            let request = players[who].request(foreground, &mut next_page, &mut rng);
            if request.write && self.lifetime_writes > 0.0 {
                players[who].drift(self.lifetime_writes, &mut rng);
            }
            requests.push(request);
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
    let span_ns = (requests.len() as f64 / REQUESTS_PER_S * 1e9) as u64;
    HybridTrace { requests, pages: next, span_ns }
}

/// An app while it makes requests.
struct Player<'a> {
    app: &'a AppMix,
    /// Its pages, the most popular first.
    by_rank: Vec<u32>,
    /// Exchanges of popularity that are due.
    due: f64,
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
        let by_rank = (*next_page..*next_page + app.pages).collect();
        *next_page += app.pages;
        Player { app, by_rank, due: 0.0, sums, fresh: Vec::new() }
    }

    /// One more request was written: pages exchange their popularity at random, each of them once in `lifetime_writes` on average.
    fn drift(&mut self, lifetime_writes: f64, rng: &mut ChaCha8Rng) {
        let pages = self.by_rank.len();
        self.due += pages as f64 / (2.0 * lifetime_writes);
        while self.due >= 1.0 {
            self.due -= 1.0;
            self.by_rank.swap(rng.gen_range(0..pages), rng.gen_range(0..pages));
        }
    }

    fn request(&mut self, foreground: bool, next_page: &mut u32, rng: &mut ChaCha8Rng) -> Request {
        let page = if rng.gen_range(0..100) < self.app.fresh_percent {
            self.fresh_page(next_page, rng)
        } else {
            let at = rng.gen_range(0.0..self.sums.last().copied().unwrap_or(1.0));
            let rank = self.sums.partition_point(|&sum| sum <= at);
            self.by_rank[rank.min(self.by_rank.len().saturating_sub(1))]
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

    /// As `calibration/phone_traces.py` measures it in traces of phones.
    #[test]
    fn the_written_pages_that_recur_become_fewer_with_time() {
        let lasts = |lifetime_writes| {
            let app = AppMix { fresh_percent: 0, write_percent: 100, ..Mix::first(1).apps[0].clone() };
            let mix = Mix { apps: vec![app], lifetime_writes, foreground_share: 1e9, ..Mix::first(120_000) };
            let trace = mix.trace(1);
            let written: Vec<u32> = trace.requests.iter().filter(|r| r.write).map(|r| r.page).collect();
            let windows: Vec<_> = written.chunks_exact(2000).collect();
            let recurring = |lag: usize| {
                let pairs = windows.iter().zip(&windows[lag..]);
                let hits = pairs.map(|(before, now)| {
                    let before: std::collections::BTreeSet<_> = before.iter().collect();
                    now.iter().filter(|page| before.contains(page)).count()
                });
                hits.sum::<usize>() as f64 / (windows.len() - lag) as f64
            };
            recurring(16) / recurring(1)
        };
        // Those that recur by chance never end: what a window holds of all pages.
        let (drifting, fixed) = (lasts(LIFETIME_WRITES), lasts(0.0));
        assert!(drifting < 0.7 && fixed > 0.95, "{drifting} with drift, {fixed} without");
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
