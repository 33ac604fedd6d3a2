// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is in front and whether the screen is on, for the daemon: asked of whoever knows it on this machine.
//!
//! This runs in a process of its own, so that a compositor that hangs holds up nothing but the news from it. A [`Source`] reports to
//! a [`Mailbox`], which keeps only how things stand; [`deliver`] tells the daemon the difference to what it knows.

mod attend;
mod deliver;
mod logind;
mod mailbox;
mod sway;
mod sway_wire;
mod top_app;
mod x11;

use thiserror::Error;

pub use attend::{attend, Backoff};
pub use deliver::{deliver, Undelivered};
pub use logind::Logind;
pub use mailbox::{Mailbox, Wanted};
pub use sway::Sway;
pub use top_app::TopApp;
pub use x11::X11;

/// What a source tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A window of this process is in front.
    Front {
        /// PID, in this program's PID namespace.
        pid: u32,
    },
    /// Nothing is in front, or nothing of which the process is known.
    NothingInFront,
    /// The screen is on or off.
    Screen {
        /// On.
        on: bool,
    },
}

/// Why a source has nothing (more) to tell; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// It does not exist on this machine, or not yet.
    #[error("{0}")]
    Absent(String),
    /// It is there and will not be asked.
    #[error("{0}")]
    Refused(String),
    /// It was there and has gone.
    #[error("{0}")]
    Lost(String),
}

/// Someone who knows who is in front or whether the screen is on.
pub trait Source: Send {
    /// Connects, reports how things stand, then every change, waiting for each; comes back only with the reason why it cannot go on,
    /// and can then be called again.
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError;
}

/// A text of somebody else's that is to stand in one of our lines.
fn one_line(text: impl ToString) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}
