// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The supervisor: a process that does nothing but wait for the worker, and undoes what the worker changed however it ends.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use fovea_linux::{fork_worker, Forked, System};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{flock, FlockOperation};
use rustix::process::{
    getpid, getppid, pidfd_open, pidfd_send_signal, set_parent_process_death_signal, waitpid, Pid, PidfdFlags, Signal,
    WaitOptions,
};

use crate::config::Config;
use crate::undo::restore;
use crate::worker::work;

/// Runs the daemon: a supervisor and a worker. Returns, in both processes, once that process is done; the device is then as it was.
pub fn run(config: Config) -> Result<(), String> {
    let run_folder = config.daemon.run_folder.clone();
    std::fs::create_dir_all(&run_folder)
        .map_err(|e| format!("{}: {e}: run as root, or name another run_folder in [daemon]", run_folder.display()))?;
    // Held by both processes: a second daemon starts only when neither is left.
    let _lock = lock(&run_folder)?;
    // What an earlier daemon left, if it and its supervisor died together.
    put_back(&run_folder);

    let supervisor = getpid();
    match fork_worker().map_err(|e| e.to_string())? {
        Forked::Worker => {
            // If the supervisor is killed, the worker ends and restores in its place.
            set_parent_process_death_signal(Some(Signal::TERM)).map_err(|e| e.to_string())?;
            if getppid() != Some(supervisor) {
                return Ok(());
            }
            let done = signal_pipe().and_then(|signals| work(config, signals));
            if getppid() != Some(supervisor) {
                put_back(&run_folder);
            }
            done
        }
        Forked::Supervisor(worker) => {
            let ended = supervise(worker);
            put_back(&run_folder);
            ended
        }
    }
}

fn lock(run_folder: &Path) -> Result<File, String> {
    let path = run_folder.join("lock");
    let file = File::create(&path).map_err(|e| format!("{}: {e}: make it writable", path.display()))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| format!("{}: another daemon is running: stop it first", path.display()))?;
    Ok(file)
}

fn signal_pipe() -> Result<UnixStream, String> {
    let (ours, handlers) = UnixStream::pair().map_err(|e| format!("making a pipe for signals: {e}"))?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        let end = handlers.try_clone().map_err(|e| format!("making a pipe for signals: {e}"))?;
        signal_hook::low_level::pipe::register(signal, end).map_err(|e| format!("catching signal {signal}: {e}"))?;
    }
    Ok(ours)
}

/// Waits for the worker, passing on what asks us to stop.
fn supervise(worker: Pid) -> Result<(), String> {
    let mut signals = signal_pipe()?;
    let pidfd: OwnedFd = pidfd_open(worker, PidfdFlags::empty()).map_err(|e| format!("watching the worker: {e}"))?;
    loop {
        let mut fds = [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(format!("waiting for the worker: {e}")),
        }
        let (ended, asked) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if ended {
            break;
        }
        if asked {
            let _ = signals.read(&mut [0; 16]);
            // Fails only if it has ended meanwhile.
            let _ = pidfd_send_signal(&pidfd, Signal::TERM);
        }
    }
    match waitpid(Some(worker), WaitOptions::empty()).map_err(|e| format!("waiting for the worker: {e}"))? {
        Some((_, status)) if status.exited() && status.exit_status() == Some(0) => Ok(()),
        Some((_, status)) => match status.terminating_signal() {
            Some(signal) => {
                Err(format!("the worker was killed by signal {signal}: the device has been put back; start again"))
            }
            // It has said why itself.
            None => Err("the worker failed: the device has been put back".into()),
        },
        None => Ok(()),
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
        eprintln!("fovea: putting the device back: {complaint}");
    }
}
