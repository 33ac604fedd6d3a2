// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Events that come again and again are folded: so that no app's flapping, which its user can bring about at will, pushes
//! everybody else's lines out of the journal.

use std::collections::BTreeMap;

use fovea_apps::limits::{
    DECISIONS_OF_APP_PER_MIN, DECISIONS_PER_MIN, EVENTS_FOLDED_MAX, EVENTS_OF_APP_PER_MIN, EVENTS_PER_MIN,
};
use fovea_apps::AppName;

const MINUTE_NS: u64 = 60_000_000_000;

/// An event, and whose.
pub(super) type Kind = (&'static str, Option<AppName>);

/// Lines a minute of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    of_app: u32,
    of_all: u32,
}

impl Share {
    pub const EVENT: Share = Share { of_app: EVENTS_OF_APP_PER_MIN, of_all: EVENTS_PER_MIN };
    /// Each turn may have one.
    pub const DECISION: Share = Share { of_app: DECISIONS_OF_APP_PER_MIN, of_all: DECISIONS_PER_MIN };
}

/// What was written, and left out, in this minute.
#[derive(Debug, Default)]
pub(super) struct Folds {
    began_ns: u64,
    of_kind: BTreeMap<Kind, (u32, u64)>,
    of_action: BTreeMap<&'static str, u32>,
}

impl Folds {
    /// What was left out of a minute that is over; empty while it is not.
    pub fn turn(&mut self, now_ns: u64) -> Vec<(Kind, u64)> {
        // A clock that is another one has no minute of ours.
        if now_ns.checked_sub(self.began_ns).is_some_and(|ns| ns < MINUTE_NS) {
            return Vec::new();
        }
        self.began_ns = now_ns;
        self.of_action.clear();
        let all = std::mem::take(&mut self.of_kind);
        all.into_iter().filter_map(|(kind, (_, folded))| (folded > 0).then_some((kind, folded))).collect()
    }

    /// Whether one more is written; else it is counted.
    pub fn takes(&mut self, action: &'static str, app: Option<&AppName>, share: Share) -> bool {
        let kind = (action, app.cloned());
        // Of more apps than this nothing is known by name.
        let is_known = self.of_kind.contains_key(&kind) || self.of_kind.len() < EVENTS_FOLDED_MAX;
        let (written, folded) = self.of_kind.entry(if is_known { kind } else { (action, None) }).or_default();
        let together = self.of_action.entry(action).or_default();
        let takes = *written < share.of_app && *together < share.of_all;
        match takes {
            true => (*written, *together) = (*written + 1, *together + 1),
            false => *folded += 1,
        }
        takes
    }
}
