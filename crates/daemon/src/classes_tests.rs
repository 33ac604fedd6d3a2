// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Classes of apps' I/O as the engine keeps them.

use fovea_apps::{ClassBy, Classified, IoClass, Perceived, Standing};
use fovea_client::protocol::{BusName, Reply, Request};
use fovea_linux::{MediaChange, MediaUser};

use crate::engine_tests::{bench, focus, Bench, SECOND_NS};

const SOUND: MediaChange = MediaChange { sound: true, video: false };

impl Bench {
    pub fn io_class(&mut self, name: &str) -> Classified {
        self.status().apps.into_iter().find(|app| app.name.as_str() == name).unwrap().io_class
    }

    pub fn plays(&mut self, users: &[(u32, Perceived)], now_ns: u64) {
        self.device.0.borrow_mut().media = users.iter().map(|&(pid, perceived)| MediaUser { pid, perceived }).collect();
        self.engine.media_changed(SOUND, now_ns);
        self.engine.turn(now_ns).unwrap();
    }
}

/// Two apps, of which the first is in front; a process of the second is 10.
pub fn two() -> Bench {
    let mut b = bench(&[("front", 10), ("music", 10)]);
    b.device.0.borrow_mut().pids.insert(10, "apps/music".into());
    b.engine.attends(20, "sway", 0);
    b.engine.handle_from(Some(20), focus("front"), 0);
    b
}

#[test]
fn of_whom_nothing_is_known_his_place_decides() {
    let mut b = two();
    let [front, music] = ["front", "music"].map(|name| b.io_class(name));
    assert_eq!((front.class, music.class), (IoClass::TimeSensitive, IoClass::Bursty));
    assert!(front.by == ClassBy::NothingKnown && front.by_place && music.by_place);
    b.engine.handle_from(Some(20), focus("music"), SECOND_NS);
    let [front, music] = ["front", "music"].map(|name| b.io_class(name).class);
    assert_eq!((front, music), (IoClass::Bursty, IoClass::TimeSensitive));
}

#[test]
fn without_a_source_nobody_waits_for_not_being_seen() {
    let mut b = two();
    assert_eq!(b.io_class("music").class, IoClass::Bursty);
    b.engine.left(20, SECOND_NS);
    let [front, music] = ["front", "music"].map(|name| b.io_class(name).class);
    assert_eq!((front, music), (IoClass::TimeSensitive, IoClass::Plain), "a guess does no harm");
}

#[test]
fn who_plays_is_time_sensitive_and_an_inhibitor_beside_it_hides_nothing() {
    let mut b = two();
    b.engine.handle_from(Some(20), Request::Inhibitors { pids: vec![10] }, 0);
    b.engine.turn(0).unwrap();
    assert_eq!(b.io_class("music").class, IoClass::Bursty, "a backup holds one as well");
    // The inhibitor is the surer reason to leave it alone, and no reason for deadlines.
    b.plays(&[(10, Perceived::UsesServer)], SECOND_NS);
    let music = b.io_class("music");
    assert_eq!((music.class, music.by), (IoClass::TimeSensitive, ClassBy::Heard(Perceived::UsesServer)));
    b.plays(&[], 2 * SECOND_NS);
    assert_eq!(b.io_class("music").class, IoClass::Bursty);
}

#[test]
fn who_has_a_services_name_on_a_bus_uses_it_until_its_source_goes() {
    let mut b = two();
    b.device.0.borrow_mut().disk = fovea_apps::DiskControl::Volumes;
    let named = |name: &str| Request::Names { names: vec![BusName { pid: 10, name: name.into() }] };
    let refused = b.engine.handle_from(None, named("org.kde.kget"), 0);
    assert!(matches!(refused, Reply::Error { error } if error.contains("attend")));
    b.engine.attends(21, "session", 0);
    b.engine.handle_from(Some(21), named("org.example.kget"), 0);
    b.engine.handle_from(Some(20), focus("music"), 0);
    b.run(0, SECOND_NS);
    assert_eq!(b.io_class("music").class, IoClass::TimeSensitive, "it is in front, and nothing more is known");
    b.engine.handle_from(Some(21), named("org.kde.kget"), 2 * SECOND_NS);
    b.run(2 * SECOND_NS, 3 * SECOND_NS);
    let music = b.io_class("music");
    assert_eq!((music.class, music.by), (IoClass::Bursty, ClassBy::Service("a download manager".into())));
    b.engine.left(21, 4 * SECOND_NS);
    b.run(4 * SECOND_NS, 5 * SECOND_NS);
    assert_eq!(b.io_class("music").by, ClassBy::NothingKnown);
}

/// Any program can say so of itself. It is left alone for that; others are held only for what the kernel shows.
#[test]
fn who_says_that_it_plays_has_nobody_held_for_it_until_a_stream_runs() {
    let mut b = two();
    b.engine.handle_from(Some(20), Request::Playing { pids: vec![10] }, 0);
    b.engine.turn(0).unwrap();
    assert_eq!(b.io_class("music").by, ClassBy::NothingKnown);
    let Reply::Status(status) = b.engine.handle(Request::status(), 0) else { panic!("no status") };
    let music = status.apps.iter().find(|app| app.name.as_str() == "music").unwrap();
    assert_eq!(music.perceptible, Some(Perceived::PlaysMedia));
    b.plays(&[(10, Perceived::UsesServer)], SECOND_NS);
    assert_eq!(b.io_class("music").by, ClassBy::Heard(Perceived::UsesServer));
}

#[test]
fn what_the_owner_says_counts_at_once() {
    let mut b = two();
    let app = "music".parse().unwrap();
    let io_class = Some(IoClass::Plain);
    b.engine.handle(Request::Register { app, cgroup: "apps/music".into(), role: Default::default(), io_class }, 0);
    b.plays(&[(10, Perceived::PlaysSound)], 0);
    assert_eq!(b.io_class("music"), Classified { class: IoClass::Plain, by: ClassBy::Said, by_place: false });
    b.engine.handle(Request::ListAdd { list: Standing::Ignore, entry: "front".parse().unwrap() }, SECOND_NS);
    assert_eq!(b.io_class("front").by, ClassBy::Ignored);
}

#[test]
fn who_uses_a_service_has_its_class_and_nobody_looks_while_no_mechanism_goes_by_it() {
    let mut b = two();
    b.device.0.borrow_mut().services = vec![(10, "telephony".into())];
    b.engine.handle_from(Some(20), focus("front"), 0);
    b.run(0, 30 * SECOND_NS);
    assert_eq!(b.device.0.borrow().looked_for_services, 0);
    b.device.0.borrow_mut().disk = fovea_apps::DiskControl::Volumes;
    b.engine.handle_from(Some(20), focus("front"), 30 * SECOND_NS);
    b.run(30 * SECOND_NS, 31 * SECOND_NS);
    let music = b.io_class("music");
    assert_eq!((music.class, music.by), (IoClass::TimeSensitive, ClassBy::Service("telephony".into())));
    // What it does a moment after it came is found as well.
    b.device.0.borrow_mut().services.clear();
    b.run(31 * SECOND_NS, 60 * SECOND_NS);
    assert_eq!(b.io_class("music").by, ClassBy::NothingKnown);
    let looks = b.device.0.borrow().looked_for_services;
    assert!((2..=4).contains(&looks), "{looks}");
    // What else wakes the daemon is taken as an occasion, but not each time.
    for ms in 0..1000 {
        b.engine.turn(60 * SECOND_NS + ms * 1_000_000).unwrap();
    }
    assert!(b.device.0.borrow().looked_for_services <= looks + 1);
}

#[test]
fn services_that_cannot_be_read_stay_as_they_were() {
    let mut b = two();
    b.device.0.borrow_mut().disk = fovea_apps::DiskControl::Volumes;
    b.device.0.borrow_mut().services = vec![(10, "telephony".into())];
    b.engine.handle_from(Some(20), focus("front"), 0);
    b.run(0, SECOND_NS);
    b.device.0.borrow_mut().failing = Some("service_users");
    b.engine.handle_from(Some(20), focus("front"), 20 * SECOND_NS);
    b.run(20 * SECOND_NS, 25 * SECOND_NS);
    assert_eq!(b.io_class("music").by, ClassBy::Service("telephony".into()));
}

#[test]
fn a_process_that_cannot_be_looked_up_hides_nobody_elses_services() {
    let mut b = two();
    b.device.0.borrow_mut().disk = fovea_apps::DiskControl::Volumes;
    b.device.0.borrow_mut().services = vec![(12, "telephony".into()), (10, "telephony".into())];
    b.device.0.borrow_mut().unreadable = Some(12);
    b.engine.handle_from(Some(20), focus("front"), 0);
    b.run(0, SECOND_NS);
    assert_eq!(b.io_class("music").by, ClassBy::Service("telephony".into()));
}
