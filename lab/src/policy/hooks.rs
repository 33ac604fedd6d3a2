// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What stands between the requests and any policy: objects that expire, and objects that are not let in.
//!
//! An object that is not held is let in if it is small enough (`admit-size`), was asked for before (`admit-second`: a Bloom filter,
//! as content delivery networks have it: Maggs and Sitaraman, "Algorithmic nuggets in content delivery", ACM SIGCOMM CCR 2015), and
//! a draw says so (`admit-probability`), in this order; of one that is not, the policy hears nothing. An object that came in `ttl`
//! requests or `ttl-s` seconds ago (by the trace's clock), or earlier, has expired: a request for it is a miss, and fetches it anew in
//! its place, which the policy sees as a request for an object that it holds. Until then, or until the policy evicts it, it takes its
//! room, as in caches that expire lazily.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Parameter, Policy, Request};

/// The parameters of every policy, behind its own.
pub static PARAMETERS: [Parameter; 6] = [
    Parameter { name: "ttl", default: 0.0, least: 1.0, greatest: 1e15, meaning: "requests until an object expires" },
    Parameter { name: "ttl-s", default: 0.0, least: 1e-6, greatest: 1e9, meaning: "seconds until an object expires" },
    Parameter {
        name: "admit-size",
        default: 0.0,
        least: 1.0,
        greatest: 4294967295.0,
        meaning: "largest let in, in bytes",
    },
    Parameter {
        name: "admit-second",
        default: 0.0,
        least: 1.0,
        greatest: 1e9,
        meaning: "let in at the second request; the filter forgets all after so many objects",
    },
    Parameter { name: "admit-probability", default: 1.0, least: 0.0, greatest: 1.0, meaning: "share let in, drawn" },
    Parameter {
        name: "admit-seed",
        default: 1.0,
        least: 0.0,
        greatest: 4294967295.0,
        meaning: "decides what is let in",
    },
];
const TTL: usize = 0;
const TTL_S: usize = 1;
const SIZE: usize = 2;
const SECOND: usize = 3;
const PROBABILITY: usize = 4;
const SEED: usize = 5;

/// The hooks of a choice: values in the order of [`PARAMETERS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hooks([f64; 6]);

impl Default for Hooks {
    fn default() -> Self {
        Hooks(PARAMETERS.map(|p| p.default))
    }
}

impl Hooks {
    /// Sets the hook at that place of [`PARAMETERS`]. The value must be in its range; all but a probability and seconds count
    /// something.
    pub(super) fn set(&mut self, at: usize, value: f64) -> Result<(), String> {
        if ![PROBABILITY, TTL_S].contains(&at) && value.fract() != 0.0 {
            return Err(format!("{} is {value}; take a whole number", PARAMETERS[at].name));
        }
        self.0[at] = value;
        Ok(())
    }

    /// Names and values of those that differ from the default.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        PARAMETERS.iter().zip(self.0).filter(|(p, value)| *value != p.default).map(|(p, value)| (p.name, value))
    }

    /// Whether the policy runs as if there were none.
    pub fn is_none(&self) -> bool {
        [TTL, TTL_S, SIZE, SECOND].iter().all(|&at| self.0[at] == 0.0) && self.0[PROBABILITY] == 1.0
    }

    /// Whether they make sense only where sizes count.
    pub fn needs_bytes(&self) -> bool {
        self.0[SIZE] > 0.0
    }

    /// Whether they need the requests' times.
    pub fn needs_times(&self) -> bool {
        self.0[TTL_S] > 0.0
    }

    /// The seed, if something is drawn.
    pub fn seed(&self) -> Option<f64> {
        (self.0[PROBABILITY] < 1.0).then_some(self.0[SEED])
    }

    pub(super) fn set_seed(&mut self, seed: f64) {
        self.0[SEED] = seed;
    }

    /// The same for a sample with such a share of the requests and objects: what counts these counts fewer. A
    /// sample's clock is the trace's.
    pub(crate) fn scaled(mut self, rate: f64) -> Hooks {
        for at in [TTL, SECOND] {
            if self.0[at] > 0.0 {
                self.0[at] = (self.0[at] * rate).round().max(1.0);
            }
        }
        self
    }

    /// The policy behind them.
    pub(super) fn before(&self, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        if self.is_none() {
            return policy;
        }
        let [ttl, ttl_s, size, second, probability, seed] = self.0;
        Box::new(Hooked {
            policy,
            requests: Expiry::after(ttl as u64),
            time_ns: Expiry::after((ttl_s * 1e9).round() as u64),
            largest: if size > 0.0 { size as u64 } else { u64::MAX },
            second: (second > 0.0).then(|| Bloom::new(second as u64)),
            probability,
            random: ChaCha8Rng::seed_from_u64(seed as u64),
        })
    }
}

struct Hooked {
    policy: Box<dyn Policy>,
    /// Expiry by the number of requests so far.
    requests: Expiry,
    /// Expiry by the trace's clock.
    time_ns: Expiry,
    largest: u64,
    second: Option<Bloom>,
    probability: f64,
    random: ChaCha8Rng,
}

/// Expiry by a clock.
struct Expiry {
    /// 0: never.
    ttl: u64,
    now: u64,
    /// When each object came in, or was fetched anew; nothing if none expires.
    came: Vec<u64>,
}

impl Expiry {
    fn after(ttl: u64) -> Self {
        Expiry { ttl, now: 0, came: Vec::new() }
    }

    fn ensure_ids(&mut self, ids: u32) {
        if self.ttl > 0 && ids as usize > self.came.len() {
            self.came.resize(ids as usize, 0);
        }
    }

    /// A trace's clock may go back, if it was imported so: then an object is as young as one that has just come.
    fn is_fresh(&self, id: u32) -> bool {
        self.ttl == 0 || self.now.saturating_sub(self.came[id as usize]) < self.ttl
    }

    fn fetched(&mut self, id: u32) {
        if self.ttl > 0 {
            self.came[id as usize] = self.now;
        }
    }
}

impl Hooked {
    fn is_fresh(&self, id: u32) -> bool {
        self.requests.is_fresh(id) && self.time_ns.is_fresh(id)
    }

    fn admits(&mut self, request: Request) -> bool {
        request.size <= self.largest
            && self.second.as_mut().is_none_or(|seen| seen.insert(request.id))
            && (self.probability >= 1.0 || self.random.gen::<f64>() < self.probability)
    }
}

impl Policy for Hooked {
    fn ensure_ids(&mut self, ids: u32) {
        self.policy.ensure_ids(ids);
        self.requests.ensure_ids(ids);
        self.time_ns.ensure_ids(ids);
    }

    fn access(&mut self, request: Request) -> bool {
        self.time_ns.now = request.time_ns;
        let held = self.policy.contains(request.id);
        let hit = held && self.is_fresh(request.id);
        if held || self.admits(request) {
            self.policy.access(request);
            if !hit {
                self.requests.fetched(request.id);
                self.time_ns.fetched(request.id);
            }
        }
        self.requests.now += 1;
        hit
    }

    fn used(&self) -> u64 {
        self.policy.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.policy.contains(id) && self.is_fresh(id)
    }

    fn failure(&self) -> Option<&str> {
        self.policy.failure()
    }
}

/// Objects that were seen (Bloom, "Space/time trade-offs in hash coding with allowable errors", CACM 1970): none that was is taken for
/// new, and up to a hundredth of the new ones for seen.
struct Bloom {
    bits: Vec<u64>,
    objects: u64,
    most: u64,
}

/// The best number for ten bits an object.
const HASHES: u64 = 7;

impl Bloom {
    fn new(most: u64) -> Bloom {
        Bloom { bits: vec![0; ((10 * most) as usize).max(1 << 16).div_ceil(64)], objects: 0, most }
    }

    /// Notes an object and says whether it was there. One too many begins anew.
    fn insert(&mut self, id: u32) -> bool {
        // Two halves of a hash stand in for all (Kirsch and Mitzenmacher, "Less hashing, same performance", ESA 2006).
        let mut hash = (u64::from(id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let (first, step) = (hash & 0xffff_ffff, (hash >> 32) | 1);
        let length = self.bits.len() as u64 * 64;
        let places = (0..HASHES).map(|at| (first + at * step) % length);
        let bit = |place: u64| ((place / 64) as usize, 1u64 << (place % 64));
        if places.clone().map(bit).all(|(word, bit)| self.bits[word] & bit != 0) {
            return true;
        }
        if self.objects == self.most {
            self.bits.fill(0);
            self.objects = 0;
        }
        for (word, bit) in places.map(bit) {
            self.bits[word] |= bit;
        }
        self.objects += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_knows_all_that_it_saw_and_takes_few_others_for_seen() {
        let mut filter = Bloom::new(100_000);
        let taken = (0..100_000).filter(|&id| filter.insert(id)).count();
        assert!(taken < 1000, "{taken} of 100,000 new objects taken for seen");
        assert!((0..100_000).all(|id| filter.insert(id)));
    }

    #[test]
    fn a_full_filter_begins_anew() {
        let mut filter = Bloom::new(3);
        assert_eq!(
            [1, 2, 3, 1, 4, 1, 4, 2].map(|id| filter.insert(id)),
            [false, false, false, true, false, false, true, false]
        );
    }
}
