// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! KDE's compositor, KWin, as a source of who is in front. It speaks no protocol that says so, but runs scripts that it is given over the session's
//! bus: ours (kde.js) hears of windows within KWin and calls us.

use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::message_builder::MarshalledMessage;
use rustbus::{standard_messages, MessageBuilder, MessageType, RpcConn};

use crate::bus::call;
use crate::desktop_bus::{Desktop, End, WINDOWS};
use crate::user_bus::UserBus;
use crate::{reported_windows, Event, Source, SourceError, Windows};

const KWIN: &str = "org.kde.KWin";

/// What the script is called within KWin.
const SCRIPT: &str = "fovea";

/// DBUS_NAME_FLAG_DO_NOT_QUEUE, and the answer of RequestName to who has the name now (D-Bus specification).
const DO_NOT_QUEUE: u32 = 4;
const PRIMARY_OWNER: u32 = 1;

/// A user's KWin.
#[derive(Debug)]
pub struct Kde {
    bus: UserBus,
}

impl Kde {
    /// KWin on the bus of a user; see [`UserBus`].
    pub fn new(address: Option<String>, uid: Option<u32>) -> Self {
        Self { bus: UserBus::new(address, uid) }
    }

    /// Where KWin is shown the script.
    fn folder(&self) -> PathBuf {
        let own = PathBuf::from(format!("/run/user/{}", self.bus.uid()));
        if own.is_dir() {
            own
        } else {
            std::env::temp_dir()
        }
    }
}

impl Source for Kde {
    fn watch(&mut self, reported: &mut dyn FnMut(Event)) -> SourceError {
        let folder = self.folder();
        let desktop = Desktop::new("kde", KWIN, "a Plasma session", reported);
        desktop.follow(&self.bus, |desktop, link| follow(desktop, link, &folder))
    }
}

fn follow(desktop: &mut Desktop, link: &mut RpcConn, folder: &Path) -> Result<Infallible, End> {
    let kwin = desktop.owner(link)?;
    // The script calls this name, for it outlives us.
    let mine = call(link, &mut standard_messages::request_name(WINDOWS, DO_NOT_QUEUE))?;
    if mine.body.parser().get::<u32>().ok() != Some(PRIMARY_OWNER) {
        let line = format!("somebody else has the name {WINDOWS} on this bus: one watcher serves a session");
        return Err(desktop.refused(&line));
    }
    load(desktop, link, folder)?;
    loop {
        let message = desktop.next(link)?;
        if message.typ != MessageType::Call {
            continue;
        }
        // rustbus 0.19 cannot send errors: whoever calls for something else is answered, and that is all.
        let mut reply = message.dynheader.make_response();
        link.send_message(&mut reply)?.write_all().map_err(force_finish_on_error)?;
        // Anybody on the bus may call us; only KWin is believed.
        if message.dynheader.sender.as_deref() == Some(kwin.as_str()) {
            reported(&message).into_iter().for_each(|windows| desktop.tell(windows));
        }
    }
}

fn reported(message: &MarshalledMessage) -> Option<Windows> {
    let header = &message.dynheader;
    let is_ours = header.member.as_deref() == Some("Changed") && header.interface.as_deref() == Some(WINDOWS);
    reported_windows::read(message.body.parser().get::<&str>().ok().filter(|_| is_ours)?)
}

/// Has KWin load the script and run it, in place of one that an earlier watcher may have left.
fn load(desktop: &Desktop, link: &mut RpcConn, folder: &Path) -> Result<(), End> {
    let file = ScriptFile::write(folder)
        .map_err(|e| desktop.refused(&format!("writing a script for KWin in {}: {e}", folder.display())))?;
    let text = file.0.to_string_lossy().into_owned();
    let mut unload = scripting("unloadScript");
    unload.body.push_param(SCRIPT)?;
    call(link, &mut unload)?;
    let mut load = scripting("loadScript");
    load.body.push_param2(text.as_str(), SCRIPT)?;
    let reply = call(link, &mut load)?;
    let id = reply.body.parser().get::<i32>().ok().filter(|&id| id >= 0 && reply.typ == MessageType::Reply);
    let id = id.ok_or_else(|| desktop.absent("KWin does not load our script (org.kde.kwin.Scripting.loadScript)"))?;
    // Where the script's object is differs: Plasma 6, and before.
    for object in [format!("/Scripting/Script{id}"), format!("/{id}")] {
        let mut run =
            MessageBuilder::new().call("run").on(object).with_interface("org.kde.kwin.Script").at(KWIN).build();
        if call(link, &mut run)?.typ == MessageType::Reply {
            return Ok(());
        }
    }
    Err(desktop.absent("KWin has loaded our script and does not run it (org.kde.kwin.Script.run)"))
}

fn scripting(member: &str) -> MarshalledMessage {
    MessageBuilder::new().call(member).on("/Scripting").with_interface("org.kde.kwin.Scripting").at(KWIN).build()
}

/// The script as a file, which goes when KWin has read it.
struct ScriptFile(PathBuf);

impl ScriptFile {
    fn write(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join(format!("fovea-kwin-{}.js", std::process::id()));
        // What lies there under that name is an earlier process's, or somebody's trap.
        let _ = std::fs::remove_file(&path);
        let mut file = std::fs::File::options().write(true).create_new(true).open(&path)?;
        let script = Self(path);
        file.write_all(include_bytes!("kde.js"))?;
        Ok(script)
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_session_is_told_so() {
        let error = Kde::new(Some("unix:path=/nowhere/bus".into()), None).watch(&mut |_| panic!("reported"));
        assert!(
            matches!(&error, SourceError::Absent(line) if line.starts_with("kde: ") && line.contains("/nowhere/bus")),
            "{error}"
        );
    }

    #[test]
    fn the_script_goes_when_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let script = ScriptFile::write(folder.path()).unwrap();
        assert!(std::fs::read_to_string(&script.0).unwrap().contains(WINDOWS));
        drop(script);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
