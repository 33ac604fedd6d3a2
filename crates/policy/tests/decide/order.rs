// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whose kill failed, who stays for a while, and who is not worth the file cache.

use fovea_apps::Importance;
use fovea_policy::memory::{decide, MemoryConfig, SecondLevel};
use fovea_policy::{Action, AppState, Reason, Snapshot};

use crate::{app, done, freezing, household, only_step, phone, MB, SECOND_NS};

/// Who is compressed.
fn compressed(snapshot: &Snapshot) -> Option<Reason> {
    let decision = decide(snapshot, &freezing().memory);
    decision
        .actions
        .into_iter()
        .find_map(|(action, reason)| matches!(action, Action::Compress { .. }).then_some(reason))
}

/// Who is killed.
fn killed(snapshot: &Snapshot) -> Option<(String, Reason)> {
    let decision = decide(snapshot, &freezing().memory);
    let mut kills = decision.actions.into_iter().filter(|(action, _)| matches!(action, Action::Kill { .. }));
    kills.next().map(|(action, reason)| (action.app().to_string(), reason))
}

#[test]
fn an_open_app_that_was_just_left_is_compressed_only_in_place_of_a_kill() {
    let step = |free_mb, left_s: u64, file_mb| {
        let mut left = app("left", Importance::Hidden, 8, 40);
        left.background_since_ns = (100 - left_s) * SECOND_NS;
        compressed(&phone(free_mb, file_mb, 0, vec![app("front", Importance::Foreground, 9, 60), left]))
    };
    let hidden = Some(Reason::ShortOfMemoryHidden);
    assert_eq!(step(20, 5, 40), None, "memory is merely short");
    assert_eq!(step(20, 12, 40), hidden);
    assert_eq!(step(20, 5, 30), hidden, "a closed app would be killed now");
    assert_eq!(step(7, 5, 40), hidden, "whoever allocates now waits");
    let mut closed = app("left", Importance::Empty, 8, 40);
    closed.background_since_ns = 99 * SECOND_NS;
    let closed = compressed(&phone(20, 40, 0, vec![closed]));
    assert_eq!(closed, Some(Reason::ShortOfMemoryEmpty), "nobody comes back to it");
}

/// Of 40 MB, what its return touched.
fn returned(name: &str, importance: Importance, focus_seq: u64) -> AppState {
    AppState { returned: true, looked_through: true, swap_bytes: 20 * MB, ..app(name, importance, focus_seq, 20) }
}

#[test]
fn what_nobody_is_known_to_need_goes_before_what_a_return_touched() {
    let next = |apps| only_step(&phone(7, 10, 0, apps)).map(|(step, _)| step);
    let mut apps = vec![
        app("front", Importance::Foreground, 9, 60),
        returned("closed", Importance::Empty, 1),
        app("left", Importance::Hidden, 8, 40),
        returned("left-before", Importance::Hidden, 2),
    ];
    for expected in ["compress left", "compress closed", "compress left-before"] {
        assert_eq!(next(apps.clone()).as_deref(), Some(expected));
        apps.retain(|a| !expected.ends_with(a.name.as_str()));
    }
    apps.push(AppState { swap_bytes: 5 * MB, ..returned("half-back", Importance::Empty, 3) });
    apps.push(AppState { looked_through: false, ..returned("half-taken", Importance::Empty, 2) });
    apps.push(app("left", Importance::Hidden, 1, 40));
    assert_eq!(next(apps.clone()).as_deref(), Some("compress half-taken"), "nobody has come to its end");
    apps.retain(|a| a.name.as_str() != "half-taken");
    assert_eq!(next(apps).as_deref(), Some("compress half-back"), "most of it is resident again, and nobody knows why");
}

#[test]
fn what_returns_touched_stays_until_somebody_waits_and_of_what_was_just_left_until_free_memory_is_nearly_gone() {
    let step = |importance, free_mb, left_s: u64| {
        let left = AppState { background_since_ns: (100 - left_s) * SECOND_NS, ..returned("left", importance, 8) };
        compressed(&phone(free_mb, 10, 0, vec![app("front", Importance::Foreground, 9, 60), left]))
    };
    for (importance, reason) in
        [(Importance::Hidden, Reason::ShortOfMemoryHidden), (Importance::Empty, Reason::ShortOfMemoryEmpty)]
    {
        assert_eq!(step(importance, 5, 5), None, "the other one's return needs no more than this");
        assert_eq!(step(importance, 3, 5), Some(reason), "the kernel takes from anybody now");
        assert_eq!(step(importance, 9, 12), None, "free memory is for the next start, this for the next return");
        assert_eq!(step(importance, 7, 12), Some(reason), "whoever allocates now waits");
    }
}

#[test]
fn with_swap_full_a_closed_app_dies_for_the_file_cache_and_an_open_one_does_not() {
    let exhausted = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let step = |zram_used_mb, apps| only_step(&phone(20, 40, zram_used_mb, apps));
    assert_eq!(step(100, household()), Some(("kill new-empty".into(), Reason::SwapFull)));
    assert_eq!(step(50, done(household(), &exhausted)), None, "swap has room: the kernel can still move what is idle");
    let mut open = household();
    open.retain(|a| a.importance < Importance::Empty);
    assert_eq!(step(100, open), None);
    let mut plenty = phone(20, 60, 100, household());
    plenty.memory.available_bytes = 80 * MB;
    assert_eq!(only_step(&plenty), None, "there is file cache to shrink");
}

/// A phone with little left, before anybody waits.
fn little_left(available_mb: u64, zram_used_mb: u64, apps: Vec<AppState>) -> Snapshot {
    let mut s = phone(60, 60, zram_used_mb, apps);
    (s.memory.available_bytes, s.memory.total_bytes, s.memory.stalled_us) = (available_mb * MB, 512 * MB, 0);
    s
}

const TENTH_MB: u64 = 51;

#[test]
fn with_swap_nearly_full_background_apps_die_before_files_are_read_again_and_again() {
    let step = |available_mb, used_mb, apps| killed(&little_left(available_mb, used_mb, apps));
    let full = |app: &str| Some((app.to_owned(), Reason::SwapFull));
    assert_eq!(step(TENTH_MB, 100, household()), full("new-empty"), "nobody waits yet");
    assert_eq!(
        step(TENTH_MB, 98, done(household(), &["old-empty", "new-empty", "old-hidden", "new-hidden"])),
        full("new-empty"),
        "a fiftieth of swap is left"
    );
    assert_eq!(step(TENTH_MB + 1, 100, household()), None);
    assert_eq!(step(TENTH_MB, 50, household()), None, "what is idle can still move");
    let mut open = household();
    open.retain(|a| a.importance < Importance::Empty);
    assert_eq!(step(TENTH_MB, 100, open.clone()), full("new-hidden"), "one left long ago is worth less than files");
    let desktop = MemoryConfig { minfree_pages: None, ..freezing().memory };
    let decision = decide(&little_left(TENTH_MB, 100, open.clone()), &desktop);
    let ends = |(action, _): &(Action, Reason)| matches!(action, Action::Kill { .. } | Action::Ask { .. });
    assert!(!decision.actions.iter().any(ends), "a desktop's apps hold what nobody saved");
    open.retain(|a| a.importance < Importance::Hidden);
    assert_eq!(step(TENTH_MB, 100, open), None, "what is in use is worth more");
}

/// A phone whose evicted file pages come back from reserved memory killed two apps for files in a day in which Android's ladder killed none.
#[test]
fn nobody_dies_for_files_while_the_ecache_has_room_for_them_and_serves() {
    let with = |usable_mb: u64, hit_permille| {
        let mut s = little_left(TENTH_MB, 100, household());
        s.memory.second_level = Some(SecondLevel { usable_bytes: usable_mb * MB, hit_permille });
        s
    };
    let dies = Some(("new-empty".to_owned(), Reason::SwapFull));
    assert_eq!(killed(&with(90, 170)), None);
    assert_eq!(killed(&with(0, 170)), dies, "devices hold it");
    assert_eq!(killed(&with(90, 10)), dies, "what is evicted is read from flash all the same");
    let mut short = with(90, 170);
    (short.memory.free_bytes, short.memory.file_bytes, short.memory.stalled_us) = (14 * MB, 14 * MB, 9000);
    assert_eq!(killed(&short), dies, "memory itself is short");
}

#[test]
fn while_nobody_tells_who_is_in_front_only_closed_apps_die_for_files() {
    let mut s = little_left(TENTH_MB, 100, household());
    s.focus_told = false;
    assert_eq!(killed(&s), Some(("new-empty".into(), Reason::SwapFull)));
    s.apps.retain(|a| a.importance < Importance::Empty);
    assert_eq!(killed(&s), None);
}

#[test]
fn what_was_just_left_dies_last() {
    let left = |name: &str, importance, left_s: u64| {
        let background_since_ns = (100 - left_s) * SECOND_NS;
        AppState { background_since_ns, ..app(name, importance, 5, 90) }
    };
    let old = left("old", Importance::Hidden, 60);
    let just = left("just", Importance::Empty, 5);
    assert_eq!(killed(&little_left(TENTH_MB, 100, vec![just.clone(), old])), Some(("old".into(), Reason::SwapFull)));
    let lately = left("lately", Importance::Hidden, 59);
    assert_eq!(killed(&little_left(TENTH_MB, 100, vec![lately.clone()])), None, "it was in use within a minute");
    let mut stalled = little_left(TENTH_MB, 100, vec![lately.clone()]);
    stalled.memory.stalled_us = 9000;
    assert_eq!(killed(&stalled), None, "and reclaim at work is no reason");
    let mut short = phone(14, 14, 100, vec![lately.clone()]);
    assert_eq!(killed(&short), Some(("lately".into(), Reason::SwapFull)), "memory is short");
    (short.memory.free_bytes, short.memory.file_bytes, short.memory.total_bytes) = (30 * MB, 30 * MB, 512 * MB);
    short.memory.available_bytes = 512 * MB / 12;
    assert_eq!(killed(&short), None, "of closed apps only");
    short.memory.available_bytes -= 1;
    assert_eq!(killed(&short), Some(("lately".into(), Reason::SwapFull)), "every return reads its files anew");
    let alone = little_left(TENTH_MB, 100, vec![just.clone()]);
    assert_eq!(killed(&alone), None, "files are not worth it");
    let two = vec![just.clone(), left("last", Importance::Hidden, 4)];
    assert_eq!(killed(&little_left(TENTH_MB, 100, two)), Some(("just".into(), Reason::SwapFull)), "one is spared");
    let kill = Some(("just".to_owned(), Reason::SwapFull));
    let mut waiting = phone(10, 10, 100, vec![just.clone()]);
    assert_eq!(killed(&waiting), kill, "somebody waits for it");
    waiting.memory.stalled_us = 0;
    assert_eq!(killed(&waiting), None);
    let mut nothing = phone(4, 4, 100, vec![just.clone()]);
    nothing.memory.stalled_us = 0;
    assert_eq!(killed(&nothing), kill, "there is nothing left");
    let open = left("open", Importance::Hidden, 5);
    let service = app("service", Importance::Service, 500, 90);
    for apps in [vec![just, service.clone()], vec![open, service.clone()]] {
        let dies = apps[0].name.to_string();
        assert_eq!(killed(&phone(4, 4, 100, apps)), Some((dies, Reason::SwapFull)), "before any service does");
    }
    assert_eq!(killed(&phone(4, 4, 100, vec![service])), Some(("service".into(), Reason::SwapFull)));
}

#[test]
fn what_was_left_last_is_spared_where_the_user_goes_back_to_it() {
    let left = |name: &str, anon_mb, left_s: u64| {
        let background_since_ns = (100 - left_s) * SECOND_NS;
        AppState { background_since_ns, ..app(name, Importance::Hidden, 5, anon_mb) }
    };
    let apps = vec![left("last", 60, 3), left("second", 30, 6), left("third", 40, 9), left("fourth", 20, 11)];
    let dies = |goes_back_permille, apps: &[AppState]| {
        killed(&Snapshot { goes_back_permille, ..phone(10, 10, 100, apps.to_vec()) }).unwrap().0
    };
    assert_eq!(dies(None, &apps), "third", "nobody counts");
    assert_eq!(dies(Some(250), &apps), "third", "as often as to any of four");
    assert_eq!(dies(Some(249), &apps), "last", "he goes through them in turn");
    assert_eq!(dies(Some(499), &apps[..2]), "last");
    assert_eq!(dies(Some(500), &apps[..2]), "second");
    let alone = little_left(TENTH_MB, 100, vec![AppState { importance: Importance::Empty, ..apps[0].clone() }]);
    assert_eq!(
        killed(&Snapshot { goes_back_permille: Some(0), ..alone }),
        None,
        "not for files alone, if it is the only one"
    );
}

#[test]
fn nobody_dies_for_files_under_the_finger_of_one_who_goes_from_app_to_app() {
    let old = AppState { background_since_ns: SECOND_NS, ..app("old", Importance::Hidden, 5, 90) };
    let kill = Some(("old".to_owned(), Reason::SwapFull));
    let mut s = little_left(TENTH_MB, 100, vec![old, app("front", Importance::Foreground, 1, 30)]);
    assert_eq!(killed(&s), kill);
    let home = Snapshot { apps: s.apps[..1].to_vec(), focused_ns: Some(s.now_ns - 20_000_000), ..s.clone() };
    assert_eq!(killed(&home), None, "he may be about to open it");
    let wake_at_ns = decide(&home, &freezing().memory).wake_at_ns;
    assert_eq!(wake_at_ns, Some(home.now_ns + 80_000_000), "it is looked at again then");
    assert_eq!(killed(&Snapshot { now_ns: home.now_ns + 80_000_000, ..home.clone() }), kill);
    let mut waiting = Snapshot { focused_ns: home.focused_ns, ..phone(10, 10, 100, home.apps) };
    assert!(waiting.memory.stalled_us > 0);
    assert_eq!(killed(&waiting), kill, "somebody waits for memory");
    waiting.focus_told = false;
    assert_eq!(killed(&waiting), kill);
    s.focused_ns = Some(s.now_ns - 20_000_000);
    assert_eq!(killed(&s), kill, "he has opened another");
}
