// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What ends a recording.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

/// Signals that end it in order.
pub struct Signals(Vec<(&'static str, Arc<AtomicBool>)>);

impl Signals {
    /// Catches them from here on.
    pub fn catch() -> Result<Signals, Failure> {
        let catch = |(name, signal)| {
            let caught = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal, Arc::clone(&caught)).map(|_| (name, caught))
        };
        let all = [("SIGINT", SIGINT), ("SIGTERM", SIGTERM), ("SIGHUP", SIGHUP)].into_iter().map(catch);
        let all: Result<_, std::io::Error> = all.collect();
        all.map(Signals).map_err(|e| Failure::failed(format!("catching signals: {e}")))
    }

    /// One that came.
    pub fn caught(&self) -> Option<&'static str> {
        self.0.iter().find(|(_, caught)| caught.load(Ordering::Relaxed)).map(|(name, _)| *name)
    }
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The command did.
    Command(ExitStatus),
    /// The time was over.
    Time,
    /// Every process to record had ended.
    Processes,
    /// The cgroup had gone.
    Cgroup,
    /// A signal came.
    Signal(&'static str),
    /// No more could be written.
    DiskFull,
}

impl End {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            End::Command(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("the command ended with exit status {code}"),
                (None, Some(signal)) => format!("the command was killed by signal {signal}"),
                (None, None) => "the command ended".into(),
            },
            End::Time => "the time was over".into(),
            End::Processes => "the processes had ended".into(),
            End::Cgroup => "the cgroup had gone".into(),
            End::Signal(name) => format!("{name} came"),
            End::DiskFull => "the disk was full".into(),
        }
    }

    /// Whether that was earlier than asked for. A recording with no end of its own is ended by a signal.
    pub fn is_partial(&self, open_ended: bool) -> bool {
        match self {
            End::Signal(_) => !open_ended,
            End::DiskFull => true,
            _ => false,
        }
    }

    /// Whether the command goes on without being recorded. One that is in the terminal's foreground has had its SIGINT; it is not
    /// ours to end what the user did not end.
    pub fn tell_command(&self, child: &mut Option<Child>) -> bool {
        child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(Some(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_cuts_only_what_had_an_end_of_its_own() {
        assert!(End::Signal("SIGINT").is_partial(false));
        assert!(!End::Signal("SIGINT").is_partial(true));
        assert!(End::DiskFull.is_partial(true));
        assert!(!End::Time.is_partial(false));
    }

    #[test]
    fn the_commands_end_is_told_by_status_or_signal() {
        assert_eq!(End::Command(ExitStatus::from_raw(3 << 8)).words(), "the command ended with exit status 3");
        assert_eq!(End::Command(ExitStatus::from_raw(9)).words(), "the command was killed by signal 9");
    }
}
