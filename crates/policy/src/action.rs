// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What can be done to an app, and why.

use fovea_apps::AppName;
use serde::{Deserialize, Serialize};

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Tell the kernel's OOM killer how much it matters.
    Rank {
        /// App.
        app: AppName,
        /// What its most killable process should have.
        oom_score_adj: i32,
    },
    /// Stop an app from running.
    Freeze {
        /// App.
        app: AppName,
    },
    /// Let it run again.
    Thaw {
        /// App.
        app: AppName,
    },
    /// Move some of its pages to compressed swap.
    Compress {
        /// App.
        app: AppName,
        /// How many pages before memory is looked at again.
        pages: u64,
    },
    /// Read compressed pages back ahead of its touching them.
    Prefetch {
        /// App.
        app: AppName,
        /// How many pages at most.
        pages: u64,
    },
    /// Ask it to end, and kill it when its grace is over.
    Ask {
        /// App.
        app: AppName,
    },
    /// End it.
    Kill {
        /// App.
        app: AppName,
    },
}

impl Action {
    /// The app concerned.
    pub fn app(&self) -> &AppName {
        match self {
            Action::Rank { app, .. }
            | Action::Freeze { app }
            | Action::Thaw { app }
            | Action::Compress { app, .. }
            | Action::Prefetch { app, .. }
            | Action::Ask { app }
            | Action::Kill { app } => app,
        }
    }

    /// All names.
    pub const NAMES: [&'static str; 7] = ["rank", "freeze", "thaw", "compress", "prefetch", "ask", "kill"];

    /// Its name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Rank { .. } => "rank",
            Action::Freeze { .. } => "freeze",
            Action::Thaw { .. } => "thaw",
            Action::Compress { .. } => "compress",
            Action::Prefetch { .. } => "prefetch",
            Action::Ask { .. } => "ask",
            Action::Kill { .. } => "kill",
        }
    }

    /// Whether it takes something from the app that its user may miss: what is known of the app is looked at once more before.
    pub fn harms(&self) -> bool {
        matches!(self, Action::Freeze { .. } | Action::Ask { .. } | Action::Kill { .. })
    }
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// In the background for the debounce time.
    Background,
    /// It matters more, or less, than the kernel was told.
    Importance,
    /// Not in the background any more.
    Needed,
    /// Nobody tells any more who is in front.
    Untold,
    /// The screen is off and the app is empty: compress before anyone needs the memory.
    ScreenOff,
    /// The device is idle, the app was not used for a while, and memory is not plentiful.
    Idle,
    /// Memory is short and the app is empty.
    ShortOfMemoryEmpty,
    /// Memory is short, no empty app is left to compress, and the app is hidden.
    ShortOfMemoryHidden,
    /// Memory is short and compression can give no more.
    NothingToCompress,
    /// Memory is short and swap can really take no more.
    SwapFull,
    /// What is reclaimed is read back at once.
    Thrash,
    /// Memory is short because of it: it grows fast, and others would die for it.
    Runaway,
    /// Below the threshold of its class (`ladder` mode).
    Minfree,
}
