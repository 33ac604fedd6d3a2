// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who runs first: the daemon before everybody, but not while it does what takes long.
//!
//! A nice value counts among the tasks of one scheduling group only, and everybody is in one: Debian's kernel makes a group of each session
//! (`kernel.sched_autogroup_enabled`), systemd of each unit whose slice has the cpu controller. Beside an app that computes, a daemon at nice
//! -20 gets the half, a tick or two at a time, and its kill comes that much later. A real-time policy goes before all groups.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::{sys, Error};

/// The lowest of the real-time priorities: before all that is not real-time, behind sound and whatever else is.
const PRIORITY: libc::c_int = 1;

/// Before all that has another nice value.
const NICE: i32 = -20;

thread_local! {
    /// Whether this thread was given the priority, and has not stepped back to normal priority.
    static IS_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Lets this thread run before everything that is not real-time; threads and programs it starts do not inherit that. What it does
/// [`NormalPriority`] has nice -20 instead, which is all that is left where the policy is refused.
pub(crate) fn run_first() -> Result<(), Error> {
    let nice = rustix::process::setpriority_process(None, NICE);
    sys::set_scheduler(libc::SCHED_FIFO, PRIORITY)
        .map(|()| IS_FIRST.set(true))
        .map_err(|e| Error::call("sched_setscheduler", "the daemon", e))
        .and(nice.map_err(|e| Error::call("setpriority", "the daemon", e)))
}

/// While it lives, this thread shares the CPU like others, if it was one that runs first.
#[derive(Debug)]
#[must_use]
pub struct NormalPriority {
    was_first: bool,
    is_ordinary: bool,
    /// Of the thread that made it.
    here: PhantomData<*const ()>,
}

impl NormalPriority {
    /// Lets others run too, from now on.
    pub fn of_thread() -> Self {
        let was_first = IS_FIRST.get() && sys::set_scheduler(libc::SCHED_OTHER, 0).is_ok();
        IS_FIRST.set(IS_FIRST.get() && !was_first);
        Self { was_first, is_ordinary: false, here: PhantomData }
    }
}

impl NormalPriority {
    /// The same as an ordinary one among all, whom a nice value puts before nobody: what anybody can have us do as often as he likes.
    pub fn with_normal_nice() -> Self {
        let mut normal = Self::of_thread();
        normal.is_ordinary = normal.was_first && rustix::process::setpriority_process(None, 0).is_ok();
        normal
    }
}

impl Drop for NormalPriority {
    fn drop(&mut self) {
        if std::mem::take(&mut self.is_ordinary) {
            let _ = rustix::process::setpriority_process(None, NICE);
        }
        // It was granted before. If it is not any more, the thread goes on like others.
        if self.was_first && sys::set_scheduler(libc::SCHED_FIFO, PRIORITY).is_ok() {
            IS_FIRST.set(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        sys::scheduler().unwrap() & !libc::SCHED_RESET_ON_FORK
    }

    #[test]
    fn whoever_runs_first_steps_aside_for_what_takes_long_and_its_threads_do_not_inherit_it() {
        std::thread::spawn(|| {
            if let Err(e) = run_first() {
                assert!(e.to_string().contains("sched_setscheduler"), "{e}");
                eprintln!("skipped: {e}");
                return;
            }
            assert_eq!(policy(), libc::SCHED_FIFO);
            {
                let _normal_priority = NormalPriority::of_thread();
                assert_eq!(policy(), libc::SCHED_OTHER);
                drop(NormalPriority::of_thread());
                assert_eq!(policy(), libc::SCHED_OTHER, "one inside another ends with the outer");
            }
            assert_eq!(policy(), libc::SCHED_FIFO);
            let nice = || rustix::process::getpriority_process(None).unwrap();
            {
                let _normal_priority = NormalPriority::with_normal_nice();
                assert_eq!((policy(), nice()), (libc::SCHED_OTHER, 0));
            }
            assert_eq!((policy(), nice()), (libc::SCHED_FIFO, NICE));
            assert_eq!(std::thread::spawn(policy).join().unwrap(), libc::SCHED_OTHER);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn whoever_does_not_run_first_stays_as_it_is() {
        let before = policy();
        drop(NormalPriority::of_thread());
        assert_eq!(policy(), before);
    }
}
