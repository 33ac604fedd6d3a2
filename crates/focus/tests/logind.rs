// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The logind source over a real message bus (dbus-daemon), with a login manager played here.

mod bus;

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::time::Duration;

use bus::{send, watch, Bus, HANGS};
use fovea_focus::{Event, Logind, SourceError};
use rustbus::connection::Timeout;
use rustbus::params::{Array, Base, Container, Param};
use rustbus::wire::ObjectPath;
use rustbus::{standard_messages, MessageBuilder, RpcConn};

fn logind_of(bus: &Bus) -> Logind {
    Logind::new(Some(bus.address()), "seat0")
}

/// What is asked of the login manager's objects: the active session, and its hints by object and name.
#[derive(Default)]
struct State {
    active: &'static str,
    hints: BTreeMap<(&'static str, &'static str), bool>,
    /// What, mode, PID.
    inhibitors: Vec<(&'static str, &'static str, u32)>,
}

/// As logind has it: what, who, why, mode, uid, pid.
fn list(inhibitors: &[(&str, &str, u32)]) -> Param<'static, 'static> {
    let text = |text: &str| Param::Base(Base::String(text.to_owned()));
    let number = |number| Param::Base(Base::Uint32(number));
    let one = |&(what, mode, pid): &(&str, &str, u32)| {
        let fields = vec![text(what), text("somebody"), text("for a reason"), text(mode), number(1000), number(pid)];
        Param::Container(Container::Struct(fields))
    };
    let element_sig = rustbus::signature::Type::parse_description("(ssssuu)").unwrap().remove(0);
    Param::Container(Container::Array(Array { element_sig, values: inhibitors.iter().map(one).collect() }))
}

struct FakeLogind {
    bus: RpcConn,
    state: State,
    /// The unique name of who asks.
    asker: String,
}

impl FakeLogind {
    fn start(bus: &Bus, state: State) -> Self {
        Self { bus: bus.connect_as("org.freedesktop.login1"), state, asker: String::new() }
    }

    /// Answers what is asked until an event comes.
    fn serve_until(&mut self, events: &mpsc::Receiver<Event>) -> Event {
        let began = std::time::Instant::now();
        loop {
            match events.try_recv() {
                Ok(event) => return event,
                Err(e) => assert_eq!(e, mpsc::TryRecvError::Empty),
            }
            assert!(began.elapsed() < HANGS, "no event");
            self.serve(Duration::from_millis(20));
        }
    }

    fn serve(&mut self, limit: Duration) {
        let Ok(call) = self.bus.wait_call(Timeout::Duration(limit)) else { return };
        self.asker = call.dynheader.sender.clone().unwrap();
        if call.dynheader.member.as_deref() == Some("ListInhibitors") {
            let mut reply = call.dynheader.make_response();
            reply.body.push_old_param(&list(&self.state.inhibitors)).unwrap();
            send(&mut self.bus, &mut reply);
            return;
        }
        let (interface, name) = call.body.parser().get2::<&str, &str>().unwrap();
        let object = call.dynheader.object.clone().unwrap();
        let mut reply = call.dynheader.make_response();
        match (interface, name) {
            ("org.freedesktop.login1.Seat", "ActiveSession") => {
                assert_eq!(object, "/org/freedesktop/login1/seat/seat0");
                reply.body.push_variant(("id", ObjectPath::new(self.state.active).unwrap())).unwrap();
            }
            ("org.freedesktop.login1.Session", hint) => {
                let known = self.state.hints.iter().find(|((o, h), _)| *o == object && *h == hint);
                match known {
                    Some((_, &value)) => reply.body.push_variant(value).unwrap(),
                    None => reply = standard_messages::unknown_method(&call.dynheader),
                }
            }
            other => panic!("asked for {other:?}"),
        }
        send(&mut self.bus, &mut reply);
    }

    fn change(&mut self, change: impl FnOnce(&mut State)) {
        change(&mut self.state);
        let interface = "org.freedesktop.DBus.Properties";
        let object = "/org/freedesktop/login1/session/_31";
        let mut signal = MessageBuilder::new().signal(interface, "PropertiesChanged", object).build();
        send(&mut self.bus, &mut signal);
    }
}

const ONE: &str = "/org/freedesktop/login1/session/_31";
const TWO: &str = "/org/freedesktop/login1/session/_32";

fn state(active: &'static str, idle: bool, locked: bool) -> State {
    let hints = [((ONE, "IdleHint"), idle), ((ONE, "LockedHint"), locked), ((TWO, "IdleHint"), true)];
    State { active, hints: hints.into(), inhibitors: Vec::new() }
}

#[test]
fn the_active_sessions_hints_are_followed_until_logind_goes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };

    let (_events, watching) = watch(logind_of(&bus));
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Absent(line) if line.contains("login1")), "no logind yet: {error:?}");

    let mut logind = FakeLogind::start(&bus, state(ONE, false, false));
    let (events, watching) = watch(logind_of(&bus));
    assert_eq!(logind.serve_until(&events), Event::Screen { on: true }, "how things stood");
    assert_eq!(logind.serve_until(&events), Event::Inhibitors(vec![]));
    let steps: [(State, bool); 6] = [
        (state(ONE, true, false), false),
        (state(ONE, false, false), true),
        (state(ONE, false, true), false),
        // No one is logged in.
        (state("/", true, true), true),
        // Has no LockedHint.
        (state(TWO, false, false), false),
        (state(ONE, false, false), true),
    ];
    for (state, on) in steps {
        logind.change(|s| *s = state);
        assert_eq!(logind.serve_until(&events), Event::Screen { on });
    }
    drop(logind);
    let error = watching.join().unwrap();
    assert!(matches!(error, SourceError::Lost(_)), "{error:?}");
    assert!(events.try_recv().is_err(), "nothing more was told");
}

#[test]
fn who_keeps_the_device_awake_is_told_and_who_only_wants_to_be_warned_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let mut logind = FakeLogind::start(&bus, state(ONE, false, false));
    let (events, watching) = watch(logind_of(&bus));
    assert_eq!(logind.serve_until(&events), Event::Screen { on: true });
    assert_eq!(logind.serve_until(&events), Event::Inhibitors(vec![]));
    let (block, delay) = ("block", "delay");
    for (inhibitors, pids) in [
        (vec![("idle", block, 30), ("sleep", delay, 31), ("handle-lid-switch", block, 32)], vec![30]),
        (
            vec![("sleep:handle-power-key", "block-weak", 40), ("shutdown", block, 30), ("idle", block, 40)],
            vec![30, 40],
        ),
        (vec![("sleep", delay, 31)], vec![]),
    ] {
        logind.change(|s| s.inhibitors = inhibitors);
        assert_eq!(logind.serve_until(&events), Event::Inhibitors(pids));
    }
    // What changes nothing is not told: the next news is the screen's.
    logind.change(|s| s.inhibitors = vec![]);
    logind.change(|s| *s = state(ONE, true, false));
    assert_eq!(logind.serve_until(&events), Event::Screen { on: false });
    drop(logind);
    assert!(matches!(watching.join().unwrap(), SourceError::Lost(_)));
}

/// Everybody may send anybody a signal on the system bus.
#[test]
fn nobody_ends_the_source_by_what_he_sends_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let mut logind = FakeLogind::start(&bus, state(ONE, false, false));
    let (events, watching) = watch(logind_of(&bus));
    assert_eq!(logind.serve_until(&events), Event::Screen { on: true });
    assert_eq!(logind.serve_until(&events), Event::Inhibitors(vec![]));
    let mut hostile = bus.connect();
    let signal = |length: usize| {
        let mut signal = MessageBuilder::new().signal("of.harm", "Signal", "/").to(logind.asker.clone()).build();
        signal.body.push_param("x".repeat(length)).unwrap();
        signal
    };
    let (mut large, mut small) = (signal(4 << 20), signal(9));
    for (nth, on) in [false, true, false].into_iter().enumerate() {
        send(&mut hostile, &mut large);
        // A kind of message that no specification has yet.
        let mut bytes = Vec::new();
        rustbus::wire::marshal::marshal(&small, 1000 + nth as u32, &mut bytes).unwrap();
        bytes[1] = 5;
        bytes.extend(small.get_buf());
        let socket = hostile.conn_mut().send.as_raw_fd();
        assert_eq!(nix::sys::socket::send(socket, &bytes, nix::sys::socket::MsgFlags::empty()), Ok(bytes.len()));
        send(&mut hostile, &mut small);
        logind.change(|s| *s = state(ONE, !on, false));
        assert_eq!(logind.serve_until(&events), Event::Screen { on }, "it goes on");
    }
    assert!(!watching.is_finished());
}
