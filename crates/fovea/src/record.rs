// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea trace record`: the page cache's and the block layer's events of this system, into a trace file.

mod daemon;
mod end;
mod recording;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use fovea_lab::store::Writer;
use fovea_lab::{FileNote, FILES_KEY};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::trace::names::Names;
use fovea_linux::trace::task::{describe, threads, with_descendants, Task};
use fovea_linux::trace::{Comm, Event, Filter, Held, Seen, Session, Settings};
use fovea_linux::Root;

use crate::failure::Failure;
use end::{End, Signals};
use recording::Recording;

/// What to record.
#[derive(Args)]
#[command(
    group(ArgGroup::new("whose").args(["pid", "cgroup", "all", "command"]).multiple(true).required(true)),
    after_help = AFTER_HELP
)]
pub struct Record {
    /// The trace file to make.
    #[arg(short, long, value_name = "FILE", default_value = "fovea-record.parquet")]
    output: PathBuf,
    /// Record this process, its children and all that they start; may be given several times.
    #[arg(long, value_name = "PID", conflicts_with_all = ["cgroup", "all", "command"])]
    pid: Vec<u32>,
    /// Record the processes of a cgroup (v2), and those that join it.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["all", "command"])]
    cgroup: Option<String>,
    /// Record everybody; with a command, for as long as it runs.
    #[arg(long)]
    all: bool,
    /// End after so many seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seconds: Option<u64>,
    /// Write what was counted as JSON there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The kernel's buffer of each CPU. Events are lost, and counted, if it fills before it is read.
    #[arg(long, value_name = "KIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(64..=1_048_576))]
    buffer_kib: u64,
    /// Command and arguments to run and record.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const AFTER_HELP: &str = "\
Records which pages of which files are read (page-get), faulted in (page-fault, page-map), and come into and leave the page cache \
(page-add, page-delete), and what is asked of the disks (block, discard, flush), from the kernel's own tracepoints. Needs root. Page \
accesses through a mapping that is there already are not seen by the kernel, and so not here.

The app of a record is the daemon's name of it if the daemon runs, else the task's cgroup, else the task's name. The importance is the \
daemon's word at that time.

  fovea trace record -o git.parquet -- git status
  fovea trace record --all --seconds 60
  fovea trace info git.parquet
  fovea lab replay git.parquet --sizes 1MiB,4MiB

Exit codes: 0 recorded, whatever the command ended with (which is told); 1 failed, or the disk got full (what was recorded until \
then is kept, marked as partial); 2 wrong usage; 3 not root, or the kernel has no tracing.";

/// Disk held back, so that a recording that fills it can still be closed: a row group and the notes.
const RESERVE_BYTES: usize = 4 << 20;
/// Notes about files that fit in there.
const FILES_FULL_BYTES: usize = 1 << 20;
/// The longest between two looks at the buffers, the signals and the command.
const LOOK: Duration = Duration::from_millis(50);
/// Between two looks at what changes slowly: who is in a cgroup, what tasks have open.
const SLOW_LOOK: Duration = Duration::from_millis(250);
/// Tasks whose open files are looked at each time.
const TASKS_LOOKED_AT: usize = 32;
/// Time for the search of files' names afterwards.
const SEARCH: Duration = Duration::from_secs(5);

fn failure(error: fovea_linux::Error) -> Failure {
    match &error {
        fovea_linux::Error::Missing { .. } => Failure::Lacks(error.to_string()),
        fovea_linux::Error::File { source, .. } | fovea_linux::Error::Call { source, .. }
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            Failure::Lacks(format!("{error}: run as root"))
        }
        error => Failure::Failed(error.to_string()),
    }
}

/// Records, and says what came of it.
pub fn record(run_folder: &Path, args: Record) -> Result<(), Failure> {
    let root = Root::at("/");
    let signals = Signals::catch()?;
    let whose = Whose::find(&root, &args)?;
    let mut apps = daemon::Apps::watch(run_folder);
    let mut recording = Recording::new(whose.tasks().as_deref());
    let mut held = None;
    if let Some(program) = args.command.first() {
        let mut command = Command::new(program);
        command.args(&args.command[1..]);
        let started = Held::start(command).map_err(|e| Failure::failed(format!("starting a process: {e}")))?;
        let name = Path::new(program).file_name().unwrap_or_default();
        // Until it says so itself it bears our name.
        let comm = Comm::new(name.as_encoded_bytes());
        recording.know(started.pid(), Task { comm, ..describe(&root, started.pid()).unwrap_or_default() });
        recording.join(&[started.pid()]);
        held = Some(started);
    }
    let filter = match (args.all, whose.tasks(), &held) {
        (true, ..) => Filter::All,
        (_, Some(tasks), _) if !tasks.is_empty() => Filter::Tasks(tasks),
        (_, _, Some(held)) => Filter::Tasks(vec![held.pid()]),
        _ => Filter::Tasks(Vec::new()),
    };
    let session = Session::start(&root, &Settings { filter, buffer_bytes: args.buffer_kib << 10 }).map_err(failure)?;
    let writer = Writer::with_reserve(&args.output, RESERVE_BYTES)?;
    if let Some(apps) = &mut apps {
        apps.tell(&mut recording);
    }
    let began = Instant::now();
    let child = match held {
        None => None,
        Some(held) => Some(held.release().map_err(|e| {
            let program = args.command[0].to_string_lossy();
            Failure::failed(format!("{program}: {e}: name a program that can be run"))
        })?),
    };
    if child.is_none() && args.seconds.is_none() {
        crate::output::say("recording; Ctrl-C ends it");
    }
    let deadline = args.seconds.map(|seconds| began + Duration::from_secs(seconds));
    let mut run = Run {
        root,
        recording,
        writer,
        names: Names::default(),
        look_at: BTreeSet::new(),
        whose,
        apps,
        child,
        deadline,
        signals,
    };
    let (end, loss) = run.follow(session)?;
    run.close(&args, end, loss)
}

/// Whose events are wanted.
enum Whose {
    Everybody,
    Command,
    Processes(Vec<u32>, Vec<u32>),
    Cgroup(Cgroups, String, Vec<u32>),
}

impl Whose {
    fn find(root: &Root, args: &Record) -> Result<Whose, Failure> {
        if !args.pid.is_empty() {
            for &pid in &args.pid {
                if threads(root, [pid]).is_empty() {
                    return Err(Failure::failed(format!("--pid {pid}: no such process; `ps -e` lists them")));
                }
            }
            return Ok(Whose::Processes(args.pid.clone(), with_descendants(root, &args.pid)));
        }
        let Some(path) = &args.cgroup else {
            return Ok(if args.all { Whose::Everybody } else { Whose::Command });
        };
        let cgroups = Cgroups::find(root).map_err(failure)?;
        let below = path.strip_prefix(&*cgroups.mount().to_string_lossy()).unwrap_or(path).trim_matches('/');
        let folder = cgroups.path(below).map_err(|e| Failure::Usage(format!("--cgroup: {e}")))?;
        if !folder.is_dir() {
            return Err(Failure::failed(format!(
                "--cgroup {path}: no {}; `systemd-cgls` lists them",
                folder.display()
            )));
        }
        let mut pids = Vec::new();
        cgroups.processes(below, &mut pids).map_err(failure)?;
        let tasks = threads(root, pids);
        Ok(Whose::Cgroup(cgroups, below.to_owned(), tasks))
    }

    /// Their tasks now; none of everybody.
    fn tasks(&self) -> Option<Vec<u32>> {
        match self {
            Whose::Everybody => None,
            Whose::Command => Some(Vec::new()),
            Whose::Processes(_, tasks) | Whose::Cgroup(.., tasks) => Some(tasks.clone()),
        }
    }
}

/// A recording under way.
struct Run {
    root: Root,
    recording: Recording,
    writer: Writer,
    names: Names,
    look_at: BTreeSet<u32>,
    whose: Whose,
    apps: Option<daemon::Apps>,
    child: Option<Child>,
    deadline: Option<Instant>,
    signals: Signals,
}

impl Run {
    /// Records until something ends it.
    fn follow(&mut self, mut session: Session) -> Result<(End, summary::Lacks), Failure> {
        let mut seen = Vec::new();
        let mut slow_look = Instant::now();
        let mut more = false;
        let end = loop {
            if !more {
                session.wait(LOOK).map_err(failure)?;
            }
            more = session.read(&mut seen).map_err(failure)?;
            if let Some(apps) = &mut self.apps {
                apps.tell(&mut self.recording);
            }
            self.take(&mut seen)?;
            if let Some(end) = self.over() {
                break end;
            }
            if slow_look.elapsed() >= SLOW_LOOK {
                slow_look = Instant::now();
                self.join(&session)?;
                self.look_at_tasks();
            }
        };
        let missing = session.missing().iter().map(|tracepoint| tracepoint.path()).collect();
        let loss = session.finish(&mut seen).map_err(failure)?;
        if let Some(apps) = &mut self.apps {
            apps.tell(&mut self.recording);
        }
        self.take(&mut seen)?;
        // The rest may be what filled the disk.
        let end = if self.writer.is_full() { End::DiskFull } else { end };
        Ok((end, summary::Lacks { loss, missing }))
    }

    fn take(&mut self, seen: &mut Vec<Seen>) -> Result<(), Failure> {
        let root = &self.root;
        for seen in seen.drain(..) {
            match &seen.event {
                Event::Pages { dev, inode, .. } if self.names.want((*dev, *inode)) => {
                    self.look_at.insert(seen.pid);
                }
                Event::Exec { file, .. } => {
                    use std::os::unix::ffi::OsStrExt;
                    self.names.look_at_path(Path::new(std::ffi::OsStr::from_bytes(file)));
                }
                _ => {}
            }
            if self.writer.is_full() {
                continue;
            }
            if let Some(record) = self.recording.take(&seen, &mut |pid| describe(root, pid)) {
                self.writer.push(record)?;
            }
        }
        Ok(())
    }

    /// Takes in who has come into the cgroup.
    fn join(&mut self, session: &Session) -> Result<(), Failure> {
        let Whose::Cgroup(cgroups, cgroup, known) = &mut self.whose else { return Ok(()) };
        let mut pids = Vec::new();
        cgroups.processes(cgroup, &mut pids).map_err(failure)?;
        let now = threads(&self.root, pids);
        let new: Vec<u32> = now.iter().copied().filter(|task| known.binary_search(task).is_err()).collect();
        session.add_tasks(&new).map_err(failure)?;
        self.recording.join(&new);
        *known = now;
        Ok(())
    }

    fn look_at_tasks(&mut self) {
        for _ in 0..TASKS_LOOKED_AT {
            let Some(task) = self.look_at.pop_first() else { return };
            self.names.look_at_task(&self.root, task);
        }
    }

    /// What ends it, if something does now.
    fn over(&mut self) -> Option<End> {
        if self.writer.is_full() {
            return Some(End::DiskFull);
        }
        if let Some(signal) = self.signals.caught() {
            return Some(End::Signal(signal));
        }
        if let Some(child) = &mut self.child {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(End::Command(status));
            }
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(End::Time);
        }
        match &self.whose {
            Whose::Processes(pids, _) if threads(&self.root, pids.iter().copied()).is_empty() => Some(End::Processes),
            Whose::Cgroup(cgroups, cgroup, _) if !cgroups.path(cgroup).is_ok_and(|folder| folder.is_dir()) => {
                Some(End::Cgroup)
            }
            _ => None,
        }
    }

    /// Names the files, finishes the trace file and tells of it.
    fn close(mut self, args: &Record, end: End, lacks: summary::Lacks) -> Result<(), Failure> {
        while !self.look_at.is_empty() {
            self.look_at_tasks();
        }
        self.names.search(&self.root, SEARCH);
        let files = self.files();
        let open_ended = args.seconds.is_none() && self.child.is_none() && args.pid.is_empty();
        let still_runs = end.tell_command(&mut self.child);
        let mut summary = summary::Summary::new(args, &self.recording, &end, open_ended, lacks);
        summary.command_still_runs = still_runs;
        summary.records = self.writer.records();
        summary.files = files.len() as u64;
        summary.files_named = files.iter().filter(|file| file.path.is_some()).count() as u64;
        let mut notes: BTreeMap<String, String> = summary.notes();
        let text = FileNote::text(&files);
        if !(self.writer.is_full() && text.len() > FILES_FULL_BYTES) {
            notes.insert(FILES_KEY.into(), text);
        }
        self.writer.finish(&notes)?;
        summary.print(args.json.as_deref())?;
        match end {
            End::DiskFull => Err(Failure::failed(format!(
                "{}: no space left on the disk; the {} records until then were kept, make room for more",
                args.output.display(),
                summary.records
            ))),
            _ => Ok(()),
        }
    }

    /// The files, ascending. One that is gone was at least as long as the pages seen of it.
    fn files(&mut self) -> Vec<FileNote> {
        let known = self.names.known();
        let mut ends: BTreeMap<_, u64> = self.recording.ends_bytes().collect();
        let mut all: Vec<_> = known.keys().copied().collect();
        all.extend(ends.keys().copied().filter(|file| !known.contains_key(file)));
        all.sort_unstable();
        let mut notes = Vec::with_capacity(all.len());
        for file in all {
            let name = known.get(&file);
            let size_bytes = name.map(|name| name.size_bytes).or_else(|| ends.remove(&file));
            let path = name.map(|name| name.path.to_string_lossy().into_owned());
            let space = self.recording.space(false, file.0).to_string();
            notes.push(FileNote { space, object: file.1, size_bytes, path });
        }
        notes
    }
}
