// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Receive windows as the engine holds them.

use fovea_apps::{IoClass, Perceived};
use fovea_client::protocol::Request;
use fovea_linux::{AppTraffic, HeldSocket, Traffic};

use crate::classes_tests::two;
use crate::engine_tests::{close, focus, freezing, Bench, SECOND_NS};
use crate::undo::{restore, UndoLog};

const HALF_NS: u64 = SECOND_NS / 2;

fn socket(inode: u64) -> HeldSocket {
    HeldSocket { pid: 10, fd: 3, inode, lock: 0, clamp_bytes: 65_535 }
}

/// What comes in half a second.
fn traffic(front_bytes: u64, music_bytes: u64) -> Traffic {
    let app = |received_bytes| AppTraffic {
        received_bytes,
        flows: 1,
        active_flows: u32::from(received_bytes > 0),
        rtt_us: 30_000,
        segment_bytes: 1448,
        ..AppTraffic::default()
    };
    let apps = [("apps/front".to_owned(), app(front_bytes)), ("apps/music".to_owned(), app(music_bytes))];
    Traffic { received_bytes: front_bytes + music_bytes, apps: apps.into(), ..Traffic::default() }
}

/// "front" plays what it receives; "music" takes the rest of 300,000 bytes/s.
fn receiving() -> Bench {
    let b = two();
    {
        let mut state = b.device.0.borrow_mut();
        state.traffic = Some(traffic(30_000, 120_000));
        state.connections.insert("apps/music".into(), vec![(socket(7), 0), (socket(8), 0)]);
        state.connections.insert("apps/front".into(), vec![(socket(9), 0)]);
    }
    b
}

impl Bench {
    fn windows(&self) -> Vec<u32> {
        let state = self.device.0.borrow();
        state.connections.values().flatten().map(|&(_, window_bytes)| window_bytes).collect()
    }

    /// Who would be given back what if the daemon died now.
    fn logged(&self) -> Vec<HeldSocket> {
        // Its own copy: whoever opens a log writes it anew.
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(self.folder.path().join("undo.log"), folder.path().join("undo.log")).unwrap();
        UndoLog::open(folder.path()).unwrap().changed().windows.values().flatten().copied().collect()
    }
}

#[test]
fn a_bursty_app_is_held_after_two_looks_and_let_go_when_it_comes_to_the_front() {
    let mut b = receiving();
    b.run(0, HALF_NS - 1);
    assert_eq!(b.windows(), [0, 0, 0], "one look says nothing of what came since");
    b.run(HALF_NS, HALF_NS);
    // (300,000 - 30,000 - 60,000) bytes/s, 30 ms.
    assert_eq!(b.windows(), [0, 6300, 6300]);
    assert_eq!(b.status().apps[1].receive_window_bytes, 6300);
    assert!(!b.status().busy, "looking is no work under way");
    assert_eq!(b.logged(), [socket(7), socket(8)]);
    // Before the one who told of it has an answer.
    b.engine.handle_from(Some(20), focus("music"), HALF_NS + 1);
    assert_eq!(b.windows(), [0, 0, 0]);
    assert_eq!(b.logged(), []);
    let actions = b.actions();
    assert!(actions.contains(&"hold-window".to_owned()) && actions.contains(&"release-window".to_owned()));
}

#[test]
fn nobody_is_held_any_longer_than_somebody_receives_in_time() {
    let mut b = receiving();
    b.run(0, 2 * SECOND_NS);
    assert_ne!(b.windows(), [0, 0, 0]);
    b.device.0.borrow_mut().traffic = Some(traffic(0, 120_000));
    b.run(2 * SECOND_NS, 5 * SECOND_NS + HALF_NS);
    assert_eq!(b.windows(), [0, 0, 0]);
}

#[test]
fn without_a_network_or_with_nobody_to_serve_there_is_no_timer() {
    let mut b = two();
    assert_eq!(b.engine.turn(0).unwrap().wake_at_ns, None, "no interface");
    let mut b = receiving();
    assert_eq!(b.engine.turn(0).unwrap().wake_at_ns, Some(HALF_NS));
    b.engine.handle(Request::Screen { on: false }, 1);
    const SETTLED_NS: u64 = 2 * SECOND_NS;
    assert_eq!(b.engine.turn(1).unwrap().wake_at_ns, Some(SETTLED_NS), "who uses which service, once more");
    assert_eq!(b.engine.turn(SETTLED_NS).unwrap().wake_at_ns, None, "nobody looks");
    assert!(b.done("forget traffic"));
    b.engine.handle_from(Some(20), close("front"), SETTLED_NS + 2);
    b.plays(&[(10, Perceived::UsesServer)], SETTLED_NS + 2);
    assert_eq!(b.io_class("music").class, IoClass::TimeSensitive);
    assert!(b.engine.turn(SETTLED_NS + 3).unwrap().wake_at_ns.is_some(), "who plays is served with the screen off");
}

#[test]
fn looks_are_rare_while_nothing_comes() {
    let mut b = receiving();
    b.device.0.borrow_mut().traffic = Some(traffic(0, 120_000));
    b.run(0, 80 * SECOND_NS);
    let looks = b.device.0.borrow().looked_at_traffic;
    assert!((8..16).contains(&looks), "{looks}");
    assert_eq!(b.windows(), [0, 0, 0]);
}

#[test]
fn what_a_daemon_that_died_held_is_given_back_by_its_log() {
    let mut b = receiving();
    b.run(0, SECOND_NS);
    assert_ne!(b.windows(), [0, 0, 0]);
    let (device, folder) = (b.device.clone(), b.folder);
    drop(b.engine);
    device.0.borrow_mut().failing = Some("release_windows");
    assert_eq!(restore(folder.path(), &mut device.clone()).unwrap().len(), 1);
    device.0.borrow_mut().failing = None;
    assert_eq!(restore(folder.path(), &mut device.clone()).unwrap(), Vec::<String>::new());
    assert_eq!(device.0.borrow().connections.values().flatten().map(|&(_, w)| w).sum::<u32>(), 0);
    assert!(UndoLog::open(folder.path()).unwrap().changed().is_empty());
}

#[test]
fn what_could_not_be_given_back_is_known_as_it_was_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = UndoLog::open(folder.path()).unwrap();
    log.windows("apps/music", vec![socket(7)]).unwrap();
    let clamped = HeldSocket { lock: 2, clamp_bytes: 1460, ..socket(7) };
    log.windows("apps/music", vec![clamped, socket(8)]).unwrap();
    assert_eq!(UndoLog::open(folder.path()).unwrap().changed().windows["apps/music"], [socket(7), socket(8)]);
}

/// Connections come and go one at a time: all that are held are always in the log, at most as many closed ones, and no line has them all.
#[test]
fn a_connection_that_comes_is_written_down_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("undo.log");
    let mut log = UndoLog::open(folder.path()).unwrap();
    let (mut held, mut written_bytes, mut all_bytes) = (Vec::new(), 0, 0);
    for number in 0..1000 {
        if number >= 100 {
            held.remove(number as usize * 7 % held.len());
        }
        held.push(socket(number));
        let before_bytes = std::fs::metadata(&path).unwrap().len();
        log.windows("apps/music", held.clone()).unwrap();
        // What a log that is written anew has in it is not counted; that is as before.
        written_bytes += std::fs::metadata(&path).unwrap().len().saturating_sub(before_bytes);
        all_bytes += serde_json::to_vec(&held).unwrap().len() as u64;
        let stands = UndoLog::open(folder.path()).unwrap().changed().windows["apps/music"].clone();
        log = UndoLog::open(folder.path()).unwrap();
        assert!(held.iter().all(|socket| stands.iter().filter(|known| *known == socket).count() == 1));
        assert!(stands.len() <= 2 * held.len(), "{} of {}", stands.len(), held.len());
    }
    assert!(written_bytes < all_bytes / 20, "{written_bytes} of {all_bytes}");
}

#[test]
fn a_network_that_cannot_be_read_keeps_nobody_from_looking_after_memory() {
    let mut b = receiving();
    b.device.0.borrow_mut().failing = Some("traffic");
    let turn = b.engine.turn(0).unwrap();
    assert_eq!(turn.wake_at_ns, Some(SECOND_NS), "it is tried again, ever more rarely");
    assert_eq!(b.windows(), [0, 0, 0]);
}

#[test]
fn a_class_that_changes_all_the_time_leaves_nothing_behind() {
    let mut b = receiving();
    for step in 0..1000u64 {
        let now_ns = step * SECOND_NS / 100;
        b.engine.handle_from(Some(20), focus(if step % 2 == 0 { "music" } else { "front" }), now_ns);
        b.engine.turn(now_ns).unwrap();
    }
    b.engine.handle(Request::Screen { on: false }, 11 * SECOND_NS);
    assert_eq!(b.windows(), [0, 0, 0]);
}

/// The same, with UDP of both.
fn with_udp(limit_udp: bool) -> Bench {
    let mut b = receiving();
    let mut config = freezing();
    config.net.limit_udp = limit_udp;
    b.engine.reconfigure(config, 0);
    let mut traffic = traffic(30_000, 60_000);
    traffic.received_bytes = 150_000;
    let music = traffic.apps.get_mut("apps/music").unwrap();
    (music.unconnected_udp_sockets, music.udp_arrived_bytes) = (1, 60_000);
    traffic.apps.get_mut("apps/front").unwrap().udp_sockets = 1;
    b.device.0.borrow_mut().traffic = Some(traffic);
    b
}

impl Bench {
    fn udp_limits(&self) -> Vec<(String, u64)> {
        self.device.0.borrow().udp_limits.clone().into_iter().collect()
    }
}

#[test]
fn udp_of_the_bursty_app_is_limited_if_that_is_wanted_and_no_line_of_the_log_is_about_it() {
    let mut b = with_udp(false);
    b.run(0, SECOND_NS);
    assert_ne!(b.windows(), [0, 0, 0]);
    assert_eq!(b.udp_limits(), []);

    let mut b = with_udp(true);
    b.run(0, HALF_NS);
    // Half of (300,000 - 30,000 - 60,000) bytes/s.
    assert_eq!(b.udp_limits(), [("apps/music".to_owned(), 105_000)]);
    assert_eq!(b.status().apps[1].udp_limit_bytes_per_s, 105_000);
    assert_eq!(b.logged(), [socket(7), socket(8)]);
    // Before the one who told of it has an answer.
    b.engine.handle_from(Some(20), focus("music"), HALF_NS + 1);
    assert_eq!(b.udp_limits(), []);
    let actions = b.actions();
    assert!(actions.contains(&"limit-udp".to_owned()) && actions.contains(&"release-udp".to_owned()));
}

#[test]
fn a_limit_of_udp_ends_with_a_reload_with_its_app_and_with_who_is_served() {
    let mut b = with_udp(true);
    b.run(0, HALF_NS);
    assert_eq!(b.udp_limits().len(), 1);
    let mut config = freezing();
    config.net.limit_udp = false;
    b.engine.reconfigure(config, HALF_NS + 1);
    assert_eq!(b.udp_limits(), []);
    assert_ne!(b.windows(), [0, 0, 0], "that is another matter");

    let mut b = with_udp(true);
    b.run(0, HALF_NS);
    b.engine.ended(&"music".parse().unwrap(), HALF_NS + 1);
    assert_eq!(b.udp_limits(), []);

    let mut b = with_udp(true);
    b.run(0, 2 * SECOND_NS);
    assert_eq!(b.udp_limits().len(), 1);
    let mut quiet = traffic(0, 60_000);
    quiet.received_bytes = 60_000;
    b.device.0.borrow_mut().traffic = Some(quiet);
    b.run(2 * SECOND_NS, 5 * SECOND_NS + HALF_NS);
    assert_eq!(b.udp_limits(), []);
}

#[test]
fn where_udp_cannot_be_limited_windows_are_held_all_the_same_and_it_is_tried_once() {
    let mut b = with_udp(true);
    b.device.0.borrow_mut().failing = Some("limit_udp");
    b.run(0, 2 * SECOND_NS);
    assert_ne!(b.windows(), [0, 0, 0]);
    let tried = b.actions().iter().filter(|action| *action == "limit-udp").count();
    assert_eq!((b.udp_limits(), tried), (vec![], 1));
}
