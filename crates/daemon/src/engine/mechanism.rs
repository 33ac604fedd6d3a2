// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a mechanism is: it observes, has `policy` decide, acts, and says what it did. One file each; the list is [`super::all`].

use std::os::fd::OwnedFd;

use fovea_apps::{App, AppName};
use fovea_client::news::Killed;
use fovea_client::Status;
use fovea_linux::{Device, Error};
use fovea_policy::{Action, Config, Decision, Reason, Snapshot};

use super::house::House;

/// What the event loop has to do after a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// When to turn again if nothing happens; `None`: not before something happens.
    pub wake_at_ns: Option<u64>,
    /// Whether memory is short.
    pub short: bool,
    /// Who was killed in it.
    pub killed: Vec<Killed>,
    /// Who turned out to have ended already.
    pub(super) ended: Vec<AppName>,
    /// Ends of processes to wait for; each is to be reported by [`super::Engine::victim_ended`].
    pub awaited: Vec<OwnedFd>,
}

impl Turn {
    /// Nothing was done; the next turn is then.
    pub fn again_at(at_ns: u64) -> Self {
        Self { wake_at_ns: Some(at_ns), ..Self::default() }
    }

    /// Turns again by then.
    pub(super) fn wake_by(&mut self, at_ns: u64) {
        self.wake_at_ns = Some(self.wake_at_ns.map_or(at_ns, |t| t.min(at_ns)));
    }
}

/// What a mechanism uses: a row of `fovea check`, which is told what for.
pub(super) struct Need {
    pub(super) row: &'static str,
    /// What the mechanism gives by it.
    pub(super) gives: &'static str,
    /// Whether its absence is told at the start; else it shows when the mechanism sets itself up.
    pub(super) told: bool,
}

impl Need {
    pub(super) const fn told(row: &'static str, gives: &'static str) -> Self {
        Self { row, gives, told: true }
    }

    pub(super) const fn shown(row: &'static str, gives: &'static str) -> Self {
        Self { row, gives, told: false }
    }
}

/// A decision's part that is to be done now.
pub(super) struct Step<'a> {
    pub(super) action: &'a Action,
    pub(super) reason: Reason,
    /// What it was decided on.
    pub(super) snapshot: &'a Snapshot,
}

/// One of the things that the daemon does for the app in front.
///
/// A change of who matters is answered by [`at_once`](Mechanism::at_once) before whoever told it has an answer: that is decided on what is
/// known, and nothing is read. A turn of the loop then lets each [`observe`](Mechanism::observe) and [`decide`](Mechanism::decide).
pub(super) trait Mechanism<D: Device> {
    /// As in `policy`'s list.
    fn name(&self) -> &'static str;

    /// What it uses of the kernel.
    fn needs(&self) -> &'static [Need];

    /// Sets the device up, at the start.
    fn set_up(&mut self, _house: &mut House<D>, _now_ns: u64) -> Result<(), Error> {
        Ok(())
    }

    /// An app is known from now on.
    fn came(&mut self, _app: &AppName, _now_ns: u64) {}

    /// An app has come to the screen.
    fn fronted(&mut self, _app: &AppName) {}

    /// An app has ended, or is to be known by another name: what is known of it is forgotten.
    fn gone(&mut self, _house: &mut House<D>, _app: &App, _now_ns: u64) {}

    /// What was done to an app that lives on is taken back, for it is about to be forgotten.
    fn undo(&mut self, _house: &mut House<D>, _app: &App, _now_ns: u64) {}

    /// What is to be done on what is known, before anything is read.
    fn at_once(&self, _snapshot: &Snapshot, _config: &Config) -> Decision {
        Decision::default()
    }

    /// What came of it has been done.
    fn answered(&mut self) {}

    /// A turn begins.
    fn begin(&mut self, _house: &mut House<D>, _now_ns: u64) {}

    /// Reads what its decision depends on.
    fn observe(&mut self, _house: &mut House<D>, _now_ns: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Adds what it knows to what a decision may depend on. The apps are there, with what everybody knows of them.
    fn describe(&self, snapshot: &mut Snapshot);

    /// What is to be done after a look, by `policy`.
    fn decide(&self, _snapshot: &Snapshot, _config: &Config) -> Decision {
        Decision::default()
    }

    /// What it is about to do has been decided.
    fn decided(&mut self, _house: &mut House<D>, _decision: &Decision, _snapshot: &Snapshot) {}

    /// Does its part of a decision; false if it is not its part.
    fn perform(&mut self, house: &mut House<D>, step: &Step, turn: &mut Turn) -> bool;

    /// A turn ends.
    fn finish(&mut self, _house: &mut House<D>, _now_ns: u64, _turn: &mut Turn) {}

    /// One of the processes of the last [`Turn::awaited`] has ended; says whose end is now known of by that.
    fn victim_ended(&mut self, _house: &mut House<D>, _now_ns: u64) -> Option<AppName> {
        None
    }

    /// An app's cgroup has no process any more; for bookkeeping before it is forgotten.
    fn cgroup_emptied(&mut self, _house: &mut House<D>, _app: &AppName, _now_ns: u64) {}

    /// Reads anew what is shown of these apps and in all, without a decision's resting on it.
    fn refresh(&mut self, _house: &mut House<D>, _shown: &[AppName], _now_ns: u64) {}

    /// Makes a snapshot what a decision would be made on now, for a dry run; says what else is to be known.
    fn preview(&mut self, _house: &mut House<D>, snapshot: &mut Snapshot) -> Result<Vec<String>, Error> {
        self.describe(snapshot);
        Ok(Vec::new())
    }

    /// Adds what it knows to what is shown.
    fn report(&self, _status: &mut Status, _now_ns: u64) {}
}
