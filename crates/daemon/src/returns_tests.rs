// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app's return needs: it is no thrash, and it stays in memory as long as there is any.

use crate::engine_tests::{bench, close, focus, Bench, MB, SECOND_NS};
use fovea_client::protocol::Request;

const LOOK_NS: u64 = SECOND_NS / 20;

/// A look at memory, somebody having waited for it since the last one.
fn look(b: &mut Bench, at_ns: u64) {
    *b.device.0.borrow_mut().memory.psi_some_total_us.as_mut().unwrap() += 9000;
    b.engine.pressure();
    b.engine.turn(at_ns).unwrap();
}

fn set_memory(b: &Bench, free_mb: u64, file_mb: u64) {
    let memory = &mut b.device.0.borrow_mut().memory;
    (memory.free_bytes, memory.file_bytes) = (free_mb * MB, file_mb * MB);
}

fn was_killed(b: &Bench) -> bool {
    b.device.0.borrow().done.iter().any(|d| d.starts_with("kill"))
}

#[test]
fn pages_read_back_are_thrash_if_storage_reads_them_and_for_longer_than_a_return_takes() {
    for (of_files, looks, expected) in [(false, 200, false), (true, 4, false), (true, 200, true)] {
        let mut b = bench(&[("mail", 40), ("game", 40)]);
        b.engine.handle(close("mail"), 0);
        b.engine.handle(focus("game"), 0);
        b.device.0.borrow_mut().apps.values_mut().for_each(|app| app.compressible_pages = 0);
        b.run(0, 10 * SECOND_NS);
        set_memory(&b, 7, 10);
        look(&mut b, 10 * SECOND_NS);
        for i in 1..=looks {
            {
                // 2000 pages a second, where a phone's flash reads 600.
                let memory = &mut b.device.0.borrow_mut().memory;
                let refaults = if of_files { &mut memory.refault_file } else { &mut memory.refault_anon };
                *refaults += 100;
            }
            set_memory(&b, 7, 10);
            look(&mut b, 10 * SECOND_NS + i * LOOK_NS);
        }
        assert_eq!(was_killed(&b), expected, "files {of_files}, {looks} looks");
    }
}

#[test]
fn what_is_left_of_what_a_return_touched_stays_once_free_memory_is_not_nearly_gone_any_more() {
    let mut b = bench(&[("mail", 40), ("game", 40)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(close("mail"), 0);
    b.engine.handle(focus("game"), 0);
    b.engine.handle(Request::Screen { on: false }, SECOND_NS);
    b.run(SECOND_NS, 20 * SECOND_NS);
    let swapped = |b: &Bench| b.device.0.borrow().apps["apps/mail"].swap_pages;
    assert_eq!(swapped(&b), 20 * 256, "all that compresses");
    b.engine.handle(Request::Screen { on: true }, 20 * SECOND_NS);
    b.engine.handle(focus("mail"), 20 * SECOND_NS);
    b.device.0.borrow_mut().apps.get_mut("apps/mail").unwrap().compressible_pages = 10 * 256;
    b.run(20 * SECOND_NS, 25 * SECOND_NS);
    b.engine.handle(focus("game"), 25 * SECOND_NS);
    b.run(25 * SECOND_NS, 27 * SECOND_NS);
    let mut at_ns = 27 * SECOND_NS;
    let mut look_at = |b: &mut Bench, free_mb| {
        let before = swapped(b);
        set_memory(b, free_mb, 10);
        look(b, at_ns);
        at_ns += LOOK_NS;
        swapped(b) - before
    };
    assert_eq!(look_at(&mut b, 6), 0, "it was left two seconds ago");
    let taken = look_at(&mut b, 3);
    assert!(taken > 0, "the kernel takes from anybody by now");
    assert_eq!(look_at(&mut b, 6), 0, "what is left is still what its return touched");
    assert!(look_at(&mut b, 3) > 0);
    assert!(!was_killed(&b));
}

#[test]
fn compression_goes_on_where_it_was_when_the_app_came_to_the_front() {
    let mut b = bench(&[("mail", 40), ("game", 40)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(focus("game"), SECOND_NS);
    b.run(SECOND_NS, 15 * SECOND_NS);
    let cursors = |b: &Bench| b.device.0.borrow().cursors.clone();
    let short = |b: &mut Bench, at_ns| {
        set_memory(b, 7, 40);
        look(b, at_ns);
        cursors(b)
    };
    assert_eq!(short(&mut b, 15 * SECOND_NS), [0], "one batch");
    let before = short(&mut b, 15 * SECOND_NS + LOOK_NS);
    assert_eq!(before.len(), 2);
    for (app, at_s) in [("mail", 16), ("game", 17)] {
        b.engine.handle(focus(app), at_s * SECOND_NS);
    }
    b.run(17 * SECOND_NS, 18 * SECOND_NS);
    let after = short(&mut b, 18 * SECOND_NS);
    assert!(after.len() > 2 && after.is_sorted() && after[2] > before[1], "{after:?}");
}

#[test]
fn as_the_screen_comes_to_show_something_else_nobodys_size_is_read_unless_something_must_be_done() {
    let looks = |free_mb, file_mb, front: &dyn Fn(&mut Bench, u64)| {
        let mut b = bench(&[("mail", 40), ("game", 40)]);
        b.engine.handle(focus("mail"), 0);
        b.engine.handle(focus("game"), SECOND_NS);
        b.run(SECOND_NS, 30 * SECOND_NS);
        set_memory(&b, free_mb, file_mb);
        front(&mut b, 30 * SECOND_NS);
        b.device.0.borrow_mut().done.clear();
        look(&mut b, 30 * SECOND_NS);
        let reads = |b: &Bench| b.device.0.borrow().done.iter().filter(|d| d.starts_with("usage")).count();
        let at_once = reads(&b);
        let wake_at_ns = b.engine.turn(30 * SECOND_NS).unwrap().wake_at_ns;
        look(&mut b, 31 * SECOND_NS);
        (at_once > 0, wake_at_ns.is_some_and(|ns| ns <= 31 * SECOND_NS), reads(&b) > 0)
    };
    let opened = |b: &mut Bench, at_ns| drop(b.engine.handle(focus("mail"), at_ns));
    let closed = |b: &mut Bench, at_ns| drop(b.engine.handle(close("game"), at_ns));
    let nothing = |_: &mut Bench, _| {};
    assert_eq!(looks(20, 40, &nothing), (true, true, true));
    assert_eq!(looks(20, 40, &opened), (false, true, true), "short, and no more: it has its second");
    assert_eq!(looks(20, 40, &closed), (false, true, true), "the next app is chosen and opened now");
    assert!(looks(20, 20, &opened).0, "somebody may have to be killed");
    assert!(looks(7, 40, &opened).0, "whoever allocates waits");
}

#[test]
fn nothing_is_read_while_an_app_comes_to_the_screen_unless_somebody_waits_for_memory() {
    let mut b = bench(&[("mail", 40), ("game", 40)]);
    set_memory(&b, 200, 200);
    b.engine.handle(focus("game"), 0);
    b.run(0, 10 * SECOND_NS);
    let reads = |b: &Bench| b.device.0.borrow().memory_reads;
    let before = reads(&b);
    b.engine.handle(close("game"), 10 * SECOND_NS);
    b.engine.turn(10 * SECOND_NS).unwrap();
    b.engine.handle(focus("mail"), 10 * SECOND_NS);
    assert_eq!(b.engine.turn(10 * SECOND_NS).unwrap().wake_at_ns, Some(11 * SECOND_NS));
    assert_eq!(reads(&b), before);
    look(&mut b, 10 * SECOND_NS + LOOK_NS);
    assert_eq!(reads(&b), before + 1, "somebody waits");
    set_memory(&b, 5, 5);
    look(&mut b, 10 * SECOND_NS + 2 * LOOK_NS);
    b.engine.turn(10 * SECOND_NS + 3 * LOOK_NS).unwrap();
    assert_eq!(reads(&b), before + 3, "and it is so short that somebody may have to die");
    set_memory(&b, 200, 200);
    b.engine.turn(11 * SECOND_NS).unwrap();
    assert_eq!(reads(&b), before + 4, "its time is over");
}
