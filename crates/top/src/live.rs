// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon and the terminal.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fovea_apps::{AppName, Pattern, Standing};
use fovea_client::protocol::{Reply, Request};
use fovea_client::{request, status, tell, ClientError};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use serde_json::Value;

use crate::draw::draw;
use crate::in_one_line;
use crate::view::{Pane, View, Wish};

/// Entries of the journal that are asked for.
const ENTRIES: usize = 200;
/// The journal is read for us from files, so seldom.
const LOOKS_PER_STORY: u32 = 5;

/// Who is asked.
pub struct Daemon {
    run_folder: PathBuf,
    looks: u32,
}

impl Daemon {
    /// The daemon of a run folder.
    pub fn new(run_folder: &Path) -> Self {
        Self { run_folder: run_folder.to_owned(), looks: 0 }
    }

    /// Asks for the state, and for the journal's end at every few looks.
    pub fn look(&mut self, view: &mut View) -> Result<(), ClientError> {
        let kills = view.status.kills;
        view.take(status(&self.run_folder, 0, None)?);
        if self.looks % LOOKS_PER_STORY == 0 || view.status.kills != kills {
            view.story = self.story(None)?;
        }
        self.looks += 1;
        Ok(())
    }

    fn story(&self, app: Option<AppName>) -> Result<Vec<Value>, ClientError> {
        match request(&self.run_folder, &Request::Explain { app, limit: Some(ENTRIES), uid: None })? {
            Reply::Story { entries } => Ok(entries),
            other => Err(other.into()),
        }
    }

    fn lists(&self) -> Result<Pane, ClientError> {
        match request(&self.run_folder, &Request::List {})? {
            Reply::Lists { configured, said } => Ok(Pane::Lists { configured, said }),
            other => Err(other.into()),
        }
    }

    /// Puts an app on a list, or takes it off if a command had put it there.
    fn toggle(&self, list: Standing, app: &AppName) -> Result<String, ClientError> {
        let Ok(entry) = app.as_str().parse::<Pattern>() else { return Ok(format!("{app} cannot be listed")) };
        let is_on = matches!(self.lists()?, Pane::Lists { said, .. } if said.of(list).contains(&entry));
        match is_on {
            true => tell(&self.run_folder, &Request::ListRemove { list, entry })?,
            false => tell(&self.run_folder, &Request::ListAdd { list, entry })?,
        }
        Ok(format!("{app}: {} the list {}", if is_on { "off" } else { "on" }, list.name()))
    }

    /// Does what a key asked for; false to end.
    fn grant(&mut self, wish: Wish, view: &mut View) -> Result<bool, ClientError> {
        match wish {
            Wish::Quit => return Ok(false),
            Wish::Nothing => {}
            Wish::Explain(app) => view.pane = Pane::Story { entries: self.story(Some(app.clone()))?, app },
            Wish::ShowLists => view.pane = self.lists()?,
            Wish::Toggle(list, app) => {
                view.message = Some(self.toggle(list, &app)?);
                self.look(view)?;
            }
        }
        Ok(true)
    }
}

/// Draws, looks again at each interval, and does what keys say, until one of them ends it.
pub fn show(daemon: &mut Daemon, mut view: View, interval: Duration) -> Result<(), String> {
    // Restores the terminal after a panic, too.
    let mut terminal = ratatui::try_init().map_err(|e| format!("the terminal: {e}: use `fovea top --once`"))?;
    let ended = keep_on(daemon, &mut view, interval, &mut terminal);
    ratatui::restore();
    ended.map_err(|e| format!("the terminal: {e}: use `fovea top --once`"))
}

fn keep_on(
    daemon: &mut Daemon,
    view: &mut View,
    interval: Duration,
    terminal: &mut ratatui::DefaultTerminal,
) -> std::io::Result<()> {
    let mut next = Instant::now() + interval;
    loop {
        terminal.draw(|frame| draw(view, frame))?;
        if !event::poll(next.saturating_duration_since(Instant::now()))? {
            // A daemon that is started anew is found again.
            if let Err(e) = daemon.look(view) {
                view.message = Some(in_one_line(&e));
            }
            next = Instant::now() + interval;
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Ok(());
        }
        let wish = view.key(key.code);
        match daemon.grant(wish, view) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(e) => view.message = Some(in_one_line(&e)),
        }
    }
}
