// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An X server as a source: windows by the Extended Window Manager Hints, the screen by the MIT-SCREEN-SAVER and DPMS extensions.

use std::io::ErrorKind;

use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::{ConnectError, ConnectionError, ReplyError};
use x11rb::protocol::dpms::{self, ConnectionExt as _, DPMSMode};
use x11rb::protocol::screensaver::{self, ConnectionExt as _};
use x11rb::protocol::xproto::Window;
use x11rb::protocol::Event as XEvent;

use crate::x11_desktop::{served, Desktop};
use crate::x11_stream::{self, Link};
use crate::{one_line, Event, Source, SourceError};

/// The last display that has a TCP port.
const DISPLAY_MAX: u32 = 65535 - 6000;

/// An X server. It sends what changes; nothing is polled.
#[derive(Debug)]
pub struct X11 {
    display: Option<String>,
    host: Vec<u8>,
}

impl X11 {
    /// A display's server; that of `$DISPLAY` without one.
    pub fn new(display: Option<String>) -> Self {
        Self { display, host: rustix::system::uname().nodename().to_bytes().to_vec() }
    }

    fn connect(&self) -> Result<(Link, usize), SourceError> {
        let display = self.display.clone().or_else(|| std::env::var("DISPLAY").ok());
        let Some(display) = display.filter(|d| !d.is_empty()) else {
            return Err(SourceError::Absent("x11: no display is named: use --display, or set DISPLAY".into()));
        };
        let unnamed = || {
            SourceError::Absent(format!(
                "x11: {:?} names no display: write it like :0, in --display or DISPLAY",
                one_line(&display)
            ))
        };
        // x11rb 0.14 adds 6000 to a larger number and overflows.
        if display_number(&display).is_none_or(|n| n > DISPLAY_MAX) {
            return Err(unnamed());
        }
        x11_stream::connect(&display).map_err(|error| match &error {
            ConnectError::IoError(e) if e.kind() != ErrorKind::PermissionDenied => SourceError::Absent(format!(
                "x11: no X server at {display:?} ({}): start one, or name another with --display",
                one_line(e)
            )),
            ConnectError::DisplayParsingError(_) => unnamed(),
            _ => SourceError::Refused(format!(
                "x11: the X server at {display:?} lets nobody in ({}): set XAUTHORITY to the user's file",
                one_line(&error)
            )),
        })
    }
}

impl Source for X11 {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        let (connection, screen) = match self.connect() {
            Ok(connected) => connected,
            Err(error) => return error,
        };
        match Session::begin(&connection, screen, &self.host).and_then(|session| session.run(report)) {
            Ok(never) => match never {},
            Err(e) => SourceError::Lost(format!("x11: the X server has gone ({})", one_line(e))),
        }
    }
}

/// No value: what only ends by an error.
enum Never {}

struct Session<'a> {
    connection: &'a Link,
    desktop: Desktop<'a>,
    root: Window,
    has_saver: bool,
    has_dpms: bool,
}

impl<'a> Session<'a> {
    fn begin(connection: &'a Link, screen: usize, host: &'a [u8]) -> Result<Self, ReplyError> {
        let root = connection.setup().roots[screen].root;
        let desktop = Desktop::of(connection, root, host)?;
        let has = |name| Ok::<_, ReplyError>(connection.extension_information(name)?.is_some());
        let has_saver = has(screensaver::X11_EXTENSION_NAME)? && {
            connection.screensaver_query_version(1, 1)?.reply()?;
            served(connection.screensaver_select_input(root, screensaver::Event::NOTIFY_MASK)?.check())?.is_some()
        };
        // Servers before 21.1 have DPMS 1.1, which cannot be waited for; there the screen saver alone counts.
        let has_dpms = has(dpms::X11_EXTENSION_NAME)? && {
            let version = connection.dpms_get_version(1, 2)?.reply()?;
            (version.server_major_version, version.server_minor_version) >= (1, 2)
                && connection.dpms_capable()?.reply()?.capable
                && served(connection.dpms_select_input(dpms::EventMask::INFO_NOTIFY)?.check())?.is_some()
        };
        Ok(Self { connection, desktop, root, has_saver, has_dpms })
    }

    fn run(mut self, report: &mut dyn FnMut(Event)) -> Result<Never, ReplyError> {
        let mut shown = self.desktop.look()?;
        report(Event::Windows(shown.clone()));
        if self.has_saver || self.has_dpms {
            report(self.screen()?);
        }
        loop {
            let mut event = Some(self.connection.wait_for_event()?);
            let (mut windows, mut screen) = (false, false);
            // One look for all that is there: a change of desktops is told window by window.
            while let Some(one) = event {
                match one {
                    XEvent::PropertyNotify(e) => windows |= self.desktop.concerns(e.window == self.root, e.atom),
                    // Either tells its own half only.
                    XEvent::ScreensaverNotify(_) | XEvent::DpmsInfoNotify(_) => screen = true,
                    _ => {}
                }
                event = self.connection.poll_for_event()?;
            }
            if windows {
                let now = self.desktop.look()?;
                if now != shown {
                    report(Event::Windows(now.clone()));
                    shown = now;
                }
            }
            if screen {
                report(self.screen()?);
            }
        }
    }

    fn screen(&self) -> Result<Event, ConnectionError> {
        let mut on = true;
        if self.has_saver {
            let info = served(self.connection.screensaver_query_info(self.root)?.reply())?;
            on &= info.is_none_or(|i| i.state != u8::from(screensaver::State::ON));
        }
        if self.has_dpms {
            let info = served(self.connection.dpms_info()?.reply())?;
            on &= info.is_none_or(|i| !i.state || i.power_level == DPMSMode::ON);
        }
        Ok(Event::Screen { on })
    }
}

/// The number in `[HOST]:NUMBER[.SCREEN]`.
fn display_number(display: &str) -> Option<u32> {
    display.rsplit_once(':')?.1.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_display_and_nonsense_are_told_in_one_line() {
        for display in ["", "nonsense", ":64999", ":59999999999", ":59000", ":x.0", "\n:\u{0}"] {
            let error = X11::new(Some(display.into())).watch(&mut |_| panic!("reported"));
            assert!(matches!(error, SourceError::Absent(_)), "{display:?}: {error:?}");
            assert!(!error.to_string().contains('\n'));
        }
    }
}
