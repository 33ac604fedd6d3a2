// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A source that root starts speaks to the daemon as root and to everybody else as nobody of importance: it connects to the
//! daemon first, says whose session it is of, and then becomes that user for good, before it reads a byte of anybody's.

use std::path::Path;

use fovea_apps::AppName;
use fovea_client::protocol::Request;
use fovea_client::{ClientError, Connection};
use rustix::process::{set_dumpable_behavior, DumpableBehavior, Gid, Uid};
use rustix::thread::{
    set_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid, CapabilitySet,
    CapabilitySets,
};

use crate::{Backoff, SourceError, Undelivered};

/// Whom a source becomes that is of no user's session.
pub const NOBODY: u32 = 65534;

/// Connects to the daemon, waiting for it, and becomes a user. `uid` is whose session it is of, if it is one's; else it becomes
/// nobody. To be called before there is a second thread, which would stay who it was.
pub fn step_down(
    run_folder: &Path,
    name: &AppName,
    uid: Option<u32>,
    say: &mut dyn FnMut(&str),
) -> Result<Connection, Undelivered> {
    let mut backoff = Backoff::new();
    let mut complained = false;
    let link = loop {
        let attend = Request::Attend { name: name.clone(), uid };
        let attended = Connection::open(run_folder).and_then(|mut link| link.tell(&attend).map(|()| link));
        match attended {
            Ok(link) => break link,
            Err(error @ ClientError::NotAllowed { .. }) => return Err(Undelivered::Daemon(error)),
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    say(&format!("{error}; waiting for it"));
                }
                std::thread::sleep(backoff.step());
            }
        }
    };
    let user = uid.unwrap_or(NOBODY);
    become_user(user).map_err(|e| {
        Undelivered::Source(SourceError::Refused(format!("{name}: becoming user {user}: {e}: run it as root")))
    })?;
    Ok(link)
}

/// Nothing of root's is left: neither its groups nor a capability nor a way back.
fn become_user(uid: u32) -> rustix::io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_group_is_the_password_files() {
        let text = "root:x:0:0:root:/root:/bin/bash\nbroken\nada:x:1000:1001:,,,:/home/ada:/bin/sh\n";
        assert_eq!((group_in(text, 1000), group_in(text, 0), group_in(text, 7)), (Some(1001), Some(0), None));
    }
}
