// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real program on this machine: a daemon in a folder of its own, which leaves swap and cgroups alone.

#![allow(dead_code, missing_docs)]

pub mod app;
pub mod prefix;
pub mod session;

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::inotify;
use rustix::net::{
    connect, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use rustix::process::{pidfd_open, Pid, PidfdFlags};

pub const FOVEA: &str = env!("CARGO_BIN_EXE_fovea");

/// Longest wait for anything: far above what it takes on a loaded machine.
pub const LIMIT: Duration = Duration::from_secs(120);

pub const HARMLESS: &str = "[zram]\nenabled = false\n[daemon]\ndiscover = false\n";

pub fn fovea(run_folder: &Path) -> Command {
    let mut command = Command::new(FOVEA);
    command.env_remove("FOVEA_RUN").arg("--run-folder").arg(run_folder);
    command
}

pub fn run(run_folder: &Path, args: &[&str]) -> Output {
    fovea(run_folder).args(args).output().unwrap()
}

/// The one line that a failed command says; it must be one, and printable.
pub fn one_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("fovea: ") && !lines[0].contains(char::is_control), "{text:?}");
    lines[0].to_owned()
}

/// Waits for an event on a descriptor.
pub fn wait(fd: impl AsFd, event: PollFlags) {
    let mut polled = [PollFd::new(&fd, event)];
    let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
    assert_eq!(poll(&mut polled, Some(&limit)).unwrap(), 1, "nothing happened within {LIMIT:?}");
}

/// Waits for what nothing tells of.
pub fn until(what: &dyn Fn() -> String, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < LIMIT, "{}", what());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client that says what it likes.
pub struct Client(pub OwnedFd);

impl Client {
    pub fn try_connect(run_folder: &Path) -> Option<Client> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let address = SocketAddrUnix::new(run_folder.join("control.sock")).unwrap();
        connect(&socket, &address).ok().map(|()| Client(socket))
    }

    pub fn connect(run_folder: &Path) -> Client {
        Client::try_connect(run_folder).expect("a daemon that listens")
    }

    pub fn send(&self, packet: &[u8]) -> rustix::io::Result<usize> {
        send(&self.0, packet, SendFlags::NOSIGNAL)
    }

    /// The next reply; `None` if the daemon hung up.
    pub fn reply(&self) -> Option<serde_json::Value> {
        wait(&self.0, PollFlags::IN);
        let mut buffer = vec![0; 256 * 1024];
        match recv(&self.0, buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => None,
            Ok((length, _)) => Some(serde_json::from_slice(&buffer[..length]).expect("a reply is JSON")),
            Err(e) => panic!("{e}"),
        }
    }

    /// Sends a request that is granted.
    pub fn say(&self, request: &str) {
        self.send(request.as_bytes()).unwrap();
        assert_eq!(self.reply().unwrap()["reply"], "done", "{request}");
    }

    /// Sends a packet that is refused; the one line that says why.
    pub fn refused(&self, packet: &[u8]) -> String {
        self.send(packet).unwrap();
        let reply = self.reply().expect("an answer");
        assert_eq!(reply["reply"], "error", "{reply}");
        let error = reply["error"].as_str().unwrap().to_owned();
        assert!(!error.contains(char::is_control), "{error:?}");
        error
    }
}

pub struct Daemon {
    pub folder: tempfile::TempDir,
    pub supervisor: Child,
}

impl Daemon {
    pub fn start() -> Daemon {
        Daemon::start_with(|command, folder| {
            command.stderr(File::create(folder.join("stderr")).unwrap());
        })
    }

    /// Starts it and waits until it listens.
    pub fn start_with(prepare: impl FnOnce(&mut Command, &Path)) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("run")).unwrap();
        Daemon::start_in(folder, prepare)
    }

    /// The same in a folder that has its run folder already.
    pub fn start_in(folder: tempfile::TempDir, prepare: impl FnOnce(&mut Command, &Path)) -> Daemon {
        let config = folder.path().join("fovea.toml");
        std::fs::write(&config, HARMLESS).unwrap();
        let run_folder = folder.path().join("run");
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        let events = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&watch, &run_folder, events).unwrap();
        let mut command = fovea(&run_folder);
        command.args(["run", "--config"]).arg(&config).stdin(Stdio::null());
        prepare(&mut command, folder.path());
        let mut daemon = Daemon { supervisor: command.spawn().unwrap(), folder };
        // The socket is there a moment before it listens; the undo log, which is made last, comes after that.
        while !run_folder.join("undo.log").exists() || Client::try_connect(&run_folder).is_none() {
            if let Some(status) = daemon.supervisor.try_wait().unwrap() {
                panic!("the daemon ended with {status}: {}", daemon.stderr());
            }
            wait(&watch, PollFlags::IN);
            let mut buffer = [0u8; 4096];
            rustix::io::read(&watch, &mut buffer).unwrap();
        }
        daemon
    }

    pub fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    /// Asks as a user does; fails unless it answers.
    pub fn status(&self) -> serde_json::Value {
        let output = run(&self.run_folder(), &["status", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn worker(&self) -> Pid {
        Pid::from_raw(self.status()["pid"].as_i64().unwrap() as i32).unwrap()
    }

    pub fn supervisor_pid(&self) -> Pid {
        Pid::from_child(&self.supervisor)
    }

    /// Waits for the supervisor's end.
    pub fn ended(&mut self) -> ExitStatus {
        wait(pidfd_open(self.supervisor_pid(), PidfdFlags::empty()).unwrap(), PollFlags::IN);
        self.supervisor.wait().unwrap()
    }

    /// Asks it to stop; it must end in order and leave nothing to undo.
    pub fn stop(mut self) {
        rustix::process::kill_process(self.supervisor_pid(), rustix::process::Signal::TERM).unwrap();
        let status = self.ended();
        assert!(status.success(), "{status}: {}", self.stderr());
        assert_eq!(std::fs::read(self.run_folder().join("undo.log")).unwrap(), b"");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // After a failed check; the worker follows its supervisor.
        if self.supervisor.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = self.supervisor.kill();
            let _ = self.supervisor.wait();
        }
    }
}

pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: not root");
    }
    root
}

/// A copy of the program that any user may run.
pub fn copy_for_all(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    let copy = folder.join("fovea");
    // By another process: while a test beside this one forks, a copy that this one has just written would count as being written.
    assert!(Command::new("cp").arg(FOVEA).arg(&copy).status().unwrap().success());
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    copy
}

/// Runs the program as user nobody.
pub fn as_nobody(folder: &Path, args: &[&str]) -> Output {
    let copy = copy_for_all(folder);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"]).arg(&copy);
    command.env_remove("FOVEA_RUN").arg("--run-folder").arg(folder.join("run")).args(args);
    command.current_dir("/").output().expect("setpriv (util-linux)")
}

pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}
