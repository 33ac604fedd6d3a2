// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the phone does for its daemon: starts it, waits for it, and tells it which apps there are.

use std::os::fd::AsFd;

use fovea_client::protocol::Request;

use crate::outcome::{At, Outcome};
use crate::phone::{Phone, Woke};
use crate::readings::now_ns;

/// How long the daemon may take to start.
const START_LIMIT_NS: u64 = 30_000_000_000;

impl Phone {
    /// Starts the daemon and waits until it answers.
    pub fn start_daemon(&mut self) -> Outcome<()> {
        self.daemon.start()?;
        self.await_daemon(now_ns() + START_LIMIT_NS)
    }

    /// Connects to a daemon that started its worker again by itself.
    pub fn reconnect_daemon(&mut self) -> Outcome<()> {
        self.await_daemon(now_ns() + START_LIMIT_NS)
    }

    /// Tells a new daemon what the user did before it came: which apps are closed, and which is in front.
    pub fn retell(&mut self) -> Outcome<()> {
        let closed: Vec<String> = self.apps.iter().filter(|(_, a)| a.closed).map(|(n, _)| n.clone()).collect();
        for name in closed {
            let request = Request::Close { app: name.parse().at(|| "closing".into())? };
            self.daemon.tell(&request)?.map_err(|error| format!("the new daemon refused to close {name}: {error}"))?;
        }
        // Said even if nothing is in front: until it is, the daemon takes nobody for idle.
        let request = match &self.book.focused {
            Some(name) => Request::Focus { app: name.parse().at(|| "focusing".into())? },
            None => Request::Home {},
        };
        self.daemon.tell(&request)?.map_err(|error| format!("the new daemon refused {request:?}: {error}"))
    }

    fn await_daemon(&mut self, deadline: u64) -> Outcome<()> {
        while !self.daemon.connect()? {
            self.check_trouble()?;
            if self.daemon.pid.is_none() {
                return Err("the daemon ended at its start: see the console".into());
            }
            if !self.wait_folder(deadline)? {
                return Err("the daemon did not open its control socket within 30 s: see the console".into());
            }
        }
        Ok(())
    }

    /// Waits until something changes in the daemon's folder or a child ends; false when `deadline` passed.
    pub fn wait_folder(&mut self, deadline: u64) -> Outcome<bool> {
        // A socket appears before it accepts; the turns between are bounded by a short wait.
        let short = now_ns() + 20_000_000;
        let watch = self.daemon.folder_watch().try_clone_to_owned().at(|| "copying a descriptor".into())?;
        if matches!(self.wait(Some(short.min(deadline)), None, Some(watch.as_fd()))?, Woke::Other) {
            self.daemon.drain_folder_watch();
        }
        Ok(now_ns() < deadline)
    }

    /// Tells the daemon of a running app.
    pub fn register(&mut self, name: &str) -> Outcome<()> {
        let Some(app) = self.apps.get(name) else { return Ok(()) };
        let Some(role) = app.role else { return Ok(()) };
        let request = Request::Register {
            app: name.parse().at(|| "registering".into())?,
            cgroup: app.cgroup.clone(),
            role,
            io_class: None,
        };
        self.daemon.insist(&request)
    }
}
