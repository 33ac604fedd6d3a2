// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to compress (seed 002, section 3.3): empty apps, then hidden ones; within a class the one longest unused.

use fovea_apps::Importance;

use crate::{AppState, MemoryConfig, PAGE_BYTES};

/// The next app to compress among the given classes, in the order of the classes.
pub fn candidate<'a>(apps: &'a [AppState], classes: &[Importance], config: &MemoryConfig) -> Option<&'a AppState> {
    classes.iter().find_map(|&class| {
        apps.iter()
            .filter(|a| {
                a.importance == class && !a.compressed && a.anon_bytes >= config.compress_least_pages * PAGE_BYTES
            })
            .min_by(|a, b| (a.focus_seq, &a.name).cmp(&(b.focus_seq, &b.name)))
    })
}
