// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A message bus (D-Bus): its address, the connection, a call.

use std::time::{Duration, Instant};

use fovea_apps::limits::BUS_MESSAGE_MAX_BYTES;
use nix::sys::socket::UnixAddr;
use rustbus::connection::ll_conn::{force_finish_on_error, RecvConn};
use rustbus::connection::{Error, Timeout};
use rustbus::message_builder::MarshalledMessage;
use rustbus::{MessageBuilder, MessageType, RpcConn};

use crate::{one_line, SourceError};

/// The system bus, unless `$DBUS_SYSTEM_BUS_ADDRESS` names another.
pub const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";

/// The bus itself, as one whom calls go to.
pub const BUS: &str = "org.freedesktop.DBus";

/// Its object.
pub const BUS_OBJECT: &str = "/org/freedesktop/DBus";

/// Time whoever is asked has to answer; he may have to be started.
pub const ANSWER_LIMIT: Timeout = Timeout::Duration(Duration::from_secs(25));

/// Connects to the bus at an address; `who` is whom the lines of errors are about.
pub fn connect(who: &str, address: &str) -> Result<RpcConn, SourceError> {
    let socket = address_of(address).ok_or_else(|| {
        SourceError::Refused(format!(
            "{who}: {:?} is no address of a bus on this machine: write it like {SYSTEM_BUS}",
            one_line(address)
        ))
    })?;
    RpcConn::connect_to_path(socket, ANSWER_LIMIT).map_err(|error| match error {
        Error::AuthFailed => SourceError::Refused(format!("{who}: {address} lets this user not in")),
        e => {
            SourceError::Absent(format!("{who}: no message bus at {address} ({}): install and start dbus", one_line(e)))
        }
    })
}

/// The session bus of this user: `$DBUS_SESSION_BUS_ADDRESS`, or the socket that systemd has for it.
pub fn session_bus() -> Option<String> {
    let named = std::env::var("DBUS_SESSION_BUS_ADDRESS").ok().filter(|address| !address.is_empty());
    named.or_else(|| Some(format!("unix:path={}/bus", std::env::var("XDG_RUNTIME_DIR").ok()?)))
}

/// Sends a call and waits for what comes of it, a reply or an error.
pub fn call(bus: &mut RpcConn, message: &mut MarshalledMessage) -> Result<MarshalledMessage, Error> {
    call_within(bus, message, ANSWER_LIMIT)
}

/// The same for so long at most.
pub fn call_within(
    bus: &mut RpcConn,
    message: &mut MarshalledMessage,
    limit: Timeout,
) -> Result<MarshalledMessage, Error> {
    let serial = bus.send_message(message)?.write_all().map_err(force_finish_on_error)?;
    let began = Instant::now();
    loop {
        if let Some(reply) = bus.try_get_response(serial) {
            return Ok(reply);
        }
        let left = match limit {
            Timeout::Duration(limit) => match limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
                Some(left) => Timeout::Duration(left),
                None => return Err(Error::TimedOut),
            },
            other => other,
        };
        fill(&mut bus.conn_mut().recv, left)?;
        bus.try_refill_once(Timeout::Nonblock)?;
    }
}

/// The next message, if it is none that is too long.
pub fn next_message(from: &mut RecvConn, timeout: Timeout) -> Result<MarshalledMessage, Error> {
    fill(from, timeout)?;
    from.get_next_message(Timeout::Nonblock)
}

/// Waits until a whole message is there. Its length is looked at before room is made for it: any program of the session may send one of
/// 128 MiB, to us or to somebody whom we hear.
fn fill(from: &mut RecvConn, timeout: Timeout) -> Result<(), Error> {
    while !from.buffer_contains_whole_message()? {
        match from.bytes_needed_for_current_message() {
            Ok(needed) if needed > BUS_MESSAGE_MAX_BYTES => {
                let line = format!("a message of {needed} bytes, of which at most {BUS_MESSAGE_MAX_BYTES} are read");
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, line).into());
            }
            _ => from.read_once(timeout)?,
        }
    }
    Ok(())
}

/// Waits for a signal, if none has come while something else was waited for.
pub fn wait_for_signal(bus: &mut RpcConn) -> Result<(), Error> {
    while bus.try_get_signal().is_none() {
        fill(&mut bus.conn_mut().recv, Timeout::Infinite)?;
        bus.try_refill_once(Timeout::Nonblock)?;
    }
    Ok(())
}

/// What the bus says of a name; nothing of one that nobody has.
fn ask_about<T>(
    ask: &mut RpcConn,
    question: &str,
    name: &str,
    read: fn(&MarshalledMessage) -> Option<T>,
) -> Result<Option<T>, Error> {
    let mut message = MessageBuilder::new().call(question).on(BUS_OBJECT).with_interface(BUS).at(BUS).build();
    message.body.push_param(name)?;
    let reply = call(ask, &mut message)?;
    Ok(if reply.typ == MessageType::Reply { read(&reply) } else { None })
}

/// The process of whoever has a name.
pub fn pid_of(ask: &mut RpcConn, name: &str) -> Result<Option<u32>, Error> {
    ask_about(ask, "GetConnectionUnixProcessID", name, |reply| reply.body.parser().get().ok())
}

/// The unique name of whoever has a name.
pub fn owner_of(ask: &mut RpcConn, name: &str) -> Result<Option<String>, Error> {
    ask_about(ask, "GetNameOwner", name, |reply| reply.body.parser().get::<String>().ok())
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

    proptest! {
        #[test]
        fn no_address_panics(text in "(unix:)?(path=|abstract=)?\\PC{0,130}") {
            let _ = address_of(&text);
        }
    }
}
