// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The registry against what a user would say is in front.

use super::*;
use crate::Place;
use proptest::prelude::*;

const A: Option<SourceId> = Some(1);
const B: Option<SourceId> = Some(2);

fn name(text: &str) -> AppName {
    text.parse().unwrap()
}

fn registry(names: &[&str]) -> Registry {
    let mut registry = Registry::default();
    for text in names {
        registry.insert(name(text), format!("apps/{text}"), Role::App, None);
    }
    registry
}

fn importance(r: &Registry, n: &str) -> Importance {
    r.importance(r.get(&name(n)).unwrap())
}

#[test]
fn a_left_app_is_hidden_and_a_closed_one_empty() {
    let mut r = registry(&["mail", "game"]);
    r.focus(A, &name("mail"), 0).unwrap();
    r.focus(A, &name("game"), 0).unwrap();
    assert_eq!(importance(&r, "mail"), Importance::Hidden);
    assert_eq!(importance(&r, "game"), Importance::Foreground);
    r.close(&name("game")).unwrap();
    assert_eq!(importance(&r, "game"), Importance::Empty);
    assert_eq!(r.foreground(), None);
    r.focus(A, &name("game"), 0).unwrap();
    assert_eq!(importance(&r, "game"), Importance::Foreground);
}

#[test]
fn what_can_be_seen_beside_the_app_in_front_is_visible() {
    let mut r = registry(&["mail", "game", "maps"]);
    r.close(&name("maps")).unwrap();
    let shown = [name("mail"), name("maps"), name("nope")].into();
    r.show(A, Some(name("game")), shown, 0);
    assert_eq!(importance(&r, "game"), Importance::Foreground);
    assert_eq!(importance(&r, "mail"), Importance::Visible);
    assert_eq!(importance(&r, "maps"), Importance::Visible, "open again");
    r.show(A, None, BTreeSet::new(), 0);
    assert_eq!(importance(&r, "maps"), Importance::Hidden);
    assert!(r.get(&name("mail")).unwrap().seen);
}

#[test]
fn each_source_has_a_screen_and_takes_it_along_when_it_goes() {
    let mut r = registry(&["mail", "game"]);
    r.focus(A, &name("mail"), 0).unwrap();
    r.focus(B, &name("game"), 0).unwrap();
    assert_eq!(importance(&r, "mail"), Importance::Foreground);
    assert_eq!(importance(&r, "game"), Importance::Foreground);
    r.leave(1);
    assert_eq!(importance(&r, "mail"), Importance::Hidden);
    assert!(r.has_source());
    r.leave(2);
    assert!(!r.has_source());
    assert_eq!(importance(&r, "game"), Importance::Foreground, "a guess remains");
    r.unfocus(A, 0);
    assert_eq!(importance(&r, "game"), Importance::Hidden);
}

#[test]
fn a_word_of_nobody_who_stays_counts_only_where_no_source_lives() {
    let mut r = registry(&["mail", "game"]);
    r.focus(None, &name("mail"), 0).unwrap();
    assert_eq!((importance(&r, "mail"), r.has_source()), (Importance::Foreground, false));
    r.focus(A, &name("game"), 0).unwrap();
    assert_eq!(importance(&r, "mail"), Importance::Hidden);
    r.focus(None, &name("mail"), 0).unwrap();
    assert_eq!(importance(&r, "mail"), Importance::Hidden);
    assert_eq!(importance(&r, "game"), Importance::Foreground);
}

#[test]
fn what_comes_to_the_front_is_counted_once_however_often_and_by_whomever_it_is_said() {
    let mut r = registry(&["mail", "game"]);
    let uses = |r: &Registry| r.get(&name("mail")).unwrap().uses;
    r.focus(None, &name("mail"), 0).unwrap();
    assert_eq!(uses(&r), 1);
    r.focus(A, &name("game"), 0).unwrap();
    r.focus(None, &name("mail"), 0).unwrap();
    assert_eq!(uses(&r), 1, "where a source lives a guess counts for nothing");
    r.focus(A, &name("mail"), 0).unwrap();
    r.focus(A, &name("mail"), 0).unwrap();
    assert_eq!(uses(&r), 2);
    r.unfocus(A, 0);
    r.show(A, Some(name("mail")), BTreeSet::new(), 0);
    assert_eq!(uses(&r), 3);
}

fn unit<'a>(label: &str, uid: u32, cgroup: &'a str) -> Placed<'a> {
    Placed { place: Place::App, unit: cgroup, label: label.to_owned(), owner: Some(uid) }
}

#[test]
fn two_users_firefox_are_two_apps_and_neither_takes_the_others_place() {
    let mut r = Registry::default();
    let found = |r: &mut Registry, uid, cgroup: &str| r.discover(&unit("firefox", uid, cgroup), None).map(String::from);
    assert_eq!(found(&mut r, 1000, "a/1").as_deref(), Some("firefox"));
    r.focus(A, &name("firefox"), 0).unwrap();
    assert_eq!(found(&mut r, 1001, "b/1").as_deref(), Some("firefox@1001"));
    assert_eq!(found(&mut r, 1001, "b/2").as_deref(), Some("firefox@1001-2"));
    assert_eq!(found(&mut r, 1001, "b/2"), None, "known");
    assert_eq!(r.get(&name("firefox")).unwrap().cgroup, "a/1");
    assert_eq!(importance(&r, "firefox"), Importance::Foreground);
    let long = "x".repeat(64);
    let found = ["c/1", "c/2"].map(|cgroup| r.discover(&unit(&long, u32::MAX, cgroup), None).unwrap());
    assert_ne!(found[0], found[1]);
}

#[test]
fn a_found_app_without_a_window_works_for_somebody_once_sources_would_tell_of_one() {
    let mut r = registry(&["said"]);
    r.discover(&unit("found", 1, "a/1"), None).unwrap();
    assert_eq!(importance(&r, "found"), Importance::Hidden);
    r.unfocus(A, 0);
    assert_eq!(importance(&r, "found"), Importance::Service);
    assert_eq!(importance(&r, "said"), Importance::Hidden);
    r.focus(A, &name("found"), 0).unwrap();
    r.unfocus(A, 0);
    assert_eq!(importance(&r, "found"), Importance::Hidden);
}

#[test]
fn unknown_apps_are_refused_and_change_nothing() {
    let mut r = registry(&["mail"]);
    r.focus(A, &name("mail"), 0).unwrap();
    assert_eq!(r.focus(A, &name("nope"), 0), Err(Unknown(name("nope"))));
    assert_eq!(r.foreground(), Some(&name("mail")));
}

#[test]
fn a_role_outranks_being_closed() {
    let mut r = Registry::default();
    r.insert(name("ime"), "apps/ime".into(), Role::Visible, None);
    r.close(&name("ime")).unwrap();
    assert_eq!(importance(&r, "ime"), Importance::Visible);
}

const SECOND_NS: u64 = 1_000_000_000;

/// Brings apps to the front for a second each, `-` for the home screen; those in brackets for 0.2 s.
fn visit(r: &mut Registry, apps: &str) {
    // After all that went before.
    let mut now_ns = r.focus_seq * 100 * SECOND_NS;
    for text in apps.split(' ') {
        let passed_by = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        match passed_by.unwrap_or(text) {
            "-" => r.unfocus(A, now_ns),
            text => r.focus(A, &name(text), now_ns).unwrap(),
        }
        now_ns += if passed_by.is_some() { SECOND_NS / 5 } else { SECOND_NS };
    }
}

#[test]
fn whoever_goes_to_and_fro_is_told_from_whoever_goes_through_many() {
    let start = Registry::default().goes_back_permille();
    let after = |apps: &str| {
        let mut r = registry(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        visit(&mut r, apps);
        r.goes_back_permille()
    };
    assert_eq!(after("a"), start, "nothing to go back to");
    assert!(after("a b a b a b") > 700);
    assert!(after("a - a - a - a") > 600, "by way of the home screen");
    assert_eq!(after("a a a a b b b b"), start, "what is in front was not left");
    assert!(after("a b - a") < after("a b - b"), "it was b that was left last");
    let turns = "a b c d e f g h a b c d e f g h";
    assert!(after(turns) * 7 < 1000, "less than to any of seven");
    assert!(after(&format!("{turns} g h g")) * 7 > 1000, "and soon more again");
}

#[test]
fn one_to_go_back_to_is_an_app_that_was_not_closed() {
    let mut r = registry(&["a", "b", "c"]);
    r.insert(name("ime"), "apps/ime".into(), Role::Visible, None);
    let start = Registry::default().goes_back_permille();
    visit(&mut r, "a b ime b ime b");
    assert!(r.goes_back_permille() > start, "a keyboard is not gone back to");
    let mut r = registry(&["a", "b", "c"]);
    visit(&mut r, "a b");
    r.close(&name("b")).unwrap();
    visit(&mut r, "a");
    assert!(r.goes_back_permille() > start, "b was closed, so a was left last");
    // Ended, and started again by its name.
    let mut r = registry(&["a", "b"]);
    visit(&mut r, "a b");
    r.remove(&name("a"));
    r.insert(name("a"), "apps/a".into(), Role::App, None);
    visit(&mut r, "a");
    assert!(r.goes_back_permille() > start);
}

#[test]
fn what_the_pointer_crosses_or_lies_on_the_way_is_not_visited() {
    let after = |apps: &str| {
        let mut r = registry(&["a", "b", "c", "d"]);
        visit(&mut r, apps);
        let returns: BTreeMap<_, _> = r.returns_permille().into_iter().map(|(name, r)| (name.to_string(), r)).collect();
        (returns, r.goes_back_permille())
    };
    assert_eq!(after("a b (c) a (c) b"), after("a b a b"), "to another");
    assert_eq!(after("a b (c) (d) b (a) b c"), after("a b c"), "and back");
    assert_eq!(after("a b - (c) - (d) a"), after("a b - a"), "by way of the home screen");
    assert_eq!(after("(a) (b) (a) (b) c"), after("c"));
    assert_ne!(after("a b c a c b"), after("a b a b"));
    let mut r = registry(&["a", "b", "c"]);
    visit(&mut r, "a b (c)");
    r.close(&name("b")).unwrap();
    r.focus(A, &name("a"), 2 * SECOND_NS + SECOND_NS / 4).unwrap();
    let closed_meanwhile = r.returns_permille()[&name("b")];
    r.show(A, Some(name("a")), [name("b")].into(), 4 * SECOND_NS);
    assert!(r.returns_permille()[&name("b")] > closed_meanwhile, "it is on the screen again, and open");
}

proptest! {
    /// Reference: the list of all that was in front for half a second.
    #[test]
    fn going_back_is_counted_as_in_a_list_of_all_visits(
        steps in prop::collection::vec((0usize..5, prop_oneof![2 => Just(SECOND_NS), 1 => Just(SECOND_NS / 5)]), 0..60),
    ) {
        let names = ["a", "b", "c", "d"];
        let mut r = registry(&names);
        let mut now_ns = 0;
        // What was shown from when on; the same twice is one.
        let mut shown: Vec<(Option<&str>, u64)> = vec![(None, 0)];
        for (app, lasts_ns) in steps {
            let app = names.get(app).copied();
            match app {
                Some(app) => r.focus(A, &name(app), now_ns).unwrap(),
                None => r.unfocus(A, now_ns),
            }
            if shown.last().unwrap().0 != app {
                shown.push((app, now_ns));
            }
            now_ns += lasts_ns;
        }
        let ends_ns = shown.iter().skip(1).map(|&(_, since_ns)| since_ns).chain([u64::MAX]);
        let long = shown.iter().zip(ends_ns).filter(|((app, since_ns), end_ns)| app.is_none() || end_ns - since_ns >= SECOND_NS / 2);
        let (mut list, mut share, mut home) = (Vec::new(), 0.5, true);
        for ((app, _), _) in long {
            let Some(text) = *app else {
                home = true;
                continue;
            };
            if list.last() == Some(&text) && !home {
                continue;
            }
            let apart: Vec<_> = list.iter().copied().filter(|&other| home || Some(&other) != list.last()).collect();
            if let Some(&left) = apart.last() {
                share = share * 7.0 / 8.0 + if left == text { 1.0 / 8.0 } else { 0.0 };
            }
            list.push(text);
            home = false;
        }
        prop_assert!((f64::from(r.goes_back_permille()) - share * 1000.0).abs() < 2.0);
    }

    #[test]
    fn names_never_leave_their_folder(text in ".{0,80}") {
        if let Ok(name) = text.parse::<AppName>() {
            prop_assert!(!name.as_str().contains('/'));
            prop_assert!(name.as_str() != ".." && name.as_str() != "." && !name.as_str().is_empty());
        }
    }

    #[test]
    fn a_source_has_at_most_one_app_in_front(ops in prop::collection::vec((0u8..7, 0usize..4, 0u64..3), 0..60)) {
        let names = ["a", "b", "c", "d"];
        let mut r = registry(&names);
        for (op, i, source) in ops {
            let n = name(names[i]);
            let source_or_none = (source > 0).then_some(source);
            match op {
                0 => drop(r.focus(source_or_none, &n, 0)),
                1 => drop(r.close(&n)),
                2 => r.unfocus(source_or_none, 0),
                3 => drop(r.remove(&n)),
                4 => r.leave(source),
                5 => r.show(source_or_none, Some(n), [name(names[(i + 1) % 4])].into(), 0),
                _ => r.insert(n, "x".into(), Role::App, None),
            }
            let front = r.iter().filter(|a| r.importance(a) == Importance::Foreground).count();
            prop_assert!(front <= r.by_source.len().max(1));
            prop_assert_eq!(front > 0, r.foreground().is_some());
            prop_assert!(r.iter().all(|a| a.seen || r.importance(a) >= Importance::Hidden));
        }
    }
}
