// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What sources have in common that hear of a desktop's windows over its session's bus.

use std::convert::Infallible;

use rustbus::connection::{Error, Timeout};
use rustbus::message_builder::MarshalledMessage;
use rustbus::{standard_messages, RpcConn};

use crate::bus::{call, next_message, owner_of, BUS};
use crate::user_bus::UserBus;
use crate::{Event, SourceError, Windows};

/// The interface by which both a script within KWin and an extension of GNOME Shell speak of windows.
pub const WINDOWS: &str = "org.fovea.Windows";

/// Why it ends: the bus, or a reason of its own.
pub enum End {
    /// The bus has gone.
    Bus(Error),
    /// Anything else.
    Reported(SourceError),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        End::Bus(error)
    }
}

impl From<rustbus::wire::errors::MarshalError> for End {
    fn from(error: rustbus::wire::errors::MarshalError) -> Self {
        End::Bus(error.into())
    }
}

/// A desktop as its source speaks to it.
pub struct Desktop<'a> {
    /// The source's own name, which begins its lines.
    pub source: &'static str,
    /// The desktop's name on the bus.
    pub name: &'static str,
    /// What has to be started where nobody has that name.
    pub start: &'static str,
    /// Where news goes.
    pub report: &'a mut dyn FnMut(Event),
    last: Option<Windows>,
}

impl<'a> Desktop<'a> {
    /// One of which nothing is known yet.
    pub fn new(
        source: &'static str,
        name: &'static str,
        start: &'static str,
        report: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self { source, name, start, report, last: None }
    }

    /// Follows it until it ends.
    pub fn follow(
        mut self,
        bus: &UserBus,
        follow: impl FnOnce(&mut Self, &mut RpcConn) -> Result<Infallible, End>,
    ) -> SourceError {
        let mut link = match bus.connect(self.source) {
            Ok(link) => link,
            Err(error) => return error,
        };
        match follow(&mut self, &mut link) {
            Ok(never) => match never {},
            Err(End::Reported(error)) => error,
            Err(End::Bus(error)) => bus.lost(self.source, error),
        }
    }

    /// The unique name of whoever has the desktop's; that it goes is told from now on.
    pub fn owner(&self, link: &mut RpcConn) -> Result<String, End> {
        let rule =
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged'";
        call(link, &mut standard_messages::add_match(&format!("{rule},arg0='{}'", self.name)))?;
        owner_of(link, self.name)?
            .ok_or_else(|| self.absent(&format!("nobody is {} on the session's bus: start {}", self.name, self.start)))
    }

    /// The next call or signal; what came while we waited for an answer was kept. An error once the desktop has gone.
    pub fn next(&self, link: &mut RpcConn) -> Result<MarshalledMessage, End> {
        let message = match link.try_get_call().or_else(|| link.try_get_signal()) {
            Some(message) => message,
            None => next_message(&mut link.conn_mut().recv, Timeout::Infinite)?,
        };
        let is_owner = message.dynheader.member.as_deref() == Some("NameOwnerChanged")
            && message.dynheader.sender.as_deref() == Some(BUS);
        match is_owner && message.body.parser().get::<&str>().ok() == Some(self.name) {
            true => Err(self.lost(&format!("{} has gone", self.name))),
            false => Ok(message),
        }
    }

    /// Tells of windows, if they are others than before.
    pub fn tell(&mut self, windows: Windows) {
        if self.last.as_ref() != Some(&windows) {
            (self.report)(Event::Windows(self.last.insert(windows).clone()));
        }
    }

    /// Not there, or not yet.
    pub fn absent(&self, line: &str) -> End {
        End::Reported(SourceError::Absent(format!("{}: {line}", self.source)))
    }

    /// There, and of no use.
    pub fn refused(&self, line: &str) -> End {
        End::Reported(SourceError::Refused(format!("{}: {line}", self.source)))
    }

    /// There no longer.
    pub fn lost(&self, line: &str) -> End {
        End::Reported(SourceError::Lost(format!("{}: {line}", self.source)))
    }
}
