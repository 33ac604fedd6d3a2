// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Processes that hold up whoever looks into them: one in execve, which closes a file whose server (FUSE) is silent, and one
//! that reads such a file by its mapping.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};
use rustix::process::{kill_process, Pid, Signal};

use super::*;
use crate::device_traits::{Apps, Merging, Net, Pages, Scores};
use crate::{CompressCursor, Error, MarkTable, System};
use fovea_apps::{Marks, ProcessId};

/// Requests of linux/fuse.h.
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const FLUSH: u32 = 25;
const INIT: u32 = 26;

/// A process that holds a lock of its own until this is dropped.
struct Held {
    at: PathBuf,
    pid: u32,
    starting: Option<JoinHandle<std::io::Result<Child>>>,
    device: Option<File>,
    _folder: tempfile::TempDir,
}

/// A file whose server is this process.
struct Served {
    at: PathBuf,
    device: File,
    folder: tempfile::TempDir,
}

impl Served {
    fn new() -> Option<Served> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("file");
        std::fs::write(&at, "").unwrap();
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse").ok()?;
        let options = format!("fd={},rootmode=100644,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        let options = std::ffi::CString::new(options).unwrap();
        if let Err(e) = mount("silent", &at, "fuse", MountFlags::empty(), Some(&*options)) {
            println!("skipped: no FUSE file system can be mounted here: {e}");
            return None;
        }
        Some(Served { at, device, folder })
    }
}

impl Held {
    /// Its `exec_update_lock`.
    fn in_exec() -> Option<Held> {
        let Served { at, device, folder } = Served::new()?;
        let path = std::ffi::CString::new(at.as_os_str().as_encoded_bytes()).unwrap();
        // The child alone has the file, at a number above all that this process has open, so that it is closed last. The first
        // one of it is closed here, which is answered.
        let open = move || {
            // SAFETY: system calls of integers and of a text that outlives them.
            let is_open = unsafe {
                let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                let high = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 900);
                high >= 900 && libc::close(file) == 0
            };
            if is_open {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        };
        let mut command = Command::new("sleep");
        // SAFETY: what it does is allowed between fork and exec.
        unsafe { command.arg("1000").pre_exec(open) };
        // Spawning it does not return before its execve does.
        let starting = std::thread::spawn(move || command.spawn());
        let pid = serve_until_second(FLUSH, &device);
        let held = Held { at, pid, starting: Some(starting), device: Some(device), _folder: folder };
        assert!(pid > 0, "the file was never closed");
        Some(held)
    }

    /// Its `mmap_lock`: a fault that is tried again holds it to read, and who waits to write keeps others from reading.
    fn in_fault() -> Option<Held> {
        let Served { at, device, folder } = Served::new()?;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "probe::inspect::tests::holds_its_mappings", "--ignored", "--nocapture"]);
        let mut child = command.env("FOVEA_TEST_FILE", &at).stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let is_served = serve_until_second(READ, &device) > 0;
        // From now on it waits to write.
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let starting = Some(std::thread::spawn(move || Ok(child)));
        let held = Held { at, pid, starting, device: Some(device), _folder: folder };
        assert!(is_served, "the file was never read");
        let waiting = || {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
            let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
            status.filter(|status| status.contains("State:\tD")).count()
        };
        let began = std::time::Instant::now();
        while waiting() == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not wait to write");
            std::thread::yield_now();
        }
        Some(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        // Whoever waits for the server ends with the connection.
        let _ = unmount(&self.at, UnmountFlags::FORCE | UnmountFlags::DETACH);
        self.device.take();
        let _ = self.starting.take().and_then(|starting| starting.join().ok()?.ok()?.wait().ok());
    }
}

/// Answers what opening the file takes, and that it is read (it cannot be) and closed, but not the second time of one of these:
/// says who then waits. Gives up after a minute, for what waits here is waited for by whoever looks at it.
fn serve_until_second(last: u32, device: &File) -> u32 {
    let mut times = 0;
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    while matches!(poll(&mut [PollFd::new(device, PollFlags::IN)], Some(&limit)), Ok(1)) {
        let mut request = [0u8; 1 << 17];
        if (&*device).read(&mut request).is_err() {
            continue;
        }
        let number = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
        let words = |words: &[u64]| words.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        let (body, error) = match number(4) {
            // Version 7.31, and pages of 4 KiB.
            INIT => (words(&[7 | 31 << 32, 0, 4096 << 32, 0, 0, 0, 0, 0]), 0),
            // struct fuse_attr_out: valid for no time, then inode, size, blocks, three times, their nanoseconds with mode, …
            GETATTR => (words(&[0, 0, 1, 4096, 8, 0, 0, 0, 0, 0o100_644 << 32, 1, 0, 4096]), 0),
            OPEN => (vec![0; 16], 0),
            request if request == last && times == 1 => return number(32),
            request @ (FLUSH | READ) => {
                times += u32::from(request == last);
                (Vec::new(), if request == READ { -libc::EIO } else { 0 })
            }
            _ => (Vec::new(), -libc::ENOSYS),
        };
        let head = [(16 + body.len() as u32).to_ne_bytes(), error.to_ne_bytes()].concat();
        let _ = (&*device).write_all(&[&head, &request[8..16], &body[..]].concat());
    }
    0
}

/// This test program again, as the probe.
#[test]
#[ignore = "what the other tests start"]
fn serves_as_a_probe() {
    crate::probe::serve("/".into(), "/nowhere".into()).unwrap();
}

/// What the process does that holds its mappings' lock.
#[test]
#[ignore = "what another test starts"]
fn holds_its_mappings() {
    use rustix::mm::{mmap, mmap_anonymous, MapFlags, ProtFlags};
    let file = File::open(std::env::var_os("FOVEA_TEST_FILE").unwrap()).unwrap();
    // So that its size is known.
    file.metadata().unwrap();
    let page = fovea_apps::PAGE_BYTES as usize;
    // SAFETY: a fresh mapping, which is read only.
    let at =
        unsafe { mmap(std::ptr::null_mut(), page, ProtFlags::READ, MapFlags::PRIVATE, &file, 0) }.unwrap() as usize;
    // SAFETY: within the mapping.
    std::thread::spawn(move || unsafe { (at as *const u8).read_volatile() });
    std::io::stdin().read_exact(&mut [0]).unwrap();
    // SAFETY: a fresh mapping, of which nothing is used.
    let _ = unsafe { mmap_anonymous(std::ptr::null_mut(), page, ProtFlags::READ, MapFlags::PRIVATE) };
}

fn probes(folder: &std::path::Path) -> Probes {
    let program = folder.join("program");
    let this = std::env::current_exe().unwrap();
    let test = "probe::inspect::tests::serves_as_a_probe";
    let script = format!("#!/bin/sh\nexec {} --exact {test} --ignored --nocapture\n", this.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let places = Places { root: Root::at("/"), devices: Root::at("/nowhere") };
    let mut probes = Probe::of(&program, Duration::from_millis(300), false).with_inspector(places);
    // A test beside that has just forked holds the script open for writing until its child runs another program (ETXTBSY).
    while let Err(e) = probes.processes.start(&probes.places) {
        assert_eq!(e.kind(), std::io::ErrorKind::ExecutableFileBusy, "{e}");
    }
    probes
}

#[test]
fn an_owner_whose_process_holds_a_probe_up_is_passed_over_and_nobody_else_is() {
    let Some(held) = Held::in_exec() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut probes = probes(folder.path());
    let own = std::process::id();
    let (theirs, ours) = (Owner::User(1000), Owner::User(1001));
    // Asked again where it has only just been started.
    let mut ask = |owner: &Owner, pids: &[u32]| loop {
        match probes.processes.ask(&probes.places, owner, Task::Going { pids: pids.to_vec() }) {
            Err(Error::PutOff { what }) if what.contains("just been started") => std::thread::yield_now(),
            Err(Error::PutOff { .. } | Error::Call { .. }) => return None,
            Ok(Outcome::Numbers(of_each)) => return Some(of_each.len()),
            other => panic!("{other:?}"),
        }
    };
    // Without the one that holds it up, as soon as the next can.
    while ask(&theirs, &[held.pid, own]).is_none() {}
    assert_eq!(ask(&ours, &[own]), Some(1));
    for pid in 1..5 {
        probes.processes.blame(&theirs, pid);
    }
    let mut ask = |owner: &Owner| probes.processes.ask(&probes.places, owner, Task::Going { pids: vec![own] });
    let put_off = ask(&theirs).unwrap_err();
    assert!(put_off.is_put_off(), "{put_off}");
    assert!(ask(&ours).is_ok(), "nobody else is passed over");
}

struct NoMarks(Marks);

impl MarkTable for NoMarks {
    fn marks(&self) -> &Marks {
        &self.0
    }

    fn mark(&mut self, _base: i32, _wanted: i32) -> Option<i32> {
        None
    }
}

#[test]
fn an_app_with_such_a_process_holds_up_nothing_and_can_be_killed() {
    Held::in_exec().into_iter().for_each(all_is_done_beside);
}

#[test]
fn an_app_with_a_process_that_holds_its_mappings_holds_up_nothing_and_can_be_killed() {
    Held::in_fault().into_iter().for_each(all_is_done_beside);
}

/// All that the daemon does to an app or asks about it, with one of its processes in that state. Whatever waits for that
/// process, ever, keeps this from its end.
fn all_is_done_beside(held: Held) {
    let pid = held.pid;
    all_is_done(pid, &|_| (), || drop(held));
}

/// The same of any process, which `let_go` lets go; `in_cgroup` is what its owner does in its cgroup.
fn all_is_done(pid: u32, in_cgroup: &dyn Fn(&std::path::Path), let_go: impl FnOnce()) {
    let folder = tempfile::tempdir().unwrap();
    let mut system = System::at("/");
    let Ok(mount) = system.cgroup_mount() else { return let_go() };
    let cgroup = format!("fovea-test-held-{}-{pid}", std::process::id());
    if std::fs::create_dir(mount.join(&cgroup)).is_err() {
        println!("skipped: no cgroup can be made here");
        return let_go();
    }
    std::fs::write(mount.join(&cgroup).join("cgroup.procs"), pid.to_string()).unwrap();
    in_cgroup(&mount.join(&cgroup));
    system.set_probes(probes(folder.path()));
    let (tell, told) = channel();
    let at = cgroup.clone();
    std::thread::spawn(move || {
        let id = ProcessId { pid, start_ticks: 1 };
        let step = |name: &str| tell.send(name.to_owned()).unwrap();
        drop(system.compress(&at, CompressCursor::default(), 64, 500));
        step("compress");
        drop((system.resident(&at, 64), system.prefetch(&at, None, 64)));
        step("resident, prefetch");
        drop((system.kinship(&at), system.holders(&at), system.programs(&at), system.started_by(&at)));
        step("kinship, holders, programs, started_by");
        drop((system.usage(&at), system.charge(&at), system.process_name(id), system.program_tree(pid, &[])));
        step("usage, charge, process_name, program_tree");
        drop(system.rank(&at, 700, &mut NoMarks(Marks::default())));
        drop(system.traffic(&[&at]));
        drop((system.terminate_part(&at, &[id]), system.kill_part(&at, &[id])));
        step("rank, traffic, terminate_part, kill_part");
        drop((system.set_frozen(&at, true), system.set_frozen(&at, false), system.terminate(&at)));
        step("freeze, terminate");
        step(&format!("killed {}", system.kill(&at).map_or(0, |killed| killed.signalled)));
    });
    let mut done = Vec::new();
    while let Ok(step) = told.recv_timeout(Duration::from_secs(60)) {
        done.push(step);
    }
    // It ends, or would if it did not wait: nobody waits here for its memory.
    let pending = |line: &&str| line.starts_with("SigPnd") || line.starts_with("ShdPnd");
    let is_killed = |status: &str| {
        let is_pending = || status.lines().filter(pending).any(|line| line.trim_end().ends_with("100"));
        status.is_empty() || status.contains("State:\tZ") || is_pending()
    };
    let status = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let began = std::time::Instant::now();
    while !is_killed(&status()) && began.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    let at_last = status();
    let_go();
    let _ = std::fs::remove_dir(mount.join(&cgroup));
    assert_eq!(done.last().map(String::as_str), Some("killed 1"), "what came after {done:?} waits for the process");
    assert!(is_killed(&at_last), "{at_last}");
}

#[path = "stranger_tests.rs"]
mod stranger;
