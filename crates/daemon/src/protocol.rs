// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is said on the control socket: one JSON request per packet (SOCK_SEQPACKET), one JSON reply.

use fovea_apps::{AppName, Importance, IoClass, Lists, Pattern, Perceived, Role, Standing};
use serde::{Deserialize, Serialize};

/// Where the socket is, below the run folder.
pub const SOCKET_NAME: &str = "control.sock";

/// Folder of socket and state, unless configured.
pub const RUN_FOLDER: &str = "/run/fovea";

/// The largest request.
pub const REQUEST_MAX_BYTES: usize = 4096;

/// The largest reply.
pub const REPLY_MAX_BYTES: usize = 192 * 1024;

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
    /// This connection is a source's: what it says of focus and screen from now on holds as long as it lasts. What is said on one that
    /// is none's is a guess about the focus, and holds for the screen until the next word.
    Attend {
        /// Who tells, for people: "x11", "sway".
        name: AppName,
    },
    /// The windows that can be seen now, by their processes: answered once the apps in whose cgroups those are run. A process of no
    /// app's is passed over.
    Windows {
        /// PID of the window in front, in the daemon's PID namespace; none if nothing of which the process is known is in front.
        front: Option<u32>,
        /// PIDs of all windows that can be seen.
        visible: Vec<u32>,
    },
    /// The processes that hold an inhibitor, all of them: a source says so, and it holds as long as the source is there.
    Inhibitors {
        /// PIDs, in the daemon's PID namespace.
        pids: Vec<u32>,
    },
    /// Nothing is in front any more.
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
    /// The owner's lists.
    List {},
    /// Puts an entry on one of them, until the daemon ends.
    ListAdd {
        /// The list.
        list: Standing,
        /// Which apps.
        entry: Pattern,
    },
    /// Takes an entry off that was put there so.
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
        assumed: crate::simulate::Assumed,
    },
    /// The state of everything.
    Status {},
    /// An app's story.
    Explain {
        /// Name; all apps without it.
        #[serde(default)]
        app: Option<AppName>,
        /// At most so many of the latest entries.
        #[serde(default)]
        limit: Option<usize>,
    },
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
    /// The owner's lists.
    Lists {
        /// By the configuration.
        configured: Lists,
        /// By command since the daemon began.
        said: Lists,
    },
    /// What would be done.
    Simulation(Box<crate::simulate::Simulation>),
    /// The state of everything.
    Status(Box<Status>),
    /// Journal entries, oldest first.
    Story {
        /// Entries as they stand in the journal.
        entries: Vec<serde_json::Value>,
    },
}

/// What `fovea status --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's PID.
    pub pid: u32,
    /// Whether the screen is on.
    pub screen_on: bool,
    /// Who tells of focus and screen, by name.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether one of them tells who is in front; else nobody is frozen, and nothing compressed ahead.
    #[serde(default)]
    pub focus_told: bool,
    /// App on the screen; where nobody tells, a guess.
    pub foreground: Option<AppName>,
    /// Whether there is work under way or a timer set; false when the daemon sleeps until something happens.
    pub busy: bool,
    /// Memory is short, and nobody but apps on the owner's lists could be killed: the kernel's OOM killer may be next.
    #[serde(default)]
    pub only_listed: bool,
    /// Cgroups of no app that grew fast while memory was short, in the last minute.
    #[serde(default)]
    pub runaways: Vec<String>,
    /// Memory as last read.
    pub memory: fovea_linux::MemoryReading,
    /// The eCache's pool; none without the module.
    #[serde(default)]
    pub ecache: Option<fovea_linux::ecache::PoolReading>,
    /// Kills since the daemon began.
    pub kills: u64,
    /// Pages compressed since the daemon began.
    pub compressed_pages: u64,
    /// What this device lacks, by name.
    pub missing: Vec<String>,
    /// Apps.
    pub apps: Vec<AppStatus>,
}

/// One app in [`Status`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppStatus {
    /// Name.
    pub name: AppName,
    /// Cgroup.
    pub cgroup: String,
    /// Rank now.
    pub importance: Importance,
    /// The list it is on, and the entry that means it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Why it is perceptible though it may not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perceptible: Option<Perceived>,
    /// Frozen by the daemon.
    pub frozen: bool,
    /// What it occupies, as last read.
    pub usage: fovea_linux::AppUsage,
}
