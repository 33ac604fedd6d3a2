// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! systemd's login manager as a source of the screen's state (whether the session on the seat is idle or locked) and of who holds an
//! inhibitor (org.freedesktop.login1(5)). It does not know who is in front.

use rustbus::connection::Error;
use rustbus::message_builder::MarshalledMessage;
use rustbus::params::{Base, Container, Param};
use rustbus::wire::unmarshal::traits::Variant;
use rustbus::wire::ObjectPath;
use rustbus::{standard_messages, MessageBuilder, MessageType, RpcConn};

use crate::bus::{self, call, SYSTEM_BUS};
use crate::{one_line, Event, Source, SourceError};

const LOGIND: &str = "org.freedesktop.login1";

/// A change of a session, a seat, or of who is logind.
const SIGNALS: [&str; 2] = [
    "type='signal',sender='org.freedesktop.login1',interface='org.freedesktop.DBus.Properties',\
     member='PropertiesChanged',path_namespace='/org/freedesktop/login1'",
    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',\
     arg0='org.freedesktop.login1'",
];

/// logind. It sends what changes; nothing is polled.
#[derive(Debug)]
pub struct Logind {
    address: String,
    seat: String,
}

impl Logind {
    /// The logind of the system bus, or of the bus at an address like `unix:path=/run/dbus/system_bus_socket`, and a seat's name.
    pub fn new(address: Option<String>, seat: &str) -> Self {
        let address = address.or_else(|| std::env::var("DBUS_SYSTEM_BUS_ADDRESS").ok());
        Self {
            address: address.unwrap_or_else(|| SYSTEM_BUS.into()),
            seat: format!("/{LOGIND}/seat/{seat}").replace('.', "/"),
        }
    }

    /// Whether the screen counts as on; `None` if there is no logind.
    fn screen_on(&self, bus: &mut RpcConn) -> Result<Option<bool>, Error> {
        let seat = match property(bus, &self.seat, "Seat", "ActiveSession")? {
            Answer::Value(seat) => seat,
            Answer::NoLogind => return Ok(None),
            // Nobody is logged in there, or the seat has no screen: what runs is a machine that nobody has left.
            Answer::Refused => return Ok(Some(true)),
        };
        let Some(session) = active_session(&seat).filter(|path| path != "/") else { return Ok(Some(true)) };
        let mut left = false;
        for hint in ["IdleHint", "LockedHint"] {
            match property(bus, &session, "Session", hint)? {
                Answer::Value(reply) => left |= truth(&reply).unwrap_or(false),
                Answer::NoLogind => return Ok(None),
                // It has ended meanwhile: the seat's change follows.
                Answer::Refused => {}
            }
        }
        Ok(Some(!left))
    }
}

impl Source for Logind {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        let mut bus = match bus::connect("logind", &self.address) {
            Ok(bus) => bus,
            Err(error) => return error,
        };
        let mut there = false;
        let error = self.follow(&mut bus, &mut |event| {
            there = true;
            report(event);
        });
        match error {
            Ok(()) if there => SourceError::Lost("logind: it has gone from the message bus".into()),
            Ok(()) => SourceError::Absent(format!(
                "logind: nobody has the name {LOGIND} on {}: start systemd-logind or elogind",
                self.address
            )),
            Err(e) => SourceError::Lost(format!("logind: {}: {}", self.address, one_line(e))),
        }
    }
}

impl Logind {
    /// Reports until there is no logind (any more).
    fn follow(&self, bus: &mut RpcConn, report: &mut dyn FnMut(Event)) -> Result<(), Error> {
        // Calls from others are answered with an error by the library; it keeps what it is not told to drop.
        bus.set_filter(Box::new(|message| message.typ != MessageType::Call));
        for rule in SIGNALS {
            call(bus, &mut standard_messages::add_match(rule))?;
        }
        let (mut last_on, mut last_pids) = (None, None);
        loop {
            let Some(on) = self.screen_on(bus)? else { return Ok(()) };
            if last_on.replace(on) != Some(on) {
                report(Event::Screen { on });
            }
            let pids = inhibitors(bus)?;
            if pids.is_some() && pids != last_pids {
                last_pids.clone_from(&pids);
                report(Event::Inhibitors(pids.unwrap_or_default()));
            }
            // Which change it was does not matter: all that counts is read anew, once for all changes that are there.
            bus::wait_for_signal(bus)?;
            while bus.try_get_signal().is_some() {}
        }
    }
}

/// As many as a request to the daemon holds.
const INHIBITORS_MAX: usize = 256;

/// Who keeps the device from sleeping, idling or shutting down; `None` where logind does not tell (elogind before 229). One that only wants
/// to be told before (`delay`) does not: players hold those all the time.
fn inhibitors(bus: &mut RpcConn) -> Result<Option<Vec<u32>>, Error> {
    let mut list = MessageBuilder::new()
        .call("ListInhibitors")
        .on("/org/freedesktop/login1")
        .with_interface("org.freedesktop.login1.Manager")
        .at(LOGIND)
        .build();
    let reply = call(bus, &mut list)?;
    // The library's tuples end at five.
    let Ok(reply) = reply.unmarshall_all() else { return Ok(None) };
    let Some(Param::Container(Container::Array(all))) = reply.params.first() else { return Ok(None) };
    let mut pids: Vec<u32> = all.values.iter().filter_map(blocking).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.truncate(INHIBITORS_MAX);
    Ok(Some(pids))
}

/// The holder of an inhibitor (what, who, why, mode, uid, pid) that counts.
fn blocking(inhibitor: &Param) -> Option<u32> {
    let Param::Container(Container::Struct(fields)) = inhibitor else { return None };
    let [Param::Base(Base::String(what)), _, _, Param::Base(Base::String(mode)), _, Param::Base(Base::Uint32(pid))] =
        fields.as_slice()
    else {
        return None;
    };
    let counts = what.split(':').any(|what| matches!(what, "idle" | "sleep" | "shutdown"));
    (counts && mode.starts_with("block")).then_some(*pid)
}

/// What became of a request for a property.
enum Answer {
    Value(Box<MarshalledMessage>),
    /// No such object, or no such property.
    Refused,
    NoLogind,
}

fn property(bus: &mut RpcConn, object: &str, interface: &str, name: &str) -> Result<Answer, Error> {
    let mut get = MessageBuilder::new()
        .call("Get")
        .on(object)
        .with_interface("org.freedesktop.DBus.Properties")
        .at(LOGIND)
        .build();
    get.body.push_param2(format!("{LOGIND}.{interface}"), name)?;
    let reply = call(bus, &mut get)?;
    Ok(match (reply.typ, reply.dynheader.error_name.as_deref()) {
        (MessageType::Reply, _) => Answer::Value(Box::new(reply)),
        (
            _,
            Some(
                "org.freedesktop.DBus.Error.ServiceUnknown"
                | "org.freedesktop.DBus.Error.NameHasNoOwner"
                | "org.freedesktop.DBus.Error.NoReply"
                | "org.freedesktop.DBus.Error.Spawn.ServiceNotFound"
                | "org.freedesktop.DBus.Error.Spawn.ChildExited"
                | "org.freedesktop.systemd1.NoSuchUnit",
            ),
        ) => Answer::NoLogind,
        _ => Answer::Refused,
    })
}

/// A property that is a boolean.
fn truth(reply: &MarshalledMessage) -> Option<bool> {
    reply.body.parser().get::<Variant>().ok()?.get().ok()
}

/// `ActiveSession`: a session's ID and object.
fn active_session(reply: &MarshalledMessage) -> Option<String> {
    let (_, path) = reply.body.parser().get::<Variant>().ok()?.get::<(String, ObjectPath<String>)>().ok()?;
    Some(path.as_ref().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_bus_is_told_so_and_nonsense_refused() {
        let error = Logind::new(Some("unix:path=/nowhere/bus".into()), "seat0").watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Absent(line) if line.contains("/nowhere/bus")), "{error}");
        let error = Logind::new(Some("nonsense\n".into()), "seat0").watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Refused(line) if !line.contains('\n')), "{error}");
    }
}
