// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Profiles of apps (`profiles/apps/*.toml`): sizes, files, touch patterns, content.

use serde::{Deserialize, Serialize};

/// An app that the guest can play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppProfile {
    /// Its name, also its cgroup's.
    pub name: String,
    /// Private anonymous memory.
    pub anon_bytes: u64,
    /// What its anonymous pages hold.
    pub mix: Mix,
    /// Files it shares with other apps (framework, libraries).
    #[serde(default)]
    pub shared_files: Vec<FileUse>,
    /// Files of its own (package, dex cache, data).
    #[serde(default)]
    pub private_files: Vec<FileUse>,
    /// What a start touches.
    pub launch: Touch,
    /// What a return to the screen touches.
    pub resume: Touch,
    /// What it does in the background.
    #[serde(default)]
    pub churn: Churn,
    /// How its process begins.
    #[serde(default)]
    pub spawn: Spawn,
    /// Rank when not on the screen: "app", "visible", "service", "content-provider"; "outside" for a process that belongs to no app, of which the
    /// daemon is not told.
    #[serde(default = "default_role")]
    pub role: String,
    /// What it does beyond what apps do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// What it does while it is in front; nothing unless it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Box<Activity>>,
    /// Where the figures come from.
    #[serde(default)]
    pub source: String,
}

/// What an app does while it is in front, beyond coming there (eCache12, section 5.2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Activity {
    /// Device memory that it holds while it is in front, allocated in the middle of its launching (eCache12, section 5.3).
    pub buffers: Vec<Buffer>,
    /// Other screens that are opened.
    pub screens: Screens,
    /// Documents that are read.
    pub reads: Option<Reads>,
    /// Pictures that are taken.
    pub pictures: Option<Pictures>,
}

impl Activity {
    /// Files beside the app's own.
    pub fn files(&self) -> impl Iterator<Item = &FileUse> {
        let read = self.reads.iter().flat_map(|r| &r.files);
        read.chain(self.pictures.iter().flat_map(|p| &p.files))
    }
}

/// A device's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// The device, as in the phone's `reserved_bytes`.
    pub device: String,
    /// How much of its reservation.
    pub size_bytes: u64,
}

/// Other screens of an app than the first: "menu changes, loading the other screen" (eCache12, section 5.3). Each is a set of pages of
/// its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screens {
    /// How many there are.
    pub known: u32,
    /// How many are opened each time, drawn anew.
    pub opened: u32,
    /// What opening one touches.
    pub touch: Touch,
}

/// Documents that are read from beginning to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reads {
    /// All there are.
    pub files: Vec<FileUse>,
    /// How many are read each time, drawn anew.
    pub opened: u32,
    /// Spread over the time that the app is used for, as a player does; else at once.
    pub paced: bool,
}

/// Pictures that are taken: a device buffer for each while it is made, then a file is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pictures {
    /// Held from the shutter until the file is saved (eCache12, section 2.1); none if devices do not allocate.
    pub buffer: Option<Buffer>,
    /// Written one after the other, the oldest replaced.
    pub files: Vec<FileUse>,
    /// How many are taken each time.
    pub taken: u32,
}

fn default_role() -> String {
    "app".into()
}

impl AppProfile {
    /// Whether it belongs to no app.
    pub fn is_outside(&self) -> bool {
        self.role == "outside"
    }

    /// Whether it holds device memory while it is in front.
    pub fn has_buffers(&self) -> bool {
        self.activity.as_ref().is_some_and(|a| !a.buffers.is_empty())
    }

    /// Every file that it uses.
    pub fn files(&self) -> impl Iterator<Item = &FileUse> {
        let more = self.activity.iter().flat_map(|a| a.files());
        self.shared_files.iter().chain(&self.private_files).chain(more)
    }
}

/// Content of anonymous pages, in percent of pages; the sum is 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// All zero.
    pub zero_percent: u32,
    /// The same in every app.
    pub duplicate_percent: u32,
    /// Compressible to about `compressed_percent`.
    pub compressible_percent: u32,
    /// Incompressible.
    pub random_percent: u32,
    /// What a compressible page shrinks to, in percent of a page.
    pub compressed_percent: u32,
}

/// Use of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileUse {
    /// Path below the flash's root.
    pub path: String,
    /// The file's size.
    pub size_bytes: u64,
    /// Mapped, or read into a buffer.
    #[serde(default)]
    pub mapped: bool,
}

/// A touch pattern: shares of what the app has, and computing time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    /// Share of the anonymous memory.
    pub anon_percent: u32,
    /// Share of the shared files.
    pub shared_percent: u32,
    /// Share of the private files.
    pub private_percent: u32,
    /// Computing beside the touching, in instructions (exact mode: nanoseconds).
    pub compute_insns: u64,
}

/// What a background app writes while it is not frozen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Churn {
    /// Anonymous pages written at each turn.
    pub pages: u64,
    /// Time between turns; 0 for never.
    pub period_ns: u64,
}

/// What a program does that is no ordinary app: begun by its start, and without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Load {
    /// Once it has been left, it takes more memory each period and gives none back.
    Leak {
        /// Pages taken at a time.
        pages: u64,
        /// Time between.
        period_ns: u64,
    },
    /// It starts so many processes, one each period; each takes memory piece by piece, and stays.
    Bomb {
        /// Processes beside the first.
        processes: u32,
        /// From the start of one to that of the next.
        fork_period_ns: u64,
        /// Pages that each takes at a time.
        pages: u64,
        /// Pieces that each takes.
        pieces: u32,
        /// Time between.
        period_ns: u64,
    },
    /// It plays music from its first launch on, whether it is in front or not.
    Music {
        /// Pages of its decoder, which it goes through again and again.
        pages: u64,
        /// Of them for each 4 KiB of sound.
        pages_per_chunk: u32,
    },
    /// A build: compilers that fill their memory, compute, and end, so many at a time, one after the other. No app.
    Build {
        /// At a time.
        jobs: u32,
        /// Pages of each.
        pages: u64,
        /// Computing of each, in instructions.
        compute_insns: u64,
        /// From the start of one to that of the next at least.
        #[serde(default)]
        period_ns: u64,
    },
}

impl Load {
    /// Whether its end is what the user would wish for.
    pub fn is_culprit(self) -> bool {
        matches!(self, Load::Leak { .. } | Load::Bomb { .. })
    }
}

/// How a process begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spawn {
    /// Forked from the zygote: shares its preloaded pages copy-on-write.
    #[default]
    Zygote,
    /// Started by exec.
    Exec,
}
