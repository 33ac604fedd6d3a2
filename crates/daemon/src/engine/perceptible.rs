// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is heard or waited for without being in front: users of sound and video, players that play, and holders of inhibitors.

use std::collections::BTreeMap;

use fovea_apps::{AppName, Perceived, SourceId};
use fovea_linux::{Device, Error};
use serde_json::json;

use super::engine_state::EngineState;

/// How old what is known of them may be where something may be done to an app; before it is done they are looked at again.
const FRESH_NS: u64 = 200_000_000;

/// Time after a video device was opened in which it is looked for again at each look: the kernel tells before the opener has it among its
/// descriptors, and he may hand it on.
const SETTLES_NS: u64 = 1_000_000_000;

/// Time after which they are looked at again that could not be read.
const AGAIN_NS: u64 = 1_000_000_000;

/// Time after which it is said again that they cannot be read.
pub(super) const SAID_APART_NS: u64 = 600_000_000_000;

/// What is known beside each app's [`SharedAppState::perceived`].
#[derive(Debug)]
pub(super) struct Perceptions {
    /// When that was last looked at; `None` when something has changed since.
    looked_ns: Option<u64>,
    /// When a video device was last opened or closed, until who has one open has been looked for in time.
    video_changed_ns: Option<u64>,
    /// The processes that hold an inhibitor, and those whose player plays, as each source that knows says.
    reported: BTreeMap<(SourceId, Perceived), Vec<u32>>,
    /// Users of sound and video could not be read the last time.
    unread: bool,
    /// When that was last said.
    said_ns: Option<u64>,
}

/// Why an app is perceptible.
struct Found {
    /// The most certain reason.
    least: Perceived,
    /// The most certain by sound or camera.
    heard: Option<Perceived>,
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

impl<D: Device> EngineState<D> {
    /// Looks who is perceptible, if something has changed or, where an app may be harmed, what is known is old.
    pub(super) fn perceive_in_time(&mut self, may_harm: bool, now_ns: u64) {
        let fresh = |looked_ns: u64| !may_harm || now_ns.saturating_sub(looked_ns) < FRESH_NS;
        if !self.perceptions.looked_ns.is_some_and(fresh) {
            self.perceive(now_ns);
        }
    }

    /// Looks who is perceptible, unless that has been done at this very time.
    pub(super) fn perceive_at(&mut self, now_ns: u64) {
        if self.perceptions.looked_ns != Some(now_ns) {
            self.perceive(now_ns);
        }
    }

    /// Looks who is perceptible. Users of sound and video that cannot be read stay who they were.
    pub(super) fn perceive(&mut self, now_ns: u64) {
        if self.registry.is_empty() {
            // Looked at with the first app.
            return self.perceptions.look_anew();
        }
        self.perceptions.looked_ns = Some(now_ns);
        let (found, failure) = match self.look_who_is_perceptible(now_ns) {
            Ok(looked) => looked,
            Err(e) => (BTreeMap::new(), Some(e)),
        };
        let is_partial = failure.is_some();
        if let Some(e) = &failure {
            // Once a while, for who holds the probe up lets it go and holds it up again.
            if self.perceptions.said_ns.is_none_or(|then_ns| now_ns.saturating_sub(then_ns) > SAID_APART_NS) {
                self.perceptions.said_ns = Some(now_ns);
                say!("fovea: {e}: whoever plays and records, and is not seen, stays as it was last known");
            }
            // Looked at again as soon as that may come to something.
            self.perceptions.looked_ns = None;
        }
        self.perceptions.unread = is_partial;
        let mut changed = Vec::new();
        for (name, known) in &mut self.apps {
            let found: Option<&Found> = found.get(name);
            let (perceived, heard) = (found.map(|found| found.least), found.and_then(|found| found.heard));
            // What was known counts where not all is known now.
            let (was, was_heard) = (known.perceived.filter(|_| is_partial), known.heard.filter(|_| is_partial));
            let perceived = perceived.into_iter().chain(was).min();
            known.heard = heard.into_iter().chain(was_heard).min();
            if known.perceived != perceived {
                changed.push((name.clone(), perceived));
            }
        }
        for (name, perceived) in &changed {
            let (name, perceived) = (name, *perceived);
            self.known(name, |known| {
                known.perceived = perceived;
                // Between two songs it is not yet idle.
                known.background_since_ns = known.background_since_ns.max(now_ns);
            });
            self.write(now_ns, "perceptible", Some(name), None, json!({ "by": perceived }));
        }
        match changed.is_empty() {
            // An inhibitor's holder may play as well.
            true => self.classify(now_ns),
            false => self.reorder(now_ns),
        }
    }

    /// Also the first error of those whose app could not be looked up: it keeps nobody else from being seen.
    fn look_who_is_perceptible(&mut self, now_ns: u64) -> Result<(BTreeMap<AppName, Found>, Option<Error>), Error> {
        let users = self.device.media_users(self.perceptions.video_changed_ns.is_some())?;
        self.perceptions.video_changed_ns.take_if(|then_ns| now_ns.saturating_sub(*then_ns) >= SETTLES_NS);
        let reported =
            self.perceptions.reported.iter().flat_map(|((_, why), pids)| pids.iter().map(|&pid| (pid, *why)));
        let reported: Vec<(u32, Perceived)> = reported.collect();
        let media = users.into_iter().map(|user| (user.pid, user.perceived));
        let (mut found, mut failure) = (BTreeMap::new(), None);
        for (pid, perceived) in media.chain(reported) {
            let looked_up = self.app_of_pid(pid).unwrap_or_else(|e| {
                failure.get_or_insert(e);
                None
            });
            if let Some(name) = looked_up {
                let known = found.entry(name).or_insert(Found { least: perceived, heard: None });
                known.least = perceived.min(known.least);
                // An app's own word has it left alone; only what the kernel shows of it has others held for it.
                if !matches!(perceived, Perceived::Inhibits | Perceived::PlaysMedia) {
                    known.heard = Some(known.heard.map_or(perceived, |heard| perceived.min(heard)));
                }
            }
        }
        Ok((found, failure))
    }
}
