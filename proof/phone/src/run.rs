// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Boots plans and follows them to their end.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fovea_scenario::{Event, EventBody, Plan};

use crate::child::{Next, Running};
use crate::console::ConsoleTail;
use crate::error::{BootFailure, Error, FailureReason, Result};
use crate::patience::Patience;
use crate::phone::Phone;
use crate::progress::{Progress, Stage};
use crate::qemu::Console;
use crate::stream::{EventParser, Line};

/// QEMU's status for the guest's exit value v is 2v+1 (isa-debug-exit): 0 for done, 1 for a plan that failed.
const STATUS_DONE: i32 = 1;
const STATUS_PLAN_FAILED: i32 = 3;
/// QEMU's status when the power is switched off, or the machine reset, by the guest.
const STATUS_POWER_OFF: i32 = 0;
/// How often the console is looked at for a panic while no event comes.
const LOOK: Duration = Duration::from_millis(250);
/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Wall-clock time in which a guest must say something, be it an event or a line on the console: a loaded host makes a boot slow, and a
    /// guest that hangs says nothing. One that only ever repeats itself is ended after eight times as long.
    pub timeout: Duration,
    /// Folder below which each boot gets one of its own for its logs.
    pub results: PathBuf,
}

/// A boot that came to the end of its plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All events, in order.
    pub events: Vec<Event>,
    /// Lines of the event stream that were no events; they are in the event log.
    pub garbage_lines: u64,
    /// Folder with console.log, events.jsonl, qemu.log, plan.json and command.txt.
    pub logs: PathBuf,
    /// Wall-clock time it took.
    pub wall: Duration,
}

impl Phone {
    /// Boots one plan and follows it to its end. `on_event` sees each event as it comes; all of them again, if QEMU failed the first
    /// time in a way that it is known for.
    ///
    /// # Errors
    /// [`Error::Boot`] if the guest or QEMU fails, the plan fails, or the time is over; the error holds the console's last lines.
    pub fn run(
        &self,
        plan: &Plan,
        options: &RunOptions,
        progress: &Progress,
        mut on_event: impl FnMut(&Event),
    ) -> Result<Outcome> {
        let dir = options.results.join(folder(plan));
        despite_qemu(|| self.run_in(plan, &dir, options.timeout, progress, &mut on_event))
    }

    /// Boots several plans, up to `jobs` side by side (at least one), and returns their outcomes in the plans' order. All are run,
    /// whatever becomes of the others. `on_event` is told which plan an event belongs to.
    pub fn run_all(
        &self,
        plans: &[Plan],
        jobs: usize,
        options: &RunOptions,
        progress: &Progress,
        on_event: impl Fn(usize, &Event) + Sync,
    ) -> Vec<Result<Outcome>> {
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let worker = || loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(plan) = plans.get(index) else { return };
            // Numbered, as two plans may have the same names.
            let dir = options.results.join(format!("{index:02}-{}", folder(plan)));
            let mut on_event = |event: &Event| on_event(index, event);
            let outcome = despite_qemu(|| self.run_in(plan, &dir, options.timeout, progress, &mut on_event));
            // A poisoned lock means another worker panicked; what it holds is still good.
            outcomes.lock().unwrap_or_else(|e| e.into_inner()).push((index, outcome));
        };
        thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, plans.len().max(1)) {
                scope.spawn(worker);
            }
        });
        let mut outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn run_in(
        &self,
        plan: &Plan,
        dir: &Path,
        timeout: Duration,
        progress: &Progress,
        on_event: &mut dyn FnMut(&Event),
    ) -> Result<Outcome> {
        fs::create_dir_all(dir).map_err(Error::io("make", dir))?;
        // QEMU may run elsewhere than we do some day; and the error shows a path that can be copied.
        let dir = dir.canonicalize().map_err(Error::io("find", dir))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.join(name);
            fs::write(&path, bytes).map_err(Error::io("write", &path))
        };
        let (_scratch, initrd) = self.write_image(plan)?;
        let console = dir.join("console.log");
        // A log from before would be taken for this run's.
        write("console.log", b"")?;
        let machine = self.machine(plan, initrd, Console::File(console.clone()))?;
        write("plan.json", &serde_json::to_vec_pretty(plan).map_err(|e| Error::bad("plan.json", e.to_string()))?)?;
        write("command.txt", format!("{:?}\n", machine.command()).as_bytes())?;

        let label = format!("run {}", title(plan));
        let events_log = dir.join("events.jsonl");
        let mut boot = Boot {
            began: Instant::now(),
            log: File::create(&events_log).map_err(Error::io("write", &events_log))?,
            console: ConsoleTail::new(console),
            parser: EventParser::default(),
            events: Vec::new(),
            garbage_lines: 0,
            stage: progress.stage(label, plan.steps.len() as u64),
            on_event,
        };
        boot.stage.message("booting");
        let mut qemu = Running::start(&machine, &dir.join("qemu.log"))?;
        let reason = boot.follow(&mut qemu, timeout, &dir)?;
        drop(qemu);
        let wall = boot.began.elapsed();
        match reason {
            None => {
                boot.stage.finish(&format!("done in {:.1} s", wall.as_secs_f64()));
                Ok(Outcome { events: boot.events, garbage_lines: boot.garbage_lines, logs: dir, wall })
            }
            Some(reason) => {
                boot.stage.finish("failed");
                let console_tail = boot.console.tail();
                Err(Error::Boot(Box::new(BootFailure { plan: title(plan), reason, console_tail, logs: dir })))
            }
        }
    }
}

/// A boot under way.
struct Boot<'a> {
    began: Instant,
    log: File,
    console: ConsoleTail,
    parser: EventParser,
    events: Vec<Event>,
    garbage_lines: u64,
    stage: Stage,
    on_event: &'a mut dyn FnMut(&Event),
}

impl Boot<'_> {
    /// Reads events until QEMU ends or has to be ended. Returns why the boot failed, if it did.
    fn follow(&mut self, qemu: &mut Running, timeout: Duration, dir: &Path) -> Result<Option<FailureReason>> {
        let mut patience = Patience::new(self.began, timeout);
        loop {
            let left = patience.left(Instant::now());
            if left.is_zero() {
                self.console.poll();
                return Ok(Some(self.console.breakdown().unwrap_or(FailureReason::Timeout(timeout.as_secs()))));
            }
            match qemu.next(left.min(LOOK)) {
                Next::Bytes(bytes) => {
                    self.take(&bytes)?;
                    patience.heard(Instant::now());
                }
                Next::Nothing => {
                    if self.console.poll() {
                        patience.heard(Instant::now());
                    }
                    if self.console.breakdown().is_some() {
                        patience.broke_down(Instant::now());
                    }
                }
                Next::Ended => break,
            }
        }
        if let Some(line) = self.parser.finish() {
            self.line(line);
        }
        let status = qemu.wait()?;
        self.console.poll();
        let last_words = fs::read_to_string(dir.join("qemu.log")).unwrap_or_default();
        Ok(judge(status, &self.events, self.console.breakdown(), &last_words))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self.log.write_all(bytes).map_err(Error::io("write", "events.jsonl"))?;
        for line in self.parser.push(bytes) {
            self.line(line);
        }
        Ok(())
    }

    fn line(&mut self, line: Line) {
        match line {
            Line::Event(event) => {
                match &event.body {
                    EventBody::Ready { .. } => self.stage.message(""),
                    EventBody::Step { index } => self.stage.set(*index as u64),
                    _ => {}
                }
                (self.on_event)(&event);
                self.events.push(event);
            }
            Line::Garbage(_) => self.garbage_lines += 1,
        }
    }
}

/// Boots, if what fails is QEMU: on a host with much else to do it has failed twice in a row.
const BOOTS_MAX: u32 = 3;

/// Boots again if what failed was QEMU.
fn despite_qemu<T>(mut boot: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..BOOTS_MAX {
        match boot() {
            Err(Error::Boot(failure)) if failure.reason == FailureReason::StaleBreakpoint => {}
            outcome => return outcome,
        }
    }
    boot()
}

/// Why a boot failed, if it did: what the guest said itself comes before what can be told from outside.
fn judge(
    status: ExitStatus,
    events: &[Event],
    breakdown: Option<FailureReason>,
    qemu_log: &str,
) -> Option<FailureReason> {
    // What a guest says after that, even that it is done, is worth nothing.
    if breakdown == Some(FailureReason::StaleBreakpoint) {
        return breakdown;
    }
    let failed = events.iter().find_map(|event| match &event.body {
        EventBody::Failed { error } => Some(error.clone()),
        _ => None,
    });
    if let Some(error) = failed {
        return Some(FailureReason::Plan(error));
    }
    if breakdown.is_some() {
        return breakdown;
    }
    match status.code() {
        Some(STATUS_DONE) if events.iter().any(|event| matches!(event.body, EventBody::Done { .. })) => None,
        // QEMU's own status for wrong usage is 1 too: then it has said why.
        Some(STATUS_DONE) => Some(match events.is_empty().then(|| last_line(qemu_log)).flatten() {
            Some(line) => FailureReason::Qemu(line),
            None => FailureReason::NoDone,
        }),
        Some(STATUS_POWER_OFF) => Some(FailureReason::PoweredOff),
        Some(STATUS_PLAN_FAILED) => Some(FailureReason::Plan("it did not say why; see the console log".into())),
        _ => Some(FailureReason::Qemu(match last_line(qemu_log) {
            Some(line) => format!("{status}: {line}"),
            None => status.to_string(),
        })),
    }
}

fn last_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// "lowmem/N/fovea", "lowmem/N/fovea/seed-21 exact".
fn title(plan: &Plan) -> String {
    format!("{}{}", plan.names().join("/"), if plan.exact { " exact" } else { "" })
}

/// A title as a folder's name.
fn folder(plan: &Plan) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    title(plan).chars().map(plain).collect::<String>().trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn exit(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn event(body: EventBody) -> Event {
        Event { t_ns: 0, body }
    }

    fn done() -> Event {
        event(EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 })
    }

    #[test]
    fn a_boot_succeeds_only_with_its_code_and_its_done_event() {
        assert_eq!(judge(exit(1), &[done()], None, ""), None);
        assert_eq!(judge(exit(1), &[], None, ""), Some(FailureReason::NoDone));
        assert_eq!(
            judge(exit(1), &[], None, "qemu: bad -device\n"),
            Some(FailureReason::Qemu("qemu: bad -device".into()))
        );
        assert_eq!(judge(exit(0), &[done()], None, ""), Some(FailureReason::PoweredOff));
        let killed = judge(ExitStatus::from_raw(9), &[done()], None, "warning\nlast\n\n");
        assert!(matches!(killed, Some(FailureReason::Qemu(why)) if why.contains("last") && why.contains("signal")));
    }

    #[test]
    fn what_the_guest_said_comes_first() {
        let failed = event(EventBody::Failed { error: "no such app".into() });
        let plan = Some(FailureReason::Plan("no such app".into()));
        assert_eq!(judge(exit(3), std::slice::from_ref(&failed), None, ""), plan);
        let panic = Some(FailureReason::Panic("killed init".into()));
        assert_eq!(judge(exit(0), &[failed], panic.clone(), ""), plan);
        assert_eq!(judge(exit(0), &[], panic.clone(), ""), panic);
        assert!(matches!(judge(exit(3), &[done()], None, ""), Some(FailureReason::Plan(_))));
    }

    #[test]
    fn nothing_is_believed_after_qemus_own_fault() {
        let stale = Some(FailureReason::StaleBreakpoint);
        let failed = event(EventBody::Failed { error: "the daemon died".into() });
        assert_eq!(judge(exit(3), &[failed], stale.clone(), ""), stale);
        assert_eq!(judge(exit(1), &[done()], stale.clone(), ""), stale);
    }

    #[test]
    fn qemus_own_fault_is_given_two_more_boots_and_no_other_is_any() {
        let failure = |reason: &FailureReason| -> Result<u32> {
            let (plan, reason) = (String::new(), reason.clone());
            Err(Error::Boot(Box::new(BootFailure { plan, reason, console_tail: Vec::new(), logs: PathBuf::new() })))
        };
        let boots = |reason: FailureReason, failing: u32| {
            let mut boots = 0;
            let outcome = despite_qemu(|| {
                boots += 1;
                if boots <= failing {
                    failure(&reason)
                } else {
                    Ok(boots)
                }
            });
            (boots, outcome.is_ok())
        };
        assert_eq!(boots(FailureReason::StaleBreakpoint, 1), (2, true));
        assert_eq!(boots(FailureReason::StaleBreakpoint, 2), (3, true));
        assert_eq!(boots(FailureReason::StaleBreakpoint, 3), (3, false));
        assert_eq!(boots(FailureReason::Panic("oops".into()), 1), (1, false));
    }

    #[test]
    fn folders_have_plain_names() {
        let mut plan = crate::testing::plan();
        assert_eq!((title(&plan).as_str(), folder(&plan).as_str()), ("test/N/fovea exact", "test-N-fovea-exact"));
        plan.of_seed = Some(21);
        assert_eq!(title(&plan), "test/N/fovea/seed-21 exact", "whose boot failed is told by its seed");
        assert_eq!(folder(&plan), "test-N-fovea-seed-21-exact");
        plan.of_seed = None;
        plan.scenario = "../x".into();
        plan.case = String::new();
        plan.exact = false;
        assert_eq!(folder(&plan), "-x-fovea");
    }
}
