// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Descriptors that the loop waits for.

use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventFlags};

use super::source::Source;

/// Waits for a descriptor from now on.
pub(super) fn wait_for(epoll: &OwnedFd, fd: &OwnedFd, source: Source) -> Result<(), String> {
    epoll::add(epoll, fd, source.data(), EventFlags::IN).map_err(|e| format!("watching: {e}"))
}

/// Hears what comes on it again, or leaves that where it is. Taken out, for without any flag its end would still wake the loop.
pub(super) fn hear(epoll: &OwnedFd, fd: &OwnedFd, source: Source, hears: bool) {
    let _ = match hears {
        true => epoll::add(epoll, fd, source.data(), EventFlags::IN),
        false => epoll::delete(epoll, fd),
    };
}

/// Waits for it no more. To close it is not enough: whoever holds a copy keeps it, and what is readable for good, as the pidfd of
/// a process that has ended, would wake the loop without end (epoll(7), questions and answers, 6).
pub(super) fn forget(epoll: &OwnedFd, fd: OwnedFd) {
    // It is there: only `wait_for` was given it.
    let _ = epoll::delete(epoll, &fd);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a process that was asked to end a copy is held, to kill it should it only leave its cgroup. The loop then ran for good.
    #[test]
    fn a_process_that_has_ended_wakes_the_loop_once_though_somebody_holds_a_copy() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        let _copy = pidfd.try_clone().unwrap();
        wait_for(&epoll, &pidfd, Source::Other(16)).unwrap();
        child.wait().unwrap();
        let woken = || {
            let mut events = Vec::with_capacity(4);
            let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&at_once)).unwrap()
        };
        assert_eq!(woken(), 1);
        forget(&epoll, pidfd);
        assert_eq!(woken(), 0);
    }
}
