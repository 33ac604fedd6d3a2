// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is known of sound, video, players and inhibitors, and when it was read.

use std::collections::BTreeMap;

use fovea_apps::{Perceived, SourceId};

/// Time after which they are looked at again that could not be read.
const AGAIN_NS: u64 = 1_000_000_000;

/// Time after which it is said again that they cannot be read.
pub(super) const SAID_APART_NS: u64 = 600_000_000_000;

/// What is known beside each app's [`super::engine_state::SharedAppState::perceived`].
#[derive(Debug)]
pub(super) struct Perceptions {
    /// When that was last looked at; `None` when something has changed since.
    pub(super) looked_ns: Option<u64>,
    /// When a video device was last opened or closed, until who has one open has been looked for in time.
    pub(super) video_changed_ns: Option<u64>,
    /// The processes that hold an inhibitor, and those whose player plays, as each source that knows says.
    pub(super) reported: BTreeMap<(SourceId, Perceived), Vec<u32>>,
    /// Users of sound and video could not be read the last time.
    pub(super) unread: bool,
    /// When that was last said.
    pub(super) said_ns: Option<u64>,
}

impl Default for Perceptions {
    fn default() -> Self {
        // Somebody may have had a camera open before we began.
        Self { looked_ns: None, video_changed_ns: Some(0), reported: BTreeMap::new(), unread: false, said_ns: None }
    }
}

impl Perceptions {
    /// Devices of sound or video have been opened or closed.
    pub(super) fn media_changed(&mut self, change: fovea_linux::MediaChange, now_ns: u64) {
        if change.sound || change.video {
            self.looked_ns = None;
        }
        if change.video {
            self.video_changed_ns = Some(now_ns);
        }
    }

    /// The processes that hold an inhibitor, as a source says for as long as it is there.
    pub(super) fn inhibitors(&mut self, source: Option<SourceId>, pids: Vec<u32>) -> Result<(), String> {
        self.tell(source, Perceived::Inhibits, pids)
    }

    /// The processes whose media player plays, likewise.
    pub(super) fn playing(&mut self, source: Option<SourceId>, pids: Vec<u32>) -> Result<(), String> {
        self.tell(source, Perceived::PlaysMedia, pids)
    }

    fn tell(&mut self, source: Option<SourceId>, perceived: Perceived, pids: Vec<u32>) -> Result<(), String> {
        self.reported.insert((leased(source)?, perceived), pids);
        self.looked_ns = None;
        Ok(())
    }

    /// Nobody says any more what a source said.
    pub(super) fn left(&mut self, source: SourceId) {
        let before = self.reported.len();
        self.reported.retain(|(of, _), _| *of != source);
        if self.reported.len() < before {
            self.looked_ns = None;
        }
    }

    /// When to look again though nothing happens: who plays could not be read.
    pub(super) fn due_ns(&self, now_ns: u64) -> Option<u64> {
        self.unread.then_some(now_ns + AGAIN_NS)
    }

    /// Somebody has come of whom nothing is known yet.
    pub(super) fn look_anew(&mut self) {
        self.looked_ns = None;
    }
}

/// What is told of processes ends with whoever tells it.
pub(super) fn leased(source: Option<SourceId>) -> Result<SourceId, String> {
    source.ok_or_else(|| "only a source can tell that of processes, for it ends with it: say attend first".into())
}
