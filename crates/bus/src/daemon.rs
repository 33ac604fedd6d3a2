// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is asked of the daemon, and what is known of it without asking.

use std::sync::atomic::{AtomicU64, AtomicU8};

use fovea_apps::{AppName, Lists};
use fovea_client::protocol::{Reply, Request};
use fovea_client::socket::status_by;
use fovea_client::{ClientError, Connection, Status};
use serde_json::Value;

/// Entries of the journal in one answer: as many as the daemon gives.
const ENTRIES_MAX: usize = 400;

/// What the properties show.
#[derive(Debug)]
pub struct State {
    /// The warning in force: 0, 50, 100 or 255.
    pub level: AtomicU8,
    /// Kills since the daemon began.
    pub kills: AtomicU64,
    /// The daemon only decides (`[daemon] act = false`).
    pub only_decides: bool,
}

impl State {
    /// As a status has it, with the warning in force.
    pub fn new(status: &Status, level: u8) -> State {
        State { level: level.into(), kills: status.kills.into(), only_decides: status.only_decides }
    }
}

/// The connection that asks.
#[derive(Debug)]
pub struct Daemon(Connection);

impl Daemon {
    pub fn new(link: Connection) -> Daemon {
        Daemon(link)
    }

    /// The status, with all apps.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        status_by(0, None, |request| self.ask(request))
    }

    /// The journal's latest entries, of an app and of a user's apps only where one is named.
    pub fn story(&mut self, app: Option<AppName>, uid: Option<u32>, limit: u32) -> Result<Vec<Value>, ClientError> {
        let limit = Some((limit as usize).min(ENTRIES_MAX));
        match self.ask(&Request::Explain { app, limit, uid })? {
            Reply::Story { entries } => Ok(entries),
            other => Err(other.into()),
        }
    }

    /// The owner's lists: by the configuration, and by command.
    pub fn rules(&mut self) -> Result<(Lists, Lists), ClientError> {
        match self.ask(&Request::List {})? {
            Reply::Lists { configured, said } => Ok((configured, said)),
            other => Err(other.into()),
        }
    }

    /// After a break no later answer would be its own question's: the program ends, and the unit starts it anew.
    fn ask(&mut self, request: &Request) -> Result<Reply, ClientError> {
        self.0.ask(request).inspect_err(|e| {
            crate::say(&e.to_string());
            std::process::exit(1);
        })
    }
}
