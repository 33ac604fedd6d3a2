// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How a program that root started becomes somebody of no importance, with the connections that root made.

use rustix::process::{set_dumpable_behavior, DumpableBehavior, Gid, Uid};
use rustix::thread::{
    set_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid, CapabilitySet,
    CapabilitySets,
};

/// Whom a program becomes that is of no user's session.
pub const NOBODY: u32 = 65534;

/// Becomes a user for good: nothing of root's is left, neither its groups nor a capability nor a way back. To be called before there is a second
/// thread, which would stay who it was.
pub fn become_user(uid: u32) -> rustix::io::Result<()> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(group_of(uid)));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)?;
    // The connection to the daemon is root's: whoever else is that user must not take it by ptrace.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// A user's group by the password file; nobody's where it is not there (a directory's user).
fn group_of(uid: u32) -> u32 {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    group_in(&text, uid).unwrap_or(NOBODY)
}

fn group_in(passwd: &str, uid: u32) -> Option<u32> {
    passwd.lines().find_map(|line| {
        let mut columns = line.split(':').skip(2);
        let is_theirs = columns.next()?.parse() == Ok(uid);
        let group = columns.next()?.parse().ok()?;
        is_theirs.then_some(group)
    })
}

/// A user of the password file, by name.
pub fn user_named(name: &str) -> Option<u32> {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    user_in(&text, name)
}

fn user_in(passwd: &str, name: &str) -> Option<u32> {
    passwd.lines().find_map(|line| {
        let mut columns = line.split(':');
        let is_it = columns.next()? == name;
        let uid = columns.nth(1)?.parse().ok()?;
        is_it.then_some(uid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_group_are_the_password_files() {
        let text = "root:x:0:0:root:/root:/bin/bash\nbroken\nada:x:1000:1001:,,,:/home/ada:/bin/sh\n";
        assert_eq!((user_in(text, "ada"), user_in(text, "eve")), (Some(1000), None));
        assert_eq!((group_in(text, 1000), group_in(text, 0), group_in(text, 7)), (Some(1001), Some(0), None));
    }
}
