// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! systemd's login manager as a source of the screen's state: whether the session on the seat is idle or locked
//! (org.freedesktop.login1(5)). It does not know who is in front.

use std::time::Duration;

use nix::sys::socket::UnixAddr;
use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::connection::{Error, Timeout};
use rustbus::message_builder::MarshalledMessage;
use rustbus::wire::unmarshal::traits::Variant;
use rustbus::wire::ObjectPath;
use rustbus::{standard_messages, MessageBuilder, MessageType, RpcConn};

use crate::{one_line, Event, Source, SourceError};

const LOGIND: &str = "org.freedesktop.login1";

/// The system bus, unless `$DBUS_SYSTEM_BUS_ADDRESS` names another.
const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";

/// Time logind has to answer; it may have to be started.
const ANSWER_LIMIT: Timeout = Timeout::Duration(Duration::from_secs(25));

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

    fn connect(&self) -> Result<RpcConn, SourceError> {
        let address = address_of(&self.address).ok_or_else(|| {
            SourceError::Refused(format!(
                "logind: {:?} is no address of a bus on this machine: write it like {SYSTEM_BUS}",
                one_line(&self.address)
            ))
        })?;
        RpcConn::connect_to_path(address, ANSWER_LIMIT).map_err(|error| match error {
            Error::AuthFailed => SourceError::Refused(format!("logind: {} lets this user not in", self.address)),
            e => SourceError::Absent(format!(
                "logind: no message bus at {} ({}): install and start dbus",
                self.address,
                one_line(e)
            )),
        })
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
        let mut bus = match self.connect() {
            Ok(bus) => bus,
            Err(error) => return error,
        };
        let mut there = false;
        let error = self.follow(&mut bus, &mut |on| {
            there = true;
            report(Event::Screen { on });
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
    fn follow(&self, bus: &mut RpcConn, report: &mut dyn FnMut(bool)) -> Result<(), Error> {
        // Calls from others are answered with an error by the library; it keeps what it is not told to drop.
        bus.set_filter(Box::new(|message| message.typ != MessageType::Call));
        for rule in SIGNALS {
            call(bus, &mut standard_messages::add_match(rule))?;
        }
        let mut last = None;
        loop {
            let Some(on) = self.screen_on(bus)? else { return Ok(()) };
            if last != Some(on) {
                report(on);
                last = Some(on);
            }
            // Which change it was does not matter: all that counts is read anew, once for all changes that are there.
            bus.wait_signal(Timeout::Infinite)?;
            while bus.try_get_signal().is_some() {}
        }
    }
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

fn call(bus: &mut RpcConn, message: &mut MarshalledMessage) -> Result<MarshalledMessage, Error> {
    let serial = bus.send_message(message)?.write_all().map_err(force_finish_on_error)?;
    bus.wait_response(serial, ANSWER_LIMIT)
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

/// The socket of a D-Bus address, the first usable one of several (D-Bus specification, "Server Addresses").
fn address_of(text: &str) -> Option<UnixAddr> {
    text.split(';').find_map(|one| {
        one.strip_prefix("unix:")?.split(',').find_map(|pair| match pair.split_once('=')? {
            ("path", path) => UnixAddr::new(unescape(path)?.as_slice()).ok(),
            ("abstract", name) => UnixAddr::new_abstract(&unescape(name)?).ok(),
            _ => None,
        })
    })
}

/// Undoes the `%2f` escapes of addresses.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            _ => byte,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_as_the_specification_has_them() {
        let path = |text| Some(address_of(text)?.path()?.to_str()?.to_owned());
        assert_eq!(path(SYSTEM_BUS).as_deref(), Some("/run/dbus/system_bus_socket"));
        assert_eq!(path("tcp:host=x,port=1;unix:guid=5,path=/a%20b").as_deref(), Some("/a b"));
        assert_eq!(address_of("unix:abstract=/tmp/x").unwrap().as_abstract(), Some(&b"/tmp/x"[..]));
        assert!(address_of("tcp:host=x").is_none() && address_of("unix:path=/a%2").is_none());
    }

    #[test]
    fn a_machine_without_a_bus_is_told_so_and_nonsense_refused() {
        let error = Logind::new(Some("unix:path=/nowhere/bus".into()), "seat0").watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Absent(line) if line.contains("/nowhere/bus")), "{error}");
        let error = Logind::new(Some("nonsense\n".into()), "seat0").watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Refused(line) if !line.contains('\n')), "{error}");
    }

    proptest! {
        #[test]
        fn no_address_panics(text in "(unix:)?(path=|abstract=)?\\PC{0,130}") {
            let _ = address_of(&text);
        }
    }
}
