// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is spared for a while, and who is not worth the file cache.

use fovea_apps::Importance;
use fovea_policy::memory::decide;
use fovea_policy::{Action, Reason, Snapshot};

use crate::{app, done, freezing, household, only_step, phone, MB, SECOND_NS};

/// Who is compressed.
fn compressed(snapshot: &Snapshot) -> Option<Reason> {
    let decision = decide(snapshot, &freezing().memory);
    decision
        .actions
        .into_iter()
        .find_map(|(action, reason)| matches!(action, Action::Compress { .. }).then_some(reason))
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

#[test]
fn with_swap_full_a_closed_app_dies_before_files_are_read_again_and_again() {
    let step = |available_mb, zram_used_mb, apps| {
        let mut s = phone(60, 60, zram_used_mb, apps);
        (s.memory.available_bytes, s.memory.total_bytes, s.memory.stalled_us) = (available_mb * MB, 512 * MB, 0);
        only_step(&s)
    };
    let tenth_mb = 51;
    assert_eq!(step(tenth_mb, 100, household()), Some(("kill new-empty".into(), Reason::SwapFull)), "nobody waits yet");
    assert_eq!(step(tenth_mb + 1, 100, household()), None);
    assert_eq!(step(tenth_mb, 50, household()), None, "what is idle can still move");
    let mut open = household();
    open.retain(|a| a.importance < Importance::Empty);
    assert_eq!(step(tenth_mb, 100, open), None, "an open app is worth more than files");
}
