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
    /// Rank when not on the screen: "app", "visible", "service", "content-provider".
    #[serde(default = "default_role")]
    pub role: String,
    /// Where the figures come from.
    #[serde(default)]
    pub source: String,
}

fn default_role() -> String {
    "app".into()
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
