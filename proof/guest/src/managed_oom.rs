// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What systemd-oomd asks the first process of, where that is not systemd: which cgroups it is to watch. It asks once, by varlink, and keeps the
//! connection, over which systemd would tell it of changes; here there are none.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::time::Timespec;
use serde_json::{json, Value};

use crate::outcome::{At, Outcome};
use crate::setup::APPS;

const ADDRESS: &str = "/run/systemd/io.system.ManagedOOM";

/// Where it listens itself, for what users' systemds have to say; its unit makes that (RuntimeDirectory).
const ITS_FOLDER: &str = "/run/systemd/oom";

/// What it asks.
const METHOD: &str = "io.systemd.ManagedOOM.SubscribeManagedOOMCGroups";

/// How long it may take to ask, guest time.
const LIMIT_S: i64 = 60;

/// Debian's limit for a user's session, 50 %, of 2^32.
const PRESSURE_LIMIT: u32 = 1 << 31;

/// Where it will ask.
pub struct Desk(UnixListener);

impl Desk {
    /// Listens.
    pub fn open() -> Outcome<Desk> {
        std::fs::create_dir_all(ITS_FOLDER).at(|| format!("making {ITS_FOLDER}"))?;
        UnixListener::bind(ADDRESS).map(Desk).at(|| format!("listening at {ADDRESS}"))
    }

    /// Answers. The connection is to be kept for as long as it is to watch.
    pub fn answer(self) -> Outcome<UnixStream> {
        await_readable(&self.0)?;
        let (mut stream, _) = self.0.accept().at(waits)?;
        answer(&mut stream)?;
        Ok(stream)
    }
}

fn waits() -> String {
    "systemd-oomd asks for cgroups to watch".into()
}

/// Reads the question, up to its zero byte, and says what to watch.
fn answer(stream: &mut UnixStream) -> Outcome<()> {
    let mut asked = Vec::new();
    while asked.last() != Some(&0) {
        await_readable(stream)?;
        let mut buffer = [0u8; 4096];
        match stream.read(&mut buffer).at(waits)? {
            0 => return Err("systemd-oomd hung up before it had asked for cgroups to watch".into()),
            length => asked.extend_from_slice(&buffer[..length]),
        }
    }
    asked.pop();
    let question: Value = serde_json::from_slice(&asked).at(waits)?;
    if question["method"] != METHOD {
        return Err(format!("systemd-oomd asked {question}, which nobody here answers"));
    }
    let mut reply = to_watch().to_string().into_bytes();
    reply.push(0);
    stream.write_all(&reply).at(waits)
}

/// As Debian's package has it for a desktop: for swap all of it, for waiting the user's session. Here both are the apps.
fn to_watch() -> Value {
    let apps = format!("/{APPS}");
    json!({
        "parameters": { "cgroups": [
            { "mode": "kill", "path": apps, "property": "ManagedOOMSwap" },
            { "mode": "kill", "path": apps, "property": "ManagedOOMMemoryPressure", "limit": PRESSURE_LIMIT },
        ] },
        "continues": true,
    })
}

fn await_readable(what: &impl AsFd) -> Outcome<()> {
    let limit = Timespec { tv_sec: LIMIT_S, tv_nsec: 0 };
    match poll(&mut [PollFd::new(what, PollFlags::IN)], Some(&limit)).at(|| "waiting for systemd-oomd".into())? {
        0 => Err(format!("systemd-oomd did not ask for cgroups to watch within {LIMIT_S} s: see the console")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Shutdown;

    /// Asks, and gives what was answered.
    fn ask(question: &[u8]) -> Outcome<Value> {
        let (mut asking, mut answering) = UnixStream::pair().unwrap();
        asking.write_all(question).unwrap();
        asking.shutdown(Shutdown::Write).unwrap();
        answer(&mut answering)?;
        drop(answering);
        let mut reply = Vec::new();
        asking.read_to_end(&mut reply).unwrap();
        assert_eq!(reply.pop(), Some(0));
        Ok(serde_json::from_slice(&reply).unwrap())
    }

    #[test]
    fn who_asks_for_cgroups_is_told_of_the_apps() {
        let question = format!("{}\0", json!({ "method": METHOD, "more": true }));
        let reply = ask(question.as_bytes()).unwrap();
        let cgroups = reply["parameters"]["cgroups"].as_array().unwrap();
        assert_eq!(cgroups.iter().map(|c| &c["path"]).collect::<Vec<_>>(), ["/apps", "/apps"]);
        assert_eq!(reply["continues"], true);
        assert!(ask(b"{\"method\":\"org.example.Another\"}\0").unwrap_err().contains("org.example.Another"));
        assert!(ask(&question.as_bytes()[..9]).unwrap_err().contains("hung up"));
    }
}
