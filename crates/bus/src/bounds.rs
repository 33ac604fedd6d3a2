// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a user may have: so many requests a minute, and so many subscriptions. Nobody keeps others out.

use std::collections::BTreeMap;

use fovea_apps::limits::{listener_to_close, ASKED_ON_BUS_PER_MIN};

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
}
