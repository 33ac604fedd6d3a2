// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The protocol of the control socket: one JSON request per packet (SOCK_SEQPACKET), one JSON reply.

use fovea_apps::{AppName, IoClass, Lists, Pattern, Role, Standing};
use serde::{Deserialize, Serialize};

use crate::news::News;
use crate::simulation::{Assumed, Simulation};
use crate::status::Status;

/// Where the socket is, below the run folder.
pub const SOCKET_NAME: &str = "control.sock";

/// Folder of socket and state, unless configured.
pub const RUN_FOLDER: &str = "/run/fovea";

pub use fovea_apps::limits::{REPLY_MAX_BYTES, REQUEST_MAX_BYTES};

/// Most bytes of a request that bus names may take, as JSON.
pub const BUS_NAMES_MAX_BYTES: usize = REQUEST_MAX_BYTES - 64;

/// A name that a process has on a message bus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusName {
    /// PID, in the daemon's PID namespace.
    pub pid: u32,
    /// Well-known name, like "org.mpris.MediaPlayer2.vlc".
    pub name: String,
}

impl BusName {
    /// Whether its JSON fits into `left` bytes; takes its size off them.
    pub fn take_from(&self, left: &mut usize) -> bool {
        // {"pid":4294967295,"name":"..."},
        let takes = self.name.len() + 30;
        let fits = takes <= *left;
        *left = left.saturating_sub(takes);
        fits
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// An app has started in a cgroup of its own. Answered once the daemon watches it.
    Register {
        /// Name.
        app: AppName,
        /// Its cgroup, below the cgroup v2 mount.
        cgroup: String,
        /// Rank off the screen.
        #[serde(default)]
        role: Role,
        /// I/O class, if declared.
        #[serde(default)]
        io_class: Option<IoClass>,
    },
    /// An app comes to the screen. Answered once it is thawed.
    Focus {
        /// Name.
        app: AppName,
    },
    /// This connection is a focus source's: what it says of focus and screen holds until the connection ends. On a connection
    /// without this request, a focus is only a guess, and a screen's state holds until the next `Screen`.
    Attend {
        /// Name of the source, for people: "x11", "sway".
        name: AppName,
        /// The user whose session it is about, if it is one user's. Processes of other users are then ignored, and this
        /// connection takes no other requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uid: Option<u32>,
    },
    /// The processes of all windows that can be seen now. Answered once their apps are thawed. A process that belongs to no app is
    /// ignored.
    Windows {
        /// PID of the focused window, in the daemon's PID namespace; none if no window has the focus or its process is unknown.
        front: Option<u32>,
        /// PIDs of all windows that can be seen.
        visible: Vec<u32>,
    },
    /// All processes that hold an inhibitor. Holds until the connection ends or the next such request.
    Inhibitors {
        /// PIDs, in the daemon's PID namespace.
        pids: Vec<u32>,
    },
    /// A process has a window and may run in its login's own cgroup, so it needs one of its own. Answered with `Done` if the daemon made
    /// one or none is needed, or with the `Scope` that the source is to ask the user's systemd for.
    Adopt {
        /// PID, in the daemon's PID namespace.
        pid: u32,
        /// PIDs of all processes that have windows, panels and desktops among them.
        windows: Vec<u32>,
    },
    /// All processes of media players that play; holds as `Inhibitors` does.
    Playing {
        /// PIDs, in the daemon's PID namespace.
        pids: Vec<u32>,
    },
    /// All names that processes have on a message bus; holds as `Inhibitors` does.
    Names {
        /// Names and whose they are.
        names: Vec<BusName>,
    },
    /// This connection changes nothing from now on: other requests than those that only ask are refused on it.
    OnlyAsk {},
    /// This connection only asks, and is sent [`Reply::News`] from now on. The first is the warning in force.
    Follow {},
    /// No app is in the foreground any more.
    Home {},
    /// The user closed an app; it is kept.
    Close {
        /// Name.
        app: AppName,
    },
    /// The screen went on or off.
    Screen {
        /// On.
        on: bool,
    },
    /// Read the configuration file again. Refused, with what is wrong, where it cannot be used; then nothing has changed.
    Reload {},
    /// The owner's lists.
    List {},
    /// Puts an entry on one of them, until the daemon ends.
    ListAdd {
        /// The list.
        list: Standing,
        /// Which apps.
        entry: Pattern,
    },
    /// Takes an entry off that `ListAdd` put there.
    ListRemove {
        /// The list.
        list: Standing,
        /// The entry as it was added.
        entry: Pattern,
    },
    /// What would be done now, or if memory were as assumed.
    Simulate {
        /// What is assumed.
        #[serde(default)]
        assumed: Assumed,
    },
    /// The state of everything; of the apps as many, from `offset` on, as fit into a reply.
    Status {
        /// Apps passed over, in the order of their names.
        #[serde(default, skip_serializing_if = "is_zero")]
        offset: usize,
        /// Apps told of at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// What was done to an app, and why, from the journal.
    Explain {
        /// Name; all apps without it.
        #[serde(default)]
        app: Option<AppName>,
        /// At most so many of the latest entries.
        #[serde(default)]
        limit: Option<usize>,
        /// Only entries of this user's apps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uid: Option<u32>,
    },
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Request {
    /// The state of everything, from the first app on.
    pub fn status() -> Request {
        Request::Status { offset: 0, limit: None }
    }

    /// Whether the user or an app that starts waits for the answer.
    pub fn is_waited_for(&self) -> bool {
        matches!(
            self,
            Self::Register { .. } | Self::Focus { .. } | Self::Windows { .. } | Self::Home {} | Self::Screen { .. }
        )
    }

    /// Whether it changes nothing.
    pub fn only_asks(&self) -> bool {
        matches!(
            self,
            Self::Status { .. }
                | Self::Explain { .. }
                | Self::List {}
                | Self::Simulate { .. }
                | Self::OnlyAsk {}
                | Self::Follow {}
        )
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// Done.
    Done {},
    /// Refused or failed: what was wrong, where, and the mend, in one line.
    Error {
        /// The line.
        error: String,
    },
    /// A user's systemd is to make a scope of processes.
    Scope {
        /// The user.
        uid: u32,
        /// The scope's name.
        unit: String,
        /// The processes.
        pids: Vec<u32>,
    },
    /// The owner's lists.
    Lists {
        /// By the configuration.
        configured: Lists,
        /// By command since the daemon began.
        said: Lists,
    },
    /// What has happened, on a connection that follows.
    News(News),
    /// What would be done.
    Simulation(Box<Simulation>),
    /// The state of everything.
    Status(Box<Status>),
    /// Journal entries, oldest first.
    Story {
        /// Entries as they stand in the journal.
        entries: Vec<serde_json::Value>,
    },
}
