// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to compress (seed 002, section 3.3): empty apps, then hidden ones; within a class the one longest unused.

use fovea_apps::{Importance, Standing};

use crate::{AppState, MemoryConfig, PAGE_BYTES};

/// The next app to compress among the given classes, in the order of the classes.
pub fn candidate<'a>(apps: &'a [AppState], classes: &[Importance], config: &MemoryConfig) -> Option<&'a AppState> {
    classes.iter().find_map(|&class| {
        apps.iter()
            .filter(|a| a.importance == class && is_worth(a, config))
            .min_by(|a, b| (a.focus_seq, &a.name).cmp(&(b.focus_seq, &b.name)))
    })
}

/// The next closed app to compress ahead of need. What the last return of an app touched is spared: its next return will touch it
/// again (seed 002, section 3.1, counts that double cost against compression that does not know whose pages it takes).
pub fn candidate_ahead<'a>(apps: &'a [AppState], config: &MemoryConfig) -> Option<&'a AppState> {
    apps.iter()
        .filter(|a| a.importance == Importance::Empty && is_worth(a, config))
        .filter(|a| !a.returned || a.anon_bytes * 100 > (a.anon_bytes + a.swap_bytes) * config.keep_returned_percent)
        .min_by(|a, b| (a.focus_seq, &a.name).cmp(&(b.focus_seq, &b.name)))
}

fn is_worth(app: &AppState, config: &MemoryConfig) -> bool {
    let may = app.standing != Standing::Ignore && !app.is_perceptible();
    may && !app.compressed && app.anon_bytes >= config.compress_least_pages * PAGE_BYTES
}
