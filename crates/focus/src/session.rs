// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A session's message bus as a source of who plays (MPRIS), who keeps the device awake, and which names programs have: what a desktop's programs
//! say of themselves, and of which the kernel shows nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fovea_apps::limits::{BUS_NAMES_MAX, BUS_NAME_MAX_BYTES};
use fovea_client::protocol::{BusName, BUS_NAMES_MAX_BYTES};
use rustbus::connection::{Error, Timeout};
use rustbus::message_builder::MarshalledMessage;
use rustbus::wire::unmarshal::traits::Variant;
use rustbus::{MessageBuilder, MessageType, RpcConn};

use crate::bus::{call, call_within, next_message, owner_of, pid_of, BUS, BUS_OBJECT};
use crate::inhibitions::{heard, Holders, CALLS};
use crate::user_bus::UserBus;
use crate::{Event, Source, SourceError};

/// Names of media players, and where each has its player (MPRIS D-Bus Interface Specification 2.2).
const PLAYERS: &str = "org.mpris.MediaPlayer2.";
const PLAYER_OBJECT: &str = "/org/mpris/MediaPlayer2";

/// What has to be heard beside the calls of [`CALLS`]: who comes and goes, and what players say of themselves.
const SIGNALS: [&str; 2] = [
    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged'",
    "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',path='/org/mpris/MediaPlayer2'",
];

/// A player that does not answer for so long does not play as far as can be known.
const PLAYER_LIMIT: Timeout = Timeout::Duration(Duration::from_secs(2));

/// As many as a request to the daemon holds.
const PIDS_MAX: usize = 256;

/// The message bus of a session. Nothing is polled.
#[derive(Debug)]
pub struct Session {
    bus: UserBus,
}

impl Session {
    /// The bus of a user; see [`UserBus`].
    pub fn new(address: Option<String>, uid: Option<u32>) -> Self {
        Self { bus: UserBus::new(address, uid) }
    }

    fn connect(&self) -> Result<(RpcConn, RpcConn), SourceError> {
        let mut ask = self.bus.connect("session")?;
        // Nobody but who is asked has anything to say there, and nothing else is kept.
        ask.set_filter(Box::new(|message| matches!(message.typ, MessageType::Reply | MessageType::Error)));
        Ok((ask, self.bus.connect("session")?))
    }
}

impl Source for Session {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        let (ask, hear) = match self.connect() {
            Ok(links) => links,
            Err(error) => return error,
        };
        match follow(ask, hear, report) {
            Ok(refused) => refused,
            Err(e) => self.bus.lost("session", e),
        }
    }
}

/// What is known of the bus.
#[derive(Default)]
struct Known {
    holders: Holders,
    /// PIDs by names, unique ones of holders and players among them.
    pids: BTreeMap<String, u32>,
    /// Players that play, by unique names.
    playing: BTreeSet<String>,
}

/// Reports until the bus is gone, or will not be heard. What is heard wakes; what that means is asked on the other connection, since one that hears
/// everybody may not speak.
fn follow(mut ask: RpcConn, mut hear: RpcConn, report: &mut dyn FnMut(Event)) -> Result<SourceError, Error> {
    let rules: Vec<&str> = CALLS.into_iter().chain(SIGNALS).collect();
    let mut listen = MessageBuilder::new()
        .call("BecomeMonitor")
        .on(BUS_OBJECT)
        .with_interface("org.freedesktop.DBus.Monitoring")
        .at(BUS)
        .build();
    listen.body.push_param2(&rules[..], 0u32)?;
    if call(&mut hear, &mut listen)?.typ != MessageType::Reply {
        return Ok(SourceError::Refused(
            "session: the bus lets nobody hear who keeps the device awake (BecomeMonitor)".into(),
        ));
    }
    // Heard from now on, listed afterwards: who comes in between is known twice and not missed.
    let mut known = Known::default();
    for name in names(&mut ask)? {
        known.add(&mut ask, &name)?;
        if name.starts_with(PLAYERS) {
            if let Some(player) = owner_of(&mut ask, &name)? {
                known.look_whether_it_plays(&mut ask, player)?;
            }
        }
    }
    let (mut last_held, mut last_playing, mut last_names) = (None, None, None);
    loop {
        let held = known.processes(known.holders.names());
        let (playing, names) = (known.processes(known.playing.iter().map(String::as_str)), known.bus_names());
        if last_held.as_ref() != Some(&held) {
            report(Event::Inhibitors(last_held.insert(held).clone()));
        }
        if last_playing.as_ref() != Some(&playing) {
            report(Event::Playing(last_playing.insert(playing).clone()));
        }
        if last_names.as_ref() != Some(&names) {
            report(Event::Names(last_names.insert(names).clone()));
        }
        let mut timeout = Timeout::Infinite;
        loop {
            match next_message(&mut hear.conn_mut().recv, timeout) {
                Ok(message) => known.take(&mut ask, &message)?,
                Err(Error::TimedOut) => break,
                Err(e) => return Err(e),
            }
            timeout = Timeout::Nonblock;
        }
    }
}

impl Known {
    fn take(&mut self, ask: &mut RpcConn, message: &MarshalledMessage) -> Result<(), Error> {
        if let Some((sender, heard)) = heard(message) {
            self.add_once(ask, &sender)?;
            self.holders.take(sender, heard);
            return Ok(());
        }
        let sender = message.dynheader.sender.clone().unwrap_or_default();
        match message.dynheader.member.as_deref() {
            Some("NameOwnerChanged") if sender == BUS => {
                let Ok((name, old, new)) = message.body.parser().get3::<&str, &str, &str>() else { return Ok(()) };
                self.changed_hands(ask, name, old, new)
            }
            // Asked then and not at other times: who is frozen says nothing, and would not answer.
            Some("PropertiesChanged") => self.look_whether_it_plays(ask, sender),
            _ => Ok(()),
        }
    }

    fn changed_hands(&mut self, ask: &mut RpcConn, name: &str, old: &str, new: &str) -> Result<(), Error> {
        self.pids.remove(name);
        if new.is_empty() {
            self.holders.gone(name);
        } else if !name.starts_with(':') {
            self.add(ask, name)?;
        }
        if name.starts_with(PLAYERS) && !new.is_empty() {
            self.look_whether_it_plays(ask, new.to_owned())?;
        }
        if name.starts_with(PLAYERS) || name == old {
            self.playing.remove(old);
        }
        Ok(())
    }

    fn add(&mut self, ask: &mut RpcConn, name: &str) -> Result<(), Error> {
        let is_known = self.pids.contains_key(name);
        if !is_known && (self.pids.len() >= BUS_NAMES_MAX || name.len() > BUS_NAME_MAX_BYTES) {
            return Ok(());
        }
        // One that has gone meanwhile has no process any more.
        if let Some(pid) = pid_of(ask, name)? {
            self.pids.insert(name.to_owned(), pid);
        }
        Ok(())
    }

    fn add_once(&mut self, ask: &mut RpcConn, name: &str) -> Result<(), Error> {
        match self.pids.contains_key(name) {
            true => Ok(()),
            false => self.add(ask, name),
        }
    }

    fn look_whether_it_plays(&mut self, ask: &mut RpcConn, player: String) -> Result<(), Error> {
        if plays(ask, &player)? {
            self.add_once(ask, &player)?;
            if self.pids.contains_key(&player) {
                self.playing.insert(player);
            }
        } else {
            self.playing.remove(&player);
        }
        Ok(())
    }

    fn processes<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<u32> {
        let pids: BTreeSet<u32> = names.filter_map(|name| self.pids.get(name)).copied().collect();
        pids.into_iter().take(PIDS_MAX).collect()
    }

    /// Well-known names and their processes, no more than one request holds.
    fn bus_names(&self) -> Vec<BusName> {
        let mut left = BUS_NAMES_MAX_BYTES;
        let all = self.pids.iter().filter(|(name, _)| !name.starts_with(':'));
        let named = all.map(|(name, &pid)| BusName { pid, name: name.clone() });
        named.take_while(|one| one.take_from(&mut left)).collect()
    }
}

fn names(ask: &mut RpcConn) -> Result<Vec<String>, Error> {
    let mut list = MessageBuilder::new().call("ListNames").on(BUS_OBJECT).with_interface(BUS).at(BUS).build();
    let names: Vec<String> = call(ask, &mut list)?.body.parser().get()?;
    Ok(names.into_iter().filter(|name| !name.starts_with(':') && name != BUS).collect())
}

fn plays(ask: &mut RpcConn, name: &str) -> Result<bool, Error> {
    let mut get = MessageBuilder::new()
        .call("Get")
        .on(PLAYER_OBJECT)
        .with_interface("org.freedesktop.DBus.Properties")
        .at(name)
        .build();
    get.body.push_param2("org.mpris.MediaPlayer2.Player", "PlaybackStatus")?;
    let reply = match call_within(ask, &mut get, PLAYER_LIMIT) {
        Ok(reply) => reply,
        Err(Error::TimedOut) => return Ok(false),
        Err(e) => return Err(e),
    };
    let status = reply.body.parser().get::<Variant>().ok().and_then(|status| status.get::<String>().ok());
    Ok(reply.typ == MessageType::Reply && status.as_deref() == Some("Playing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_session_is_told_so() {
        let error = Session::new(Some("unix:path=/nowhere/bus".into()), None).watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Absent(line) if line.contains("/nowhere/bus")), "{error}");
    }

    #[test]
    fn no_more_names_are_told_than_a_request_holds() {
        let names = |count: u32| (0..count).map(|n| (format!("org.example.Name{n:05}"), n)).collect();
        let known = |count| Known { pids: names(count), ..Known::default() };
        assert_eq!(known(20).bus_names().len(), 20);
        let bus_names = known(5000).bus_names();
        let request = fovea_client::protocol::Request::Names { names: bus_names.clone() };
        let length = serde_json::to_vec(&request).unwrap().len();
        assert!(
            bus_names.len() > 100 && length <= fovea_client::protocol::REQUEST_MAX_BYTES,
            "{} in {length}",
            bus_names.len()
        );
    }
}
