// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tells the daemon how things stand, and tells it anew when it has been away.

use std::path::Path;
use std::time::{Duration, Instant};

use fovea_apps::limits::TOLD_APART_MS;
use fovea_apps::AppName;
use fovea_client::protocol::Request;
use fovea_client::{ClientError, Connection};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::adopt::Adopter;
use crate::{Backoff, Mailbox, SourceError, Wanted, Windows};

/// Why nothing is delivered any more.
#[derive(Debug)]
pub enum Undelivered {
    /// The source has given up.
    Source(SourceError),
    /// The daemon will not have it.
    Daemon(ClientError),
}

/// Delivers until the source gives up, or the daemon says that this user may not steer it. `name` is how the daemon calls the source;
/// `say` gets a line for people.
///
/// The connection is a lease: what was told holds for as long as it lasts. It is kept while the source lives and given up when that goes,
/// so that nothing the source said outlives it, nor this process however it ends. And its end is how a restart of the daemon is noticed,
/// which must be told everything.
///
/// A connection that is `given` was made while that was still allowed ([`crate::step_down`]): when it ends, so does this.
/// With `adopts`, each program with a window gets a cgroup of its own before it is told of, where it has none.
pub fn deliver(
    run_folder: &Path,
    name: &AppName,
    given: Option<Connection>,
    mailbox: &Mailbox,
    adopts: bool,
    say: &mut dyn FnMut(&str),
) -> Undelivered {
    let mut adopter = adopts.then(Adopter::default);
    let is_given = given.is_some();
    let mut link = given;
    let mut calm_at = Instant::now();
    let mut sent = Wanted::default();
    let mut backoff = Backoff::new();
    let mut retry_at = None;
    let mut complained = false;
    loop {
        let mut wanted = mailbox.take();
        if let Some(error) = wanted.ended {
            return Undelivered::Source(error);
        }
        if took_back(&wanted, &sent) {
            if is_given {
                return Undelivered::Source(SourceError::Lost(format!(
                    "{name}: what it told is so no longer: to be begun anew"
                )));
            }
            (link, sent) = (None, Wanted::default());
        }
        // What programs say of themselves, as often as they like, is told as it stands at most so often.
        let now = Instant::now();
        let is_put_off = link.is_some() && calm_at > now && !wanted.programs_say_the_same(&sent);
        if is_put_off {
            wanted = Wanted { windows: wanted.windows, screen_on: wanted.screen_on, ..sent.clone() };
        } else if !wanted.programs_say_the_same(&sent) {
            calm_at = now + Duration::from_millis(TOLD_APART_MS.into());
        }
        if wanted != sent && retry_at.is_none_or(|at| at <= Instant::now()) {
            match tell(run_folder, name, &mut link, &mut adopter, &wanted, &mut sent, say) {
                Ok(()) => {
                    if complained {
                        say("the daemon is there again");
                    }
                    (complained, retry_at, backoff) = (false, None, Backoff::new());
                }
                Err(error @ ClientError::NotAllowed { .. }) => return Undelivered::Daemon(error),
                Err(error) if is_given => return Undelivered::Daemon(error),
                Err(error) => {
                    if !complained {
                        say(&format!("{error}; waiting for it"));
                    }
                    complained = true;
                    (link, sent) = (None, Wanted::default());
                    retry_at = Some(Instant::now() + backoff.step());
                }
            }
        }
        let again_at = retry_at.into_iter().chain(is_put_off.then_some(calm_at)).min();
        if wait(mailbox, link.as_ref(), again_at) {
            if is_given {
                return Undelivered::Source(SourceError::Lost(format!(
                    "{name}: the daemon has gone: to be begun anew"
                )));
            }
            // Whoever listens there next knows nothing.
            (link, sent) = (None, Wanted::default());
        }
    }
}

/// Whether something was told that nobody knows any more. There is no word for that but hanging up.
fn took_back(wanted: &Wanted, sent: &Wanted) -> bool {
    (sent.windows.is_some() && wanted.windows.is_none())
        || (sent.inhibitors.is_some() && wanted.inhibitors.is_none())
        || (sent.playing.is_some() && wanted.playing.is_none())
        || (sent.names.is_some() && wanted.names.is_none())
        || (sent.screen_on.is_some() && wanted.screen_on.is_none())
}

/// Waits for a change, the end of the connection (true), or the time for another attempt.
fn wait(mailbox: &Mailbox, link: Option<&Connection>, retry_at: Option<Instant>) -> bool {
    let mut polled = vec![PollFd::new(mailbox, PollFlags::IN)];
    // Nobody speaks to us unasked: readable means closed.
    polled.extend(link.map(|link| PollFd::new(link, PollFlags::IN)));
    let timeout = retry_at.map(|at| {
        let left = at.saturating_duration_since(Instant::now());
        Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos() as _ }
    });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => polled.get(1).is_some_and(|link| !link.revents().is_empty()),
        // EINTR: the loop looks again.
        Err(_) => false,
    }
}

/// Tells the daemon what differs from what it was told; `sent` is kept in step request by request.
fn tell(
    run_folder: &Path,
    name: &AppName,
    link: &mut Option<Connection>,
    adopter: &mut Option<Adopter>,
    wanted: &Wanted,
    sent: &mut Wanted,
    say: &mut dyn FnMut(&str),
) -> Result<(), ClientError> {
    let link = match link {
        Some(link) => link,
        None => {
            let link = link.insert(Connection::open(run_folder)?);
            ask(link, &Request::Attend { name: name.clone(), uid: None }, say)?;
            link
        }
    };
    // The screen first: what comes to a screen that is off would be compressed again.
    if let Some(on) = wanted.screen_on.filter(|_| wanted.screen_on != sent.screen_on) {
        ask(link, &Request::Screen { on }, say)?;
        sent.screen_on = wanted.screen_on;
    }
    if let Some(pids) = wanted.inhibitors.as_ref().filter(|_| wanted.inhibitors != sent.inhibitors) {
        ask(link, &Request::Inhibitors { pids: pids.clone() }, say)?;
        sent.inhibitors.clone_from(&wanted.inhibitors);
    }
    if let Some(pids) = wanted.playing.as_ref().filter(|_| wanted.playing != sent.playing) {
        ask(link, &Request::Playing { pids: pids.clone() }, say)?;
        sent.playing.clone_from(&wanted.playing);
    }
    if let Some(names) = wanted.names.as_ref().filter(|_| wanted.names != sent.names) {
        ask(link, &Request::Names { names: names.clone() }, say)?;
        sent.names.clone_from(&wanted.names);
    }
    if let Some(windows) = wanted.windows.as_ref().filter(|_| wanted.windows != sent.windows) {
        if let Some(adopter) = adopter {
            adopter.adopt(link, windows, say)?;
        }
        let Windows { front, visible, .. } = windows.clone();
        ask(link, &Request::Windows { front, visible }, say)?;
        sent.windows.clone_from(&wanted.windows);
    }
    Ok(())
}

/// A refusal is said once and not repeated: the next change is another request.
fn ask(link: &mut Connection, request: &Request, say: &mut dyn FnMut(&str)) -> Result<(), ClientError> {
    match link.tell(request) {
        Err(ClientError::Refused(error)) => say(&format!("the daemon refused: {error}")),
        Err(error @ ClientError::Unexpected(_)) => say(&error.to_string()),
        other => return other,
    }
    Ok(())
}
