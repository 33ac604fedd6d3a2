// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a user may have: so many requests a minute, and so many subscriptions. Nobody keeps others out.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fovea_apps::limits::{listener_to_close, ASKED_AT_ONCE_MAX, ASKED_ON_BUS_PER_MIN, SENT_ON_BUS_AT_ONCE};

/// Connections of which something is kept.
const KNOWN_MAX: usize = 1024;

/// Requests of each user in the minute under way.
#[derive(Debug, Default)]
pub struct Asked {
    minute: u64,
    of_user: BTreeMap<u32, u32>,
}

impl Asked {
    /// Counts a request; false if it is one too many. `seconds` is a clock that does not go back.
    pub fn may(&mut self, uid: u32, seconds: u64) -> bool {
        if seconds / 60 != self.minute {
            self.minute = seconds / 60;
            self.of_user.clear();
        }
        let count = self.of_user.entry(uid).or_default();
        *count = count.saturating_add(1);
        *count <= ASKED_ON_BUS_PER_MIN
    }
}

/// What connections may still send: to refuse a message takes longer than to send one, and others wait behind it.
#[derive(Debug, Default)]
pub struct Sent(BTreeMap<String, Allowance>);

#[derive(Clone, Copy, Debug)]
struct Allowance {
    left: u32,
    second: u64,
}

impl Allowance {
    fn at(self, second: u64) -> Allowance {
        let more = u32::try_from(second.saturating_sub(self.second)).unwrap_or(u32::MAX);
        Allowance { left: self.left.saturating_add(more).min(SENT_ON_BUS_AT_ONCE), second }
    }
}

impl Sent {
    /// Counts a message; false if it is one too many. `second` is a clock that does not go back.
    pub fn may(&mut self, name: &str, second: u64) -> bool {
        let unused = Allowance { left: SENT_ON_BUS_AT_ONCE, second };
        if self.0.len() >= KNOWN_MAX && !self.0.contains_key(name) {
            self.0.retain(|_, allowance| allowance.at(second).left < SENT_ON_BUS_AT_ONCE);
            // More connections than a user has on a bus: whose turn it is not is told apart by the user's bound.
            if self.0.len() >= KNOWN_MAX {
                self.0.clear();
            }
        }
        let allowance = self.0.entry(name.to_owned()).or_insert(unused);
        *allowance = allowance.at(second);
        let may = allowance.left > 0;
        allowance.left = allowance.left.saturating_sub(1);
        may
    }
}

/// Whose connections are: the bus gives a unique name once.
#[derive(Debug, Default)]
pub struct Users(BTreeMap<String, u32>);

impl Users {
    /// The user of a connection that has asked before.
    pub fn of(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// Keeps it. When there are too many the bus is asked anew.
    pub fn note(&mut self, name: &str, uid: u32) {
        if self.0.len() >= KNOWN_MAX {
            self.0.clear();
        }
        self.0.insert(name.to_owned(), uid);
    }
}

/// Requests that have no answer yet, by connections.
#[derive(Debug, Default)]
pub struct Open(Mutex<BTreeMap<String, usize>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Opened<'a> {
    open: &'a Open,
    name: String,
}

impl Open {
    /// Counts one more of a connection; `None` if it is one too many.
    pub fn one(&self, name: &str) -> Option<Opened<'_>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(name.to_owned()).or_default();
        (*count < ASKED_AT_ONCE_MAX).then(|| {
            *count += 1;
            Opened { open: self, name: name.to_owned() }
        })
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let mut counts = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&self.name) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.name)),
        }
    }
}

/// Who is told of kills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// The connection's unique name, which the bus never gives again.
    pub name: String,
    /// Its user.
    pub uid: u32,
    /// Told of all users' apps.
    pub all: bool,
}

/// All of them, the first first.
#[derive(Debug, Default)]
pub struct Subscribers(Vec<Subscriber>);

impl Subscribers {
    /// Adds one, in place of the first of a user who has too many, or of the first of the user who has most.
    pub fn add(&mut self, new: Subscriber) {
        self.remove(&new.name);
        self.0.push(new);
        let users: Vec<u32> = self.0.iter().map(|s| s.uid).collect();
        if let Some(first) = listener_to_close(&users) {
            self.0.remove(first);
        }
    }

    /// Takes one away.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|s| s.name != name);
    }

    /// The names of those who are told of an app of this user; of an app that is nobody's, only those who are told of all.
    pub fn told_of(&self, owner: Option<u32>) -> Vec<String> {
        let is_told = |s: &&Subscriber| s.all || owner == Some(s.uid);
        self.0.iter().filter(is_told).map(|s| s.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use fovea_apps::limits::{LISTENERS_MAX, LISTENERS_OF_USER_MAX};

    use super::*;

    fn one(name: &str, uid: u32, all: bool) -> Subscriber {
        Subscriber { name: name.into(), uid, all }
    }

    #[test]
    fn each_is_told_of_the_own_apps_and_who_may_of_all() {
        let mut subscribers = Subscribers::default();
        for (name, uid, all) in [(":1.1", 1000, false), (":1.2", 1001, false), (":1.3", 1001, true), (":1.4", 0, true)]
        {
            subscribers.add(one(name, uid, all));
        }
        assert_eq!(subscribers.told_of(Some(1000)), [":1.1", ":1.3", ":1.4"]);
        assert_eq!(subscribers.told_of(Some(1001)), [":1.2", ":1.3", ":1.4"]);
        assert_eq!(subscribers.told_of(None), [":1.3", ":1.4"]);
        subscribers.add(one(":1.3", 1001, false));
        subscribers.remove(":1.4");
        assert_eq!(subscribers.told_of(Some(1000)), [":1.1"], "what was said last counts");
    }

    #[test]
    fn one_user_keeps_nobody_out() {
        let mut subscribers = Subscribers::default();
        subscribers.add(one(":1.1", 1000, false));
        for n in 0..200 {
            subscribers.add(one(&format!(":2.{n}"), 1001, false));
        }
        assert_eq!(subscribers.told_of(Some(1001)).len(), LISTENERS_OF_USER_MAX);
        for n in 0..4000 {
            subscribers.add(one(&format!(":3.{n}"), 2000 + n % 100, false));
        }
        assert_eq!(subscribers.told_of(Some(1000)), [":1.1"], "who has one is not the one that goes");
        assert!(subscribers.0.len() <= LISTENERS_MAX);
    }

    #[test]
    fn a_user_asks_so_often_a_minute_and_others_do_not_count() {
        let mut asked = Asked::default();
        let granted = (0..1000).filter(|_| asked.may(1000, 59)).count();
        assert_eq!(granted, ASKED_ON_BUS_PER_MIN as usize);
        assert!(asked.may(1001, 59) && asked.may(1000, 60));
    }

    #[test]
    fn a_flood_is_passed_over_and_others_and_later_ones_are_not() {
        let mut sent = Sent::default();
        assert_eq!((0..100_000).filter(|_| sent.may(":1.1", 7)).count(), SENT_ON_BUS_AT_ONCE as usize);
        assert!(sent.may(":1.2", 7));
        assert_eq!((0..100).filter(|_| sent.may(":1.1", 10)).count(), 3, "one a second");
        for nth in 0..10_000 {
            assert!(sent.may(&format!(":2.{nth}"), 11));
        }
        assert!(sent.0.len() <= KNOWN_MAX);
    }

    #[test]
    fn a_connection_waits_for_so_many_answers_and_others_do_not_count() {
        let open = Open::default();
        let mut some: Vec<_> = (0..100).filter_map(|_| open.one(":1.1")).collect();
        assert_eq!(some.len(), ASKED_AT_ONCE_MAX);
        assert!(open.one(":1.2").is_some(), "and its place is free again");
        some.pop();
        assert!(open.one(":1.1").is_some());
        drop(some);
        assert!(open.0.lock().unwrap().is_empty(), "nothing is kept of who has gone");
    }

    #[test]
    fn users_of_many_connections_are_forgotten_and_not_mixed_up() {
        let mut users = Users::default();
        for nth in 0..10_000 {
            users.note(&format!(":1.{nth}"), nth);
            assert_eq!(users.of(&format!(":1.{nth}")), Some(nth));
        }
        assert!(users.0.len() <= KNOWN_MAX && users.of(":1.0").is_none());
    }
}
