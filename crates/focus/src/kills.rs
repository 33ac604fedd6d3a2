// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Shows a user on his desktop which of his apps were killed, and why: from the daemon's news to the session's notification service
//! (org.freedesktop.Notifications). It runs in the user's session, as that user.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_client::news::{Killed, NEWS_MAX_BYTES, SOCKET_NAME};
use fovea_policy::Reason;
use rustbus::params::{Array, Base, Container, Dict, Param};
use rustbus::signature;
use rustbus::{MessageBuilder, MessageType};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use rustix::net::{connect, recv, socket_with, AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::{bus, one_line, Backoff, SourceError};

const NOTIFICATIONS: &str = "org.freedesktop.Notifications";

/// Least time between two notifications: what comes in between is told in one.
const APART: Duration = Duration::from_secs(10);

/// A connection that lasted so long was a good one: the next attempt comes soon.
const LASTED: Duration = Duration::from_secs(60);

/// Apps named in one notification.
const NAMED_MAX: usize = 4;

/// What is to be shown, and when.
#[derive(Debug, Default)]
struct Notices {
    pending: Vec<Killed>,
    more: usize,
    shown_at: Option<Instant>,
}

impl Notices {
    fn add(&mut self, killed: Killed) {
        match self.pending.len() < NAMED_MAX {
            true => self.pending.push(killed),
            false => self.more += 1,
        }
    }

    /// When what is pending may be shown; `None` if nothing is.
    fn due(&self, now: Instant) -> Option<Instant> {
        (!self.pending.is_empty()).then(|| self.shown_at.map_or(now, |at| at + APART))
    }

    /// Summary and body of what is due now.
    fn take(&mut self, now: Instant) -> Option<(String, String)> {
        if self.due(now)? > now {
            return None;
        }
        self.shown_at = Some(now);
        let killed = std::mem::take(&mut self.pending);
        Some(text(&killed, std::mem::take(&mut self.more)))
    }
}

fn text(killed: &[Killed], more: usize) -> (String, String) {
    let whole = |k: &Killed| match &k.process {
        Some(process) => format!("{} of {}", without_markup(process), k.app),
        None => k.app.to_string(),
    };
    let names: Vec<_> = killed.iter().map(whole).collect();
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    let summary = format!("Fovea closed {}{others}", names.join(", "));
    let lines = killed.iter().map(|k| format!("{} had {} MiB: {}.", whole(k), k.size_bytes >> 20, why(k.reason)));
    // Names of apps have no character that means anything in markup.
    let spare = format!(
        "To have one spared from now on: sudo fovea rules add protect {}",
        killed.first().map_or("NAME", |k| k.app.as_str())
    );
    (summary, lines.chain([spare]).collect::<Vec<_>>().join("\n"))
}

/// A process chooses its name itself.
fn without_markup(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " -_.:+@/()".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Runaway => "it took more and more memory, and other apps would have been closed for it",
        Reason::Thrash => "memory was so short that it was read back as fast as it was freed",
        Reason::SwapFull => "memory was short, and compressed memory was full",
        _ => "memory was short",
    }
}

/// Shows kills until it cannot go on. `address` is the session bus's; `say` gets lines for people. Without `wait`, a daemon that is not there is an
/// error; one that goes away is waited for.
pub fn show_kills(run_folder: &Path, address: &str, wait: bool, say: &mut dyn FnMut(&str)) -> SourceError {
    let mut notices = Notices::default();
    let _alone = match alone(wait, say) {
        Ok(alone) => alone,
        Err(e) => return e,
    };
    let mut backoff = Backoff::new();
    let mut may_wait = wait;
    // It lets us in and out again, and that has been said.
    let mut is_quiet = false;
    loop {
        let news = match listen_to(run_folder) {
            Ok(news) => news,
            Err(e) if may_wait => {
                if matches!(e, SourceError::Refused(_)) {
                    return e;
                }
                std::thread::sleep(backoff.step());
                continue;
            }
            Err(e) => return e,
        };
        may_wait = true;
        if !is_quiet {
            say("listening for kills");
        }
        let began = Instant::now();
        loop {
            let now = Instant::now();
            if let Some((summary, body)) = notices.take(now) {
                if let Err(e) = notify(address, &summary, &body) {
                    say(&e.to_string());
                }
            }
            let left = notices.due(now).map(|at| at.saturating_duration_since(now));
            let timeout =
                left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos() as _ });
            let mut polled = [PollFd::new(&news, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(e) => return SourceError::Lost(format!("notify: waiting for news: {e}")),
            }
            let mut packet = [0u8; NEWS_MAX_BYTES];
            match recv(&news, &mut packet[..], RecvFlags::empty()) {
                Ok((0, _)) | Err(_) => break,
                Ok((length, _)) => match serde_json::from_slice(&packet[..length]) {
                    Ok(killed) => notices.add(killed),
                    Err(e) => say(&format!("news that make no sense ({e}): is the daemon of another version?")),
                },
            }
        }
        if began.elapsed() >= LASTED {
            (backoff, is_quiet) = (Backoff::new(), false);
            say("the daemon has gone; waiting for it");
        } else if !std::mem::replace(&mut is_quiet, true) {
            // Others of this user listen, or it dies as often as it starts.
            say("the daemon has gone again; waiting for it at longer and longer intervals");
        }
        std::thread::sleep(backoff.step());
    }
}

/// One listener a user is enough for all his programs: the others wait until it ends. Who has no folder for it listens
/// without asking.
fn alone(wait: bool, say: &mut dyn FnMut(&str)) -> Result<Option<File>, SourceError> {
    let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) else {
        return Ok(None);
    };
    let path = Path::new(&folder).join("fovea-kills.lock");
    let Ok(file) = File::options().create(true).truncate(false).write(true).open(&path) else { return Ok(None) };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) if !wait => {
            let line =
                format!("notify: {}: another one shows them already: end that one, or use --wait", path.display());
            return Err(SourceError::Refused(line));
        }
        Err(Errno::WOULDBLOCK) => {
            say("another one shows kills already; waiting for its end");
            while let Err(Errno::INTR) = flock(&file, FlockOperation::LockExclusive) {}
        }
        _ => {}
    }
    Ok(Some(file))
}

fn listen_to(run_folder: &Path) -> Result<OwnedFd, SourceError> {
    let path = run_folder.join(SOCKET_NAME);
    let shown = path.display();
    let called = |e: Errno| SourceError::Refused(format!("notify: {shown}: {e}"));
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(called)?;
    let address = SocketAddrUnix::new(&path).map_err(called)?;
    match connect(&socket, &address) {
        Ok(()) => Ok(socket),
        Err(e @ (Errno::NOENT | Errno::CONNREFUSED)) => Err(SourceError::Absent(format!(
            "notify: {shown}: {e}: start the daemon, with [watch] notifications = true"
        ))),
        Err(e) => Err(SourceError::Refused(format!("notify: {shown}: {e}: let users enter its folder (mode 0711)"))),
    }
}

/// Notify(app, replaces, icon, summary, body, actions, hints, time until it goes), by the Desktop Notifications Specification. The bus is asked anew
/// each time: a session that restarts its own is no reason to end.
fn notify(address: &str, summary: &str, body: &str) -> Result<(), SourceError> {
    let mut link = bus::connect("notify", address)?;
    let failed = |e: &dyn std::fmt::Display| SourceError::Lost(format!("notify: {address}: {}", one_line(e)));
    let text = |text: &str| Param::Base(Base::String(text.to_owned()));
    let string = signature::Type::Base(signature::Base::String);
    let variant = signature::Type::Container(signature::Container::Variant);
    let hints = Dict { key_sig: signature::Base::String, value_sig: variant, map: Default::default() };
    let arguments = [
        text("Fovea"),
        Param::Base(Base::Uint32(0)),
        text("dialog-warning"),
        text(summary),
        text(body),
        Param::Container(Container::Array(Array { element_sig: string, values: Vec::new() })),
        Param::Container(Container::Dict(hints)),
        Param::Base(Base::Int32(-1)),
    ];
    let object = "/org/freedesktop/Notifications";
    let mut call =
        MessageBuilder::new().call("Notify").on(object).with_interface(NOTIFICATIONS).at(NOTIFICATIONS).build();
    call.body.push_old_params(&arguments).map_err(|e| failed(&format!("{e:?}")))?;
    let reply = bus::call(&mut link, &mut call).map_err(|e| failed(&e))?;
    match reply.typ {
        MessageType::Reply => Ok(()),
        _ => Err(SourceError::Refused(format!(
            "notify: nobody shows notifications: {}",
            one_line(reply.dynheader.error_name.unwrap_or_default())
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killed(app: &str, reason: Reason) -> Killed {
        Killed {
            app: app.parse().unwrap(),
            unit: "app-mail-7.scope".into(),
            uid: Some(1000),
            reason,
            process: None,
            size_bytes: 512 << 20,
        }
    }

    #[test]
    fn a_kill_is_shown_at_once_and_those_that_follow_in_one() {
        let mut notices = Notices::default();
        let began = Instant::now();
        assert_eq!((notices.due(began), notices.take(began)), (None, None));
        notices.add(killed("org.mozilla.firefox", Reason::Runaway));
        let (summary, body) = notices.take(began).unwrap();
        assert_eq!(summary, "Fovea closed org.mozilla.firefox");
        assert!(body.contains("had 512 MiB: it took more and more memory"), "{body}");
        assert!(body.ends_with("sudo fovea rules add protect org.mozilla.firefox"), "{body}");
        for n in 0..7 {
            notices.add(killed(&format!("app{n}"), Reason::SwapFull));
            assert_eq!(notices.take(began + APART - Duration::from_millis(1)), None);
        }
        assert_eq!(notices.due(began), Some(began + APART));
        let (summary, body) = notices.take(began + APART).unwrap();
        assert_eq!(summary, "Fovea closed app0, app1, app2, app3 and 3 more");
        assert_eq!(body.lines().count(), NAMED_MAX + 1);
        assert_eq!(notices.due(began + 2 * APART), None, "nothing is told twice");
    }
}
