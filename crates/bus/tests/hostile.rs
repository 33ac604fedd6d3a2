// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A hostile user on the bus, who writes bytes that no library would: the program goes on, within the memory that its unit gives it, and
//! answers others.

#![allow(missing_docs)]

#[allow(dead_code, reason = "the other tests' too")]
#[path = "bus/played.rs"]
mod played;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::process::Uid;
use zbus::message::{Flags, Message};

use played::*;

/// `MemoryMax=` of the unit.
const MEMORY_MAX_KB: u64 = 24 << 10;

/// A connection without a library behind it.
struct Raw(UnixStream);

impl Raw {
    /// As a user; root may be anybody.
    fn connect(bus: &Bus, uid: u32) -> Raw {
        let path = bus.folder.path().join("bus");
        let connect = move || {
            let user = Uid::from_raw(uid);
            if is_root() {
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            let mut stream = UnixStream::connect(path).unwrap();
            let name: String = uid.to_string().bytes().map(|digit| format!("{digit:02x}")).collect();
            write!(stream, "\0AUTH EXTERNAL {name}\r\n").unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            assert!(line.starts_with("OK"), "{line}");
            stream.write_all(b"BEGIN\r\n").unwrap();
            stream
        };
        // The thread alone becomes that user.
        let mut raw = Raw(std::thread::spawn(connect).join().unwrap());
        let driver = "org.freedesktop.DBus";
        let hello = Message::method_call("/org/freedesktop/DBus", "Hello").unwrap();
        let hello = hello.destination(driver).unwrap().interface(driver).unwrap().build(&()).unwrap();
        raw.send(hello.data());
        raw
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// Takes what comes, so that the bus need not keep it.
    fn drained(self) -> Raw {
        let mut from = self.0.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while from.read(&mut bytes).is_ok_and(|length| length > 0) {}
        });
        self
    }
}

/// A call of the program, of which no answer is wanted: of those the bus lets everybody have any number.
fn call(interface: &str, method: &str, body: &(impl serde::Serialize + zbus::zvariant::DynamicType)) -> Vec<u8> {
    let message = Message::method_call("/org/fovea1", method).unwrap().with_flags(Flags::NoReplyExpected).unwrap();
    let message = message.destination("org.fovea1").unwrap().interface(interface).unwrap();
    message.build(body).unwrap().data().to_vec()
}

fn rounded(length: usize) -> usize {
    length.next_multiple_of(8)
}

/// The same with a header field of a later specification.
fn with_unknown_field(message: &[u8]) -> Vec<u8> {
    let fields = u32::from_le_bytes(message[12..16].try_into().unwrap()) as usize;
    let mut changed = message[..16 + fields].to_vec();
    changed.resize(rounded(changed.len()), 0);
    // Its code, and a variant that holds a byte.
    changed.extend([200, 1, b'y', 0, 7]);
    let length = changed.len() - 16;
    changed[12..16].copy_from_slice(&(length as u32).to_le_bytes());
    changed.resize(rounded(changed.len()), 0);
    changed.extend(&message[rounded(16 + fields)..]);
    changed
}

/// That the program is there, answers a user who does nothing wrong, and has kept to its memory.
fn goes_on(bus: &mut Bus, after: &str) {
    let began = Instant::now();
    // It gives up after 25 s.
    let status = bus.call("Status", &["false"], is_root().then_some(HERE)).expect("gdbus was there");
    assert!(bus.program.0.try_wait().unwrap().is_none(), "it ended after {after}");
    assert!(status.as_ref().is_ok_and(|status| status.contains("screen_on")), "after {after}: {status:?}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", bus.program.0.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    println!("after {after}: {most} KiB at most, answered within {:?}", began.elapsed());
    assert!(most < MEMORY_MAX_KB, "{most} KiB after {after}");
}

fn hostile() -> u32 {
    if is_root() {
        THERE
    } else {
        uid()
    }
}

#[test]
fn what_a_bus_lets_through_ends_nothing() {
    let Some(mut bus) = Bus::start() else { return };
    let plain = call("org.fovea1", "Unsubscribe", &());
    let changed = |at: usize, byte: u8| {
        let mut bytes = plain.clone();
        bytes[at] = byte;
        bytes
    };
    let mut deep = zbus::zvariant::Value::from(1u8);
    (0..40).for_each(|_| deep = zbus::zvariant::Value::Value(Box::new(std::mem::replace(&mut deep, 0u8.into()))));
    let large = "x".repeat(30 << 20);
    for (what, bytes) in [
        ("flags of a later specification", changed(2, 0xf8)),
        ("a kind of message of a later specification", changed(1, 5)),
        ("a header field of a later specification", with_unknown_field(&plain)),
        ("a value within forty others", call("org.fovea1", "Status", &(deep))),
        ("30 MiB in one call", call("org.fovea1", "Status", &(large.as_str()))),
        ("30 MiB in one call of a property", call("org.freedesktop.DBus.Properties", "Get", &(large.as_str()))),
    ] {
        let mut raw = Raw::connect(&bus, hostile());
        raw.send(&bytes);
        // The bus keeps a sender's order: once this is answered, what was before has been handed on.
        raw.send(&call("org.fovea1", "Unsubscribe", &()));
        goes_on(&mut bus, what);
    }
}

#[test]
fn a_flood_of_one_user_keeps_nobody_waiting() {
    let Some(mut bus) = Bus::start() else { return };
    for (what, bytes) in [
        ("a flood of requests", call("org.fovea1", "Status", &(false))),
        ("a flood of requests that polkit is asked about", call("org.fovea1", "Status", &(true))),
        ("a flood of what nobody has", call("org.fovea1", "Nothing", &())),
        ("a flood of questions about itself", call("org.freedesktop.DBus.Introspectable", "Introspect", &())),
    ] {
        let flood = bytes.repeat(500);
        let mut raws: Vec<Raw> = (0..4).map(|_| Raw::connect(&bus, hostile()).drained()).collect();
        let floods = raws.iter_mut().map(|raw| raw.0.try_clone().unwrap()).map(|mut to| {
            let flood = flood.clone();
            std::thread::spawn(move || (0..10).try_for_each(|_| to.write_all(&flood)))
        });
        let floods: Vec<_> = floods.collect();
        goes_on(&mut bus, what);
        floods.into_iter().for_each(|flood| flood.join().unwrap().unwrap());
        goes_on(&mut bus, what);
    }
}
