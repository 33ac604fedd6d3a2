// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a phone must be able to do to follow a plan.

use std::collections::{BTreeMap, BTreeSet};

use super::bring_by_focus;
use crate::{AppProfile, CpuTimes, EventBody, Plan, Step};

/// A step that cannot be followed: one line.
pub type Outcome<T> = Result<T, String>;

/// The daemon's reply to a request: done, or why not.
pub type StepResult = Result<(), String>;

/// Label of the samples taken on the way.
pub const TICK: &str = "tick";

/// Pages that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// With another content than they should have.
    pub wrong: u64,
    /// In all.
    pub checked: u64,
}

/// What a phone remembers of its plan so far.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// App on the screen.
    pub focused: Option<String>,
    /// Apps that ran at some time.
    pub ran: BTreeSet<String>,
    /// How often each app was opened.
    pub turns: BTreeMap<String, u64>,
}

impl Book {
    /// The number of an app's next opening, from 0.
    pub fn next_turn(&mut self, app: &str) -> u64 {
        let turn = self.turns.entry(app.to_owned()).or_insert(0);
        *turn += 1;
        *turn - 1
    }
}

/// A phone that can follow a plan.
pub trait Phone {
    /// The plan.
    fn plan(&self) -> &Plan;

    /// What is remembered of it.
    fn book(&mut self) -> &mut Book;

    /// The clock.
    fn now_ns(&self) -> u64;

    /// Reports something.
    fn emit(&mut self, body: EventBody) -> Outcome<()>;

    /// Takes note of everything that has happened already.
    fn catch_up(&mut self) -> Outcome<()>;

    /// Fails if something ended that must not end.
    fn check(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Samples memory every so often from now on; 0 for no longer.
    fn set_ticks(&mut self, period_ns: u64) -> Outcome<()>;

    /// Lets time pass.
    fn pass(&mut self, ns: u64) -> Outcome<()>;

    /// Reports the state of memory; a tick only if it is not that of the last.
    fn sample(&mut self, label: &str) -> Outcome<()>;

    /// The same where the plan asks for it: with whatever else there is to report.
    fn report(&mut self, label: &str) -> Outcome<()> {
        self.sample(label)
    }

    /// Bytes read from storage so far.
    fn read_bytes(&mut self) -> Outcome<u64>;

    /// What its CPUs have done so far, if this phone says so.
    fn cpu_times(&mut self) -> Outcome<Option<CpuTimes>> {
        Ok(None)
    }

    /// MemAvailable.
    fn available_bytes(&mut self) -> Outcome<u64>;

    /// Whether an app runs.
    fn runs(&self, app: &str) -> bool;

    /// Starts an app's process, and tells the daemon where that is the phone's to tell.
    fn spawn(&mut self, profile: &AppProfile) -> Outcome<()>;

    /// Has an app that was just spawned come up; `None` if it ended meanwhile.
    fn launch(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>>;

    /// Has an app that ran off the screen come back; `None` if it ended meanwhile.
    fn resume(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>>;

    /// What an app still does once it can be used, after its start.
    fn after_launch(&mut self, _app: &str) -> Outcome<()> {
        Ok(())
    }

    /// An app goes to the background; there it works on, if `churn`.
    fn background(&mut self, app: &str, churn: bool) -> Outcome<()>;

    /// Has an app check all its pages; nothing is counted if it ends meanwhile.
    fn verify(&mut self, app: &str) -> Outcome<Pages>;

    /// Has an app take more memory; false if it ended.
    fn grow(&mut self, app: &str, pages: u64) -> Outcome<bool>;

    /// Ends an app without anybody's doing, wherever it is and even if it is frozen; returns once that has been noticed.
    fn crash(&mut self, app: &str) -> Outcome<()>;

    /// The user has closed an app, or opened it again.
    fn set_closed(&mut self, app: &str, closed: bool);

    /// Tells the daemon that an app comes to the screen.
    fn focus(&mut self, app: &str) -> Outcome<StepResult>;

    /// Tells it that the user closed one.
    fn tell_closed(&mut self, app: &str) -> Outcome<StepResult>;

    /// Tells it that nothing is in front any more.
    fn tell_home(&mut self) -> Outcome<StepResult>;

    /// Tells it of the screen.
    fn tell_screen(&mut self, on: bool) -> Outcome<StepResult>;

    /// Asks it whether it has work under way.
    fn daemon_is_busy(&mut self) -> Outcome<bool>;

    /// Brings an app that has a process to the screen; `None` if it was killed meanwhile. A phone's daemon is told before the app; where it
    /// finds out from windows, the phone says otherwise.
    fn bring(&mut self, app: &str, alive: bool) -> Outcome<Option<Pages>> {
        bring_by_focus(self, app, alive)
    }

    /// Whether the user gives up on an app that is killed again and again while it opens: that it does not come to the screen is a figure.
    fn gives_up(&self) -> bool {
        false
    }

    /// Whether an app checks all its pages each time it is opened. Reading all of it back may be the largest load of all.
    fn verifies_each(&self) -> bool {
        true
    }

    /// Something is about to be opened.
    fn before_open(&mut self, _profile: &AppProfile) -> Outcome<()> {
        Ok(())
    }

    /// It can be used; what it took has been measured.
    fn after_open(&mut self, _profile: &AppProfile) -> Outcome<()> {
        Ok(())
    }

    /// A launch has been reported.
    fn after_report(&mut self, _app: &str) -> Outcome<()> {
        Ok(())
    }

    /// A step of which only this kind of phone knows what it means.
    fn special(&mut self, step: &Step) -> Outcome<()>;
}
