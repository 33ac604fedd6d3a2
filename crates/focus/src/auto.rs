// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A user's desktop, found by what its own programs were started with: the login manager does not know the display of a session that was begun with
//! startx, and no unit or autostart file is honoured by every desktop.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{Event, Gnome, Kde, Source, SourceError, Sway, X11};

/// More than programs are started with.
const ENVIRONMENT_MAX_BYTES: u64 = 128 << 10;

/// Whom to ask.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Desktop {
    Sway {
        socket: String,
    },
    Gnome {
        bus: Option<String>,
    },
    Kde {
        bus: Option<String>,
    },
    /// A compositor that tells nobody.
    Silent {
        name: String,
    },
    X11 {
        display: String,
        authority: Option<String>,
    },
}

/// The desktop of a user, whichever it is.
#[derive(Debug)]
pub struct Auto {
    proc: PathBuf,
    uid: u32,
}

impl Auto {
    /// The desktop of a user; the caller's without one.
    pub fn new(uid: Option<u32>) -> Self {
        Self { proc: "/proc".into(), uid: uid.unwrap_or(rustix::process::getuid().as_raw()) }
    }
}

impl Source for Auto {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        let mut error = SourceError::Absent(format!("auto: no program of user {} is on a desktop", self.uid));
        for desktop in desktops(&self.proc, self.uid) {
            let mut has_told = false;
            error = ask(desktop, self.uid, &mut |event| {
                has_told = true;
                report(event);
            });
            if has_told {
                break;
            }
        }
        error
    }
}

fn ask(desktop: Desktop, uid: u32, report: &mut dyn FnMut(Event)) -> SourceError {
    match desktop {
        Desktop::Sway { socket } => Sway::new(Some(socket.into())).watch(report),
        Desktop::Gnome { bus } => Gnome::new(bus, Some(uid)).watch(report),
        Desktop::Kde { bus } => Kde::new(bus, Some(uid)).watch(report),
        Desktop::X11 { display, authority } => {
            // Where the library looks for the word that lets in; nothing else in this process reads it.
            match authority {
                Some(file) => std::env::set_var("XAUTHORITY", file),
                None => std::env::remove_var("XAUTHORITY"),
            }
            X11::new(Some(display)).watch(report)
        }
        Desktop::Silent { name } => SourceError::Absent(format!(
            "auto: the Wayland compositor of {name} tells nobody who is in front: use `fovea focus`, or a session on X11"
        )),
    }
}

/// The desktops that a user's programs are on, that of most of them first. An X server beside a compositor shows only some of its windows, and is
/// none then.
fn desktops(proc: &Path, uid: u32) -> Vec<Desktop> {
    let mut found: BTreeMap<Desktop, usize> = BTreeMap::new();
    let processes = std::fs::read_dir(proc).into_iter().flatten().flatten();
    for process in processes.filter(|process| process.file_name().as_encoded_bytes()[0].is_ascii_digit()) {
        let is_theirs = process.metadata().is_ok_and(|status| status.uid() == uid);
        let file = is_theirs.then(|| std::fs::File::open(process.path().join("environ")).ok()).flatten();
        let mut text = Vec::new();
        if file.and_then(|file| file.take(ENVIRONMENT_MAX_BYTES).read_to_end(&mut text).ok()).is_some() {
            if let Some(desktop) = desktop_of(&text) {
                *found.entry(desktop).or_default() += 1;
            }
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, programs)| std::cmp::Reverse(*programs));
    let is_x11 = |desktop: &Desktop| matches!(desktop, Desktop::X11 { .. });
    let begins_on_x11 = found.first().is_some_and(|(desktop, _)| is_x11(desktop));
    found.into_iter().map(|(desktop, _)| desktop).filter(|desktop| begins_on_x11 || !is_x11(desktop)).collect()
}

/// By a program's environment.
fn desktop_of(environment: &[u8]) -> Option<Desktop> {
    let environment = String::from_utf8_lossy(environment);
    let value = |name: &str| {
        let of = |entry: &str| entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        environment.split('\0').find_map(of).filter(|value| !value.is_empty())
    };
    if let Some(socket) = value("SWAYSOCK") {
        return Some(Desktop::Sway { socket });
    }
    let name = value("XDG_CURRENT_DESKTOP").unwrap_or_default();
    let is = |desktop: &str| name.split(':').any(|part| part.eq_ignore_ascii_case(desktop));
    if value("WAYLAND_DISPLAY").is_some() {
        let bus = value("DBUS_SESSION_BUS_ADDRESS");
        return Some(match () {
            () if is("GNOME") => Desktop::Gnome { bus },
            () if is("KDE") => Desktop::Kde { bus },
            () => Desktop::Silent { name: if name.is_empty() { "this session".into() } else { name } },
        });
    }
    // One with a host's name is forwarded by ssh.
    let display = value("DISPLAY").filter(|display| display.starts_with(':'))?;
    let home = || Some(value("HOME")? + "/.Xauthority");
    Some(Desktop::X11 { display, authority: value("XAUTHORITY").or_else(home) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x11(display: &str, authority: &str) -> Desktop {
        Desktop::X11 { display: display.into(), authority: Some(authority.into()) }
    }

    #[test]
    fn each_desktop_is_told_by_its_programs_environment() {
        let silent = Desktop::Silent { name: "labwc:wlroots".into() };
        for (environment, desktop) in [
            ("HOME=/home/a\0DISPLAY=:0\0XDG_CURRENT_DESKTOP=XFCE", Some(x11(":0", "/home/a/.Xauthority"))),
            ("DISPLAY=:1\0XAUTHORITY=/tmp/serverauth.x\0", Some(x11(":1", "/tmp/serverauth.x"))),
            ("XDG_CURRENT_DESKTOP=GNOME\0DISPLAY=:0\0XAUTHORITY=/run/x", Some(x11(":0", "/run/x"))),
            (
                "XDG_CURRENT_DESKTOP=ubuntu:GNOME\0WAYLAND_DISPLAY=wayland-0\0DISPLAY=:0",
                Some(Desktop::Gnome { bus: None }),
            ),
            (
                "WAYLAND_DISPLAY=wayland-0\0XDG_CURRENT_DESKTOP=KDE\0DBUS_SESSION_BUS_ADDRESS=unix:path=/b",
                Some(Desktop::Kde { bus: Some("unix:path=/b".into()) }),
            ),
            (
                "SWAYSOCK=/run/user/1/sway.sock\0WAYLAND_DISPLAY=wayland-1",
                Some(Desktop::Sway { socket: "/run/user/1/sway.sock".into() }),
            ),
            ("WAYLAND_DISPLAY=wayland-0\0XDG_CURRENT_DESKTOP=labwc:wlroots\0DISPLAY=:0", Some(silent)),
            ("DISPLAY=localhost:10.0\0", None),
            ("MYDISPLAY=:0\0DISPLAY=\0", None),
            ("", None),
        ] {
            assert_eq!(desktop_of(environment.as_bytes()), desktop, "{environment:?}");
        }
    }

    #[test]
    fn most_programs_decide_and_an_x_server_beside_a_compositor_is_none() {
        let proc = tempfile::tempdir().unwrap();
        let uid = std::fs::metadata(proc.path()).unwrap().uid();
        let mut pid = 0;
        let mut start = |environment: &str, programs: u32| {
            for _ in 0..programs {
                pid += 1;
                let folder = proc.path().join(pid.to_string());
                std::fs::create_dir(&folder).unwrap();
                std::fs::write(folder.join("environ"), environment).unwrap();
            }
        };
        std::fs::create_dir(proc.path().join("self")).unwrap();
        start("DISPLAY=:0\0XAUTHORITY=/old", 1);
        assert_eq!(desktops(proc.path(), uid), [x11(":0", "/old")]);
        assert_eq!(desktops(proc.path(), uid + 1), [], "another user's");
        start("DISPLAY=:0\0WAYLAND_DISPLAY=wayland-0\0XDG_CURRENT_DESKTOP=GNOME", 2);
        assert_eq!(desktops(proc.path(), uid), [Desktop::Gnome { bus: None }]);
        start("DISPLAY=:1\0XAUTHORITY=/new", 3);
        assert_eq!(desktops(proc.path(), uid), [x11(":1", "/new"), Desktop::Gnome { bus: None }, x11(":0", "/old")]);
    }

    #[test]
    fn a_user_without_a_desktop_is_told_so() {
        let proc = tempfile::tempdir().unwrap();
        let error = Auto { proc: proc.path().into(), uid: 7 }.watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Absent(line) if line.contains("user 7")), "{error}");
    }
}
