// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! At whom a probe hung. Such a process is passed over for a while, longer each time; of an owner with several all are, and
//! nobody else's.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_apps::limits::PROBE_BLAMED_S;
use serde::{Deserialize, Serialize};

use super::waited::Waited;

/// Processes of one owner that are passed over one by one.
const HELD_UP_MAX: usize = 4;

/// How long a process is passed over the first time.
const FIRST: Duration = Duration::from_secs(1);

/// What is known of so many owners; of those that are passed over all is kept.
const KNOWN_MAX: usize = 256;

/// Whose a process is, as far as others are kept from suffering by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Owner {
    /// All that lies in a user's part of the cgroups, whatever users a namespace made of one; or runs as the user.
    User(u32),
    /// Of root's one cgroup.
    Cgroup(String),
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::User(uid) => write!(f, "user {uid}"),
            Owner::Cgroup(cgroup) => write!(f, "cgroup {}", cgroup.escape_default()),
        }
    }
}

impl Owner {
    pub fn of_cgroup(cgroup: &str) -> Owner {
        let user = fovea_apps::owner_of_cgroup(cgroup).filter(|&uid| uid != 0);
        user.map_or_else(|| Owner::Cgroup(cgroup.to_owned()), Owner::User)
    }

    /// Of a process; `None` if it has ended. Of /proc only files are read that never wait: see [`super::inspect`].
    pub fn of_process(pid: u32) -> Option<Owner> {
        let mut text = Vec::new();
        crate::file::read_into(Path::new(&format!("/proc/{pid}/cgroup")), &mut text).ok()?;
        let cgroup = crate::cgroup::parse_membership(&text);
        match (cgroup.as_deref().map(Owner::of_cgroup), crate::process::user_of_process(pid)?) {
            (Some(Owner::User(uid)), _) => Some(Owner::User(uid)),
            (Some(of_cgroup), 0) => Some(of_cgroup),
            (None, 0) => Some(Owner::Cgroup(String::new())),
            (_, uid) => Some(Owner::User(uid)),
        }
    }
}

#[derive(Debug)]
struct Blame {
    /// For how long others are waited for on behalf of this owner.
    waited: Waited,
    /// Until when all of them are passed over.
    until: Option<Instant>,
    /// Until when each of those is at which a probe hung.
    held_up: BTreeMap<u32, Instant>,
    next: Duration,
    was_said: bool,
}

impl Blame {
    /// Until when anything is passed over.
    fn last(&self) -> Option<Instant> {
        self.held_up.values().copied().chain(self.until).max()
    }
}

/// What is known of owners.
#[derive(Debug)]
pub(super) struct Blames {
    limit: Duration,
    of: BTreeMap<Owner, Blame>,
}

impl Blames {
    /// `limit` is for how long an answer is waited for.
    pub fn new(limit: Duration) -> Blames {
        Blames { limit, of: BTreeMap::new() }
    }

    fn entry(&mut self, owner: &Owner) -> &mut Blame {
        if self.of.len() >= KNOWN_MAX {
            let now = Instant::now();
            self.of.retain(|_, blame| blame.last().is_some_and(|until| until > now));
        }
        let limit = self.limit;
        self.of.entry(owner.clone()).or_insert_with(|| Blame {
            waited: Waited::full(2 * limit),
            until: None,
            held_up: BTreeMap::new(),
            next: FIRST,
            was_said: false,
        })
    }

    /// A probe hung at a process of this owner's, if that is known, or at all of them; says whether that is to be said, which it is the first
    /// time of all that follow.
    pub fn add(&mut self, owner: &Owner, process: Option<u32>) -> bool {
        let now = Instant::now();
        let most = Duration::from_secs(PROBE_BLAMED_S.into());
        let blame = self.entry(owner);
        // Long ago: as if it never had.
        if blame.last().is_some_and(|until| until + most < now) {
            blame.held_up.clear();
            (blame.next, blame.was_said) = (FIRST, false);
        }
        let until = now + blame.next;
        blame.next = (blame.next * 2).min(most);
        match process.filter(|pid| blame.held_up.len() < HELD_UP_MAX || blame.held_up.contains_key(pid)) {
            Some(pid) => drop(blame.held_up.insert(pid, until)),
            None => blame.until = Some(until),
        }
        !std::mem::replace(&mut blame.was_said, true)
    }

    /// The processes of this owner that are passed over now.
    pub fn held_up(&self, owner: &Owner) -> Vec<u32> {
        let now = Instant::now();
        let held_up = self.of.get(owner).into_iter().flat_map(|blame| &blame.held_up);
        held_up.filter(|(_, until)| **until > now).map(|(pid, _)| *pid).collect()
    }

    /// Those that are passed over now.
    pub fn passed_over(&self) -> Vec<Owner> {
        let now = Instant::now();
        let is_blamed = |blame: &Blame| blame.until.is_some_and(|until| until > now);
        self.of.iter().filter(|(_, blame)| is_blamed(blame)).map(|(owner, _)| owner.clone()).collect()
    }

    pub fn is_passed_over(&self, owner: &Owner) -> bool {
        self.of.get(owner).and_then(|blame| blame.until).is_some_and(|until| until > Instant::now())
    }

    /// For how long an answer about this owner may be waited for now, none if not at all: each may come at the last moment.
    pub fn may_wait(&mut self, owner: &Owner) -> Option<Duration> {
        let limit = self.limit;
        let left = self.of.get_mut(owner).map_or(Some(limit), |blame| blame.waited.may_wait(2 * limit));
        left.map(|left| left.min(limit))
    }

    /// For so long others were waited for in an answer about this owner.
    pub fn spend(&mut self, owner: &Owner, waited: Duration) {
        // What any answer takes is no sign of anything, and need not be remembered.
        if waited > self.limit / 20 || self.of.contains_key(owner) {
            self.entry(owner).waited.spend(waited);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_holds_a_probe_up_again_is_passed_over_for_longer() {
        let (mut blames, user) = (Blames::new(Duration::from_millis(40)), Owner::User(1000));
        assert!(blames.add(&user, None));
        assert!(blames.is_passed_over(&user) && !blames.is_passed_over(&Owner::User(1001)));
        assert!(!blames.add(&user, None), "said once");
        assert_eq!(blames.of[&user].next, 4 * FIRST);
        for _ in 0..10 {
            blames.add(&user, None);
        }
        assert_eq!(blames.of[&user].next, Duration::from_secs(PROBE_BLAMED_S.into()));
        assert_eq!(blames.passed_over(), [user]);
    }

    #[test]
    fn of_an_owner_with_few_such_processes_the_others_are_looked_into() {
        let (mut blames, user) = (Blames::new(Duration::from_millis(40)), Owner::User(1000));
        for pid in 1..=HELD_UP_MAX as u32 {
            blames.add(&user, Some(pid));
            blames.add(&user, Some(1));
        }
        assert_eq!(blames.held_up(&user), [1, 2, 3, 4]);
        assert!(!blames.is_passed_over(&user));
        blames.add(&user, Some(77));
        assert!(blames.is_passed_over(&user));
    }

    #[test]
    fn a_subuid_of_a_namespace_is_its_users_and_a_service_is_itself() {
        let app = "user.slice/user-1000.slice/user@1000.service/app.slice/app-x-1.scope";
        assert_eq!(Owner::of_cgroup(app), Owner::User(1000));
        assert_eq!(Owner::of_cgroup("system.slice/cups.service"), Owner::Cgroup("system.slice/cups.service".into()));
        assert_eq!(Owner::of_process(u32::MAX), None);
    }

    #[test]
    fn answers_at_the_last_moment_are_waited_for_a_part_of_the_time() {
        let (mut blames, user) = (Blames::new(Duration::from_millis(40)), Owner::User(1000));
        blames.spend(&user, Duration::from_millis(39));
        assert!(blames.may_wait(&user).is_some());
        blames.spend(&user, Duration::from_millis(39));
        assert_eq!(blames.may_wait(&user), None);
        assert_eq!(blames.may_wait(&Owner::User(1001)), Some(Duration::from_millis(40)));
    }
}
