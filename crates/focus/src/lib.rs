// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is in front and whether the screen is on, for the daemon: asked of whoever knows it on this machine.
//!
//! This runs in a process of its own, so that a compositor that hangs holds up nothing but the news from it. A [`Source`] reports to
//! a [`Mailbox`], which keeps only how things stand; [`deliver`] tells the daemon the difference to what it knows.

mod adopt;
mod attend;
mod auto;
mod bus;
mod deliver;
mod desktop_bus;
#[doc(hidden)]
pub mod fuzz;
mod gnome;
mod inhibitions;
mod kde;
mod kills;
mod logind;
mod mailbox;
mod reported_windows;
mod session;
mod step_down;
mod sway;
mod sway_wire;
mod top_app;
mod user_bus;
mod x11;
mod x11_desktop;
mod x11_stream;

use fovea_client::protocol::BusName;
use thiserror::Error;

pub use adopt::start_scope;
pub use attend::{attend, Backoff};
pub use auto::Auto;
pub use bus::session_bus;
pub use deliver::{deliver, Undelivered};
pub use gnome::Gnome;
pub use kde::Kde;
pub use kills::show_kills;
pub use logind::Logind;
pub use mailbox::{Mailbox, Wanted};
pub use session::Session;
pub use step_down::step_down;
pub use sway::Sway;
pub use top_app::TopApp;
pub use user_bus::UserBus;
pub use x11::X11;

/// The windows that can be seen, by their processes: PIDs in this program's PID namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Whose window is in front; none if nothing is, or nothing of which the process is known.
    pub front: Option<u32>,
    /// Whose windows can be seen, that in front among them, and who asks for the user's attention; ascending, each once.
    pub visible: Vec<u32>,
    /// Whose windows are parts of the desktop itself, panels and backgrounds; ascending, each once.
    pub parts: Vec<u32>,
}

impl Windows {
    /// As many as a request to the daemon holds; more distinct processes than that have no window on a screen.
    const VISIBLE_MAX: usize = 256;

    /// Windows by their processes, in any order.
    pub fn new(front: Option<u32>, visible: impl IntoIterator<Item = u32>) -> Self {
        let mut visible: Vec<u32> = visible.into_iter().chain(front).collect();
        visible.sort_unstable();
        visible.dedup();
        visible.truncate(Self::VISIBLE_MAX);
        Self { front, visible, parts: Vec::new() }
    }

    /// Some of them are parts of the desktop itself.
    pub fn with_parts(self, parts: impl IntoIterator<Item = u32>) -> Self {
        let mut parts: Vec<u32> = parts.into_iter().collect();
        parts.sort_unstable();
        parts.dedup();
        parts.truncate(Self::VISIBLE_MAX);
        Self { parts, ..self }
    }
}

/// What a source tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// What can be seen now.
    Windows(Windows),
    /// The processes that hold an inhibitor now; ascending, each once.
    Inhibitors(Vec<u32>),
    /// The processes of media players that play now; ascending, each once.
    Playing(Vec<u32>),
    /// The names that processes have on a message bus now; ascending, each once.
    Names(Vec<BusName>),
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
