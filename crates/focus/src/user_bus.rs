// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The message bus of a user's session, spoken to as that user.

use rustbus::connection::Error;
use rustbus::RpcConn;
use rustix::process::{set_dumpable_behavior, DumpableBehavior, Uid};

use crate::{bus, one_line, SourceError};

/// Whose bus, and where. A session's bus lets in nobody but its user, root neither.
#[derive(Debug)]
pub struct UserBus {
    address: Option<String>,
    uid: Option<u32>,
}

impl UserBus {
    /// The bus at an address like `unix:path=/run/user/1000/bus`. Without an address the user's own, as systemd and elogind have it; without a
    /// user the caller's.
    pub fn new(address: Option<String>, uid: Option<u32>) -> Self {
        let address = address.or_else(|| match uid {
            Some(uid) => Some(format!("unix:path=/run/user/{uid}/bus")),
            None => bus::session_bus(),
        });
        Self { address, uid }
    }

    /// The user that it is spoken to as.
    pub fn uid(&self) -> u32 {
        self.uid.unwrap_or(rustix::process::getuid().as_raw())
    }

    /// Connects; `who` is whom the lines of errors are about. The calling thread is that user's from then on.
    pub fn connect(&self, who: &str) -> Result<RpcConn, SourceError> {
        let Some(address) = &self.address else {
            let line = format!("{who}: no session bus: name a user with --uid, or the bus with --bus");
            return Err(SourceError::Absent(line));
        };
        if let Some(uid) = self.uid.filter(|&uid| uid != rustix::process::getuid().as_raw()) {
            let user = Uid::from_raw(uid);
            // Of this thread alone, which does nothing but this: the daemon's socket is another's. That user must not trace it, for it shares root's
            // memory; the kernel sees to that itself, unless fs.suid_dumpable is 1.
            rustix::thread::set_thread_res_uid(user, user, user)
                .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable))
                .map_err(|e| SourceError::Refused(format!("{who}: becoming user {uid}: {e}: run it as root")))?;
        }
        bus::connect(who, address)
    }

    /// That it has gone.
    pub fn lost(&self, who: &str, error: Error) -> SourceError {
        SourceError::Lost(format!("{who}: {}: {}", self.address.as_deref().unwrap_or_default(), one_line(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_address_it_is_the_users_own() {
        assert_eq!(UserBus::new(None, Some(1000)).address.as_deref(), Some("unix:path=/run/user/1000/bus"));
        assert_eq!(UserBus::new(Some("unix:path=/x".into()), Some(1000)).address.as_deref(), Some("unix:path=/x"));
    }
}
