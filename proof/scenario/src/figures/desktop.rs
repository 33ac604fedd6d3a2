// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who died on a desktop, and how long the user waited.

use std::collections::BTreeSet;

use crate::Step;

/// What became of an outsider's unit and of everybody's `oom_score_adj`.
#[derive(Clone, Copy)]
pub(crate) struct Outside {
    /// For how long the user worked beside it.
    pub watched_ns: f64,
    pub leaker_ended: bool,
    pub siblings_lost: f64,
    pub scores_changed: f64,
    pub scores_below: f64,
}

/// What only desktops have.
#[derive(Default)]
pub(crate) struct Desktop {
    /// Interactions with apps in front: time of each, and what of it every process of the app waited for memory.
    pub interactions: Vec<(f64, f64)>,
    /// Apps and builds that were killed, by name, in order; with whether the user would wish for it.
    pub killed: Vec<(String, bool)>,
    /// Of each of them, whether it was in front.
    pub killed_in_front: Vec<bool>,
    /// Apps that ever came to the screen.
    seen: BTreeSet<String>,
    /// Apps that run.
    pub alive: BTreeSet<String>,
    /// Services and apps in front that were killed.
    pub wrong_victims: f64,
    /// Who is in front, or comes there.
    front: Option<String>,
    culprits: BTreeSet<String>,
    /// Who leaks, and since when.
    leaking: Option<(String, u64)>,
    /// From then to its end.
    pub leak_ns: Option<f64>,
    /// What only boots with an outsider have.
    pub outside: Option<Outside>,
    /// How often the owner of a zram found it to be another's.
    pub zram_lost: Option<f64>,
}

impl Desktop {
    pub fn new(culprits: BTreeSet<String>) -> Desktop {
        Desktop { culprits, ..Desktop::default() }
    }

    pub fn leaks(&mut self, app: &str, since_ns: u64) {
        self.leaking = Some((app.to_owned(), since_ns));
    }

    pub fn killed(&mut self, app: &str, at_ns: u64) {
        if let Some((_, since_ns)) = self.leaking.take_if(|(name, _)| name == app) {
            self.leak_ns = Some((at_ns - since_ns) as f64);
        }
        self.alive.remove(app);
        self.killed_in_front.push(self.is_in_front(app));
        self.killed.push((app.to_owned(), self.culprits.contains(app)));
    }

    pub fn is_in_front(&self, app: &str) -> bool {
        self.front.as_deref() == Some(app)
    }

    /// A step begins: who is in front from here on.
    pub fn look(&mut self, step: Option<&Step>) {
        match step {
            Some(Step::Open { app }) => self.front = Some(app.clone()),
            Some(Step::Home {}) => self.front = None,
            Some(Step::Close { app }) => drop(self.front.take_if(|front| front == app)),
            _ => {}
        }
    }

    /// An app is on the screen.
    pub fn shown(&mut self, app: &str) {
        self.front = Some(app.to_owned());
        self.seen.insert(app.to_owned());
        self.alive.insert(app.to_owned());
    }

    /// Apps that the user opened and that never died.
    pub fn never_killed(&self) -> usize {
        self.seen.iter().filter(|app| self.killed.iter().all(|(killed, _)| killed != *app)).count()
    }

    /// Apps of the user's that run.
    pub fn kept(&self) -> usize {
        self.alive.difference(&self.culprits).count()
    }
}
