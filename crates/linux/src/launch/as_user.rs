// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Opening files with an app's rights.

use std::io;

use rustix::process::Pid;

use crate::file::Root;
use crate::proc::after_key;

/// Groups of a process that count; one with more is not helped.
const GROUPS_MAX: usize = 256;

/// With whose rights a process opens files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppUser {
    /// User.
    pub uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

impl AppUser {
    /// Of a process; `None` if it has ended.
    pub fn of(root: &Root, pid: u32) -> Option<AppUser> {
        let mut text = Vec::new();
        crate::file::read_into(&root.join(format!("proc/{pid}/status")), &mut text).ok()?;
        AppUser::parse(&text)
    }

    /// Of /proc/PID/status: the last of the four numbers is the one that the file system goes by.
    pub fn parse(text: &[u8]) -> Option<AppUser> {
        let numbers = |key: &str| -> Option<Vec<u32>> {
            let line = text.split(|&byte| byte == b'\n').find_map(|line| after_key(line, key.as_bytes()))?;
            std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
        };
        let (uid, gid) = (*numbers("Uid:")?.get(3)?, *numbers("Gid:")?.get(3)?);
        let groups = numbers("Groups:")?;
        (groups.len() <= GROUPS_MAX).then_some(AppUser { uid, gid, groups })
    }

    /// Does something with the user's rights over files and no others: a capability that would override them is put off too
    /// (capabilities(7), "Effect of user ID changes"). For a process with one thread.
    pub fn act<T>(&self, action: impl FnOnce() -> T) -> io::Result<T> {
        let own = AppUser {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: rustix::process::getgroups()?.iter().map(|group| group.as_raw()).collect(),
        };
        self.become_it().map_err(|error| own.become_it().err().unwrap_or(error))?;
        let done = action();
        // Going on with another's rights would be wrong, and with half of one's own worse.
        own.become_it()?;
        Ok(done)
    }

    fn become_it(&self) -> io::Result<()> {
        let checked = |result: libc::c_long| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
        let is = |call: libc::c_long, id: u32| {
            // Neither tells whether it failed; asked with an impossible ID they say what counts.
            // SAFETY: takes integers only.
            unsafe { libc::syscall(call, id) };
            // SAFETY: the same.
            let now = unsafe { libc::syscall(call, u32::MAX) };
            if now as u32 == id {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(libc::EPERM))
            }
        };
        // Rights to change groups go with the user: whoever gives them up does so last, whoever takes them back first.
        let is_root = self.uid == 0;
        if is_root {
            is(libc::SYS_setfsuid, self.uid)?;
        }
        // SAFETY: the kernel reads as many numbers as the slice has.
        checked(unsafe { libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()) })?;
        is(libc::SYS_setfsgid, self.gid)?;
        if !is_root {
            is(libc::SYS_setfsuid, self.uid)?;
        }
        Ok(())
    }
}

/// Has the kernel end this process when the one that made it ends, and nobody else look into it.
pub fn bind_to_parent(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    match rustix::process::getppid() == Some(parent) {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// Has this process give way to all others, on the CPU and, where the scheduler goes by it, at the storage.
pub fn work_idly() {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    const IOPRIO_CLASS_IDLE: libc::c_int = 3 << 13;
    let priority: libc::c_int = 0;
    // SAFETY: the first takes integers only, the second the kernel's sched_param, which is one. That one fails does no harm.
    unsafe {
        libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_CLASS_IDLE);
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &priority);
    }
}

/// Has this process run as soon as it has something to do, and briefly: a slice of 0.1 ms, since Linux 6.12 (sched_setattr(2)). Its share of
/// the CPU stays as it is. Before that, or where it is forbidden, nothing changes.
pub fn work_in_short_turns() {
    #[repr(C)]
    #[allow(dead_code, reason = "the kernel reads them")]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let nice = rustix::process::getpriority_process(None).unwrap_or(0);
    let size = size_of::<SchedAttr>() as u32;
    let attr = SchedAttr { size, policy: 0, flags: 0, nice, priority: 0, runtime: 100_000, deadline: 0, period: 0 };
    // SAFETY: the kernel reads as many bytes as the structure says it has.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_rights_that_files_are_opened_with_are_read() {
        let text =
            b"Name:\tx\nUid:\t1000\t1000\t1000\t1001\nGid:\t100\t100\t100\t101\nFDSize:\t64\nGroups:\t4 24 100 \n";
        assert_eq!(AppUser::parse(text), Some(AppUser { uid: 1001, gid: 101, groups: vec![4, 24, 100] }));
        assert_eq!(AppUser::parse(b"Uid:\t1000\nGid:\t1\nGroups:\n"), None);
    }

    #[test]
    fn a_file_that_the_user_may_not_read_is_not_opened_for_him_even_by_root() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root may act for others");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "x").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::chown(&path, Some(0), Some(4242)).unwrap();
        // A link to it in a folder of the user's own gives no right that the file does not.
        let own = folder.path().join("own");
        std::fs::create_dir(&own).unwrap();
        std::os::unix::fs::chown(&own, Some(65_534), Some(65_534)).unwrap();
        let link = own.join("link");
        std::fs::hard_link(&path, &link).unwrap();
        // A process of its own: others of this program's threads keep their rights, and groups are a thread's here.
        std::thread::spawn(move || {
            let opens = |groups: Vec<u32>| {
                let user = AppUser { uid: 65_534, gid: 65_534, groups };
                let opens = |path| super::super::LaunchFile::open(path, None).is_ok_and(|file| file.is_some());
                user.act(|| [&path, &link].map(|path| opens(path))).unwrap()
            };
            assert_eq!(opens(vec![]), [false; 2]);
            assert_eq!(opens(vec![4242]), [true; 2], "a group that the app has counts");
            assert!(std::fs::File::open(&path).is_ok(), "the rights are back");
        })
        .join()
        .unwrap();
    }
}
