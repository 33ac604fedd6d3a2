// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A command that exists and waits: its PID can be told to the kernel's filters before it does anything.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::JoinHandle;

use rustix::pipe::{pipe_with, PipeFlags};

/// What the waiting child is told.
const GO: u8 = 1;
const END: u8 = 0;

/// A forked process that becomes its program when released, and ends when dropped instead.
#[derive(Debug)]
pub struct Held {
    pid: u32,
    go: File,
    spawned: Option<JoinHandle<io::Result<Child>>>,
}

impl Held {
    /// Forks. A program that is not there shows only at the release.
    pub fn start(mut command: Command) -> io::Result<Held> {
        let (told, tell) = pipe_with(PipeFlags::CLOEXEC)?;
        let (wait, go) = pipe_with(PipeFlags::CLOEXEC)?;
        let (mut told, mut tell, mut wait) = (File::from(told), File::from(tell), File::from(wait));
        let go_number = go.as_raw_fd();
        let hold = move || {
            // SAFETY: this runs in the child, whose table of descriptors is its own, and nothing else there uses this one. Left open
            // it would keep the child waiting for itself once its parent is gone.
            drop(unsafe { OwnedFd::from_raw_fd(go_number) });
            tell.write_all(&std::process::id().to_ne_bytes())?;
            let mut word = [END];
            match (wait.read(&mut word)?, word) {
                (1, [GO]) => Ok(()),
                _ => Err(io::Error::from_raw_os_error(libc::ECANCELED)),
            }
        };
        // SAFETY: between fork and exec it only closes, reads and writes descriptors and asks for the PID: no allocation, no lock.
        unsafe { command.pre_exec(hold) };
        // `spawn` returns only once the program runs or cannot, so that it has to wait elsewhere.
        let spawned = std::thread::Builder::new().name("held".into()).spawn(move || {
            let child = command.spawn();
            // With the pipe ends in it: a child that could not be made tells no PID.
            drop(command);
            child
        })?;
        let mut pid = [0; 4];
        match told.read_exact(&mut pid) {
            Ok(()) => Ok(Held { pid: u32::from_ne_bytes(pid), go: go.into(), spawned: Some(spawned) }),
            Err(e) => Err(spawned.join().ok().and_then(Result::err).unwrap_or(e)),
        }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it become its program; the error is the program's.
    pub fn release(mut self) -> io::Result<Child> {
        self.go.write_all(&[GO])?;
        let spawned = self.spawned.take().and_then(|thread| thread.join().ok());
        spawned.unwrap_or_else(|| Err(io::Error::other("the thread that starts it is gone")))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(spawned) = self.spawned.take() {
            // A child that is gone already needs no word.
            let _ = self.go.write_all(&[END]);
            let _ = spawned.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_before_the_release_and_then_under_the_pid_that_was_told() {
        let folder = tempfile::tempdir().unwrap();
        let ran = folder.path().join("ran");
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg("echo $$ >\"$0\"").arg(&ran);
        let held = Held::start(command).unwrap();
        assert!(!ran.exists());
        let pid = held.pid();
        let status = held.release().unwrap().wait().unwrap();
        assert!(status.success());
        assert_eq!(std::fs::read_to_string(&ran).unwrap().trim(), pid.to_string());
    }

    #[test]
    fn dropped_it_never_runs() {
        let folder = tempfile::tempdir().unwrap();
        let ran = folder.path().join("ran");
        let mut command = Command::new("/bin/touch");
        command.arg(&ran);
        drop(Held::start(command).unwrap());
        assert!(!ran.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_the_release_s_error() {
        let held = Held::start(Command::new("/no/such/program")).unwrap();
        assert_eq!(held.release().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
