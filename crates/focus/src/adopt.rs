// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Has the daemon give each program with a window a cgroup of its own, and asks the user's systemd for it where the daemon
//! says so (org.freedesktop.systemd1(5), StartTransientUnit with `PIDs`).

use std::collections::BTreeSet;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

use fovea_client::protocol::{Reply, Request};
use fovea_client::{ClientError, Connection};
use rustbus::connection::Timeout;
use rustbus::params::{Array, Base, Container, Param, Variant};
use rustbus::{signature, MessageBuilder, MessageType};

use crate::user_bus::UserBus;
use crate::{bus, one_line, Windows};

const SYSTEMD: &str = "org.freedesktop.systemd1";

/// Time that systemd has: what is in front is told only afterwards.
const LIMIT: Duration = Duration::from_secs(2);

/// Time between two looks whether the processes have been moved.
const LOOK: Duration = Duration::from_millis(5);

/// What was tried.
#[derive(Debug, Default)]
pub struct Adopter {
    /// Processes with windows for which it was asked, as long as they have one.
    asked: BTreeSet<u32>,
    /// It was said that systemd would not.
    complained: bool,
}

impl Adopter {
    /// Has each process with a window that is new run in a cgroup of its own.
    pub fn adopt(
        &mut self,
        link: &mut Connection,
        windows: &Windows,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), ClientError> {
        self.asked.retain(|pid| windows.visible.contains(pid));
        let all: Vec<u32> = windows.visible.iter().chain(&windows.parts).copied().collect();
        for &pid in windows.visible.iter().filter(|pid| !windows.parts.contains(pid)) {
            if !self.asked.insert(pid) {
                continue;
            }
            match link.ask(&Request::Adopt { pid, windows: all.clone() })? {
                Reply::Scope { uid, unit, pids } => self.scope(uid, unit, pids, say),
                // It stays where it is; that is no reason not to tell who is in front.
                Reply::Error { error } => say(&format!("process {pid} gets no cgroup of its own: {error}")),
                _ => {}
            }
        }
        Ok(())
    }

    fn scope(&mut self, uid: u32, unit: String, pids: Vec<u32>, say: &mut dyn FnMut(&str)) {
        let (done, made) = channel();
        let asked = unit.clone();
        // It becomes that user, and stays so: nothing else may run in it.
        let asking = move || drop(done.send(start_scope(&UserBus::new(None, Some(uid)), &asked, &pids)));
        let spawned = std::thread::Builder::new().name("scope".into()).spawn(asking);
        let error = match spawned.map(|_| made.recv_timeout(LIMIT)) {
            Ok(Ok(Ok(()))) => return,
            Ok(Ok(Err(error))) => error,
            Ok(Err(RecvTimeoutError::Timeout)) => "no answer".to_owned(),
            Ok(Err(RecvTimeoutError::Disconnected)) => "no word".to_owned(),
            Err(e) => e.to_string(),
        };
        if !std::mem::replace(&mut self.complained, true) {
            say(&format!("user {uid}'s systemd makes no scope {unit}: {error}: its programs stay in the login's"));
        }
    }
}

/// Asks a user's systemd for a scope of processes, and waits until they are in it.
pub fn start_scope(bus: &UserBus, unit: &str, pids: &[u32]) -> Result<(), String> {
    let mut link = bus.connect("scope").map_err(|e| e.to_string())?;
    let failed = |e: &dyn std::fmt::Display| one_line(e);
    let mut call = MessageBuilder::new()
        .call("StartTransientUnit")
        .on("/org/freedesktop/systemd1")
        .with_interface("org.freedesktop.systemd1.Manager")
        .at(SYSTEMD)
        .build();
    let arguments = arguments(unit, pids).map_err(|e| failed(&format!("{e:?}")))?;
    call.body.push_old_params(&arguments).map_err(|e| failed(&format!("{e:?}")))?;
    let reply = bus::call_within(&mut link, &mut call, Timeout::Duration(LIMIT)).map_err(|e| failed(&e))?;
    if reply.typ != MessageType::Reply {
        return Err(one_line(reply.dynheader.error_name.unwrap_or_default()));
    }
    // The reply is only that it is being done.
    let begun = Instant::now();
    let is_in = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cgroup")).map_or(true, |text| text.trim_end().ends_with(unit))
    };
    while !pids.first().is_none_or(is_in) {
        if begun.elapsed() > LIMIT {
            return Err("it was accepted, and nothing moved".into());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// `ssa(sv)a(sa(sv))`: name, mode, properties, further units.
fn arguments<'a>(unit: &str, pids: &[u32]) -> Result<[Param<'a, 'a>; 4], signature::Error> {
    let text = |text: &str| Param::Base(Base::String(text.to_owned()));
    let string = || signature::Type::Base(signature::Base::String);
    let number = || signature::Type::Base(signature::Base::Uint32);
    let variant = || signature::Type::Container(signature::Container::Variant);
    let structure = |fields: Vec<signature::Type>| {
        let fields = signature::StructTypes::new(fields)?;
        Ok::<_, signature::Error>(signature::Type::Container(signature::Container::Struct(fields)))
    };
    let list = |of: signature::Type| signature::Type::Container(signature::Container::Array(Box::new(of)));
    let property = |name: &str, sig: signature::Type, value: Param<'a, 'a>| {
        let value = Param::Container(Container::Variant(Box::new(Variant { sig, value })));
        Param::Container(Container::Struct(vec![text(name), value]))
    };
    let array = |element_sig: signature::Type, values: Vec<Param<'a, 'a>>| {
        Param::Container(Container::Array(Array { element_sig, values }))
    };
    let numbers = array(number(), pids.iter().map(|&pid| Param::Base(Base::Uint32(pid))).collect());
    let properties = vec![
        property("PIDs", list(number()), numbers),
        property("Slice", string(), text("app.slice")),
        property("CollectMode", string(), text("inactive-or-failed")),
        property("Description", string(), text("A program with a window (fovea)")),
    ];
    let of_property = structure(vec![string(), variant()])?;
    let of_unit = structure(vec![string(), list(structure(vec![string(), variant()])?)])?;
    Ok([text(unit), text("fail"), array(of_property, properties), array(of_unit, Vec::new())])
}
