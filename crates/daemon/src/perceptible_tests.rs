// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps that are heard or waited for: what the engine knows of them, when it looks, and that it says so.

use fovea_apps::Perceived;
use fovea_linux::{MediaChange, MediaUser};

use crate::engine_tests::{bench, focus, Bench, SECOND_NS};
use fovea_client::protocol::{Reply, Request};

const MB: u64 = 1 << 20;
const SOUND: MediaChange = MediaChange { sound: true, video: false };
const VIDEO: MediaChange = MediaChange { sound: false, video: true };

impl Bench {
    fn media(&self, users: &[(u32, Perceived)]) {
        self.device.0.borrow_mut().media = users.iter().map(|&(pid, perceived)| MediaUser { pid, perceived }).collect();
    }

    fn perceptible(&mut self, name: &str) -> Option<Perceived> {
        self.status().apps.into_iter().find(|app| app.name.as_str() == name).unwrap().perceptible
    }

    fn story(&mut self, name: &str) -> Vec<serde_json::Value> {
        let app = Some(name.parse().unwrap());
        match self.engine.handle(Request::Explain { app, limit: None, uid: None }, 0) {
            Reply::Story { entries } => entries,
            other => panic!("{other:?}"),
        }
    }

    fn score_of(&self, name: &str) -> i32 {
        self.device.0.borrow().apps[&format!("apps/{name}")].score
    }
}

/// Two apps behind one in front, with a process each.
fn home() -> Bench {
    let mut b = bench(&[("front", 10), ("music", 90), ("game", 10)]);
    let pids = [(9, "apps/front"), (10, "apps/music"), (11, "apps/game/helper")];
    b.device.0.borrow_mut().pids.extend(pids.map(|(pid, cgroup)| (pid, cgroup.to_owned())));
    for name in ["music", "game", "front"] {
        b.engine.attends(20, "sway", 0);
        b.engine.handle_from(Some(20), focus(name), 0);
    }
    b
}

#[test]
fn who_plays_is_not_frozen_until_a_debounce_after_he_stops() {
    let mut b = home();
    b.media(&[(10, Perceived::PlaysSound)]);
    b.run(0, 60 * SECOND_NS);
    assert!(b.done("freeze apps/game") && !b.done("freeze apps/music"));
    let scores = (b.score_of("music"), b.score_of("game"));
    assert_eq!(scores, (201, 701), "as Android ranks them");
    b.media(&[]);
    b.engine.media_changed(SOUND, 60 * SECOND_NS);
    b.run(60 * SECOND_NS, 69 * SECOND_NS);
    assert!(!b.done("freeze apps/music"), "between two songs");
    b.run(69 * SECOND_NS, 71 * SECOND_NS);
    assert!(b.done("freeze apps/music"));
    assert_eq!(b.score_of("music"), 701);
    let story = b.story("music");
    let by: Vec<_> =
        story.iter().filter(|e| e["action"] == "perceptible").map(|e| e["outcome"]["by"].clone()).collect();
    assert_eq!(by, ["plays-sound".into(), serde_json::Value::Null]);
}

#[test]
fn who_begins_to_play_unseen_is_noticed_before_he_would_be_frozen() {
    let mut b = home();
    b.run(0, 9 * SECOND_NS);
    // A server's stream runs already: another client makes no device open.
    b.media(&[(11, Perceived::UsesServer)]);
    b.run(9 * SECOND_NS, 60 * SECOND_NS);
    assert!(b.done("freeze apps/music") && !b.done("freeze apps/game"));
    assert_eq!(b.perceptible("game"), Some(Perceived::UsesServer));
}

#[test]
fn an_inhibitor_holds_as_long_as_its_source_and_the_surest_reason_is_told() {
    let mut b = home();
    let inhibitors = |pids: &[u32]| Request::Inhibitors { pids: pids.to_vec() };
    let refused = b.engine.handle_from(None, inhibitors(&[10]), 0);
    assert!(matches!(refused, Reply::Error { error } if error.contains("attend")));
    b.engine.attends(21, "logind", 0);
    assert_eq!(b.engine.handle_from(Some(21), inhibitors(&[10, 11, 12]), 0), Reply::Done {});
    assert_eq!(b.perceptible("music"), Some(Perceived::Inhibits));
    assert_eq!(b.perceptible("front"), None);
    b.media(&[(10, Perceived::RecordsSound), (10, Perceived::PlaysSound)]);
    assert_eq!(b.perceptible("music"), Some(Perceived::RecordsSound));
    b.engine.handle_from(Some(21), inhibitors(&[10]), 0);
    assert_eq!(b.perceptible("game"), None);
    b.media(&[]);
    b.engine.left(21, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    assert!(b.done("freeze apps/music"));
}

#[test]
fn who_says_that_it_plays_is_heard_as_long_as_a_source_says_so() {
    let mut b = home();
    let playing = |pids: &[u32]| Request::Playing { pids: pids.to_vec() };
    let refused = b.engine.handle_from(None, playing(&[10]), 0);
    assert!(matches!(refused, Reply::Error { error } if error.contains("attend")));
    b.engine.attends(21, "session", 0);
    assert_eq!(b.engine.handle_from(Some(21), playing(&[10]), 0), Reply::Done {});
    // Both from one source, and neither takes the other's place.
    b.engine.handle_from(Some(21), Request::Inhibitors { pids: vec![11] }, 0);
    assert_eq!(b.perceptible("music"), Some(Perceived::PlaysMedia));
    assert_eq!(b.perceptible("game"), Some(Perceived::Inhibits));
    b.run(0, 60 * SECOND_NS);
    assert!(!b.done("freeze apps/music") && !b.done("freeze apps/game"));
    b.engine.handle_from(Some(21), playing(&[]), 60 * SECOND_NS);
    assert_eq!(b.perceptible("music"), None);
    b.engine.handle_from(Some(21), playing(&[10]), 60 * SECOND_NS);
    b.engine.left(21, 61 * SECOND_NS);
    b.run(61 * SECOND_NS, 120 * SECOND_NS);
    assert!(b.done("freeze apps/music") && b.done("freeze apps/game"));
}

/// The one process's error stood for all: nobody who began to play after it was seen.
#[test]
fn a_process_that_cannot_be_looked_up_hides_nobody_else() {
    let mut b = home();
    b.device.0.borrow_mut().unreadable = Some(12);
    b.media(&[(12, Perceived::PlaysSound), (10, Perceived::PlaysSound)]);
    assert_eq!(b.perceptible("music"), Some(Perceived::PlaysSound));
    // It may be that one by which music plays.
    b.media(&[(12, Perceived::PlaysSound), (11, Perceived::UsesServer)]);
    assert_eq!(b.perceptible("music"), Some(Perceived::PlaysSound));
    assert_eq!(b.perceptible("game"), Some(Perceived::UsesServer));
    b.device.0.borrow_mut().unreadable = None;
    assert_eq!((b.perceptible("music"), b.perceptible("game")), (None, Some(Perceived::UsesServer)));
}

#[test]
fn the_only_large_app_that_plays_outlives_the_small_one_that_does_not() {
    for plays in [true, false] {
        let mut b = home();
        b.run(0, 0);
        b.fill_swap();
        {
            let mut state = b.device.0.borrow_mut();
            (state.memory.free_bytes, state.memory.file_bytes) = (5 * MB, MB);
            state.memory.psi_some_total_us = Some(100_000);
        }
        b.media(if plays { &[(10, Perceived::PlaysSound)] } else { &[] });
        b.engine.pressure();
        b.run(SECOND_NS, SECOND_NS);
        assert_eq!(b.done("kill apps/game"), plays);
        assert_eq!(b.done("kill apps/music"), !plays);
    }
}

#[test]
fn video_is_looked_for_at_the_start_and_after_a_change_until_it_has_settled() {
    let mut b = home();
    let mut looks_at = |at_s: u64, change: Option<MediaChange>| {
        let before = b.device.0.borrow().looked_for_video;
        change.into_iter().for_each(|change| b.engine.media_changed(change, at_s * SECOND_NS));
        // Memory is short, or else nobody would look.
        b.device.0.borrow_mut().memory.free_bytes = 20 * MB;
        b.device.0.borrow_mut().memory.file_bytes = 20 * MB;
        b.engine.turn(at_s * SECOND_NS).unwrap();
        let after = b.device.0.borrow().looked_for_video;
        after - before
    };
    assert_eq!(looks_at(5, None), 1, "somebody may have had it open before");
    assert_eq!(looks_at(6, None), 0);
    assert_eq!(looks_at(7, Some(SOUND)), 0);
    assert_eq!(looks_at(8, Some(VIDEO)), 1);
    assert_eq!(looks_at(9, None), 1, "whoever opened it has it by now");
    assert_eq!(looks_at(10, None), 0);
}

#[test]
fn what_cannot_be_read_stays_as_it_was() {
    let mut b = home();
    b.media(&[(10, Perceived::PlaysSound)]);
    b.run(0, SECOND_NS);
    b.device.0.borrow_mut().failing = Some("media_users");
    b.engine.media_changed(VIDEO, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    assert!(!b.done("freeze apps/music"));
    assert_eq!(b.perceptible("music"), Some(Perceived::PlaysSound));
    b.device.0.borrow_mut().failing = None;
    let before = b.device.0.borrow().looked_for_video;
    b.perceptible("music");
    assert_eq!(b.device.0.borrow().looked_for_video, before + 1, "the change was not lost");
}
