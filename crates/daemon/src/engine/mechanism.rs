// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The trait of mechanisms: each observes, has `policy` decide, acts, and reports. One file each;
//! the list is [`super::all`].

use std::os::fd::OwnedFd;

use fovea_apps::{App, AppName};
use fovea_client::news::{Killed, News};
use fovea_client::Status;
use fovea_linux::{Device, Error};
use fovea_policy::{Config, Decision, Snapshot};

use super::engine_state::EngineState;
use super::step::Step;

/// What the event loop has to do after a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// When to turn again if nothing happens; `None`: not before something happens.
    pub wake_at_ns: Option<u64>,
    /// Whether memory is short.
    pub short: bool,
    /// What is to be told of the turn.
    pub news: Vec<News>,
    /// Apps that turned out to have ended already.
    pub(super) ended: Vec<AppName>,
    /// Ends of processes to wait for; each is to be reported by [`super::Engine::victim_ended`].
    pub awaited: Vec<OwnedFd>,
}

impl Turn {
    /// A turn in which nothing was done, and the time of the next.
    pub fn again_at(at_ns: u64) -> Self {
        Self { wake_at_ns: Some(at_ns), ..Self::default() }
    }

    /// The apps and processes that were killed in the turn.
    pub fn killed(&self) -> impl Iterator<Item = &Killed> {
        self.news.iter().filter_map(|news| match news {
            News::Killed(killed) => Some(killed),
            _ => None,
        })
    }

    /// Has the next turn come at this time at the latest.
    pub(super) fn wake_by(&mut self, at_ns: u64) {
        self.wake_at_ns = Some(self.wake_at_ns.map_or(at_ns, |t| t.min(at_ns)));
    }
}

/// A row of `fovea check` that a mechanism needs.
pub(super) struct Need {
    pub(super) row: &'static str,
    /// What the mechanism does with it, for `fovea check`.
    pub(super) gives: &'static str,
    /// Whether its absence is reported at the start. Else the mechanism reports it when it sets
    /// itself up.
    pub(super) is_reported: bool,
}

impl Need {
    pub(super) const fn reported(row: &'static str, gives: &'static str) -> Self {
        Self { row, gives, is_reported: true }
    }

    pub(super) const fn shown(row: &'static str, gives: &'static str) -> Self {
        Self { row, gives, is_reported: false }
    }
}

/// What a mechanism is called, as in `policy`'s list, and the rows of `fovea check` that it needs.
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) needs: &'static [Need],
}

/// What a mechanism may have to take note of.
pub(super) enum Event<'a> {
    /// An app was registered.
    Came(&'a AppName),
    /// An app has come to the foreground.
    Fronted(&'a AppName),
    /// An app's cgroup has no process any more. Comes before the app is gone.
    Emptied(&'a AppName),
    /// An app that lives on is about to be forgotten: what was done to it is to be undone.
    Undo(&'a App),
    /// An app has ended, or gets another name: it is to be forgotten.
    Gone(&'a App),
    /// The actions of [`Mechanism::at_once`] have been performed.
    Answered,
    /// A turn begins.
    TurnBegins,
    /// This mechanism has decided; the actions follow.
    Decided { decision: &'a Decision, snapshot: &'a Snapshot },
    /// All have acted.
    TurnEnds(&'a mut Turn),
    /// One of the processes of the last [`Turn::awaited`] has ended. An app that has ended with it is added to
    /// [`EngineState::dead`].
    VictimEnded,
    /// A status was asked for: what it shows of these apps and in all is to be read. No decision depends on it.
    Asked(&'a [AppName]),
}

/// One of the things that the daemon does for the app in the foreground.
///
/// A change of importance is first answered by [`at_once`](Mechanism::at_once), because its source
/// waits for the daemon's answer: nothing is read. The next turn of the loop then has each
/// mechanism [`observe`](Mechanism::observe), and each [`decide`](Mechanism::decide).
pub(super) trait Mechanism<D: Device> {
    /// Its name and needs.
    fn about(&self) -> About;

    /// Sets the device up, at the start.
    fn set_up(&mut self, _shared: &mut EngineState<D>, _now_ns: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Takes note of an event.
    fn on(&mut self, shared: &mut EngineState<D>, event: Event, now_ns: u64);

    /// Decides on what is known already; nothing is read.
    fn at_once(&self, _snapshot: &Snapshot, _config: &Config) -> Decision {
        Decision::default()
    }

    /// Reads what its decision depends on.
    fn observe(&mut self, _shared: &mut EngineState<D>, _now_ns: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Adds what it knows to a snapshot, which has all apps and what all mechanisms share.
    fn describe(&self, snapshot: &mut Snapshot);

    /// Decides, by `policy`, after all have observed.
    fn decide(&self, _snapshot: &Snapshot, _config: &Config) -> Decision {
        Decision::default()
    }

    /// Performs an action; false if the action is another mechanism's.
    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, turn: &mut Turn) -> bool;

    /// Completes a snapshot for a dry run; returns notes for the user.
    fn preview(&mut self, _shared: &mut EngineState<D>, snapshot: &mut Snapshot) -> Result<Vec<String>, Error> {
        self.describe(snapshot);
        Ok(Vec::new())
    }

    /// Adds what it knows to a status.
    fn report(&self, _status: &mut Status, _now_ns: u64) {}
}
