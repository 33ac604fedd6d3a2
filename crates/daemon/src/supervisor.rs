// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The supervisor: a process that does nothing but wait for the worker, and undoes what the worker changed however it ends.

use std::fs::File;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;

use fovea_linux::{fork_worker, Forked, System};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{flock, FlockOperation};
use rustix::process::{
    getpid, getppid, kill_process, set_parent_process_death_signal, waitpid, Pid, Signal, WaitOptions,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::SigId;

use crate::config::Config;
use crate::undo::restore;
use crate::worker::{work, Signals};

/// Runs the daemon: a supervisor and a worker. Returns, in both processes, once that process is done; the device is then as it was.
/// An error is one line, and empty where the other process has said it already. `read` reads the configuration again, when SIGHUP asks for it.
pub fn run(config: Config, read: impl Fn() -> Result<Config, String> + 'static) -> Result<(), String> {
    let run_folder = config.daemon.run_folder.clone();
    std::fs::create_dir_all(&run_folder)
        .map_err(|e| format!("{}: {e}: run as root, or name another run_folder in [daemon]", run_folder.display()))?;
    // Held by both processes: a second daemon starts only when neither is left.
    let _lock = lock(&run_folder, FlockOperation::NonBlockingLockExclusive)?;
    // What an earlier daemon left, if it and its supervisor died together.
    put_back(&run_folder);

    let supervisor = getpid();
    // Caught before there is a worker: whoever sees the daemon listen may ask it to stop.
    let (stop, reload) = signal_pipes()?;
    match fork_worker().map_err(|e| e.to_string())? {
        Forked::Worker => {
            // If the supervisor is killed, the worker ends and restores in its place.
            set_parent_process_death_signal(Some(Signal::TERM)).map_err(|e| e.to_string())?;
            if getppid() != Some(supervisor) {
                return Ok(());
            }
            // A pipe of its own first, so that no signal is lost between the two.
            let done = signal_pipes().and_then(|own| {
                stop.forget();
                reload.forget();
                work(config, Signals { stop: own.0.reader, reload: own.1.reader, read: Box::new(read) })
            });
            if getppid() != Some(supervisor) {
                put_back(&run_folder);
            }
            done
        }
        Forked::Supervisor(worker) => {
            let ended = supervise(worker, [(stop.reader, Signal::TERM), (reload.reader, Signal::HUP)]);
            put_back(&run_folder);
            ended
        }
    }
}

/// Undoes what a dead daemon left changed, as whoever is no daemon: under the daemon's lock, for a living one's log is being written to, and
/// its changes are its own to undo. `wait` waits for a daemon that is ending; else one that lives is an error. Returns what could not be
/// undone; it stays in the log.
pub fn restore_alone(run_folder: &Path, wait: bool) -> Result<Vec<String>, String> {
    if !run_folder.exists() {
        return Ok(Vec::new());
    }
    let how = if wait { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
    let _lock = lock(run_folder, how)?;
    let mut system = System::new().map_err(|e| e.to_string())?;
    restore(run_folder, &mut system).map_err(|e| format!("{}: {e}: run as root", run_folder.display()))
}

/// The one lock of a run folder: whoever holds it may write the undo log.
fn lock(run_folder: &Path, how: FlockOperation) -> Result<File, String> {
    let path = run_folder.join("lock");
    let file = File::create(&path).map_err(|e| format!("{}: {e}: make it writable", path.display()))?;
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(format!(
                    "{}: another daemon is running: stop it first, and it puts everything back by itself",
                    path.display()
                ))
            }
            Err(e) => return Err(format!("{}: {e}: name a run_folder on a file system with locks", path.display())),
        }
    }
}

/// A pipe that becomes readable when one of some signals comes.
struct SignalPipe {
    reader: UnixStream,
    ids: Vec<SigId>,
}

impl SignalPipe {
    fn of(signals: &[i32]) -> Result<Self, String> {
        let (reader, handlers) = UnixStream::pair().map_err(|e| format!("making a pipe for signals: {e}"))?;
        let mut ids = Vec::new();
        for &signal in signals {
            let end = handlers.try_clone().map_err(|e| format!("making a pipe for signals: {e}"))?;
            let id = signal_hook::low_level::pipe::register(signal, end);
            ids.push(id.map_err(|e| format!("catching signal {signal}: {e}"))?);
        }
        Ok(SignalPipe { reader, ids })
    }

    /// Takes this process's signals away from a pipe that another one reads.
    fn forget(self) {
        for id in self.ids {
            signal_hook::low_level::unregister(id);
        }
    }
}

/// For what asks us to stop, and what asks us to read the configuration again.
fn signal_pipes() -> Result<(SignalPipe, SignalPipe), String> {
    Ok((SignalPipe::of(&[SIGTERM, SIGINT])?, SignalPipe::of(&[SIGHUP])?))
}

/// Waits for the worker, passing on what we are asked. Its PID is its own until it has been waited for, so no pidfd is needed.
fn supervise(worker: Pid, mut signals: [(UnixStream, Signal); 2]) -> Result<(), String> {
    let mut children = SignalPipe::of(&[SIGCHLD])?.reader;
    children.set_nonblocking(true).map_err(|e| format!("making a pipe for signals: {e}"))?;
    let status = loop {
        // Asked first: it may have ended before its signal was caught.
        match waitpid(Some(worker), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => break status,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(format!("waiting for the worker: {e}")),
        }
        let mut fds = [&children, &signals[0].0, &signals[1].0].map(|fd| PollFd::new(fd, PollFlags::IN));
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(format!("waiting for the worker: {e}")),
        }
        let asked = [1, 2].map(|at| !fds[at].revents().is_empty());
        while matches!(children.read(&mut [0; 16]), Ok(1..)) {}
        for ((pipe, signal), _) in signals.iter_mut().zip(asked).filter(|(_, asked)| *asked) {
            let _ = pipe.read(&mut [0; 16]);
            // Fails only if it has ended meanwhile.
            let _ = kill_process(worker, *signal);
        }
    };
    if status.exited() && status.exit_status() == Some(0) {
        return Ok(());
    }
    match status.terminating_signal() {
        Some(signal) => {
            Err(format!("the worker was killed by signal {signal}: the device has been put back; start again"))
        }
        // It has said why itself, and one line is enough.
        None => Err(String::new()),
    }
}

/// Undoes what the log names, and says what it could not.
fn put_back(run_folder: &Path) {
    let complaints = match System::new() {
        Ok(mut system) => {
            restore(run_folder, &mut system).unwrap_or_else(|e| vec![format!("{}: {e}", run_folder.display())])
        }
        Err(e) => vec![e.to_string()],
    };
    for complaint in complaints {
        say!("fovea: putting the device back: {complaint}");
    }
}
