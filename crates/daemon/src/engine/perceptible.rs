// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is heard or waited for without being in front: users of sound and video, players that play, and holders of inhibitors.

use std::collections::BTreeMap;

use fovea_apps::{AppName, Perceived};
use fovea_linux::{Device, Error};
use serde_json::json;

use super::engine_state::EngineState;
use super::perceptions::SAID_APART_NS;

/// How old what is known of them may be where something may be done to an app; before it is done they are looked at again.
const FRESH_NS: u64 = 200_000_000;

/// Time after a video device was opened in which it is looked for again at each look: the kernel tells before the opener has it among its
/// descriptors, and he may hand it on.
const SETTLES_NS: u64 = 1_000_000_000;

/// Why an app is perceptible.
struct Found {
    /// The most certain reason.
    least: Perceived,
    /// The most certain by sound or camera.
    heard: Option<Perceived>,
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
