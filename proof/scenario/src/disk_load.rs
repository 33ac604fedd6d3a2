// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps that use a slow disk at once: what they do, and what comes of it.

use serde::{Deserialize, Serialize};

use crate::Play;

/// The disk, and who uses it how: the parameters of the scenario `disk`, explained in `profiles/scenarios/disk.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Disk {
    /// How long the film plays.
    pub play_ns: u64,
    /// How long dperf then has the disk to itself.
    pub alone_ns: u64,
    /// What one command takes.
    pub command_ns: u64,
    /// How long a command may be.
    pub command_bytes: u64,
    /// Commands that the disk has at once.
    pub queue_depth: u64,
    /// What the player reads for a frame.
    pub frame_bytes: u64,
    /// Time from frame to frame.
    pub frame_ns: u64,
    /// Threads of dperf.
    pub copy_threads: u64,
    /// Whether what the disk does is told.
    pub rate_known: bool,
    /// Further stretches of time, each with what comes to the disk whether or not it keeps up.
    pub open_loops: Vec<OpenLoop>,
    /// How long each of them takes.
    pub open_ns: u64,
}

/// What comes to the disk whether or not it keeps up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenLoop {
    /// 50 MiB that were written to the page cache, and then `sync`.
    Sync,
    /// Many small files, each flushed, as a package manager does.
    Fsyncs,
    /// An app that uses more memory than it may keep.
    Swap,
    /// The app in front copies; there is no film.
    FrontCopy,
}

impl OpenLoop {
    /// All of them.
    pub const ALL: [OpenLoop; 4] = [OpenLoop::Sync, OpenLoop::Fsyncs, OpenLoop::Swap, OpenLoop::FrontCopy];

    /// The stretch's name.
    pub const fn label(self) -> &'static str {
        match self {
            OpenLoop::Sync => "sync",
            OpenLoop::Fsyncs => "fsyncs",
            OpenLoop::Swap => "swap",
            OpenLoop::FrontCopy => "front-copy",
        }
    }

    /// Who uses the disk.
    const fn apps(self) -> &'static [&'static str] {
        match self {
            OpenLoop::Sync => &["player", "syncer", "plain"],
            OpenLoop::Fsyncs => &["player", "installer", "plain"],
            OpenLoop::Swap => &["player", "swapper", "plain"],
            OpenLoop::FrontCopy => &["front", "plain"],
        }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Disk {
            play_ns: 20_000_000_000,
            alone_ns: 10_000_000_000,
            command_ns: 1_510_000,
            command_bytes: 16384,
            queue_depth: 1,
            frame_bytes: 73_728,
            frame_ns: 33_333_333,
            copy_threads: 16,
            rate_known: true,
            open_loops: Vec::new(),
            open_ns: 8_000_000_000,
        }
    }
}

impl Disk {
    /// What the disk does in a second if its commands, one after the other, are all of full length.
    pub fn rate_bytes(&self) -> u64 {
        self.command_bytes * 1_000_000_000 / self.command_ns
    }

    /// What the player reads a second.
    pub fn stream_bytes_per_s(&self) -> u64 {
        self.frame_bytes * 1_000_000_000 / self.frame_ns
    }
}

/// A stretch of time of the scenario `disk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskLoad {
    /// Name of the stretch of time: [`DiskLoad::FILM`], [`DiskLoad::ALONE`], [`DiskLoad::DEATH`], or an open loop's.
    pub label: String,
    /// How long.
    pub ns: u64,
    /// The disk and its users.
    pub disk: Disk,
    /// The player hands the film's frames to a decoder and a display, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub play: Option<Play>,
}

impl DiskLoad {
    /// All apps.
    pub const FILM: &'static str = "film";
    /// The copy alone.
    pub const ALONE: &'static str = "alone";
    /// All apps; the daemon is killed meanwhile, and what it leaves is looked for.
    pub const DEATH: &'static str = "death";
    /// A film while an app updates and mail syncs, on the flash that all apps use.
    pub const UPDATE: &'static str = "update";

    /// Size of the disk.
    pub const SIZE_MIB: u64 = 128;

    /// The apps: the film's player, which is in front; the copy; one of no class; one that writes files.
    pub const APPS: [&'static str; 4] = ["player", "dperf", "plain", "writer"];

    /// Those of [`DiskLoad::UPDATE`]: the player; what copies for an update, and what flushes each of its files; mail, which saves what it gets.
    pub const UPDATE_APPS: [&'static str; 4] = ["player", "dperf", "updater", "writer"];

    /// Who uses the disk in this stretch.
    pub fn apps(&self) -> &'static [&'static str] {
        match OpenLoop::ALL.into_iter().find(|open| open.label() == self.label) {
            Some(open) => open.apps(),
            None if self.label == DiskLoad::ALONE => &["dperf"],
            None if self.label == DiskLoad::UPDATE => &DiskLoad::UPDATE_APPS,
            None => &DiskLoad::APPS,
        }
    }
}

/// What an app did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Read and written.
    pub bytes: u64,
    /// How long it did so.
    pub elapsed_ns: u64,
    /// Time of each read that somebody waits for, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_ns: Vec<u64>,
    /// Frames, of which so many came late or were left out, and of the first [`DiskUse::FIRST_FRAMES`].
    #[serde(default)]
    pub frames: u64,
    /// Late or left out, after the first.
    #[serde(default)]
    pub missed: u64,
    /// Late or left out of the first.
    #[serde(default)]
    pub missed_first: u64,
    /// The longest time of one write or flush.
    #[serde(default)]
    pub longest_stall_ns: u64,
    /// Blocks of 4 KiB that did not hold what had been written there.
    pub wrong_blocks: u64,
}

impl DiskUse {
    /// Frames of the beginning, counted apart: what was with the disk before is ahead of them.
    pub const FIRST_FRAMES: u64 = 60;
}
