// SPDX-License-Identifier: GPL-2.0-only OR MIT

use proptest::prelude::*;

use super::*;

fn name(text: &str) -> AppName {
    text.parse().unwrap()
}

/// What the user does, one word each: an app that he opens from another, one that he opens by way of the home screen (`-a`), one that he closes
/// (`x:a`).
fn after(words: &str) -> Reuse {
    let mut reuse = Reuse::default();
    for word in words.split_whitespace() {
        match (word.strip_prefix("x:"), word.strip_prefix('-')) {
            (Some(app), _) => reuse.set_closed(&name(app), true),
            (_, Some(app)) => reuse.comes(&name(app), false, 0),
            _ => reuse.comes(&name(word), true, 0),
        }
    }
    reuse
}

fn returns(reuse: &Reuse, app: &str) -> f64 {
    reuse.returns(true).find(|(name, _)| name.as_str() == app).unwrap().1
}

#[test]
fn whoever_goes_through_many_in_turn_comes_back_to_the_oldest_first() {
    let reuse = after(&"a b c d e f ".repeat(3));
    // f is in front.
    let order: Vec<f64> = ["a", "b", "c", "d", "e"].map(|app| returns(&reuse, app)).to_vec();
    assert!(order.windows(2).all(|pair| pair[0] > pair[1]), "{order:?}");
    assert!(order[0] > 0.8 && order[4] < 0.65, "{order:?}");
}

#[test]
fn whoever_goes_to_and_fro_comes_back_to_what_he_left_last() {
    let reuse = after(&format!("c d e f {}", "a b ".repeat(4)));
    assert!(returns(&reuse, "a") > 0.7);
    for other in ["c", "d", "e", "f"] {
        assert!(returns(&reuse, other) < 0.3, "{other}: {}", returns(&reuse, other));
    }
}

#[test]
fn what_is_opened_often_comes_back_sooner_than_what_is_opened_seldom() {
    let reuse = after("mail web mail maps mail game mail shop mail web maps mail game shop mail maps web game shop");
    for seldom in ["web", "maps", "game"] {
        assert!(returns(&reuse, "mail") > 1.1 * returns(&reuse, seldom), "{seldom}");
    }
}

#[test]
fn whether_a_closed_app_comes_back_is_the_users_way() {
    let rounds = |back: &str| after(&format!("a b c d {} a b x:a", format!("a b x:b c x:c d {back} ").repeat(6)));
    let closed_beside_open = |reuse: &Reuse| returns(reuse, "c") / returns(reuse, "d");
    let (opens_them_again, never) = (rounds("c b"), rounds("a d"));
    assert!(closed_beside_open(&opens_them_again) > 1.3 * closed_beside_open(&never));
    let before = after("a b c x:b");
    assert!(returns(&before, "b") < 0.75 * returns(&before, "a"), "nobody has shown anything: less surely");
}

#[test]
fn of_all_that_ever_ran_no_more_than_some_are_remembered() {
    let mut reuse = Reuse::default();
    for at in 0..3 * KNOWN_MAX {
        reuse.comes(&name(&format!("a{at}")), true, 0);
    }
    assert_eq!(reuse.known.len(), KNOWN_MAX);
    assert_eq!(reuse.newest(), Some(&name(&format!("a{}", 3 * KNOWN_MAX - 1))));
    // One that was forgotten is new again.
    reuse.comes(&name("a0"), true, 0);
    assert_eq!(reuse.known.len(), KNOWN_MAX);
}

#[test]
fn one_app_opened_again_and_again_leaves_something_to_weigh() {
    let mut reuse = after("a b");
    for _ in 0..100_000 {
        reuse.comes(&name("b"), false, 0);
    }
    let [b, a] = reuse.returns(false).map(|(_, returns)| returns).collect::<Vec<_>>()[..] else { panic!() };
    assert!(b > 0.9 * DISCOUNT && a > 0.0 && a < 0.2, "{b} {a}");
    assert!((returns(&reuse, "a") - DISCOUNT).abs() < 1e-9, "nothing else can come next");
}

#[derive(Clone, Debug)]
enum Did {
    Came { app: usize, newest_was_front: bool },
    Closed { app: usize },
}

fn did() -> impl Strategy<Value = Did> {
    prop_oneof![
        4 => (0usize..6, any::<bool>()).prop_map(|(app, newest_was_front)| Did::Came { app, newest_was_front }),
        1 => (0usize..6).prop_map(|app| Did::Closed { app }),
    ]
}

/// The reference: all of it anew from the list of what was done, visit for visit.
struct Slow {
    /// Apps, the newest first, and whether each was closed.
    order: Vec<(usize, bool)>,
    visits: Vec<usize>,
    places: Vec<usize>,
    beliefs: Vec<f64>,
}

impl Slow {
    fn of(list: &[Did]) -> Slow {
        let mut slow = Slow { order: vec![], visits: vec![], places: vec![], beliefs: vec![1.0 / 9.0; 9] };
        for did in list {
            match *did {
                Did::Closed { app } => {
                    slow.order.iter_mut().filter(|(known, _)| *known == app).for_each(|(_, closed)| *closed = true);
                }
                Did::Came { app, newest_was_front } => slow.came(app, newest_was_front),
            }
        }
        slow
    }

    fn came(&mut self, app: usize, newest_was_front: bool) {
        if newest_was_front && self.order.first().is_some_and(|&(newest, _)| newest == app) {
            return;
        }
        let from = usize::from(newest_was_front && !self.order.is_empty());
        if let Some(place) = self.order[from..].iter().position(|&(known, _)| known == app) {
            let right: Vec<f64> = (0..9).map(|which| self.chances(which, from)[place]).collect();
            let all: f64 = right.iter().zip(&self.beliefs).map(|(r, b)| r * b).sum();
            self.beliefs =
                right.iter().zip(&self.beliefs).map(|(r, b)| 31.0 / 32.0 * r * b / all + 1.0 / 32.0 / 9.0).collect();
            self.places.push(place);
        }
        self.visits.push(app);
        self.order.retain(|&(known, _)| known != app);
        self.order.insert(0, (app, false));
    }

    fn place_weight(&self, place: usize) -> f64 {
        let aged = self.places.iter().rev().enumerate().filter(|(_, &p)| p == place);
        0.25 + aged.map(|(age, _)| (15.0f64 / 16.0).powi(age as i32)).sum::<f64>()
    }

    fn chances(&self, which: usize, from: usize) -> Vec<f64> {
        let weights: Vec<f64> = self.order[from..]
            .iter()
            .enumerate()
            .map(|(place, &(app, closed))| {
                let aged = self.visits.iter().rev().enumerate().filter(|(_, &v)| v == app);
                let count: f64 = aged.map(|(age, _)| (63.0f64 / 64.0).powi(age as i32)).sum();
                let weight = [1.0, count, self.place_weight(place)][which / 3];
                weight * if closed { 0.25f64.powi(which as i32 % 3) } else { 1.0 }
            })
            .collect();
        let all: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / all).collect()
    }

    /// By going through the visits to come one after the other, until so many lie between that none counts.
    fn soon(&self, which: usize, from: usize, at: usize) -> f64 {
        let chances = self.chances(which, from);
        if which / 3 < 2 {
            return (1..300).map(|n| 0.875f64.powi(n) * chances[at] * (1.0 - chances[at]).powi(n - 1)).sum();
        }
        let by_place = self.chances(6, 0).len() - from;
        let all: f64 = (0..by_place).map(|place| self.place_weight(place)).sum();
        let chance = |place: usize| self.place_weight(place) / all;
        let odds = if self.order[from + at].1 { 0.25f64.powi(which as i32 % 3) } else { 1.0 };
        // How likely it is still away, at each place.
        let mut away = vec![0.0; by_place];
        away[at] = 1.0;
        let mut soon = 0.0;
        for n in 1..300 {
            let mut then = vec![0.0; by_place];
            for place in 0..by_place {
                let back = chance(place) * odds;
                let behind: f64 = (place + 1..by_place).map(chance).sum();
                soon += 0.875f64.powi(n) * away[place] * back;
                then[place] += away[place] * (1.0 - back - behind);
                if place + 1 < by_place {
                    then[place + 1] += away[place] * behind;
                }
            }
            away = then;
        }
        soon
    }

    fn returns(&self, newest_is_front: bool) -> Vec<(usize, f64)> {
        let from = usize::from(newest_is_front && !self.order.is_empty());
        let all = |at| (0..9).map(|which| self.beliefs[which] * self.soon(which, from, at)).sum();
        (0..self.order.len() - from).map(|at| (self.order[from + at].0, all(at))).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_comes_back_is_as_reckoned_from_all_that_was_done(list in prop::collection::vec(did(), 0..40), newest_is_front: bool) {
        let mut reuse = Reuse::default();
        for did in &list {
            match *did {
                Did::Came { app, newest_was_front } => reuse.comes(&name(&format!("a{app}")), newest_was_front, 0),
                Did::Closed { app } => reuse.set_closed(&name(&format!("a{app}")), true),
            }
        }
        let slow = Slow::of(&list).returns(newest_is_front);
        let fast: Vec<_> = reuse.returns(newest_is_front).collect();
        prop_assert_eq!(fast.len(), slow.len());
        for ((name, fast), (app, slow)) in fast.into_iter().zip(slow) {
            prop_assert_eq!(name.as_str(), format!("a{app}"));
            prop_assert!((fast - slow).abs() < 1e-9, "{}: {} for {}", name, fast, slow);
            prop_assert!(fast > 0.0 && fast <= 1.0);
        }
        prop_assert!((reuse.beliefs.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
