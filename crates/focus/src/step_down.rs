// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A source that root starts speaks to the daemon as root and to everybody else as nobody of importance: it connects to the
//! daemon first, says whose session it is of, and then becomes that user for good, before it reads a byte of anybody's.

use std::path::Path;

use fovea_apps::AppName;
use fovea_client::protocol::Request;
use fovea_client::{ClientError, Connection};
use fovea_linux::{become_user, NOBODY};

use crate::{Backoff, SourceError, Undelivered};

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
