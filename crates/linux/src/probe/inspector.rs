// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The probe that looks into apps' processes, as the daemon has it: always the same one, for its buffers are made once,
//! and a second that waits to take its place.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::blame::{Blames, Owner};
use super::child::{senseless, NotReady, Running, Strays, START_LIMIT};
use super::task::{Outcome, Task};
use super::{frame, Answer, Places, Question};
use crate::Error;

/// How often it is seen whether a probe that has not answered is at work.
const SLICE: Duration = Duration::from_millis(10);

/// One that is at work is waited for so long: far longer than any task takes.
const WORK_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Inspector {
    program: PathBuf,
    is_patient: bool,
    running: Option<Running>,
    /// So that others' work goes on at once when one is given up.
    standby: Option<Running>,
    strays: Strays,
    blames: Blames,
}

impl Inspector {
    /// `limit` is for how long it is waited for while it waits for others.
    pub fn new(program: PathBuf, limit: Duration, is_patient: bool) -> Inspector {
        let (strays, blames) = (Strays::default(), Blames::new(limit));
        Inspector { program, is_patient, running: None, standby: None, strays, blames }
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
        if self.standby.is_none() && !self.is_patient {
            self.standby = Some(Running::start(&self.program, places)?);
        }
        Ok(())
    }

    /// Has it do something about an owner's processes. Where one of them holds it up, it is done once more without that one.
    pub fn ask(&mut self, places: &Places, owner: &Owner, task: Task) -> Result<Outcome, Error> {
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
        match self.wait_for_answer(owner, &Question::Process { task, held_up }, limit) {
            Ok(Answer::Process(done)) => done.map_err(|failure| failure.into_error().into()),
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

    /// The answer, or that the probe has waited for others too long. What it takes of the CPU, and what it waits for one, is
    /// its work, and is waited for as long as it lasts.
    fn wait_for_answer(&mut self, owner: &Owner, question: &Question, limit: Duration) -> io::Result<Answer> {
        let Some(running) = &mut self.running else { return Err(io::ErrorKind::NotFound.into()) };
        let began = Instant::now();
        let busy_before = running.busy();
        frame::write(&mut running.link, question, began + limit)?;
        let mut waited = Duration::ZERO;
        let answer = loop {
            match running.incoming.read(&mut running.link, Instant::now() + SLICE.min(limit)) {
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                    let took = began.elapsed();
                    let busy = running.busy().zip(busy_before).map(|(now, before)| now.saturating_sub(before));
                    waited = match busy {
                        Some(busy) => took.saturating_sub(busy),
                        // A kernel that does not count it: one that waits for a CPU now has done so all the time.
                        None if running.is_running() => waited,
                        None => took,
                    };
                    if waited >= limit || took >= WORK_LIMIT {
                        break Err(e);
                    }
                }
                answer => break answer,
            }
        };
        self.blames.spend(owner, waited);
        answer
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.give_up(None);
        if let Some(standby) = self.standby.take() {
            self.strays.kill(standby, None);
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
