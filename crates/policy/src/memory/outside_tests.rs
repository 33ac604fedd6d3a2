// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who leaks outside of apps, and what is not done for him.

use super::*;

#[test]
fn for_a_leak_outside_of_apps_no_app_dies_or_is_compressed_and_the_kernel_goes_by_size() {
    let apps = vec![app("front", Importance::Foreground, 90), app("left", Importance::Hidden, 60)];
    let leak = Outsider {
        cgroup: "system.slice/indexer.service".into(),
        growing_since_ns: 90 * SECOND_NS,
        gained_bytes: 40 * MB,
        killable_bytes: 91 * MB,
        ..Outsider::default()
    };
    let beside = |change: &dyn Fn(&mut Outsider)| {
        let mut s = short(7, apps.clone());
        let mut who = leak.clone();
        change(&mut who);
        s.outsiders.push(who);
        s
    };
    let bystander = Some(("left".to_owned(), false));
    let s = beside(&|_| {});
    assert_eq!(killed(&s), None);
    let decision = decide(&s, &config(Mode::Full));
    assert_eq!(decision.left_to_kernel.as_deref(), Some("system.slice/indexer.service"));
    let scores = |s: &Snapshot| {
        let ranks = decide(s, &config(Mode::Full)).actions.into_iter().filter_map(|(action, _)| match action {
            Action::Rank { app, oom_score_adj } => Some((app.to_string(), oom_score_adj)),
            _ => None,
        });
        ranks.collect::<Vec<_>>()
    };
    assert_eq!(crate::rank::decide(&s).actions.len(), 2);
    let by_size = |(action, _): (Action, _)| matches!(action, Action::Rank { oom_score_adj: 0, .. });
    assert!(crate::rank::decide(&s).actions.into_iter().all(by_size) && scores(&s).is_empty());
    assert_eq!(killed(&beside(&|who| who.killable_bytes = 90 * MB)), bystander, "the kernel might take the front");
    assert_eq!(killed(&beside(&|who| who.gained_bytes = 29 * MB)), bystander, "two of the others feed it");
    assert_eq!(killed(&beside(&|who| who.growing_since_ns = 96 * SECOND_NS)), bystander, "it may be starting");
    assert_eq!(killed(&beside(&|who| who.growing_since_ns = SECOND_NS)), bystander, "it takes its time");
    // For a part of the session apps die in their order: the kernel, going by size, would end the session.
    assert_eq!(killed(&beside(&|who| who.of_session = true)), bystander);
    let session = |mb| Snapshot { session_bytes: mb * MB, ..beside(&|_| {}) };
    assert_eq!(
        (killed(&session(91)), killed(&session(90))),
        (bystander.clone(), None),
        "the kernel might take the session"
    );
    // It has paused for long, and holds several times what anybody else does.
    let paused = |hoarded_mb, left_mb| {
        let mut s = beside(&|who| {
            (who.growing_since_ns, who.gained_bytes) = (100 * SECOND_NS, 0);
            (who.hoarded_bytes, who.killable_bytes) = (hoarded_mb * MB, 400 * MB);
        });
        (s.memory.free_bytes, s.memory.file_bytes) = (left_mb * MB, left_mb * MB);
        decide(&s, &config(Mode::Full)).left_to_kernel.is_some()
    };
    assert_eq!([paused(270, 7), paused(269, 7), paused(270, 140)], [true, false, false]);
    let over = |ns_ago| Snapshot { leaked_ns: Some(s.now_ns - ns_ago), ..short(7, apps.clone()) };
    assert_eq!(killed(&over(SECOND_NS - 1)), None, "he has just been ended: his memory is still coming back");
    assert_eq!(decide(&over(SECOND_NS - 1), &config(Mode::Full)).wake_at_ns, Some(s.now_ns + 1));
    assert_eq!(killed(&over(SECOND_NS)), bystander);
    let mut roomy = beside(&|_| {});
    roomy.memory.file_bytes = 40 * MB;
    assert_eq!(decide(&roomy, &config(Mode::Full)).left_to_kernel, None, "more is left than it has gained");
    assert_eq!(decide(&s, &config(Mode::Ladder)).left_to_kernel, None);
}

/// A compositor that leaked without end cost all six apps, the one in front too, and was then ended by the kernel.
#[test]
fn apps_in_the_background_give_a_leaking_part_of_the_session_time_and_the_one_in_front_is_left() {
    let beside = |apps: Vec<AppState>, gained_mb, for_s: u64| {
        let mut s = short(1, apps);
        s.outsiders.push(Outsider {
            cgroup: "session.slice/org.gnome.Shell@wayland.service".into(),
            growing_since_ns: s.now_ns - for_s * SECOND_NS,
            gained_bytes: gained_mb * MB,
            killable_bytes: 400 * MB,
            of_session: true,
            ..Outsider::default()
        });
        killed(&s).map(|(name, _)| name)
    };
    let front = app("front", Importance::Foreground, 60);
    assert_eq!(beside(vec![front.clone(), app("left", Importance::Hidden, 20)], 200, 10).as_deref(), Some("left"));
    assert_eq!(beside(vec![front.clone()], 200, 10), None, "it would be gone in three seconds");
    assert_eq!(beside(vec![front.clone()], 100, 10).as_deref(), Some("front"), "a slow leak, that may end");
    assert_eq!(beside(vec![front], 0, 10).as_deref(), Some("front"), "it has ended");
}
