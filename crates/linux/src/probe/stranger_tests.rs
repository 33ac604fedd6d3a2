// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a user can do to the user's own processes and cgroups: all is done beside it, and whatever is to end ends.

use super::*;

/// Ends a process whatever becomes of the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process of an unprivileged user that sleeps, and does not end when it is asked to.
fn sleeper() -> Ends {
    let mut command = Command::new("sleep");
    ignore_term(command.arg("1000"));
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    Ends(command.spawn().unwrap())
}

fn ignore_term(command: &mut Command) {
    let ignore = || {
        // SAFETY: of integers alone, and allowed between fork and exec.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: as said.
    unsafe { command.pre_exec(ignore) };
}

fn write(folder: &std::path::Path, file: &str, text: &str) {
    std::fs::write(folder.join(file), text).unwrap();
}

/// The kernel then lists no processes of it, and kills none (EOPNOTSUPP to cgroup.procs and cgroup.kill).
#[test]
fn an_app_whose_owner_made_its_cgroup_threaded_is_found_and_can_be_killed() {
    let child = sleeper();
    let pid = child.0.id();
    let make_threaded = |folder: &std::path::Path| {
        // While nobody is in it.
        write(folder.parent().unwrap(), "cgroup.procs", &pid.to_string());
        write(folder, "cgroup.type", "threaded");
        write(folder, "cgroup.procs", &pid.to_string());
        let mut pids = Vec::new();
        let name = folder.file_name().unwrap().to_str().unwrap();
        crate::cgroup::Cgroups::find(&Root::at("/")).unwrap().processes(name, &mut pids).unwrap();
        assert_eq!(pids, [pid]);
    };
    all_is_done(pid, &make_threaded, || drop(child));
}

#[test]
fn an_app_that_its_owner_froze_is_killed() {
    let child = sleeper();
    let freeze = |folder: &std::path::Path| {
        write(folder, "cgroup.freeze", "1");
        let began = std::time::Instant::now();
        while !std::fs::read_to_string(folder.join("cgroup.events")).unwrap().contains("frozen 1") {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not freeze");
            std::thread::yield_now();
        }
    };
    all_is_done(child.0.id(), &freeze, || drop(child));
}

/// Nobody may read or write the files of the cgroup any more, and no cgroup can be made below it.
#[test]
fn an_app_whose_owner_takes_all_rights_to_its_cgroup_is_killed() {
    let child = sleeper();
    let close = |folder: &std::path::Path| {
        write(folder, "cgroup.max.descendants", "0");
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o000)).unwrap();
    };
    all_is_done(child.0.id(), &close, || drop(child));
}

/// In a signal-delivery-stop, from which no signal but SIGKILL wakes it unless its tracer says so.
#[test]
fn a_process_that_is_stopped_under_ptrace_is_killed() {
    let child = sleeper();
    let pid = Pid::from_raw(child.0.id() as i32).unwrap();
    // Its tracer is a thread, and stays one until all is done.
    let (done, is_done) = channel::<()>();
    let (tell, told) = channel();
    let tracer = std::thread::spawn(move || {
        let raw = pid.as_raw_nonzero().get();
        // SAFETY: of integers alone.
        let is_seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, raw, 0, 0) } == 0;
        kill_process(pid, Signal::USR1).unwrap();
        let mut status = 0;
        // SAFETY: the status lives as long as the call.
        let is_stopped =
            unsafe { libc::waitpid(raw, &raw mut status, libc::__WALL) } == raw && libc::WIFSTOPPED(status);
        tell.send(is_seized && is_stopped).unwrap();
        let _ = is_done.recv();
    });
    assert!(told.recv().unwrap(), "it is stopped");
    all_is_done(child.0.id(), &|_| (), || {
        drop(done);
        tracer.join().unwrap();
        drop(child);
    });
}

/// ioctls and structures of linux/userfaultfd.h.
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;

/// What the process does that waits for a page which never comes.
#[test]
#[ignore = "what another test starts"]
fn waits_for_a_page() {
    use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};
    let page = fovea_apps::PAGE_BYTES as usize;
    let (mut api, protection) = ([0xaa_u64, 0, 0], ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a fresh mapping; the calls get arrays of the size that their numbers tell.
    let (at, file) = unsafe {
        let at = mmap_anonymous(std::ptr::null_mut(), 512 * page, protection, MapFlags::PRIVATE).unwrap();
        at.cast::<u8>().write_volatile(1);
        let file = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) as i32;
        let mut range = [at as u64, 512 * page as u64, 1, 0];
        let is_set = libc::ioctl(file, UFFDIO_API, api.as_mut_ptr()) == 0
            && libc::ioctl(file, UFFDIO_REGISTER, range.as_mut_ptr()) == 0;
        assert!(file >= 0 && is_set, "{}", std::io::Error::last_os_error());
        (at as usize, file)
    };
    // SAFETY: within the mapping.
    std::thread::spawn(move || unsafe { ((at + page) as *const u8).read_volatile() });
    let mut message = [0_u8; 32];
    // SAFETY: as long as the array.
    assert_eq!(unsafe { libc::read(file, message.as_mut_ptr().cast(), message.len()) }, 32);
    std::fs::write(std::env::var_os("FOVEA_TEST_FILE").unwrap(), "waits").unwrap();
    std::io::stdin().read_exact(&mut [0]).unwrap();
}

#[test]
fn a_process_that_waits_for_a_page_of_userfaultfd_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("waits");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "probe::inspect::tests::stranger::waits_for_a_page", "--ignored", "--nocapture"]);
    ignore_term(&mut command);
    let mut child = Ends(command.env("FOVEA_TEST_FILE", &at).stdin(Stdio::piped()).spawn().unwrap());
    while !at.exists() {
        if child.0.try_wait().unwrap().is_some() {
            println!("skipped: no userfaultfd here");
            return;
        }
        std::thread::yield_now();
    }
    all_is_done(child.0.id(), &|_| (), || drop(child));
}

/// The files of its first thread tell of no memory any more, and the process may be the one that takes it all.
#[test]
fn a_process_whose_first_thread_has_ended_holds_what_it_holds() {
    let script = format!(
        "import ctypes, threading, time\nmemory = bytearray(b'x') * (32 << 20)\n\
         threading.Thread(target=lambda: time.sleep(1000)).start()\ninput()\nctypes.CDLL(None).syscall({}, 0)",
        libc::SYS_exit
    );
    let mut command = Command::new("python3");
    ignore_term(command.args(["-c", &script]).stdin(Stdio::piped()));
    let Ok(mut child) = command.spawn().map(Ends) else {
        println!("skipped: no python3 here");
        return;
    };
    let (pid, stdin) = (child.0.id(), child.0.stdin.take().unwrap());
    // Once it is in its cgroup, for a thread that has ended goes into no other.
    let is_seen = |folder: &std::path::Path| {
        (&stdin).write_all(b"\n").unwrap();
        while !std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap().contains("State:\tZ") {
            std::thread::yield_now();
        }
        let cgroup = folder.file_name().unwrap().to_str().unwrap();
        let mut system = System::at("/");
        let holders = system.holders(cgroup).unwrap();
        assert!(holders.len() == 1 && holders[0].bytes >= 32 << 20, "{holders:?}");
        assert!(system.usage(cgroup).unwrap().anon_bytes >= 32 << 20);
    };
    all_is_done(pid, &is_seen, || drop(child));
}
