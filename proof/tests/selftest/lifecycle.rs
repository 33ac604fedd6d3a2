// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Freezing, killing, ranking, and PIDs that change hands.

use std::fs::{read_to_string, write};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use fovea_linux::cgroup::Events;
use fovea_linux::device_traits::*;
use fovea_linux::process::Process;
use fovea_linux::psi::{Kind, Trigger};
use fovea_linux::{CompressCursor, KillOutcome};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::child::{map, mix, Child, Content, Order, PAGE};
use crate::{Bench, Table};

/// Waits for an event on a descriptor; false if it does not come within half a minute.
fn happens(fd: impl AsFd, event: PollFlags) -> bool {
    let mut polled = [PollFd::new(&fd, event)];
    matches!(poll(&mut polled, Some(&Timespec { tv_sec: 30, tv_nsec: 0 })), Ok(1))
}

/// Waits until a cgroup is in a state; what it is in then, or when nothing changes for half a minute.
fn comes_to(bench: &Bench, cgroup: &str, wanted: fn(Events) -> bool) -> Events {
    let watch = bench.cgroups.watch(cgroup).expect("cgroup.events");
    loop {
        // Reading arms the descriptor: it polls when something changes after this.
        watch.read_at(&mut [0; 64], 0).expect("cgroup.events");
        let events = bench.cgroups.events(cgroup).expect("events");
        if wanted(events) || !happens(&watch, PollFlags::PRI) {
            return events;
        }
    }
}

pub fn run(bench: &mut Bench) {
    freeze(bench);
    kill(bench);
    importance(bench);
    reused_pid(bench);
    pressure(bench);
}

fn freeze(bench: &mut Bench) {
    let (cgroup, folder) = bench.cgroup();
    let child = Child::app(&folder, Content::new(16, mix(100, 0)));
    bench.system.set_frozen(&cgroup, true).expect("freeze");
    let events = comes_to(bench, &cgroup, |events| events.frozen);
    bench.check("a frozen app stands still", events.frozen && events.populated, format!("{events:?}"));
    let frozen = bench.system.frozen_cgroups(crate::TOP).expect("frozen");
    bench.check("frozen cgroups are found", frozen == [cgroup.clone()], format!("{frozen:?}"));
    let thawed = bench.system.thaw_all(crate::TOP).expect("thaw");
    let left = bench.system.frozen_cgroups("").expect("frozen");
    bench.check("all are thawed", thawed == [cgroup.clone()] && left.is_empty(), format!("{left:?}"));
    child.end();
    let gone = bench.system.set_frozen("fovea-selftest/never", true);
    bench.check("freezing what is gone is no error", gone.is_ok(), format!("{gone:?}"));
}

fn all_end(outcome: &KillOutcome) -> bool {
    outcome.pidfds.iter().all(|fd| happens(fd, PollFlags::IN))
}

fn kill(bench: &mut Bench) {
    for frozen in [false, true] {
        let (cgroup, folder) = bench.cgroup();
        let _child = Child::app(&folder, Content::new(8192, mix(0, 0)));
        bench.system.set_frozen(&cgroup, frozen).expect("freeze");
        // MemFree would not do: what is freed waits in per-CPU lists first, thousands of pages since 6.7.
        let before = bench.system.usage(&cgroup).expect("usage").current_bytes;
        let outcome = bench.system.kill(&cgroup).expect("kill");
        // The process may be freeing its memory itself on another CPU: process_mrelease then leaves it to that, and the memory
        // is back once the process has ended.
        let ended = all_end(&outcome);
        let after = bench.system.usage(&cgroup).expect("usage").current_bytes;
        let freed = before.saturating_sub(after) / PAGE as u64;
        let text = format!("{} signalled, {} released, {freed} pages uncharged", outcome.signalled, outcome.released);
        let name = format!("kill (frozen: {frozen})");
        bench.check(&name, outcome.signalled == 1 && ended && freed > 7000, text);
        bench.system.set_frozen(&cgroup, false).expect("thaw");
    }

    // Each forks and forks, in a nested cgroup too, and nobody reaps: only killing every one of them ends it.
    let (cgroup, folder) = bench.cgroup();
    let nested = bench.cgroups.create(&format!("{cgroup}/nested")).expect("nested cgroup");
    let storm = |folder: &std::path::Path| {
        Child::fork(folder, |mut socket| {
            let _ = socket.write_all(&[0; 16]);
            loop {
                // SAFETY: one thread; a failing fork (too many processes) is tried again.
                if unsafe { libc::fork() } < 0 {
                    // SAFETY: reaps children that have ended, or gives up the CPU.
                    unsafe { libc::sched_yield() };
                }
                // SAFETY: no memory involved. Every other one stops forking so that the storm does not fill the machine.
                if unsafe { libc::getpid() } % 3 != 0 {
                    loop {
                        // SAFETY: waits for a signal.
                        unsafe { libc::pause() };
                    }
                }
            }
        })
    };
    bench.cgroups.enable(&cgroup, &["pids"]).expect("pids controller");
    write(folder.join("pids.max"), "200").expect("pids.max");
    let mut storms = [storm(&folder), storm(&nested)];
    storms.iter_mut().for_each(Child::wait_ready);
    let outcome = bench.system.kill(&cgroup).expect("kill");
    let ended = all_end(&outcome);
    // Those born between the list and the stroke are killed too, but nobody holds a descriptor of them.
    let events = comes_to(bench, &cgroup, |events| !events.populated);
    let text = format!("{} signalled, {} released, {events:?}", outcome.signalled, outcome.released);
    bench.check("nobody survives a fork storm", ended && !events.populated && outcome.signalled >= 2, text);
    drop(storms);

    let again = bench.system.kill(&cgroup).expect("kill");
    bench.check("killing the dead kills nobody", again.signalled == 0, again.signalled);
    let own = bench.system.cgroup_of(std::process::id()).ok().flatten().unwrap_or_default();
    write(folder.join("cgroup.procs"), "0").expect("moving in");
    let refused = bench.system.kill(&cgroup).map(|o| o.signalled);
    write(bench.cgroups.mount().join(&own).join("cgroup.procs"), "0").expect("moving back");
    bench.check("it does not kill itself", refused.is_err(), format!("{refused:?}"));
}

fn score_of(pid: u32) -> i32 {
    read_to_string(format!("/proc/{pid}/oom_score_adj")).ok().and_then(|t| t.trim().parse().ok()).unwrap_or(i32::MIN)
}

fn importance(bench: &mut Bench) {
    let (cgroup, folder) = bench.cgroup();
    let mut child = Child::app(&folder, Content::new(16, mix(100, 0)));
    write(format!("/proc/{}/oom_score_adj", child.pid), "33").expect("oom_score_adj");
    let mut table = Table::default();
    let young = bench.system.rank(&cgroup, 700, &mut table).expect("rank");
    // How old it is by now is the machine's affair.
    let is_left = young.changed == 1 || (young.young == 1 && score_of(child.pid) == 33);
    bench.check("a young process is left alone", is_left, format!("{young:?}"));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let ranked = bench.system.rank(&cgroup, 700, &mut table).expect("rank");
    bench.check("the class's score is set", score_of(child.pid) == 734, format!("{ranked:?} {}", score_of(child.pid)));
    let born = child.tell(Order::Fork).0 as u32;
    std::thread::sleep(std::time::Duration::from_millis(1100));
    bench.system.unmark(&table.0).expect("unmark");
    let found = (score_of(child.pid), score_of(born));
    bench.check("scores are restored, a child's born since too", found == (33, 33), format!("{found:?}"));
    write(format!("/proc/{born}/oom_score_adj"), "44").expect("oom_score_adj");
    bench.system.unmark(&table.0).expect("unmark");
    bench.check("what somebody else has set is left alone", score_of(born) == 44, score_of(born));
    bench.system.kill(&cgroup).expect("kill");
}

/// A process that is given the PID of an app's that ended is none of the app's.
fn reused_pid(bench: &mut Bench) {
    let (old, old_folder) = bench.cgroup();
    let (new, new_folder) = bench.cgroup();
    let first = Child::app(&old_folder, Content::new(256, mix(100, 0)));
    let pid = first.pid;
    let held = Process::open_in(bench.system.root(), &old, pid).expect("open").expect("a living process");
    let score = fovea_linux::OldScore { pid, start_ticks: 1, oom_score_adj: 0 };
    first.end();
    write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).expect("ns_last_pid");
    let mut second = Child::app(&new_folder, Content::new(256, mix(100, 0)));
    bench.check("the PID was given anew", second.pid == pid, format!("{pid}, {}", second.pid));
    bench.check("the held process has ended", held.has_ended(), held.pid);
    let opened = Process::open_in(bench.system.root(), &old, pid).expect("open");
    bench.check("its heir is not opened as the old app's", opened.is_none(), format!("{opened:?}"));
    // A cgroup.procs read before the PID changed hands says what this fake hierarchy says.
    let cursor = CompressCursor { pid, address: 0 };
    let outcome = bench.system.compress(&old, cursor, 256, 500).expect("compress");
    bench.check("its heir is not compressed", outcome.scanned_pages == 0, format!("{outcome:?}"));
    write(format!("/proc/{pid}/oom_score_adj"), "44").expect("oom_score_adj");
    bench.system.lower_scores(&[score]).expect("lower");
    bench.check("its heir keeps its score", score_of(pid) == 44, score_of(pid));
    let usage = bench.system.usage(&new).expect("usage");
    bench.check("its heir lives", usage.processes == 1 && second.tell(Order::Verify).0 == 0, format!("{usage:?}"));
}

fn pressure(bench: &mut Bench) {
    let refused = bench.system.pressure_trigger(Kind::Some, 1000, 20_000_000).map(drop);
    let named = refused.as_ref().is_err_and(|e| e.to_string().contains("to 10000000"));
    bench.check("a PSI window too long is refused by name", named, format!("{refused:?}"));
    let system = bench.system.pressure_trigger(Kind::Full, 500_000, 1_000_000).map(drop);
    bench.check("a trigger on the system", system.is_ok(), format!("{system:?}"));

    let (cgroup, folder) = bench.cgroup();
    let trigger = Trigger::cgroup(&bench.cgroups, &cgroup, Kind::Some, 1000, 500_000).expect("trigger");
    write(folder.join("memory.max"), (4 << 20).to_string()).expect("memory.max");
    let child = Child::fork(&folder, |_| {
        let bytes = 12 << 20;
        let area = map(bytes);
        // SAFETY: mapped just now. Three times what the cgroup may have, so that every pass waits for the one before.
        let memory = unsafe { std::slice::from_raw_parts_mut(area, bytes) };
        loop {
            memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = byte.wrapping_add(1));
        }
    });
    let fired = happens(&trigger, PollFlags::PRI);
    bench.check("a cgroup short of memory fires its trigger", fired, fired);
    child.end();
}
