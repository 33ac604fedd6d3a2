// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reads, while nothing starts or ends, what the apps that are likely to be next would read cold.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use fovea_apps::AppName;
use fovea_linux::launch::{self, AppUser};
use fovea_linux::Root;

use crate::files::{battery_is_low, today, Wanted};
use crate::keep::Keeper;

/// Of so many apps at most.
const APPS_MAX: usize = 5;

/// So many apps of a user are remembered: the daemon names no more,
const APPS_OF_USER_MAX: usize = 16;

/// and of so many users.
const USERS_MAX: usize = 16;

/// Read for a user in a day, starts counted in, beyond which nothing is read ahead: 1 GiB.
const DAY_MAX_BYTES: u64 = 1 << 30;

/// Who started which app, since this program began: with nobody's rights nothing is read.
#[derive(Default)]
pub struct Users(BTreeMap<u32, VecDeque<(AppName, String, AppUser)>>);

impl Users {
    /// An app is started. Of a user with many, the one started longest ago makes room; nobody else's does.
    pub fn note(&mut self, name: AppName, label: &str, user: AppUser) {
        if self.0.len() >= USERS_MAX && !self.0.contains_key(&user.uid) {
            return;
        }
        let own = self.0.entry(user.uid).or_default();
        own.retain(|(known, ..)| *known != name);
        own.push_back((name, label.to_owned(), user));
        if own.len() > APPS_OF_USER_MAX {
            own.pop_front();
        }
    }

    /// Who started an app: label and rights, of each user who did.
    fn of<'a>(&'a self, name: &'a AppName) -> impl Iterator<Item = (&'a str, &'a AppUser)> {
        let own = self.0.values().flat_map(move |own| own.iter().filter(move |(known, ..)| known == name));
        own.map(|(_, label, user)| (label.as_str(), user))
    }
}

/// Reads it. An error is a line for people.
pub fn read(root: &Root, keeper: &Keeper, run_folder: &Path, users: &Users) -> Result<(), String> {
    if battery_is_low(root) {
        return Ok(());
    }
    launch::work_idly();
    let status = fovea_client::status(run_folder, 0, Some(0)).map_err(|e| e.to_string())?;
    let likely = status.expected.iter().flat_map(|expected| users.of(&expected.name));
    for (label, user) in likely.take(APPS_MAX) {
        let store = keeper.read(user.uid)?;
        let wanted = Wanted::of(&store, label, user)?;
        let left = store.left_today(today(), DAY_MAX_BYTES / launch::page_bytes());
        if !store.app(label).is_some_and(|app| app.may_ahead(wanted.expected_pages)) {
            continue;
        }
        let done = wanted.read(root, left, plenty);
        if done.pages > 0 {
            keeper.change(user.uid, |store| {
                store.spend(today(), done.pages);
                store.app_mut(label).ahead.reads(done.pages);
            })?;
        }
        if done.short {
            break;
        }
    }
    Ok(())
}

/// Pages that are to stay available: reading ahead is for memory that nobody misses.
fn plenty(total: u64) -> u64 {
    total / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_apps_of_one_user_push_out_no_other_users() {
        let user = |uid: u32| {
            let text = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nGid:\t1\t1\t1\t1\nGroups:\t1\n");
            AppUser::parse(text.as_bytes()).unwrap()
        };
        let mut users = Users::default();
        users.note("mail".parse().unwrap(), "mail", user(1000));
        for nth in 0..10_000 {
            let name = format!("fake-{nth}");
            users.note(name.parse().unwrap(), &name, user(1001));
        }
        let knows = |name: &str| users.of(&name.parse().unwrap()).count();
        assert_eq!((knows("mail"), knows("fake-0"), knows("fake-9999")), (1, 0, 1));
        assert_eq!(users.0[&1001].len(), APPS_OF_USER_MAX);
    }
}
