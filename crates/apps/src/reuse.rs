// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which apps the user comes back to soon, as far as what he did before tells.
//!
//! Nobody knows by what a user chooses, so several predictions are made of each visit, and each is believed as much as it has been right. He opens
//! any app; or each as often as he has opened it before; or what he left so many apps ago, for some go to and fro between two and some go through
//! many in turn. And one that he closed comes back like one that he left, or a quarter as often, or hardly ever.

use crate::AppName;

/// Apps remembered, those that have ended included; the one not used for longest is forgotten.
const KNOWN_MAX: usize = 128;

/// So much of a count is left at each visit: the last sixty or so make it.
const COUNT_KEPT: f64 = 63.0 / 64.0;

/// But no less than this of one that was ever used: where one app is opened again and again, nothing else would be left to weigh.
const COUNT_LEAST: f64 = 1.0 / 64.0;

/// And of how often each place in the order of leaving was gone back to.
const PLACE_KEPT: f64 = 15.0 / 16.0;

/// A place that nobody has gone back to may be the next one all the same.
const PLACE_LEAST: f64 = 0.25;

/// So much of all belief is spread evenly at each visit: a prediction that begins to be right is believed soon.
const SPREAD: f64 = 1.0 / 32.0;

/// A return counts for so much less with each visit before it. Memory that an app holds until then is nobody else's for as long.
const DISCOUNT: f64 = 7.0 / 8.0;

/// How much less often one that was closed comes back than one that was left.
const CLOSED: [f64; 3] = [1.0, 1.0 / 4.0, 1.0 / 16.0];

/// The first of these is as often as one that was left.
const OPEN: usize = 0;

/// By what an app is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Any,
    Count,
    Place,
}

const BY: [By; 3] = [By::Any, By::Count, By::Place];

const PREDICTIONS: usize = BY.len() * CLOSED.len();

/// In each prediction before anybody knows.
const FIRST_BELIEF: f64 = 1.0 / PREDICTIONS as f64;

/// Of how often the user goes back to the app that he left last an eighth is the newest time's: after two rounds through as many apps nothing is
/// left of a guess, and one return more counts for some time.
const BACK_WEIGHT: u32 = 8;

/// Before anybody knows.
const FIRST_BACK_PPM: u32 = 500_000;

/// One that leaves the front sooner was passed by: the pointer crossed its window where focus follows it, or it lay on the way to another.
pub(crate) const PASSED_BY_NS: u64 = 500_000_000;

#[derive(Clone, Debug, PartialEq)]
struct Known {
    name: AppName,
    count: f64,
    closed: bool,
}

/// What the user did before, by names: an app that was ended meanwhile is started again under its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reuse {
    /// What came to the front last, first.
    known: Vec<Known>,
    /// How often the app at each place was gone back to: at 0 the one left last.
    places: Vec<f64>,
    /// In each prediction; together 1.
    beliefs: [f64; PREDICTIONS],
    goes_back_ppm: u32,
    /// The visit that may turn out to be none.
    visit: Option<Box<Visit>>,
}

/// The newest one's, as long as it lasts.
#[derive(Clone, Debug, PartialEq)]
struct Visit {
    since_ns: u64,
    /// What was known until then.
    before: Reuse,
    /// Whether the newest of then was in front until then.
    newest_was_front: bool,
}

impl Default for Reuse {
    fn default() -> Self {
        Reuse {
            known: Vec::new(),
            places: Vec::new(),
            beliefs: [FIRST_BELIEF; PREDICTIONS],
            goes_back_ppm: FIRST_BACK_PPM,
            visit: None,
        }
    }
}

impl Reuse {
    /// The app that came to the front last; it may be there still.
    pub(crate) fn newest(&self) -> Option<&AppName> {
        self.known.first().map(|known| &known.name)
    }

    /// The newest leaves the front. If it was only passed by, nothing is left of its visit. Whether the newest was in front until now: after
    /// a visit that was none that is another.
    pub(crate) fn leaves(&mut self, now_ns: u64) -> bool {
        let Some(visit) = self.visit.take_if(|visit| now_ns.saturating_sub(visit.since_ns) < PASSED_BY_NS) else {
            return true;
        };
        *self = visit.before;
        visit.newest_was_front
    }

    /// An app comes to the front; the newest was there until now, or had left for what is no app.
    pub(crate) fn comes(&mut self, name: &AppName, newest_was_front: bool, now_ns: u64) {
        if newest_was_front && self.newest() == Some(name) {
            // Another was passed by meanwhile.
            return;
        }
        self.visit = None;
        let before = self.clone();
        self.learn_visit(name, newest_was_front);
        self.visit = Some(Box::new(Visit { since_ns: now_ns, before, newest_was_front }));
    }

    fn learn_visit(&mut self, name: &AppName, newest_was_front: bool) {
        let candidates = self.candidates(newest_was_front);
        let went_back = candidates.iter().find(|known| !known.closed).map(|left_last| left_last.name == *name);
        let place = candidates.iter().position(|known| known.name == *name);
        if let Some(place) = place {
            let right: Vec<f64> = self.predictions(candidates).map(|prediction| prediction[place]).collect();
            self.learn(&right, place);
        }
        if let Some(went_back) = went_back {
            self.goes_back_ppm -= self.goes_back_ppm / BACK_WEIGHT;
            self.goes_back_ppm += if went_back { 1_000_000 / BACK_WEIGHT } else { 0 };
        }
        self.known.iter_mut().for_each(|known| known.count = (known.count * COUNT_KEPT).max(COUNT_LEAST));
        let at = self.known.iter().position(|known| known.name == *name);
        let before = at.map(|at| self.known.remove(at));
        let count = before.map_or(0.0, |known| known.count) + 1.0;
        self.known.insert(0, Known { name: name.clone(), count, closed: false });
        self.known.truncate(KNOWN_MAX);
    }

    /// The user has closed it, or it is on the screen again.
    pub(crate) fn set_closed(&mut self, name: &AppName, closed: bool) {
        self.known.iter_mut().filter(|known| known.name == *name).for_each(|known| known.closed = closed);
        if let Some(visit) = &mut self.visit {
            visit.newest_was_front &= !closed || visit.before.newest() != Some(name);
            visit.before.set_closed(name, closed);
        }
    }

    /// Of the times that an app came to the front, so many thousandths were to the one left last and not closed.
    pub(crate) fn goes_back_permille(&self) -> u32 {
        self.goes_back_ppm / 1000
    }

    /// How surely each app comes back soon, from 0 for never to 1 for at the next visit; in the order in which they were left.
    pub(crate) fn returns(&self, newest_is_front: bool) -> impl Iterator<Item = (&AppName, f64)> {
        let candidates = self.candidates(newest_is_front);
        let by_place = CLOSED.map(|odds| self.soon_by_place(candidates.len(), odds));
        let mut returns = vec![0.0; candidates.len()];
        for ((prediction, (by, closed)), belief) in self.predictions(candidates).zip(hypotheses()).zip(self.beliefs) {
            for (place, known) in candidates.iter().enumerate() {
                returns[place] += belief
                    * match by {
                        By::Any | By::Count => soon(prediction[place]),
                        By::Place => by_place[if known.closed { closed } else { OPEN }][place],
                    };
            }
        }
        candidates.iter().map(|known| &known.name).zip(returns)
    }

    /// The same of one among so many of which nothing is known.
    pub(crate) fn any(count: usize) -> f64 {
        soon(1.0 / count as f64)
    }

    /// What may come next: the newest cannot while it is there.
    fn candidates(&self, newest_is_front: bool) -> &[Known] {
        self.known.get(usize::from(newest_is_front)..).unwrap_or_default()
    }

    /// The chance that each prediction gives each candidate of being the next.
    fn predictions<'a>(&'a self, candidates: &'a [Known]) -> impl Iterator<Item = Vec<f64>> + 'a {
        hypotheses().map(move |(by, closed)| {
            let weigh = |(place, known): (usize, &Known)| {
                let weight = match by {
                    By::Any => 1.0,
                    By::Count => known.count,
                    By::Place => self.place(place),
                };
                weight * CLOSED[if known.closed { closed } else { OPEN }]
            };
            shares(candidates.iter().enumerate().map(weigh).collect())
        })
    }

    fn place(&self, place: usize) -> f64 {
        self.places.get(place).unwrap_or(&0.0) + PLACE_LEAST
    }

    /// Bayes, with some of all belief spread evenly; and the place counts.
    fn learn(&mut self, right: &[f64], place: usize) {
        let believed: f64 = self.beliefs.iter().zip(right).map(|(belief, right)| belief * right).sum();
        for (belief, right) in self.beliefs.iter_mut().zip(right) {
            *belief = *belief * right / believed * (1.0 - SPREAD) + FIRST_BELIEF * SPREAD;
        }
        self.places.iter_mut().for_each(|times| *times *= PLACE_KEPT);
        self.places.resize(self.places.len().max(place + 1), 0.0);
        self.places[place] += 1.0;
    }

    /// An app moves on by a place whenever one from further behind is gone back to, so that what was left last in a round through many has the
    /// longest way to go.
    fn soon_by_place(&self, count: usize, odds: f64) -> Vec<f64> {
        let chances = shares((0..count).map(|place| self.place(place)).collect());
        let mut soon = vec![0.0; count];
        let (mut next, mut behind) = (0.0, 0.0);
        for (place, &chance) in chances.iter().enumerate().rev() {
            let back = chance * odds;
            let stays = (1.0 - behind - back).max(0.0);
            soon[place] = DISCOUNT * (back + behind * next) / (1.0 - DISCOUNT * stays);
            (next, behind) = (soon[place], behind + chance);
        }
        soon
    }
}

/// By what an app is expected, and which of [`CLOSED`].
fn hypotheses() -> impl Iterator<Item = (By, usize)> {
    BY.into_iter().flat_map(|by| (0..CLOSED.len()).map(move |closed| (by, closed)))
}

fn shares(mut weights: Vec<f64>) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

/// Of one that has the same chance at each visit.
fn soon(chance: f64) -> f64 {
    DISCOUNT * chance / (1.0 - DISCOUNT * (1.0 - chance))
}

#[cfg(test)]
#[path = "reuse_tests.rs"]
mod tests;
