// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The session source over a real message bus (dbus-daemon), with players and screen savers played here. All of them are one process: this one.

mod bus;

use std::sync::mpsc;

use bus::{send, watch, Bus, HANGS};
use fovea_client::protocol::BusName;
use fovea_focus::{Event, Session, Source, SourceError};
use rustbus::connection::Timeout;
use rustbus::{MessageBuilder, RpcConn};

const PLAYER: &str = "org.mpris.MediaPlayer2.radio";
const SAVER: &str = "org.freedesktop.ScreenSaver";

/// What must come next.
fn next(events: &mpsc::Receiver<Event>, expected: Event) {
    assert_eq!(events.recv_timeout(HANGS).unwrap(), expected);
}

fn here() -> Vec<u32> {
    vec![std::process::id()]
}

fn names(names: &[&str]) -> Event {
    Event::Names(names.iter().map(|name| BusName { pid: std::process::id(), name: (*name).into() }).collect())
}

/// Answers the one question for a player's status.
fn answer(player: &mut RpcConn, status: &str) {
    let call = player.wait_call(Timeout::Duration(HANGS)).unwrap();
    assert_eq!(call.dynheader.object.as_deref(), Some("/org/mpris/MediaPlayer2"));
    assert_eq!(call.body.parser().get2::<&str, &str>().unwrap(), ("org.mpris.MediaPlayer2.Player", "PlaybackStatus"));
    let mut reply = call.dynheader.make_response();
    reply.body.push_variant(status).unwrap();
    send(player, &mut reply);
}

fn has_changed(player: &mut RpcConn) {
    let interface = "org.freedesktop.DBus.Properties";
    let mut signal = MessageBuilder::new().signal(interface, "PropertiesChanged", "/org/mpris/MediaPlayer2").build();
    send(player, &mut signal);
}

fn call(app: &mut RpcConn, member: &str) {
    let mut message = MessageBuilder::new().call(member).on("/ScreenSaver").with_interface(SAVER).at(SAVER).build();
    if member == "Inhibit" {
        message.body.push_param2("film", "somebody watches").unwrap();
    } else {
        message.body.push_param(7u32).unwrap();
    }
    send(app, &mut message);
}

/// A watched bus; what stood as it began has been told.
fn watched(bus: &Bus) -> (mpsc::Receiver<Event>, std::thread::JoinHandle<SourceError>) {
    let (events, watching) = watch(Session::new(Some(bus.address()), None));
    next(&events, Event::Inhibitors(vec![]));
    next(&events, Event::Playing(vec![]));
    (events, watching)
}

#[test]
fn a_player_is_told_while_it_plays_and_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let (events, watching) = watched(&bus);
    next(&events, names(&[]));

    let mut player = bus.connect_as(PLAYER);
    answer(&mut player, "Paused");
    next(&events, names(&[PLAYER]));
    for (status, pids) in [("Playing", here()), ("Stopped", vec![]), ("Playing", here())] {
        has_changed(&mut player);
        answer(&mut player, status);
        next(&events, Event::Playing(pids));
    }
    // Who comes and goes meanwhile is no reason to ask: a player that is frozen would let everybody wait.
    let other = bus.connect_as("org.example.Other");
    next(&events, names(&["org.example.Other", PLAYER]));
    drop(other);
    next(&events, names(&[PLAYER]));
    assert!(player.wait_call(Timeout::Nonblock).is_err(), "asked");
    drop(player);
    next(&events, Event::Playing(vec![]));
    next(&events, names(&[]));

    drop(bus);
    let error = watching.join().unwrap();
    assert!(matches!(error, SourceError::Lost(_)), "{error:?}");
    assert!(events.try_recv().is_err(), "nothing more was told");
}

#[test]
fn a_player_that_played_before_is_found_and_one_that_hangs_does_not_play() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let (mut player, hangs) = (bus.connect_as(PLAYER), bus.connect_as("org.mpris.MediaPlayer2.hangs"));
    let (events, _watching) = watch(Session::new(Some(bus.address()), None));
    answer(&mut player, "Playing");
    next(&events, Event::Inhibitors(vec![]));
    next(&events, Event::Playing(here()));
    next(&events, names(&["org.mpris.MediaPlayer2.hangs", PLAYER]));
    drop(hangs);
    next(&events, names(&[PLAYER]));
}

#[test]
fn who_keeps_the_device_awake_is_told_until_it_says_otherwise_or_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let saver = bus.connect_as(SAVER);
    let (events, _watching) = watched(&bus);
    next(&events, names(&[SAVER]));

    let mut app = bus.connect();
    call(&mut app, "Inhibit");
    next(&events, Event::Inhibitors(here()));
    call(&mut app, "UnInhibit");
    next(&events, Event::Inhibitors(vec![]));
    call(&mut app, "Inhibit");
    next(&events, Event::Inhibitors(here()));
    drop(app);
    next(&events, Event::Inhibitors(vec![]));

    // Others' calls of that bus wake nobody, and what makes no sense is passed over.
    let mut app = bus.connect();
    call(&mut app, "GetSessionIdle");
    call(&mut app, "UnInhibit");
    call(&mut app, "Inhibit");
    next(&events, Event::Inhibitors(here()));
    drop(saver);
    next(&events, names(&[]));
}

#[test]
fn a_bus_that_lets_nobody_hear_is_refused() {
    let error = {
        let folder = tempfile::tempdir().unwrap();
        let Some(bus) = Bus::start_without_monitors(folder.path()) else { return };
        watch(Session::new(Some(bus.address()), None)).1.join().unwrap()
    };
    assert!(matches!(&error, SourceError::Refused(line) if line.contains("BecomeMonitor")), "{error:?}");
}

#[test]
fn a_thread_that_becomes_a_user_cannot_be_traced_by_him() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root becomes somebody else");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let address = bus.address();
    let watcher = move || {
        let error = Session::new(Some(address), Some(65534)).watch(&mut |_| panic!("reported"));
        (error, rustix::process::getuid().as_raw())
    };
    let (error, uid) = std::thread::spawn(watcher).join().unwrap();
    // This bus is root's, and lets no other user hear.
    assert!(matches!(&error, SourceError::Refused(line) if line.contains("BecomeMonitor")), "{error:?}");
    assert_eq!((uid, rustix::process::getuid().as_raw()), (65534, 0), "the others stay who they are");
    let behavior = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(behavior, rustix::process::DumpableBehavior::NotDumpable);
}
