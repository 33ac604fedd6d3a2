// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea source`: from whoever knows who is in front to the daemon, in a process of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use fovea_focus::{
    attend, deliver, session_bus, show_kills, step_down, Auto, Event, Gnome, Kde, Logind, Mailbox, Session, Source,
    SourceError, Sway, TopApp, Undelivered, X11,
};

use crate::failure::Failure;
use crate::output::say;

/// Who is asked.
#[derive(Args)]
pub struct SourceCommand {
    /// Wait for the source to appear instead of ending with exit code 3 when it is not there.
    #[arg(long)]
    wait: bool,
    /// Tell the daemon only of this, for when another source tells the rest.
    #[arg(long, value_name = "WHAT")]
    only: Option<Only>,
    #[command(subcommand)]
    source: SourceArgument,
}

/// `fovea notify`.
#[derive(Args)]
pub struct Notify {
    /// Wait for the daemon instead of ending with exit code 3 when it is not there.
    #[arg(long)]
    wait: bool,
    /// Address of the session's message bus; $DBUS_SESSION_BUS_ADDRESS or $XDG_RUNTIME_DIR/bus without it.
    #[arg(long, value_name = "ADDRESS")]
    bus: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Who is in front.
    Focus,
    /// Whether the screen is on.
    Screen,
    /// Who holds an inhibitor.
    Inhibitors,
    /// Whose media player plays.
    Playing,
    /// Names on a message bus.
    Names,
}

/// The session that a source of a user's desktop is about.
#[derive(Args)]
struct UserSession {
    /// Whose session, asked as that user; without it the caller's.
    #[arg(long)]
    uid: Option<u32>,
    /// Address of the session's message bus; without it /run/user/UID/bus, or the caller's own.
    #[arg(long, value_name = "ADDRESS")]
    bus: Option<String>,
}

#[derive(Subcommand)]
enum SourceArgument {
    /// A user's desktop, whichever it is: looked for again when it goes.
    Auto {
        /// Whose desktop, asked as that user; without it the caller's.
        #[arg(long)]
        uid: Option<u32>,
    },
    /// An X server: active window, screen saver, DPMS.
    X11 {
        /// Display, like :0; $DISPLAY without it.
        #[arg(long)]
        display: Option<String>,
        /// Whose session it shows: it is asked as that user, and tells of that user's processes.
        #[arg(long)]
        uid: Option<u32>,
    },
    /// Sway: the focused window.
    Sway {
        /// Its IPC socket; without it $SWAYSOCK, or the latest below /run/user.
        #[arg(long, value_name = "PATH")]
        socket: Option<PathBuf>,
        /// Whose session it shows: it is asked as that user, and tells of that user's processes.
        #[arg(long)]
        uid: Option<u32>,
    },
    /// Android's cpuset of the app in front.
    TopApp {
        /// The cpuset.
        #[arg(long, default_value = "/dev/cpuset/top-app")]
        folder: PathBuf,
        /// Time between two looks, for the kernel does not tell of changes.
        #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(10..=60_000))]
        period_ms: u64,
    },
    /// systemd's login manager: whether the session on the seat is idle or locked, and who holds an inhibitor.
    Logind {
        /// Seat.
        #[arg(long, default_value = "seat0")]
        seat: String,
        /// Address of the message bus; $DBUS_SYSTEM_BUS_ADDRESS or the system bus without it.
        #[arg(long, value_name = "ADDRESS")]
        bus: Option<String>,
    },
    /// GNOME Shell: the focused window and what can be seen, by an extension of ours.
    Gnome(UserSession),
    /// KDE's compositor: the active window and what can be seen, by a script within KWin.
    Kde(UserSession),
    /// A user's session bus: whose media player plays, who keeps the device awake, which names programs have.
    Session(UserSession),
    /// What `fovea notify` was called.
    #[command(hide = true)]
    Kills {
        #[arg(long, value_name = "ADDRESS")]
        bus: Option<String>,
    },
}

impl SourceArgument {
    /// Whose session it is of, and whether root is to be left behind: to speak to programs it takes nothing of root's.
    fn becomes(&self) -> Option<Option<u32>> {
        let is_root = rustix::process::geteuid().is_root();
        match self {
            SourceArgument::Gnome(of) | SourceArgument::Kde(of) | SourceArgument::Session(of) => {
                of.uid.filter(|&uid| is_root && uid != 0).map(Some)
            }
            SourceArgument::Auto { uid } | SourceArgument::X11 { uid, .. } | SourceArgument::Sway { uid, .. } => {
                uid.filter(|&uid| is_root && uid != 0).map(Some)
            }
            SourceArgument::Logind { .. } => is_root.then_some(None),
            _ => None,
        }
    }

    /// The source, and its name; an error is what to do instead.
    fn source(self) -> Result<(&'static str, Box<dyn Source>), Option<String>> {
        Ok(match self {
            SourceArgument::Kills { bus } => return Err(bus),
            SourceArgument::Auto { uid } => ("auto", Box::new(Auto::new(uid))),
            SourceArgument::X11 { display, .. } => ("x11", Box::new(X11::new(display))),
            SourceArgument::Sway { socket, .. } => ("sway", Box::new(Sway::new(socket))),
            SourceArgument::TopApp { folder, period_ms } => {
                ("top-app", Box::new(TopApp::new(folder, Duration::from_millis(period_ms))))
            }
            SourceArgument::Gnome(of) => ("gnome", Box::new(Gnome::new(of.bus, of.uid))),
            SourceArgument::Kde(of) => ("kde", Box::new(Kde::new(of.bus, of.uid))),
            SourceArgument::Session(of) => ("session", Box::new(Session::new(of.bus, of.uid))),
            SourceArgument::Logind { seat, bus } => ("logind", Box::new(Logind::new(bus, &seat))),
        })
    }
}

/// Runs until a signal ends it: nothing is held that would have to be put back, so that signals keep their default action and end it
/// at once, whatever a compositor or the daemon makes it wait for.
pub fn source(run_folder: &Path, command: SourceCommand) -> Result<(), Failure> {
    let mailbox = Arc::new(Mailbox::new().map_err(|e| Failure::failed(format!("making an eventfd: {e}")))?);
    let becomes = command.source.becomes();
    let (name, mut source) = match command.source.source() {
        Ok(source) => source,
        Err(bus) => return notify(run_folder, Notify { wait: command.wait, bus }),
    };
    let (wait, only) = (command.wait, command.only);
    let wanted = move |event: &Event| match only {
        None => true,
        Some(Only::Focus) => matches!(event, Event::Windows(_)),
        Some(Only::Screen) => matches!(event, Event::Screen { .. }),
        Some(Only::Inhibitors) => matches!(event, Event::Inhibitors(_)),
        Some(Only::Playing) => matches!(event, Event::Playing(_)),
        Some(Only::Names) => matches!(event, Event::Names(_)),
    };
    let named = name.parse().map_err(|e: fovea_apps::BadName| Failure::failed(e.to_string()))?;
    let given = match becomes {
        Some(uid) => match step_down(run_folder, &named, uid, &mut |line| say(line)) {
            Ok(link) => Some(link),
            Err(why) => return Err(undelivered(why)),
        },
        None => None,
    };
    let theirs = Arc::clone(&mailbox);
    let attending = move || {
        let said = &mut |line: &str| match line.starts_with(name) {
            true => say(line),
            false => say(format!("{name}: {line}")),
        };
        let error = attend(source.as_mut(), wait, wanted, &theirs, said, &mut std::thread::sleep);
        theirs.end(error);
    };
    std::thread::Builder::new()
        .name(name.into())
        .spawn(attending)
        .map_err(|e| Failure::failed(format!("starting a thread: {e}")))?;
    Err(undelivered(deliver(run_folder, &named, given, &mailbox, true, &mut |line| say(line))))
}

fn undelivered(why: Undelivered) -> Failure {
    match why {
        Undelivered::Source(SourceError::Absent(line)) => Failure::Lacks(line),
        Undelivered::Source(SourceError::Refused(line) | SourceError::Lost(line)) => Failure::Failed(line),
        Undelivered::Daemon(error) => error.into(),
    }
}

/// Nobody who steers the daemon is needed for this: it listens.
pub fn notify(run_folder: &Path, Notify { wait, bus }: Notify) -> Result<(), Failure> {
    let Some(address) = bus.or_else(session_bus) else {
        let line = "notify: no session bus: run it in a user's session, or name the bus with --bus";
        return Err(Failure::Lacks(line.into()));
    };
    match show_kills(run_folder, &address, wait, &mut |line| say(line)) {
        SourceError::Absent(line) => Err(Failure::Lacks(line)),
        SourceError::Refused(line) | SourceError::Lost(line) => Err(Failure::Failed(line)),
    }
}
