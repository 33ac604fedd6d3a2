// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The probe that looks into apps' processes, as the daemon has it: always the same one, for its buffers are made once,
//! and a second that waits to take its place.
//!
//! What takes long, and what nothing that is to be decided depends on, is waited for a moment only. Then the second one
//! answers, for something may have to be killed, while the first one goes on.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::blame::{Blames, Owner};
use super::child::{senseless, NotReady, Running, Strays, START_LIMIT};
use super::task::{Failure, Key, Outcome, Task};
use super::{frame, Answer, Places, Question};
use crate::Error;

/// How often it is seen whether a probe that has not answered is at work.
const SLICE: Duration = Duration::from_millis(10);

/// One that is at work is waited for so long: far longer than any task takes.
const WORK_LIMIT: Duration = Duration::from_secs(10);

/// What a probe does since when, and how much of the CPU it had had before.
#[derive(Debug)]
struct Work {
    began: Instant,
    busy_before: Option<Duration>,
}

impl Work {
    fn of(running: &Running) -> Work {
        Work { began: Instant::now(), busy_before: running.busy() }
    }

    /// Whether it has waited for others for so long. One that wants the CPU now does not: what it waits for that is counted when it
    /// has got it.
    fn is_stuck(&self, running: &Running, limit: Duration) -> bool {
        self.began.elapsed() >= WORK_LIMIT || (self.waited(running) >= limit && !running.is_running())
    }

    /// For how long it has waited for others. What it takes of the CPU, and what it waits for one or for memory, is its work.
    fn waited(&self, running: &Running) -> Duration {
        let took = self.began.elapsed();
        let busy = running.busy().zip(self.busy_before).map(|(now, before)| now.saturating_sub(before));
        match busy {
            Some(busy) => took.saturating_sub(busy),
            // A kernel that does not count it: one that waits for a CPU now has done so all the time.
            None if running.is_running() => Duration::ZERO,
            None => took,
        }
    }
}

/// A probe that goes on with what it was asked while others answer.
#[derive(Debug)]
struct Busy {
    probe: Running,
    work: Work,
    owner: Owner,
    /// What is asked for again, if it is.
    key: Option<Key>,
}

/// An answer that was not there when it was waited for.
#[derive(Debug)]
struct LateAnswer {
    key: Key,
    done: Result<Outcome, Failure>,
    asked: Instant,
}

#[derive(Debug)]
pub(crate) struct Inspector {
    program: PathBuf,
    limit: Duration,
    is_patient: bool,
    running: Option<Running>,
    /// So that others' work goes on at once when one is given up.
    standby: Option<Running>,
    /// One that is not waited for any more.
    busy: Option<Busy>,
    /// What has come of it since.
    late: Option<LateAnswer>,
    strays: Strays,
    blames: Blames,
}

impl Inspector {
    /// `limit` is for how long it is waited for while it waits for others.
    pub fn new(program: PathBuf, limit: Duration, is_patient: bool) -> Inspector {
        let (strays, blames) = (Strays::default(), Blames::new(limit));
        Inspector { program, limit, is_patient, running: None, standby: None, busy: None, late: None, strays, blames }
    }

    /// Starts it and waits until it answers, as whoever has time does.
    pub fn start(&mut self, places: &Places) -> io::Result<()> {
        self.replace(places)?;
        // The other one too: its start takes CPU time that the first looks would wait for.
        for probe in self.running.iter_mut().chain(&mut self.standby) {
            probe.wait_until_ready(START_LIMIT).map_err(|why| match why {
                NotReady::Starting => io::ErrorKind::TimedOut.into(),
                NotReady::Failed(e) => e,
            })?;
        }
        Ok(())
    }

    /// Puts the one that waits into the place of one that was given up.
    fn replace(&mut self, places: &Places) -> io::Result<()> {
        if self.running.is_none() {
            self.strays.refuse_too_many()?;
            self.running = Some(match self.standby.take() {
                Some(standby) => standby,
                None => Running::start(&self.program, places)?,
            });
        }
        if self.standby.is_none() && self.busy.is_none() && !self.is_patient {
            self.standby = Some(Running::start(&self.program, places)?);
        }
        Ok(())
    }

    /// Has it do something about an owner's processes. Where one of them holds it up, it is done once more without that one.
    pub fn ask(&mut self, places: &Places, owner: &Owner, task: Task) -> Result<Outcome, Error> {
        if let Some(done) = self.hear_busy(&task) {
            return done;
        }
        match self.ask_once(places, owner, task.clone()) {
            Err(Late { process: Some(_), error }) => match self.ask_once(places, owner, task) {
                Ok(outcome) if matches!(error, Error::PutOff { .. }) => Ok(outcome),
                Ok(outcome) => {
                    eprintln!("fovea: {error}");
                    Ok(outcome)
                }
                Err(_) => Err(error),
            },
            asked => asked.map_err(|late| late.error),
        }
    }

    /// Nothing is asked about an owner who is passed over.
    fn ask_once(&mut self, places: &Places, owner: &Owner, task: Task) -> Result<Outcome, Late> {
        if self.blames.is_passed_over(owner) || self.strays.are_full_of(owner) {
            return Err(passed_over(owner).into());
        }
        let Some(limit) = self.blames.may_wait(owner) else { return Err(passed_over(owner).into()) };
        let failed = |e: io::Error| Error::call("asking the probe", "processes", e);
        self.replace(places).map_err(failed)?;
        let Some(running) = &mut self.running else { return Err(passed_over(owner).into()) };
        match running.wait_until_ready(if self.is_patient { START_LIMIT } else { limit }) {
            Ok(()) => (),
            Err(NotReady::Starting) => {
                return Err(Error::PutOff { what: "the probe has only just been started".into() }.into())
            }
            Err(NotReady::Failed(e)) => {
                self.give_up(None);
                return Err(failed(e).into());
            }
        }
        let held_up = self.blames.held_up(owner);
        let (under_way, key) = (task.under_way(), task.key());
        let is_compression = matches!(task, Task::Compress { .. });
        match self.wait_for_answer(owner, &Question::Process { task, held_up }, limit, under_way.is_some()) {
            Ok(Asked::Answered(Answer::Process(done))) => done.map_err(|failure| failure.into_error().into()),
            Ok(Asked::GoesOn(work)) => {
                self.busy = self.running.take().map(|probe| Busy { probe, work, owner: owner.clone(), key });
                if let Some(busy) = self.busy.as_ref().filter(|_| !is_compression) {
                    busy.probe.before_others(false);
                }
                under_way.unwrap_or_else(|| Err(passed_over(owner))).map_err(Late::from)
            }
            Ok(_) => {
                self.give_up(None);
                Err(failed(senseless()).into())
            }
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                let process = self.running.as_ref().and_then(Running::touched);
                self.give_up(Some(owner.clone()));
                // Its place is taken at once.
                let _ = self.replace(places);
                let error = match self.blames.add(owner, process) {
                    false => passed_over(owner),
                    true => {
                        let which = process.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
                        let text = format!(
                            "it holds up whoever looks into it: it is passed over, and so is {owner} if more do"
                        );
                        Error::call("looking into", which, io::Error::new(io::ErrorKind::TimedOut, text))
                    }
                };
                Err(Late { process, error })
            }
            Err(e) => {
                self.give_up(None);
                Err(failed(e).into())
            }
        }
    }

    #[cfg(test)]
    pub fn blame(&mut self, owner: &Owner, pid: u32) {
        self.blames.add(owner, Some(pid));
    }

    fn give_up(&mut self, owner: Option<Owner>) {
        if let Some(running) = self.running.take() {
            self.strays.kill(running, owner);
        }
    }

    /// The answer to a task that was asked for before, if it has come since, or that the task is still under way. Nothing else of the
    /// kind is begun meanwhile, and a compression is waited for a moment more: it is asked for without a pause.
    fn hear_busy(&mut self, task: &Task) -> Option<Result<Outcome, Error>> {
        let key = task.key();
        if let Some(done) = self.take_late(key.as_ref()) {
            return Some(done);
        }
        let mut busy = self.busy.take()?;
        let at_most = if matches!(task, Task::Compress { .. }) { self.limit } else { Duration::ZERO };
        match busy.probe.incoming.read(&mut busy.probe.link, Instant::now() + at_most) {
            Ok(Answer::Process(done)) => self.keep_answer(busy, done, key),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => match self.blame_if_stuck(busy) {
                true => None,
                false => key.and_then(|_| task.under_way()),
            },
            Ok(_) | Err(_) => {
                self.strays.kill(busy.probe, None);
                None
            }
        }
    }

    /// An answer that came before it was asked for again, if it is of now.
    fn take_late(&mut self, key: Option<&Key>) -> Option<Result<Outcome, Error>> {
        let late = self.late.take_if(|late| Some(&late.key) == key)?;
        (late.asked.elapsed() < WORK_LIMIT).then(|| late.done.map_err(Failure::into_error))
    }

    /// The busy probe has answered: it is the standby again. Its answer is for this call if that asks for it, else for a later one.
    fn keep_answer(
        &mut self,
        busy: Busy,
        done: Result<Outcome, Failure>,
        wanted: Option<Key>,
    ) -> Option<Result<Outcome, Error>> {
        busy.probe.before_others(true);
        match self.standby.is_none() {
            true => self.standby = Some(busy.probe),
            false => self.strays.kill(busy.probe, None),
        }
        if wanted.is_some() && busy.key == wanted {
            return Some(done.map_err(Failure::into_error));
        }
        self.late = busy.key.map(|key| LateAnswer { key, done, asked: busy.work.began });
        None
    }

    /// Blames the owner of a busy probe that has waited for others too long, and ends the probe. False: it may go on.
    fn blame_if_stuck(&mut self, busy: Busy) -> bool {
        if !busy.work.is_stuck(&busy.probe, self.limit) {
            self.busy = Some(busy);
            return false;
        }
        self.blames.add(&busy.owner, busy.probe.touched());
        self.strays.kill(busy.probe, Some(busy.owner));
        true
    }

    /// The answer, or that the probe has waited for others too long. Its work is waited for as long as it lasts, unless it may go on.
    fn wait_for_answer(
        &mut self,
        owner: &Owner,
        question: &Question,
        limit: Duration,
        may_go_on: bool,
    ) -> io::Result<Asked> {
        let may_go_on = may_go_on && !self.is_patient && self.busy.is_none();
        let Some(running) = &mut self.running else { return Err(io::ErrorKind::NotFound.into()) };
        let work = Work::of(running);
        frame::write(&mut running.link, question, work.began + limit)?;
        let mut waited = Duration::ZERO;
        let answer = loop {
            match running.incoming.read(&mut running.link, Instant::now() + SLICE.min(limit)) {
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                    waited = work.waited(running);
                    if work.is_stuck(running, limit) {
                        break Err(e);
                    }
                    // Half of it spent waiting may be the beginning of a wait without end.
                    if may_go_on && work.began.elapsed() >= limit && waited < limit / 2 {
                        break Ok(Asked::GoesOn(work));
                    }
                }
                answer => break answer.map(Asked::Answered),
            }
        };
        self.blames.spend(owner, waited);
        answer
    }
}

/// What came of a question.
enum Asked {
    Answered(Answer),
    /// The probe goes on with it.
    GoesOn(Work),
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.give_up(None);
        for probe in self.standby.take().into_iter().chain(self.busy.take().map(|busy| busy.probe)) {
            self.strays.kill(probe, None);
        }
    }
}

/// Why nothing came of it, and at which process the probe hung.
struct Late {
    process: Option<u32>,
    error: Error,
}

impl From<Error> for Late {
    fn from(error: Error) -> Late {
        Late { process: None, error }
    }
}

fn passed_over(owner: &Owner) -> Error {
    Error::PutOff { what: format!("{owner} holds up whoever looks into its processes, and is passed over") }
}

#[cfg(test)]
#[path = "inspector_tests.rs"]
mod tests;
