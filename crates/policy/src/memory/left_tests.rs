// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What counts as left to a runaway.

use super::*;

/// Debian's huge pages have the kernel keep 47 MB free of 1.25 GiB: nobody can have them.
#[test]
fn what_the_kernel_keeps_for_itself_is_not_left_to_anybody() {
    let device =
        Config { memory: MemoryConfig { minfree_pages: None, ..config(Mode::Full).memory }, ..Config::default() };
    let with = |low_mb: u64, leak: AppState| {
        let mut s =
            short(60, vec![app("front", Importance::Foreground, 90), leak, app("left", Importance::Hidden, 60)]);
        (s.memory.total_bytes, s.memory.low_bytes, s.memory.file_bytes) = (1280 * MB, low_mb * MB, 12 * MB);
        decide(&s, &device).actions.into_iter().find_map(|(action, reason)| match action {
            Action::Kill { app } => Some((app.to_string(), reason == Reason::Runaway)),
            _ => None,
        })
    };
    let (runaway, bystander) = (Some(("indexer".into(), true)), Some(("left".into(), false)));
    let fast = growing("indexer", Importance::Service, 50, 6);
    assert_eq!(with(47, fast.clone()), runaway, "25 MB are left");
    assert_eq!(with(30, fast), bystander, "42 MB are");
    let long =
        AppState { growing_since_ns: 80 * SECOND_NS, gained_bytes: 30 * MB, ..app("indexer", Importance::Service, 50) };
    assert_eq!(with(47, long.clone()), runaway);
    assert_eq!(with(30, long), bystander);
}

/// Half of what a leak takes compresses not at all.
#[test]
fn a_page_in_zram_is_left_for_what_moving_it_there_gives() {
    let mut s = with_bomb(500, 0, 300);
    s.apps[1].born_ns = s.now_ns - 5 * SECOND_NS;
    let mut with = |used_mb: u64| {
        let zram = fovea_apps::ZramReading {
            disk_bytes: 900 * MB,
            original_bytes: 300 * MB,
            used_bytes: used_mb * MB,
            ..Default::default()
        };
        s.memory.swap = Some(SwapState { free_bytes: 600 * MB, total_bytes: 900 * MB, zram: Some(zram) });
        killed(&s)
    };
    assert_eq!(with(30), None, "540 MB, and it takes 100 a second");
    assert_eq!(with(200), Some(("bomb".into(), true)), "200 MB");
}
