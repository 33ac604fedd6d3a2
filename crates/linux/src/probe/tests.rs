// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon's side against probes that do not answer, as threads that speak for one; and the probe's looks at a file
//! system that never answers.

use std::os::fd::AsRawFd;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::frame::Incoming;
use super::*;

fn places() -> Places {
    Places { root: Root::at("/"), devices: Root::at("/nowhere") }
}

/// A probe that is a shell, which says what it is told to and then nothing any more.
fn probe_that_says(answers: &[Answer]) -> Probe {
    probe_that_touches(0, answers)
}

/// The same that touches a process before.
fn probe_that_touches(pid: u32, answers: &[Answer]) -> Probe {
    let (program, folder) = program_that_touches(pid, answers);
    let mut probe = Probe::of(&program, Duration::from_millis(20), false);
    probe.start(&places()).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    probe
}

fn program_that_touches(pid: u32, answers: &[Answer]) -> (PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap().keep();
    let mut said = Vec::new();
    for answer in answers {
        let text = serde_json::to_vec(answer).unwrap();
        said.extend((text.len() as u32).to_ne_bytes());
        said.extend(text);
    }
    std::fs::write(folder.join("said"), said).unwrap();
    std::fs::write(folder.join("touched"), pid.to_ne_bytes()).unwrap();
    // As the probe does: what is written to its standard input's socket is the answer.
    let program = folder.join("program");
    let script = "#!/bin/sh\nd=$(dirname \"$0\")\ncat \"$d/touched\"\ncat \"$d/said\" >&0\nexec sleep 1000\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (program, folder)
}

fn ended(child: &mut Child) -> ExitStatus {
    child.wait().unwrap()
}

#[test]
fn a_probe_that_does_not_answer_is_killed_and_its_user_passed_over() {
    // A process of another user, at whom it hangs.
    let mut theirs = Command::new("sleep");
    theirs.arg("1000");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::process::CommandExt::uid(&mut theirs, 65534);
    }
    let mut theirs = theirs.spawn().unwrap();
    let mut probe = probe_that_touches(theirs.id(), &[Answer::Ready]);
    let comm = format!("/proc/{}/comm", probe.running.as_ref().unwrap().child.id());
    while std::fs::read_to_string(&comm).unwrap() != "sleep\n" {
        std::thread::yield_now();
    }
    let error = probe.media_users(&places(), true).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(probe.running.is_none());
    if is_root {
        assert_eq!(probe.blames.passed_over(), [Owner::of_process(theirs.id()).unwrap()]);
        let refused = probe.act(&places(), theirs.id(), 0, 1, Act::Find).unwrap_err();
        assert!(refused.to_string().contains("hold up"), "{refused}");
    }
    // At once again: nothing is asked, and nobody waits.
    assert!(probe.media_users(&places(), true).unwrap_err().to_string().contains("a moment ago"));
    assert!(probe.running.is_none());
    for mut stray in probe.strays.take_all() {
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended(&mut stray)), Some(9));
    }
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

#[test]
fn what_a_probe_answers_is_what_is_known() {
    let user = MediaUser { pid: 7, perceived: fovea_apps::Perceived::PlaysSound };
    let mut probe = probe_that_says(&[Answer::Ready, Answer::Media(Ok(vec![user]))]);
    assert_eq!(probe.media_users(&places(), true).unwrap(), [user]);
    assert!(probe.knows_video && probe.blames.passed_over().is_empty());
    let mut probe = probe_that_says(&[Answer::Ready, Answer::Connection(Err(libc::EPERM))]);
    let refused = probe.act(&places(), 1, 0, 1, Act::Find).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
    let mut probe = probe_that_says(&[Answer::Ready, Answer::Ready]);
    assert!(probe.service_users(&places(), &[]).unwrap_err().to_string().contains("makes no sense"));
}

/// As on a machine with thousands of processes: an answer that was not there in time counts when it is there.
#[test]
fn what_a_slow_probe_answers_late_is_taken_the_next_time() {
    let user = MediaUser { pid: 7, perceived: fovea_apps::Perceived::PlaysSound };
    let mut probe = probe_that_says(&[Answer::Ready, Answer::Media(Ok(vec![user]))]);
    if let Some(running) = &mut probe.running {
        running.owes = Some((Instant::now(), discriminant(&Question::Media { look_for_video: true, blamed: vec![] })));
    }
    assert_eq!(probe.media_users(&places(), true).unwrap(), [user]);
    // Of something else it is dropped, and the question asked, to which this one says nothing.
    let mut probe = probe_that_says(&[Answer::Ready, Answer::Connection(Ok(None))]);
    if let Some(running) = &mut probe.running {
        let question = Question::Connection { pid: 1, fd: 1, inode: 1, act: Act::Find };
        running.owes = Some((Instant::now(), discriminant(&question)));
    }
    assert!(probe.media_users(&places(), true).is_err());
}

/// Nothing comes back to it until it is asked again.
fn left(millis: u64) -> Waited {
    Waited::stands_at(Duration::from_millis(millis))
}

/// Somebody may have each answer come at the last moment, and a turn asks of each connection.
#[test]
fn answers_that_come_late_again_and_again_are_not_waited_for() {
    let user = MediaUser { pid: 7, perceived: fovea_apps::Perceived::PlaysSound };
    let mut probe = probe_that_says(&[Answer::Ready, Answer::Media(Ok(vec![user])), Answer::Connection(Ok(None))]);
    probe.media_users(&places(), true).unwrap();
    probe.waited = left(9);
    let refused = probe.act(&places(), 1, 0, 1, Act::Find).unwrap_err();
    assert!(is_not_now(&refused), "{refused}");
    probe.waited = left(9);
    assert_eq!(probe.media_users(&places(), false).unwrap(), [user], "what was answered a moment ago");
    probe.waited = left(9);
    assert!(probe.media_users(&places(), true).is_err(), "and what was not is not known");
    assert!(probe.running.is_some() && probe.rests_until.is_none(), "nobody is to blame");
    probe.waited = left(20);
    assert!(probe.act(&places(), 1, 0, 1, Act::Find).is_ok());
}

#[test]
fn a_frame_that_comes_in_parts_is_whole_at_last() {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let text = serde_json::to_vec(&Answer::Connection(Err(9))).unwrap();
    let bytes = [&(text.len() as u32).to_ne_bytes()[..], &text].concat();
    let mut incoming = Incoming::default();
    for byte in &bytes[..bytes.len() - 1] {
        std::io::Write::write_all(&mut theirs, &[*byte]).unwrap();
        assert!(incoming.read::<Answer>(&mut ours, Instant::now()).is_err());
    }
    std::io::Write::write_all(&mut theirs, &bytes[bytes.len() - 1..]).unwrap();
    assert!(matches!(incoming.read(&mut ours, Instant::now()), Ok(Answer::Connection(Err(9)))));
}

#[test]
fn a_probe_that_has_only_just_been_started_is_not_late() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut probe = Probe::of(&program, Duration::from_millis(20), false);
    probe.spawn(&places()).unwrap();
    let error = probe.media_users(&places(), true).unwrap_err();
    assert!(error.to_string().contains("only just been started") && probe.running.is_some(), "{error}");
    let mut nowhere = Probe::of(Path::new("/nowhere/program"), Duration::from_millis(20), false);
    assert!(nowhere.media_users(&places(), true).is_err() && nowhere.running.is_none());
}

/// A file system in user space (FUSE) whose server answers until a file is open, and then never again.
struct Silent {
    folder: tempfile::TempDir,
    device: std::fs::File,
}

impl Silent {
    fn mounted_as(name: &str) -> Option<Silent> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join(name);
        std::fs::create_dir(&at).unwrap();
        Silent::mounted_at(folder, &at, "40000")
    }

    /// The file system's root has this mode.
    fn mounted_at(folder: tempfile::TempDir, at: &Path, mode: &str) -> Option<Silent> {
        let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").ok()?;
        let options = format!("fd={},rootmode={mode},user_id=0,group_id=0,allow_other", device.as_raw_fd());
        let options = std::ffi::CString::new(options).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        if let Err(e) = rustix::mount::mount("silent", at, "fuse", flags, Some(options.as_c_str())) {
            eprintln!("skipped: no FUSE file system can be mounted here: {e}");
            return None;
        }
        Some(Silent { folder, device })
    }

    /// Answers FUSE_INIT (26) and FUSE_OPENDIR (27), as linux/fuse.h has them, and nothing else.
    fn serve_an_open(&self) {
        use std::io::{Read, Write};
        let mut opened = false;
        while !opened {
            let mut request = [0u8; 1 << 17];
            let length = (&self.device).read(&mut request).unwrap();
            let number = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
            let body: Vec<u8> = match number(4) {
                26 => [7u32, 31, 0, 0, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
                    .iter()
                    .flat_map(|n| n.to_ne_bytes())
                    .collect(),
                27 => vec![0; 16],
                _ => continue,
            };
            opened = number(4) == 27;
            let _ = length;
            let head = [(16 + body.len() as u32).to_ne_bytes(), [0; 4]].concat();
            (&self.device).write_all(&[&head, &request[8..16], &body[..]].concat()).unwrap();
        }
    }

    /// Serves a program, which is the whole file system, until it is told to be silent. Of its attributes nothing is
    /// remembered, so each `stat` asks anew.
    fn serve_a_program(&self, program: &[u8], silent: &std::sync::atomic::AtomicBool) {
        use std::io::{Read, Write};
        let (ask_again, regular) = ([0u64; 2], 0o100_755u64);
        let size = program.len() as u64;
        // struct fuse_attr: inode, size, blocks, three times, their nanoseconds with mode, links, user, group, device, block.
        let attributes = [1, size, size / 512 + 1, 0, 0, 0, 0, regular << 32, 1, 0, 4096];
        let attributes: Vec<u8> = ask_again.iter().chain(&attributes).flat_map(|n| n.to_ne_bytes()).collect();
        while !silent.load(std::sync::atomic::Ordering::Acquire) {
            let mut polled = [rustix::event::PollFd::new(&self.device, rustix::event::PollFlags::IN)];
            let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            if rustix::event::poll(&mut polled, Some(&limit)).unwrap() == 0 {
                continue;
            }
            let mut request = [0u8; 1 << 17];
            let length = (&self.device).read(&mut request).unwrap();
            assert!(length >= 40, "a head at least");
            let number = |at: usize| u64::from_ne_bytes(request[at..at + 8].try_into().unwrap());
            let body = match number(4) as u32 {
                // FUSE_INIT, FUSE_GETATTR, FUSE_OPEN, FUSE_READ; ENOSYS to all else.
                26 => [7u32, 31].iter().chain(&[0; 14]).flat_map(|n| n.to_ne_bytes()).collect(),
                3 => attributes.clone(),
                14 => vec![0; 16],
                15 => {
                    let from = (number(48) as usize).min(program.len());
                    program[from..(from + number(56) as u32 as usize).min(program.len())].to_vec()
                }
                _ => Vec::new(),
            };
            let is_known = matches!(number(4) as u32, 26 | 3 | 14 | 15);
            let error = if is_known { 0 } else { -libc::ENOSYS };
            let head = [(16 + body.len() as u32).to_ne_bytes(), error.to_ne_bytes()].concat();
            // One that was interrupted is not answered any more.
            let _ = (&self.device).write_all(&[&head, &request[8..16], &body[..]].concat());
        }
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        for entry in entries.flatten() {
            let _ = rustix::mount::unmount(entry.path(), rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// What is open of it is looked at all the same, and no answer of its server's is waited for: neither by name of a
/// camera nor by device of a service's.
#[test]
fn a_file_system_that_never_answers_holds_nobody_up() {
    let Some(silent) = Silent::mounted_as("video0") else { return };
    let at = silent.folder.path().join("video0");
    let mut holder = std::thread::scope(|scope| {
        let serving = scope.spawn(|| silent.serve_an_open());
        let mut holder = Command::new("sh");
        holder.args(["-c", "exec <\"$0\" && echo && exec sleep 1000"]).arg(&at).stdout(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut String::new())
            .unwrap();
        serving.join().unwrap();
        holder
    });
    let devices = tempfile::tempdir().unwrap();
    std::fs::create_dir(devices.path().join("dev")).unwrap();
    std::fs::write(devices.path().join("dev/video0"), "").unwrap();
    let link = format!("/proc/{}/fd/0", holder.id());
    // In a thread, so that a stat that waits for ever is this test's failure and not its end.
    let (tell, told) = std::sync::mpsc::channel();
    let devices_at = devices.path().to_owned();
    std::thread::spawn(move || {
        let mut media = crate::media::Media::at(Root::at(devices_at));
        let _ = tell.send(media.users(&Root::at("/"), true).map(|users| users.len()));
    });
    let looked = told.recv_timeout(Duration::from_secs(60));
    holder.kill().unwrap();
    holder.wait().unwrap();
    drop(silent);
    assert!(looked.is_ok(), "looking at {link} waits for the file system's server");
}

/// A program on a hung NFS server, or on its user's own FUSE: who runs it is judged by what the kernel remembers.
#[test]
fn a_program_whose_file_system_never_answers_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("program");
    std::fs::write(&at, "").unwrap();
    let program = std::fs::read("/bin/cat").unwrap();
    let Some(served) = Silent::mounted_at(folder, &at, "100755") else { return };
    let silent = std::sync::atomic::AtomicBool::new(false);
    let mut running = std::thread::scope(|scope| {
        let serving = scope.spawn(|| served.serve_a_program(&program, &silent));
        let running = Command::new(&at).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let echoed = running.map(|mut child| {
            let mut line = String::new();
            let sent = std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"runs\n");
            let _ = sent.and_then(|()| {
                std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
            });
            (child, line)
        });
        // It waits for more now, with all that this takes in memory: a page that it still had to have would hold its locks.
        silent.store(true, std::sync::atomic::Ordering::Release);
        serving.join().unwrap();
        let (child, line) = echoed.unwrap();
        assert_eq!(line, "runs\n");
        child
    });
    let pid = running.id();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let process = crate::process::Process::open(&Root::at("/"), pid).unwrap();
        let _ = tell.send(crate::merging::kin(&process).unwrap().is_some());
    });
    let judged = told.recv_timeout(Duration::from_secs(60));
    running.kill().unwrap();
    // What it waits for ends with the connection.
    drop(served);
    running.wait().unwrap();
    assert_eq!(judged, Ok(true), "asking which program it is waits for the file system's server");
}
