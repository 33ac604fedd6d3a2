// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is shown, and what keys do to it: no clock, no socket, no terminal.

use std::cmp::Reverse;
use std::collections::VecDeque;

use fovea_apps::{AppName, Lists, Standing};
use fovea_client::{AppStatus, Status};
use ratatui::crossterm::event::KeyCode;
use serde_json::Value;

/// Looks that the curves show at most: wider than any terminal.
const SAMPLES_MAX: usize = 500;

/// Order of the apps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Sort {
    /// The most important first.
    #[default]
    Rank,
    /// The largest in memory first.
    Resident,
    /// Who has most in swap first.
    Compressed,
    /// By name.
    Name,
}

impl Sort {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Rank => "rank",
            Sort::Resident => "resident",
            Sort::Compressed => "compressed",
            Sort::Name => "name",
        }
    }

    fn next(self) -> Sort {
        match self {
            Sort::Rank => Sort::Resident,
            Sort::Resident => Sort::Compressed,
            Sort::Compressed => Sort::Name,
            Sort::Name => Sort::Rank,
        }
    }
}

/// Shares of time in which tasks waited for memory, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Some task.
    pub some: f64,
    /// All tasks at once.
    pub full: f64,
}

/// What lies over the apps.
#[derive(Debug, Default)]
pub enum Pane {
    /// Nothing.
    #[default]
    Apps,
    /// An app's story, oldest entry first.
    Story {
        /// The app.
        app: AppName,
        /// As they stand in the journal.
        entries: Vec<Value>,
    },
    /// The owner's lists.
    Lists {
        /// By the configuration.
        configured: Lists,
        /// By command.
        said: Lists,
    },
    /// What the keys do.
    Help,
}

/// What a key asks of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// To end.
    Quit,
    /// An app's story.
    Explain(AppName),
    /// The owner's lists.
    ShowLists,
    /// To put an app on a list, or to take it off.
    Toggle(Standing, AppName),
}

/// All that is shown.
#[derive(Debug, Default)]
pub struct View {
    /// The daemon's state, as last asked.
    pub status: Status,
    /// Pressure at each look, the latest last; empty without PSI.
    pub samples: VecDeque<Sample>,
    /// Entries of the journal, oldest first.
    pub story: Vec<Value>,
    /// Order of the apps.
    pub sort: Sort,
    /// The app that keys are about.
    pub selected: Option<AppName>,
    /// What lies over the apps.
    pub pane: Pane,
    /// What went wrong, or what was done.
    pub message: Option<String>,
}

impl View {
    /// Takes a new state.
    pub fn take(&mut self, status: Status) {
        if let Some(some) = status.memory.psi_some_avg10 {
            let full = status.memory.psi_full_avg10.unwrap_or(0.0);
            self.samples.push_back(Sample { some, full });
            if self.samples.len() > SAMPLES_MAX {
                self.samples.pop_front();
            }
        }
        self.status = status;
    }

    /// The apps in their order.
    pub fn apps(&self) -> Vec<&AppStatus> {
        let mut apps: Vec<_> = self.status.apps.iter().collect();
        apps.sort_by(|a, b| a.name.cmp(&b.name));
        match self.sort {
            Sort::Rank => apps.sort_by_key(|app| (app.importance, Reverse(resident_bytes(app)))),
            Sort::Resident => apps.sort_by_key(|app| Reverse(resident_bytes(app))),
            Sort::Compressed => apps.sort_by_key(|app| Reverse(app.usage.swap_bytes)),
            Sort::Name => {}
        }
        apps
    }

    /// Where the selected app stands among them; the first if it is gone.
    pub fn selected_at(&self, apps: &[&AppStatus]) -> usize {
        apps.iter().position(|app| Some(&app.name) == self.selected.as_ref()).unwrap_or(0)
    }

    /// The words of the latest decision about an app's rank.
    pub fn rank_in_words(&self, app: &AppName) -> Option<&str> {
        let ranked = |entry: &&Value| entry["action"] == "rank" && entry["app"] == app.as_str();
        let reason = self.story.iter().rev().find(ranked)?["reason"].as_str()?;
        Some(fovea_client::words::reason_in_words(reason))
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyCode) -> Wish {
        self.message = None;
        match key {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Esc if matches!(self.pane, Pane::Apps) => return Wish::Quit,
            KeyCode::Esc | KeyCode::Backspace => self.pane = Pane::Apps,
            KeyCode::Char('?' | 'h') => self.pane = Pane::Help,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('l') => return Wish::ShowLists,
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-10),
            KeyCode::PageDown => self.step(10),
            KeyCode::Enter | KeyCode::Char('e') => return self.about(Wish::Explain),
            KeyCode::Char('p') => return self.about(|app| Wish::Toggle(Standing::Protect, app)),
            KeyCode::Char('a') => return self.about(|app| Wish::Toggle(Standing::Avoid, app)),
            KeyCode::Char('f') => return self.about(|app| Wish::Toggle(Standing::Prefer, app)),
            KeyCode::Char('i') => return self.about(|app| Wish::Toggle(Standing::Ignore, app)),
            _ => {}
        }
        Wish::Nothing
    }

    fn about(&self, wish: impl FnOnce(AppName) -> Wish) -> Wish {
        let apps = self.apps();
        apps.get(self.selected_at(&apps)).map_or(Wish::Nothing, |app| wish(app.name.clone()))
    }

    fn step(&mut self, by: isize) {
        let apps = self.apps();
        let at = self.selected_at(&apps).saturating_add_signed(by).min(apps.len().saturating_sub(1));
        self.selected = apps.get(at).map(|app| app.name.clone());
    }
}

/// What an app has in memory and nobody else: files that it maps are not in it.
pub fn resident_bytes(app: &AppStatus) -> u64 {
    app.usage.taken_bytes().saturating_sub(app.usage.swap_bytes)
}
