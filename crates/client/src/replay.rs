// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The journal played again: each decision that is in it is made once more, by the configuration that is asked about.

use fovea_policy::{everything, Action, Config, Reason};

use crate::journal::{Decoder, Line};

/// What came of the lines so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Decisions made again.
    pub decisions: u64,
    /// Of them, with another outcome.
    pub different: u64,
    /// Decisions' lines without what they depended on: of an older daemon, or behind the torn beginning of a file.
    pub unknown: u64,
}

/// A decision that would be another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What was done, as the journal has it.
    pub line: Line,
    /// What would be done instead, in the same order as it would be; nothing: nothing.
    pub instead: Vec<(Action, Reason)>,
}

/// A line of a journal, or of a virtual phone's events, in which the journal's lines are some; `None` if it is neither.
pub fn line_of(text: &[u8]) -> Option<Line> {
    let value: serde_json::Value = serde_json::from_slice(text).ok()?;
    let entry = value.get("entry").cloned();
    serde_json::from_value(entry.unwrap_or(value)).ok()
}

/// Plays a journal, line by line.
#[derive(Debug)]
pub struct Replay<'a> {
    config: Option<&'a Config>,
    decoder: Decoder,
    tally: Tally,
}

impl<'a> Replay<'a> {
    /// By a configuration; by the one that was in force then, without.
    pub fn new(config: Option<&'a Config>) -> Self {
        Self { config, decoder: Decoder::default(), tally: Tally::default() }
    }

    /// Makes a line's decision again. What it would have led to is not followed: the next line depends on what really was done.
    pub fn line(&mut self, line: Line) -> Option<Difference> {
        let decided = Action::NAMES.contains(&line.action.as_str()) && line.reason.is_some();
        let Some(snapshot) = self.decoder.decode(&line) else {
            self.tally.unknown += u64::from(decided);
            return None;
        };
        let config = self.config.or(self.decoder.policy())?;
        let actions = everything(&snapshot, config).actions;
        self.tally.decisions += 1;
        let same = |(action, reason): &(Action, Reason)| {
            action.name() == line.action && Some(action.app()) == line.app.as_ref() && Some(*reason) == line.reason
        };
        if actions.iter().any(same) {
            return None;
        }
        self.tally.different += 1;
        // What the others are told of at the same time is no part of the question.
        let instead = actions.into_iter().filter(|(action, _)| !matches!(action, Action::Rank { .. }));
        Some(Difference { line, instead: instead.collect() })
    }

    /// What came of it.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use fovea_apps::Importance;
    use fovea_policy::memory::{MemoryState, Mode};
    use fovea_policy::{AppState, Snapshot};

    use super::*;
    use crate::journal::Encoder;

    /// Short of memory, without swap: the largest hidden app dies.
    fn short() -> Snapshot {
        let app = |name: &str, mb: u64| AppState {
            anon_bytes: mb << 20,
            current_bytes: mb << 20,
            ..AppState::new(name.parse().unwrap(), Importance::Hidden)
        };
        let memory = MemoryState { free_bytes: 5 << 20, file_bytes: 5 << 20, stalled_us: 9, ..MemoryState::default() };
        Snapshot { screen_on: true, memory, apps: vec![app("mail", 30), app("game", 60)], ..Snapshot::default() }
    }

    fn line(encoder: &mut Encoder, action: &str, app: &str, reason: Reason) -> Line {
        let (readings, basis) = encoder.encode(&short());
        let (app, reason) = (Some(app.parse().unwrap()), Some(reason));
        Line { action: action.into(), app, reason, readings, basis: Some(basis), ..Line::default() }
    }

    #[test]
    fn the_same_configuration_decides_the_same_and_another_shows_where_it_differs() {
        let (mut config, mut encoder) = (Config::default(), Encoder::default());
        config.memory.kill_grace_ms = 0;
        encoder.set_policy(config.clone());
        let killed = line(&mut encoder, "kill", "game", Reason::NothingToCompress);
        let mut replay = Replay::new(Some(&config));
        assert_eq!(replay.line(killed.clone()), None);
        assert_eq!(replay.line(Line { action: "focus".into(), ..Line::default() }), None);
        assert_eq!(replay.line(Line { basis: None, ..killed.clone() }), None, "an older daemon's");
        assert_eq!(replay.tally(), Tally { decisions: 1, different: 0, unknown: 1 });

        let another = Config {
            memory: fovea_policy::memory::MemoryConfig { mode: Mode::Ladder, ..config.memory.clone() },
            ..config.clone()
        };
        let mut replay = Replay::new(Some(&another));
        let game = || "game".parse().unwrap();
        let difference = replay.line(killed.clone()).unwrap();
        assert_eq!(difference.instead, [(Action::Kill { app: game() }, Reason::Minfree)]);
        let patient = Config {
            memory: fovea_policy::memory::MemoryConfig { minfree_pages: Some([1; 6]), ..config.memory },
            ..config.clone()
        };
        let difference = Replay::new(Some(&patient)).line(killed.clone()).unwrap();
        assert_eq!(difference.instead, [], "it would have waited");

        encoder.set_policy(patient);
        let mut replay = Replay::new(None);
        assert_eq!(replay.line(killed), None, "by what was in force");
        let later = line(&mut encoder, "kill", "game", Reason::NothingToCompress);
        assert!(replay.line(later).is_some(), "and by what was in force later");
    }

    #[test]
    fn a_line_that_was_changed_by_hand_is_found() {
        let (config, mut encoder) = (Config::default(), Encoder::default());
        let mut replay = Replay::new(Some(&config));
        assert!(replay.line(line(&mut encoder, "kill", "mail", Reason::NothingToCompress)).is_some());
        assert_eq!(replay.tally().different, 1);
    }
}
