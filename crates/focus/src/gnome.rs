// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! GNOME Shell as a source of who is in front. It tells nobody but its extensions, so ours (packaging/gnome-shell) says it on the session's bus.

use std::convert::Infallible;

use rustbus::{standard_messages, MessageBuilder, MessageType, RpcConn};

use crate::bus::call;
use crate::desktop_bus::{Desktop, End, WINDOWS};
use crate::user_bus::UserBus;
use crate::{reported_windows, Event, Source, SourceError};

const SHELL: &str = "org.gnome.Shell";
const OBJECT: &str = "/org/fovea/Windows";
const NEWS: &str = "type='signal',sender='org.gnome.Shell',interface='org.fovea.Windows'";

/// A user's GNOME Shell.
#[derive(Debug)]
pub struct Gnome {
    bus: UserBus,
}

impl Gnome {
    /// GNOME Shell on the bus of a user; see [`UserBus`].
    pub fn new(address: Option<String>, uid: Option<u32>) -> Self {
        Self { bus: UserBus::new(address, uid) }
    }
}

impl Source for Gnome {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        Desktop::new("gnome", SHELL, "a GNOME session", report).follow(&self.bus, follow)
    }
}

fn follow(desktop: &mut Desktop, link: &mut RpcConn) -> Result<Infallible, End> {
    let shell = desktop.owner(link)?;
    call(link, &mut standard_messages::add_match(NEWS))?;
    let mut get = MessageBuilder::new().call("Get").on(OBJECT).with_interface(WINDOWS).at(SHELL).build();
    let reply = call(link, &mut get)?;
    let now = reply.body.parser().get::<&str>().ok().filter(|_| reply.typ == MessageType::Reply);
    match now.and_then(reported_windows::read) {
        Some(windows) => desktop.tell(windows),
        None => {
            return Err(desktop.absent("GNOME Shell has not our extension enabled: gnome-extensions enable fovea@fovea"))
        }
    }
    loop {
        let message = desktop.next(link)?;
        let header = &message.dynheader;
        // What is sent to us alone comes whatever we listen to, and from anybody.
        if message.typ != MessageType::Signal
            || header.sender.as_deref() != Some(shell.as_str())
            || header.interface.as_deref() != Some(WINDOWS)
        {
            continue;
        }
        match header.member.as_deref() {
            Some("Gone") => return Err(desktop.lost("the extension was disabled")),
            Some("Changed") => {
                let windows = message.body.parser().get::<&str>().ok().and_then(reported_windows::read);
                windows.into_iter().for_each(|windows| desktop.tell(windows));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_session_is_told_so() {
        let error = Gnome::new(Some("unix:path=/nowhere/bus".into()), None).watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Absent(line) if line.starts_with("gnome: ")), "{error}");
    }
}
