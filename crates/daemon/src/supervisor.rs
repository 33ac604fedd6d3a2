// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The supervisor: a process that does nothing but wait for the worker, and undoes what the worker changed however it ends.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use fovea_linux::{fork_worker, unblock_signals, Forked, System};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{flock, FlockOperation};
use rustix::process::{
    getpid, getppid, kill_process, set_parent_process_death_signal, waitpid, Pid, Signal, WaitOptions,
};
use rustix::time::{clock_gettime, ClockId};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::SigId;

use crate::config::{DaemonConfig, Loaded};
use crate::journal::{Entry, Journal, PUT_BACK};
use crate::undo::restore;
use crate::worker::{work, Signals};

/// Runs the daemon: a supervisor and a worker. Returns, in both processes, once that process is done; the device is then as it was.
/// An error is one line, and empty where the other process has said it already. `read` reads the configuration again, when SIGHUP asks for it.
pub fn run(mut loaded: Loaded, read: impl Fn() -> Result<Loaded, String> + 'static) -> Result<(), String> {
    // Whoever starts programs may block them for himself, and that is inherited: then the end of the worker would never be
    // heard of.
    unblock_signals(&[SIGCHLD, SIGHUP, SIGINT, SIGTERM]).map_err(|e| e.to_string())?;
    let run_folder = loaded.config.daemon.run_folder.clone();
    std::fs::create_dir_all(&run_folder)
        .map_err(|e| format!("{}: {e}: run as root, or name another run_folder in [daemon]", run_folder.display()))?;
    // Held by both processes: a second daemon starts only when neither is left.
    let _lock = lock(&run_folder, FlockOperation::NonBlockingLockExclusive)?;
    // What an earlier daemon left, if it and its supervisor died together.
    put_back(&run_folder);

    let supervisor = getpid();
    keep_a_journal(&mut loaded);
    let journal = loaded.config.journal_path();
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
                work(loaded, Signals { stop: own.0.reader, reload: own.1.reader, read: Box::new(read) })
            });
            if getppid() != Some(supervisor) {
                let _ = put_back(&run_folder);
            }
            done
        }
        Forked::Supervisor(worker) => {
            let ended = supervise(worker, [(stop.reader, Signal::TERM), (reload.reader, Signal::HUP)]);
            let is_put_back = put_back(&run_folder);
            if !matches!(ended, Ok(Ended::Well)) {
                write_down(&journal, is_put_back);
            }
            match ended? {
                Ended::Well => Ok(()),
                // It has said why itself, and one line is enough.
                Ended::Failed => Err(String::new()),
                Ended::Killed(signal) => Err(killed(signal, is_put_back, &run_folder)),
            }
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
    let mut system = by_probe()?;
    restore(run_folder, &mut system).map_err(|e| format!("{}: {e}: run as root", run_folder.display()))
}

/// Whoever names a journal that cannot be written is guarded all the same: it is then where it is by default.
fn keep_a_journal(loaded: &mut Loaded) {
    let path = loaded.config.journal_path();
    let default = DaemonConfig::default().journal;
    if let Err(e) = Journal::open(&path, u64::MAX) {
        if loaded.config.daemon.journal != default {
            loaded.config.daemon.journal = default;
            let path = path.display();
            loaded
                .problems
                .push(format!("daemon.journal: {path}: {e}: it is {} instead", loaded.config.journal_path().display()));
        }
    }
}

/// The one lock of a run folder: whoever holds it may write the undo log.
fn lock(run_folder: &Path, how: FlockOperation) -> Result<File, String> {
    let path = run_folder.join("lock");
    let file = private(&path).map_err(|e| format!("{}: {e}: make it writable", path.display()))?;
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

/// The device, on which what others own is touched by a probe: nothing that is to be undone waits for them.
fn by_probe() -> Result<System, String> {
    let system = System::new().map_err(|e| e.to_string())?;
    Ok(system.with_patient_probe())
}

/// A file for its owner alone, whatever the umask is or was: who can open a file can lock it, and would keep us from
/// starting and from undoing.
fn private(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
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
fn supervise(worker: Pid, mut signals: [(UnixStream, Signal); 2]) -> Result<Ended, String> {
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
    Ok(match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ended::Well,
        (_, Some(signal)) => Ended::Killed(signal),
        _ => Ended::Failed,
    })
}

/// Writes down that a worker's end was followed by undoing, where nothing else can push it out.
fn write_down(journal: &Path, is_put_back: bool) {
    let outcome = serde_json::json!({ "all": is_put_back });
    let now = clock_gettime(ClockId::Monotonic);
    let t_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    if let Ok(mut journal) = Journal::open(journal, u64::MAX) {
        journal.write(&Entry { t_ns, action: PUT_BACK, outcome, ..Entry::default() });
    }
}

/// How the worker ended.
enum Ended {
    Well,
    Failed,
    Killed(i32),
}

fn killed(signal: i32, is_put_back: bool, run_folder: &Path) -> String {
    let came = match is_put_back {
        true => "the device has been put back; start again".to_owned(),
        false => format!(
            "not all could be put back (see above): it stays in {}/undo.log, for `fovea restore` or the next start",
            run_folder.display()
        ),
    };
    format!("the worker was killed by signal {signal}: {came}")
}

/// Undoes what the log names, and says what it could not; whether that is nothing.
fn put_back(run_folder: &Path) -> bool {
    let complaints = match by_probe() {
        Ok(mut system) => {
            restore(run_folder, &mut system).unwrap_or_else(|e| vec![format!("{}: {e}", run_folder.display())])
        }
        Err(e) => vec![e],
    };
    for complaint in &complaints {
        say!("fovea: putting the device back: {complaint}");
    }
    complaints.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nobody_else_can_open_the_lock_and_so_hold_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let _lock = lock(folder.path(), FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(mode(&path), 0o600, "one that an earlier version left");
    }

    #[test]
    fn it_is_said_that_the_device_was_put_back_only_where_it_was() {
        let folder = Path::new("/run/fovea");
        assert!(killed(9, true, folder).contains("has been put back"));
        let not = killed(9, false, folder);
        assert!(!not.contains("has been put back") && not.contains("/run/fovea/undo.log"), "{not}");
    }
}
