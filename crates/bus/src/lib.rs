// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea-bus`: owns `org.fovea1` and `org.freedesktop.LowMemoryMonitor` on the system bus. It asks the daemon on one connection and follows it on
//! another, both made while it is root; then it becomes a user of its own, before it reads a byte of the bus. A program of its own, so that the
//! daemon has no D-Bus. [`shown`], [`value`] and [`bounds`] are pure.

mod bounds;
mod daemon;
mod interface;
mod polkit;
mod shown;
mod sieve;
mod tell;
mod value;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use fovea_apps::printable;
use fovea_client::protocol::{Reply, Request};
use fovea_client::{ClientError, Connection};
use zbus::address::transport::{Transport, UnixSocket};
use zbus::blocking::connection::Builder;
use zbus::fdo::RequestNameFlags;
use zbus::Address;

use crate::daemon::{Daemon, State};
use crate::interface::{Fovea, LowMemoryMonitor, MONITOR_NAME, MONITOR_PATH, NAME, PATH};

/// Longest time between two attempts to reach the daemon.
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// Gives users and their programs Fovea's state, kills and warnings on the system bus, as org.fovea1.
#[derive(Parser)]
#[command(name = "fovea-bus", version, max_term_width = 80)]
struct Options {
    /// Folder of the daemon's sockets and state.
    #[arg(long, env = "FOVEA_RUN", value_name = "FOLDER", default_value = fovea_client::protocol::RUN_FOLDER, overrides_with = "run_folder")]
    run_folder: PathBuf,
    /// The bus's address; the system bus's without it.
    #[arg(long, value_name = "ADDRESS")]
    bus: Option<String>,
    /// Whom root becomes before it speaks to the bus. A user that is not there is nobody (65534).
    #[arg(long, value_name = "NAME", default_value = "fovea-bus")]
    user: String,
}

/// What can be said on its command line.
pub fn command() -> clap::Command {
    Options::command()
}

/// The program.
pub fn main() -> ExitCode {
    let Err(line) = run(&Options::parse());
    say(&line);
    ExitCode::FAILURE
}

/// Says a line to people. Nobody may be listening; the exit code tells all the same.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "fovea-bus: {}", printable(line));
}

/// Runs until the daemon or the bus goes away: the unit starts it anew.
fn run(options: &Options) -> Result<std::convert::Infallible, String> {
    let (asks, follows) = reach(&options.run_folder)?;
    if rustix::process::geteuid().is_root() {
        let uid = fovea_linux::user_named(&options.user).unwrap_or(fovea_linux::NOBODY);
        fovea_linux::become_user(uid).map_err(|e| format!("becoming user {}: {e}: run it as root", options.user))?;
    }
    let (mut follows, level) = follows;
    let mut daemon = Daemon::new(asks);
    let state = Arc::new(State::new(&daemon.status().map_err(|e| e.to_string())?, level));

    let address = options.bus.as_deref();
    let failed = |e: zbus::Error| format!("{}: {e}: start the message bus (dbus)", address.unwrap_or("the system bus"));
    let builder = connected(address);
    let (fovea, subscribers) = Fovea::new(daemon, Arc::clone(&state));
    let bus = builder
        .and_then(|builder| builder.serve_at(PATH, fovea))
        .and_then(|builder| builder.serve_at(MONITOR_PATH, LowMemoryMonitor))
        .and_then(|builder| builder.build())
        .map_err(failed)?;
    bus.request_name_with_flags(NAME, RequestNameFlags::DoNotQueue.into())
        .map_err(|e| format!("{NAME}: {e}: end who has that name, and let user {} own it", options.user))?;
    if let Err(e) = bus.request_name_with_flags(MONITOR_NAME, RequestNameFlags::DoNotQueue.into()) {
        say(&format!("{MONITOR_NAME}: {e}: GLib's programs are warned by who has that name, if anybody"));
    }
    end_with(&bus)?;
    let teller = tell::Teller::new(bus, state, subscribers);
    let gone = |e: &dyn std::fmt::Display| format!("the daemon: {e}");
    loop {
        match follows.next(teller.patience().as_ref()).map_err(|e| gone(&e))? {
            Some(Reply::News(news)) => teller.tell(&news)?,
            Some(other) => return Err(ClientError::from(other).to_string()),
            None => teller.is_over()?,
        }
    }
}

/// To a bus at a path, as buses are, connected here: zbus itself would start a pool of threads for that, one of which wakes twice a second for
/// ever (blocking 1.7).
fn connected(address: Option<&str>) -> zbus::Result<Builder<'static>> {
    let address: Address = match address {
        Some(address) => address.parse()?,
        None => Address::system()?,
    };
    let path = match address.transport() {
        Transport::Unix(socket) => match socket.path() {
            UnixSocket::File(path) => Some(path),
            _ => None,
        },
        _ => None,
    };
    match path {
        Some(path) => Ok(Builder::socket(sieve::sifted(UnixStream::connect(path)?)?)),
        None => Builder::address(address),
    }
}

/// Two connections to the daemon, waiting for it: one that asks, and one that follows, with the first warning.
fn reach(run_folder: &Path) -> Result<(Connection, (Connection, u8)), String> {
    let open = || -> Result<_, ClientError> {
        let mut asks = Connection::open(run_folder)?;
        asks.tell(&Request::OnlyAsk {})?;
        let mut follows = Connection::open(run_folder)?;
        match follows.ask(&Request::Follow {})? {
            Reply::News(fovea_client::news::News::Warning { level }) => Ok((asks, (follows, level))),
            other => Err(other.into()),
        }
    };
    let mut wait = Duration::from_secs(1);
    loop {
        match open() {
            Ok(reached) => return Ok(reached),
            Err(e @ (ClientError::NotRunning { .. } | ClientError::Broken { .. })) => {
                if wait == Duration::from_secs(1) {
                    say(&format!("{e}; waiting for it"));
                }
                std::thread::sleep(wait);
                wait = (wait * 2).min(AGAIN_MAX);
            }
            Err(e) => return Err(e.to_string()),
        }
    }
}

/// Ends the program when the bus has gone. The thread wakes for what comes from the bus, and for nothing else.
fn end_with(bus: &zbus::blocking::Connection) -> Result<(), String> {
    let messages = zbus::blocking::MessageIterator::from(bus);
    let watch = move || {
        messages.take_while(Result::is_ok).for_each(drop);
        say("the message bus has gone");
        std::process::exit(1);
    };
    let thread = std::thread::Builder::new().name("bus".into()).spawn(watch);
    thread.map(drop).map_err(|e| format!("starting a thread: {e}"))
}
