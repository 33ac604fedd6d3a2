// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app in memory of two kinds: `fovea-guest tier-app NUMBER START_NS SEED FAST_NODE LOAD`. It makes its requests, counts them by where their
//! pages are, and prints a `TierApp` at the end.

use std::hint::black_box;

use fovea_scenario::{Requests, TierApp, TierLoad, PAGE_BYTES};

use super::nodes;
use super::taken::{Page, Taken};
use crate::buffers::sleep_ns;
use crate::hash::{app_seed, mix64};
use crate::outcome::{At, Outcome};
use crate::readings::now_ns;
use crate::spin::spin;

/// What makes of this program one of the apps.
pub const WORD: &str = "tier-app";

/// From one round of requests to the next, on average. Each begins at a random moment of its time: the kernel looks only at who is at work as its timer
/// ticks, and that an app in the background, at work for some tenths of a millisecond, would be at every fifth tick or at none.
const ROUND_NS: u64 = 20_000_000;

/// Rounds after which it looks where the pages are that it has used meanwhile.
const ROUNDS_A_LOOK: u64 = 5;

/// Neighbouring pages that are used alike, as what an app allocates at one time is.
const CLUSTER_PAGES: u64 = 16;

/// Time after coming to the front that is not counted as settled.
const SETTLING_NS: u64 = 2_000_000_000;

/// Words of a page.
const WORDS: usize = PAGE_BYTES / size_of::<u64>();

/// Does what the command line says; does not return from a failure.
pub fn main() {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let done = parse(&words).and_then(|(number, start_ns, seed, fast, load)| {
        let used = run(number, start_ns, seed, fast, &load)?;
        serde_json::to_string(&used).at(|| "a result as text".into())
    });
    match done {
        Ok(text) => println!("{text}"),
        Err(error) => {
            eprintln!("fovea-guest: {WORD}: {error}");
            std::process::exit(1);
        }
    }
}

fn parse(words: &[String]) -> Outcome<(u64, u64, u64, u32, TierLoad)> {
    let [number, start_ns, seed, fast, load] = words else { return Err(format!("{} words, not 5", words.len())) };
    let read = |text: &str| text.parse::<u64>().at(|| format!("{text:?} is no number"));
    let load = serde_json::from_str(load).at(|| "understanding a load".into())?;
    Ok((read(number)?, read(start_ns)?, read(seed)?, read(fast)? as u32, load))
}

/// Reads and writes of a page since the last look.
type Counts = Vec<[u32; 2]>;

struct App {
    number: u64,
    /// Zeroed by the kernel as each page is first written.
    words: Vec<u64>,
    /// Pages by how much they are used.
    order: Vec<u64>,
    seed: u64,
    drawn: u64,
    counts: Counts,
    load: TierLoad,
    taken: Taken,
}

impl App {
    fn new(number: u64, seed: u64, load: TierLoad) -> App {
        let seed = app_seed(seed, &TierLoad::name(number));
        let mut clusters: Vec<u64> = (0..load.pages.div_ceil(CLUSTER_PAGES)).collect();
        clusters.sort_unstable_by_key(|&cluster| mix64(seed ^ cluster));
        let within = clusters.iter().flat_map(|cluster| (0..CLUSTER_PAGES).map(move |n| cluster * CLUSTER_PAGES + n));
        let order = within.filter(|&page| page < load.pages).collect();
        // What it will take as it goes is not there before it is written. Half of that is its file's.
        let pages = (load.pages + load.taken(number, false, load.ns).div_ceil(2)) as usize;
        let (words, counts) = (vec![0; pages * WORDS], vec![[0; 2]; pages]);
        let mut app = App { number, words, order, seed, drawn: 0, counts, load, taken: Taken::default() };
        (0..load.pages).for_each(|page| *app.word(page, 0) = app.content(page));
        app
    }

    /// A word that the compiler knows nothing of, so that no access is left out.
    fn word(&mut self, page: u64, word: usize) -> &mut u64 {
        black_box(&mut self.words[page as usize * WORDS + word])
    }

    fn content(&self, page: u64) -> u64 {
        mix64(self.seed ^ !page)
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.drawn += 1;
        mix64(self.seed.wrapping_add(self.drawn)) % below.max(1)
    }

    /// One request: its page is one of the set, the first of them the likelier, or any.
    fn request(&mut self) {
        let of = if self.draw(100) < self.load.set_percent.into() { self.load.set_pages } else { self.load.pages };
        let rank = self.draw(of).min(self.draw(of));
        let page = self.order[rank as usize];
        let writes = self.draw(100) < self.load.write_percent.into();
        match writes {
            true => *self.word(page, 1) = self.drawn,
            false => _ = black_box(*self.word(page, 0)),
        }
        self.counts[page as usize][usize::from(writes)] += 1;
    }

    /// Takes so many new pages: one writes the next of its memory, the next reads on in its file.
    fn take(&mut self, pages: u64) -> Outcome<()> {
        for _ in 0..pages {
            match self.taken.next() {
                Page::Memory(number) => {
                    let page = self.load.pages + number;
                    *self.word(page, 0) = self.content(page);
                    self.counts[page as usize][1] += 1;
                }
                Page::File(number) => self.taken.read(self.number, number)?,
            }
        }
        Ok(())
    }

    /// How long a round is waited for within its time.
    fn wait_ns(&self, round: u64) -> u64 {
        mix64(mix64(self.seed) ^ round) % ROUND_NS
    }

    /// What has been counted since the last look, by where the pages are now.
    fn look(&mut self, fast: u32) -> Outcome<Requests> {
        let used: Vec<usize> = (0..self.counts.len()).filter(|&page| self.counts[page] != [0; 2]).collect();
        let addresses: Vec<usize> =
            used.iter().map(|&page| (&raw const self.words[page * WORDS]) as usize & !(PAGE_BYTES - 1)).collect();
        let mut sum = Requests::default();
        for (page, node) in used.into_iter().zip(nodes::of_pages(&addresses)?) {
            let [reads, writes] = std::mem::take(&mut self.counts[page]).map(u64::from);
            if node == Some(fast) {
                sum.fast_reads += reads;
                sum.fast_writes += writes;
            } else {
                sum.slow_reads += reads;
                sum.slow_writes += writes;
            }
        }
        Ok(sum)
    }

    fn wrong_pages(&mut self) -> u64 {
        (0..self.load.pages + self.taken.memory_pages())
            .filter(|&page| *self.word(page, 0) != self.content(page))
            .count() as u64
    }
}

fn add(to: &mut Requests, more: Requests) {
    to.fast_reads += more.fast_reads;
    to.fast_writes += more.fast_writes;
    to.slow_reads += more.slow_reads;
    to.slow_writes += more.slow_writes;
}

fn run(number: u64, start_ns: u64, seed: u64, fast: u32, load: &TierLoad) -> Outcome<TierApp> {
    let mut app = App::new(number, seed, *load);
    let mut used = TierApp::default();
    if now_ns() > start_ns {
        return Err("the others began before its memory was filled".into());
    }
    for round in 0..load.ns / ROUND_NS {
        let at_ns = round * ROUND_NS;
        sleep_ns((start_ns + at_ns + app.wait_ns(round)).saturating_sub(now_ns()));
        let (front, since_ns) = load.front(at_ns);
        let in_front = front == number;
        // What does not divide is done when it has added up.
        let requests = load.requests(in_front, at_ns + ROUND_NS) - load.requests(in_front, at_ns);
        for _ in 0..requests {
            app.request();
            spin(load.compute_insns, true);
        }
        app.take(load.taken(number, in_front, at_ns + ROUND_NS) - load.taken(number, in_front, at_ns))?;
        let turns = load.front(at_ns + ROUND_NS).0 != front;
        if turns || (round + 1) % ROUNDS_A_LOOK == 0 {
            let seen = app.look(fast)?;
            add(if in_front { &mut used.front } else { &mut used.back }, seen);
            if in_front && at_ns - since_ns >= SETTLING_NS {
                add(&mut used.settled, seen);
            }
        }
    }
    used.wrong_pages = app.wrong_pages();
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_requests_are_for_the_set_and_content_stays() {
        let load = TierLoad { pages: 1000, set_pages: 100, ..TierLoad::default() };
        let mut app = App::new(1, 7, load);
        (0..10_000).for_each(|_| app.request());
        let mut order = app.order.clone();
        let of_set: u32 = order[..100].iter().map(|&page| app.counts[page as usize].iter().sum::<u32>()).sum();
        assert!((9_400..9_700).contains(&of_set), "{of_set}");
        assert_eq!(app.wrong_pages(), 0);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000), "each page has one place");
        *app.word(3, 0) = 0;
        assert_eq!(app.wrong_pages(), 1);
    }
}
