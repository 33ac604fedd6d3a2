// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon as the first process sees it: a program in a cgroup of its own, and a control socket.

use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fovea_client::protocol::{Reply, Request, REPLY_MAX_BYTES, RUN_FOLDER, SOCKET_NAME};
use fovea_client::Status;
use fovea_scenario::Syscall;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::inotify;
use rustix::net::{
    connect, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use rustix::pipe::PipeFlags;

use crate::outcome::{write_file, At, Outcome};
use crate::setup::{cgroup_path, DAEMON};
use crate::spawn::{self, Setting};

/// The command line, which is the daemon too.
const PROGRAM: &str = "/bin/fovea";
const CONFIG: &str = "/etc/fovea.toml";

/// How long an answer may take, guest time. Long, for a phone that thrashes; an unanswered request ends the plan.
const ANSWER_LIMIT_S: i64 = 60;

/// The daemon's journal.
pub const JOURNAL: &str = "/run/fovea/journal.jsonl";

/// The daemon.
pub struct Daemon {
    /// PID of the process started (it forks a worker of its own); `None` once it has ended.
    pub pid: Option<u32>,
    denied: Vec<Syscall>,
    folder_watch: OwnedFd,
    socket: Option<OwnedFd>,
}

/// Where the control socket is.
pub fn socket_path() -> PathBuf {
    Path::new(RUN_FOLDER).join(SOCKET_NAME)
}

impl Daemon {
    /// Writes the configuration and watches the folder in which the socket will appear. Starts nothing. `denied` is what the daemon
    /// will not have.
    pub fn prepare(config: &str, denied: &[Syscall]) -> Outcome<Self> {
        use std::os::unix::fs::DirBuilderExt;
        DirBuilder::new().recursive(true).mode(0o755).create("/etc").at(|| "making /etc".into())?;
        write_file(CONFIG, config)?;
        DirBuilder::new().recursive(true).mode(0o755).create(RUN_FOLDER).at(|| format!("making {RUN_FOLDER}"))?;
        let folder_watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)
            .at(|| "making an inotify".into())?;
        let flags = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::DELETE;
        inotify::add_watch(&folder_watch, RUN_FOLDER, flags).at(|| format!("watching {RUN_FOLDER}"))?;
        Ok(Self { pid: None, denied: denied.to_vec(), folder_watch, socket: None })
    }

    /// Starts it; it can be asked once [`Daemon::connect`] says so.
    pub fn start(&mut self) -> Outcome<()> {
        let path = cgroup_path(DAEMON);
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        self.socket = None;
        let setting = Setting { denied: &self.denied, ..Setting::default() };
        self.pid = Some(spawn::exec_into(&cgroup, Path::new(PROGRAM), &["fovea", "run", "--config", CONFIG], setting)?);
        Ok(())
    }

    /// Starts the command line with other arguments, seeing the kernel as the daemon does; what it prints can be read from the
    /// descriptor.
    pub fn start_other(&self, args: &[&str]) -> Outcome<(u32, OwnedFd)> {
        let (ours, theirs) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).at(|| "making a pipe".into())?;
        let path = cgroup_path(DAEMON);
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let setting = Setting { stdout: Some(&theirs), denied: &self.denied, ..Setting::default() };
        Ok((spawn::exec_into(&cgroup, Path::new(PROGRAM), args, setting)?, ours))
    }

    /// Readable when something appeared in or went from the run folder.
    pub fn folder_watch(&self) -> BorrowedFd<'_> {
        self.folder_watch.as_fd()
    }

    /// Takes what the watch reported, so that it becomes unreadable until there is more.
    pub fn drain_folder_watch(&self) {
        let mut buffer = [0u8; 4096];
        while matches!(rustix::io::read(&self.folder_watch, &mut buffer), Ok(n) if n > 0) {}
    }

    /// Connects if the daemon accepts; `Ok(false)` if it does not yet.
    pub fn connect(&mut self) -> Outcome<bool> {
        use rustix::io::Errno;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .at(|| "making a socket".into())?;
        let path = socket_path();
        let address = SocketAddrUnix::new(path.as_path()).at(|| format!("address {}", path.display()))?;
        match connect(&socket, &address) {
            Ok(()) => {
                self.socket = Some(socket);
                self.attend()
            }
            Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(false),
            Err(error) => Err(format!("connecting to {}: {error}", path.display())),
        }
    }

    /// What is said on this connection holds as long as it does: the first process stands for the phone's shell. False if the daemon
    /// hung up, as one that is ending does.
    fn attend(&mut self) -> Outcome<bool> {
        let request = Request::Attend { name: "phone".parse().at(|| "naming the phone".into())?, uid: None };
        let bytes = serde_json::to_vec(&request).at(|| "writing a request".into())?;
        match self.exchange(&bytes)? {
            Some(Reply::Done {}) => Ok(true),
            Some(other) => Err(format!("the daemon answered {other:?} to {request:?}: it must be Done")),
            None => {
                self.socket = None;
                Ok(false)
            }
        }
    }

    /// Asks once and waits for the answer.
    pub fn ask(&mut self, request: &Request) -> Outcome<Reply> {
        let bytes = serde_json::to_vec(request).at(|| "writing a request".into())?;
        let what = || String::from_utf8_lossy(&bytes).into_owned();
        // A daemon may close a connection that was silent; a second, fresh one must do.
        for fresh in [false, true] {
            if (fresh || self.socket.is_none()) && !self.connect()? {
                return Err(format!("asking the daemon {}: nobody listens at {}", what(), socket_path().display()));
            }
            match self.exchange(&bytes).map_err(|error| format!("asking the daemon {}: {error}", what()))? {
                Some(reply) => return Ok(reply),
                None => self.socket = None,
            }
        }
        Err(format!("asking the daemon {}: it hung up twice", what()))
    }

    /// `None` if the daemon hung up.
    fn exchange(&mut self, bytes: &[u8]) -> Outcome<Option<Reply>> {
        let Some(socket) = &self.socket else { return Ok(None) };
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(_) => {}
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(format!("sending: {error}")),
        }
        let limit = Timespec { tv_sec: ANSWER_LIMIT_S, tv_nsec: 0 };
        let mut fds = [PollFd::new(socket, PollFlags::IN)];
        if poll(&mut fds, Some(&limit)).at(|| "waiting".into())? == 0 {
            // What comes late must not be taken for the next answer.
            self.socket = None;
            return Err(format!("no answer within {ANSWER_LIMIT_S} s"));
        }
        let mut buffer = vec![0u8; REPLY_MAX_BYTES];
        match recv(socket, buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => Ok(None),
            Ok((length, _)) => {
                let reply = serde_json::from_slice(&buffer[..length.min(buffer.len())]);
                reply.map(Some).at(|| "understanding the answer".into())
            }
            Err(error) => Err(format!("receiving: {error}")),
        }
    }

    /// Asks for something to be done; the daemon's refusal is the inner error.
    pub fn tell(&mut self, request: &Request) -> Outcome<Result<(), String>> {
        match self.ask(request)? {
            Reply::Done {} => Ok(Ok(())),
            Reply::Error { error } => Ok(Err(error)),
            other => Err(format!("the daemon answered {other:?} to {request:?}: it must be Done or Error")),
        }
    }

    /// Tells it something that it has no reason to refuse.
    pub fn insist(&mut self, request: &Request) -> Outcome<()> {
        self.tell(request)?.map_err(|error| format!("the daemon refused {request:?}: {error}"))
    }

    /// Asks for its state.
    pub fn status(&mut self) -> Outcome<Box<Status>> {
        match self.ask(&Request::status())? {
            Reply::Status(status) => Ok(status),
            other => Err(format!("the daemon answered {other:?} to a question for its status")),
        }
    }
}
