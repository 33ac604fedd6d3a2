// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is frozen, thawed, and left alone.

use fovea_apps::{Importance, Standing};
use fovea_policy::*;

use super::{done, freezing, household, only_step, phone, MB, SECOND_NS};

#[test]
fn background_apps_are_frozen_after_the_debounce_and_thawed_when_needed() {
    let config = freezing();
    let mut s = phone(300, 100, 0, household());
    s.apps[3].frozen = false;
    s.apps[3].background_since_ns = s.now_ns - 4 * SECOND_NS;
    assert_eq!(decide(&s, &config).wake_at_ns, Some(s.now_ns + 6 * SECOND_NS));
    s.now_ns += 6 * SECOND_NS;
    let d = decide(&s, &config);
    assert_eq!(d.actions, [(Action::Freeze { app: "old-hidden".parse().unwrap() }, Reason::Background)]);
    s.apps[3].frozen = true;
    s.apps[3].importance = Importance::Foreground;
    assert_eq!(decide(&s, &config).actions, [(Action::Thaw { app: "old-hidden".parse().unwrap() }, Reason::Needed)]);
    let never = Config { freeze: FreezeConfig { debounce_ms: 0, ..config.freeze.clone() }, ..config.clone() };
    s.apps[3].importance = Importance::Hidden;
    assert!(decide(&s, &never).actions.iter().any(|(a, _)| matches!(a, Action::Thaw { .. })), "off means off");
}

#[test]
fn while_nobody_tells_who_is_in_front_all_are_left_alone_and_the_frozen_thawed() {
    let mut s = phone(300, 100, 0, household());
    s.screen_on = false;
    s.focus_told = false;
    let d = decide(&s, &freezing());
    let thawed: Vec<_> =
        d.actions.iter().map(|(a, r)| (a.app().as_str(), matches!(a, Action::Thaw { .. }), *r)).collect();
    let names = ["old-hidden", "new-hidden", "old-empty", "new-empty"];
    assert_eq!(thawed, names.map(|n| (n, true, Reason::Untold)), "and nothing is compressed ahead");
    assert_eq!(d.wake_at_ns, None);
    // Short of memory: what the user closed may go, what is only hidden may be in front for all we know.
    s.apps.iter_mut().for_each(|a| a.frozen = false);
    (s.memory.free_bytes, s.memory.file_bytes) = (10 * MB, 10 * MB);
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
    s.apps = done(s.apps, &["old-empty", "new-empty"]);
    assert_eq!(only_step(&s), None);
}

#[test]
fn by_default_nobody_is_frozen_and_an_app_that_was_never_seen_is_not_either() {
    let mut s = phone(300, 100, 0, household());
    s.apps.iter_mut().for_each(|a| a.frozen = false);
    assert_eq!(decide(&s, &Config::default()).actions, []);
    s.apps.iter_mut().for_each(|a| a.seen = false);
    let d = decide(&s, &freezing());
    assert_eq!((d.actions, d.wake_at_ns), (vec![], None));
    let config = FreezeConfig { classes: vec![Importance::Empty, Importance::Visible], ..FreezeConfig::default() };
    assert!(config.check().is_err());
}

#[test]
fn what_its_owner_protects_lives_thawed_and_that_nobody_else_is_left_is_said() {
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut s = phone(10, 10, 100, done(household(), &all));
    s.apps.retain(|a| a.importance == Importance::Foreground || a.importance >= Importance::Hidden);
    s.apps[1..].iter_mut().for_each(|a| a.standing = Standing::Protect);
    let d = decide(&s, &freezing());
    let thawed: Vec<_> = d.actions.iter().map(|(a, _)| (a.app().as_str(), matches!(a, Action::Thaw { .. }))).collect();
    assert_eq!(thawed, ["old-hidden", "new-hidden", "old-empty", "new-empty"].map(|name| (name, true)));
    assert!(d.only_listed, "nobody else of those classes is there");
    s.apps.iter_mut().for_each(|a| a.frozen = false);
    assert!(decide(&s, &freezing()).only_listed, "and they stay thawed: {:?}", decide(&s, &freezing()));
    s.memory.stalled_us = 0;
    assert!(!decide(&s, &freezing()).only_listed, "nobody waits");
    s.memory.stalled_us = 1;
    s.apps[4].standing = Standing::Plain;
    s.apps[4].frozen = true;
    let d = decide(&s, &freezing());
    assert!(!d.only_listed && matches!(&d.actions[..], [(Action::Kill { app }, _)] if app.as_str() == "new-empty"));
    s.apps[4].standing = Standing::Ignore;
    s.memory = phone(10, 10, 0, vec![]).memory;
    s.apps.iter_mut().for_each(|a| (a.exhausted, a.frozen) = (false, false));
    assert_eq!(
        only_step(&s),
        Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)),
        "protected is not resident"
    );
    s.apps.retain(|a| a.importance != Importance::Hidden && a.name.as_str() != "old-empty");
    assert_eq!(only_step(&s), None, "no action whatever");
}
