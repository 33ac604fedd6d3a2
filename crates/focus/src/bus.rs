// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A message bus (D-Bus): its address, the connection, a call.

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use fovea_apps::{bus_next, BusNext, BUS_HEAD_BYTES};
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags};
use nix::sys::socket::{recv, MsgFlags, UnixAddr};
use rustbus::connection::ll_conn::{force_finish_on_error, DuplexConn, RecvConn};
use rustbus::connection::{Error, Timeout};
use rustbus::message_builder::MarshalledMessage;
use rustbus::{standard_messages, MessageBuilder, MessageType, RpcConn};

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
    begin(socket).map_err(|error| match error {
        Error::AuthFailed => SourceError::Refused(format!("{who}: {address} lets this user not in")),
        e => {
            SourceError::Absent(format!("{who}: no message bus at {address} ({}): install and start dbus", one_line(e)))
        }
    })
}

/// Without file descriptors: nobody is to hand us any, for closing one may wait for whoever serves the file.
fn begin(socket: UnixAddr) -> Result<RpcConn, Error> {
    let mut bus = RpcConn::new(DuplexConn::connect_to_bus(socket, false)?);
    call(&mut bus, &mut standard_messages::hello())?;
    Ok(bus)
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

/// The next message that is not passed over.
pub fn next_message(from: &mut RecvConn, timeout: Timeout) -> Result<MarshalledMessage, Error> {
    fill(from, timeout)?;
    from.get_next_message(Timeout::Nonblock)
}

/// Waits until a whole message is there.
fn fill(from: &mut RecvConn, timeout: Timeout) -> Result<(), Error> {
    while !from.buffer_contains_whole_message()? {
        // So much is needed as long as nothing of a message is there.
        if from.bytes_needed_for_current_message()? == BUS_HEAD_BYTES {
            pass_over(from.as_raw_fd(), timeout)?;
        }
        from.read_once(timeout)?;
    }
    Ok(())
}

/// Passes over what is not to be read, before the library makes room for it or takes it for the end: any program may send us a message of 32 MiB,
/// or one of a kind that is not known yet. There is the beginning of another one then.
fn pass_over(from: i32, timeout: Timeout) -> Result<(), Error> {
    let mut head = [0; BUS_HEAD_BYTES];
    loop {
        await_bytes(from, timeout)?;
        match recv(from, &mut head, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT)? {
            0 => return Err(Error::ConnectionClosed),
            BUS_HEAD_BYTES => match bus_next(&head) {
                Some(BusNext::Passed(mut left)) => {
                    let mut some = [0; 4096];
                    while left > 0 {
                        // All of it is on its way.
                        await_bytes(from, ANSWER_LIMIT)?;
                        let most = left.min(some.len());
                        match recv(from, &mut some[..most], MsgFlags::MSG_DONTWAIT)? {
                            0 => return Err(Error::ConnectionClosed),
                            read => left -= read,
                        }
                    }
                }
                // What is none is told by the library.
                Some(BusNext::Message(_)) | None => return Ok(()),
            },
            // The rest is on its way.
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Waits until there is something to read.
fn await_bytes(from: i32, timeout: Timeout) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let limit_ms = match timeout {
            Timeout::Infinite => -1,
            Timeout::Nonblock => 0,
            Timeout::Duration(limit) => limit.saturating_sub(began.elapsed()).as_millis().min(i32::MAX as u128) as i32,
        };
        match poll(&mut [PollFd::new(from, PollFlags::POLLIN)], limit_ms) {
            Ok(0) => return Err(Error::TimedOut),
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
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
