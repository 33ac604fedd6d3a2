// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A desktop's worth of apps: the daemon stays small beside 300 scopes, and sleeps while nobody does anything.

mod common;

use std::fs;

use common::session::Session;
use common::Daemon;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{pidfd_open, Pid, PidfdFlags};

const SCOPES: usize = 300;

/// What the daemon may have resident, at any time.
const RESIDENT_MAX_BYTES: u64 = 8 << 20;

/// How long it is watched.
const WATCHED: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// Waiting for memory that calls the daemon, rightly: then it is watched anew.
const CALLING_STALL_US: u64 = 2000;
const WATCHES: usize = 4;

/// A number of a process's status, summed over its threads.
fn sum(pid: Pid, keys: &[&str]) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    let of = |text: String| -> u64 {
        let lines = text.lines().filter(|line| keys.iter().any(|key| line.starts_with(key)));
        lines.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
    };
    tasks.map(|task| of(fs::read_to_string(task.unwrap().path().join("status")).unwrap())).sum()
}

/// A number of a process's status, which all its threads share.
fn resident(pid: Pid, key: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn wakeups(daemon: &Daemon, worker: Pid) -> u64 {
    // Whoever has not gone to sleep of his own accord has not woken either.
    let keys = ["voluntary_ctxt_switches:"];
    sum(worker, &keys) + sum(daemon.supervisor_pid(), &keys)
}

fn stalled_us() -> u64 {
    let text = fs::read("/proc/pressure/memory").unwrap_or_default();
    fovea_linux::psi::Pressure::parse(&text).some.map_or(0, |some| some.total_us)
}

#[test]
fn beside_300_scopes_the_daemon_is_small_and_sleeps() {
    let Some(mut session) = Session::new() else { return };
    for n in 0..SCOPES {
        let folder = session.make(&format!("app.slice/app-gnome-org.example.App{n}-{n}.scope"));
        session.run_in(&folder);
    }
    let daemon = Daemon::start_with(|command, folder| {
        fs::write(folder.join("fovea.toml"), "[zram]\nenabled = false\n[lists]\nprotect = [\"nobody\"]\n").unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    });
    let status = daemon.status();
    assert_eq!(status["apps"].as_array().unwrap().len(), SCOPES);
    let lacks_psi = status["missing"].as_array().unwrap().iter().any(|what| what.as_str().unwrap().starts_with("psi"));
    let worker = daemon.worker();
    for pid in [worker, daemon.supervisor_pid()] {
        // Unoptimised code alone is larger than the daemon that people run; what grows with the number of apps is anonymous.
        let key = if cfg!(debug_assertions) { "RssAnon:" } else { "VmHWM:" };
        let resident = 1024 * resident(pid, key);
        println!("process {pid:?}: {key} {resident} bytes");
        assert!(resident <= RESIDENT_MAX_BYTES, "{resident} bytes");
    }
    if lacks_psi {
        println!(
            "not watched: nothing tells of a shortage of memory here, so the daemon looks for one again and again"
        );
        return daemon.stop();
    }
    // Whatever the last request has left to do is done when nothing is under way.
    while daemon.status()["busy"] == true {}
    let supervisor = pidfd_open(daemon.supervisor_pid(), PidfdFlags::empty()).unwrap();
    for watch in 1..=WATCHES {
        // The client that asked has gone by the time that its end has been served.
        let mut still = wakeups(&daemon, worker);
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&supervisor, PollFlags::IN)], Some(&second)).unwrap() == 0 {
            let now = wakeups(&daemon, worker);
            if std::mem::replace(&mut still, now) == now {
                break;
            }
        }
        let (before, stalled_before_us) = (wakeups(&daemon, worker), stalled_us());
        let ended = poll(&mut [PollFd::new(&supervisor, PollFlags::IN)], Some(&WATCHED)).unwrap();
        assert_eq!(ended, 0, "it must not end: {}", daemon.stderr());
        let (woken, stall_us) = (wakeups(&daemon, worker) - before, stalled_us() - stalled_before_us);
        println!("watch {watch}: {woken} wake-ups in 60 s; somebody waited {stall_us} us for memory");
        if woken == 0 {
            return daemon.stop();
        }
        assert!(stall_us >= CALLING_STALL_US, "{woken} wake-ups, and nothing called");
    }
    panic!("this host was short of memory during all {WATCHES} watches: try again when it is not");
}
