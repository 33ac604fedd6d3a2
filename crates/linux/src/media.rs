// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who plays, records or films right now.
//!
//! ALSA names the task that has a stream open; on a desktop that is a sound server, whose clients are then told instead. Whose stream runs only
//! the server knows, so a client that is silent is told as well. Of a video device the kernel names nobody: the openers are looked for among
//! all processes, but only after [`MediaWatch`] has seen a device opened or closed.

mod bluetooth;
pub(crate) mod clients;
mod peers;
mod unix;
mod video;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fovea_apps::limits::{MEDIA_CLIENTS_OF_USER_MAX, SERVERS_OF_USER_MAX, STREAMS_MAX};
use fovea_apps::{is_media_server, Perceived};
use serde::{Deserialize, Serialize};

use crate::file::{read_into, Root};
use crate::{proc, Error};

pub use watch::{MediaChange, MediaWatch};

/// A process that uses a device of sound or video, or a server that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MediaUser {
    /// PID.
    pub pid: u32,
    /// What for.
    pub perceived: Perceived,
}

/// Finds out who uses sound and video. `devices` is where `proc/asound`, `proc/net` and `dev` are; processes are the live ones.
#[derive(Debug)]
pub(crate) struct Media {
    devices: Root,
    /// Who had a video device open when that was last looked for.
    video: Vec<u32>,
}

impl Media {
    pub(crate) fn at(devices: Root) -> Media {
        Media { devices, video: Vec::new() }
    }

    /// Where `proc/asound` and `dev` are.
    pub(crate) fn devices(&self) -> &Root {
        &self.devices
    }

    /// Everybody, each process once for each use.
    pub(crate) fn users(&mut self, root: &Root, look_for_video: bool) -> Result<Vec<MediaUser>, Error> {
        if look_for_video {
            self.video = video::openers(root, &self.devices)?;
        }
        let mut users = BTreeSet::new();
        let mut servers = BTreeSet::new();
        let mut text = Vec::new();
        for stream in streams(&self.devices, &mut text)? {
            let Some(owner) = process_of(root, stream.owner, &mut text) else { continue };
            match owner.is_server {
                // A server keeps a stream open for a while, or for ever, though nobody plays.
                true => servers.extend(stream.is_running.then_some(owner.pid)),
                false => drop(users.insert(MediaUser { pid: owner.pid, perceived: stream.perceived })),
            }
        }
        for &pid in &self.video {
            match process_of(root, pid, &mut text) {
                Some(owner) if owner.is_server => drop(servers.insert(pid)),
                Some(_) => drop(users.insert(MediaUser { pid, perceived: Perceived::UsesVideo })),
                None => {}
            }
        }
        servers.extend(bluetooth::servers(root, &self.devices, &mut text)?);
        for pid in clients_of_all(root, servers, &mut text) {
            users.insert(MediaUser { pid, perceived: Perceived::UsesServer });
        }
        Ok(users.into_iter().collect())
    }
}

/// A socket of sock_diag's answer, and lines of the kernel's lists, for fuzzing.
pub(crate) fn fuzz(message: &[u8]) {
    peers::fuzz(message);
    unix::fuzz(message);
    let _ = parse_status(message);
}

/// The clients of servers, and of the servers among those (PipeWire's for PulseAudio's clients is one of PipeWire's). Of each user so
/// many: what one user starts keeps no other's apps from being known.
fn clients_of_all(root: &Root, servers: BTreeSet<u32>, text: &mut Vec<u8>) -> BTreeSet<u32> {
    let (mut clients, mut known) = (Users::new(MEDIA_CLIENTS_OF_USER_MAX), Users::new(SERVERS_OF_USER_MAX));
    let mut asked = Vec::new();
    for server in servers {
        let is_new = process_of(root, server, text).is_some_and(|owner| known.insert(owner.uid, server));
        asked.extend(is_new.then_some(server));
    }
    while let Some(server) = asked.pop() {
        // One that ends meanwhile, or may not be looked into, has no clients that could be told.
        for client in clients::clients(root, server).unwrap_or_default() {
            match process_of(root, client, text) {
                Some(owner) if owner.is_server => {
                    asked.extend(known.insert(owner.uid, client).then_some(client));
                }
                Some(owner) => drop(clients.insert(owner.uid, client)),
                None => {}
            }
        }
    }
    clients.pids
}

/// Processes, of each user so many at most.
pub(crate) struct Users {
    most: usize,
    pids: BTreeSet<u32>,
    of_user: BTreeMap<u32, usize>,
}

impl Users {
    pub(crate) fn new(most: usize) -> Users {
        Users { most, pids: BTreeSet::new(), of_user: BTreeMap::new() }
    }

    /// Whether it is one more.
    pub(crate) fn insert(&mut self, uid: u32, pid: u32) -> bool {
        let count = self.of_user.entry(uid).or_default();
        let is_one_more = *count < self.most && self.pids.insert(pid);
        *count += usize::from(is_one_more);
        is_one_more
    }
}

/// A stream that is open.
#[derive(Debug, PartialEq, Eq)]
struct Stream {
    /// The task that opened it.
    owner: u32,
    perceived: Perceived,
    is_running: bool,
}

/// The streams that are open, of `proc/asound/card*/pcm*/sub*/status`; none on a machine without sound.
fn streams(devices: &Root, text: &mut Vec<u8>) -> Result<Vec<Stream>, Error> {
    let mut found = Vec::new();
    for card in folders(&devices.join("proc/asound"), "card") {
        for pcm in folders(&card, "pcm") {
            // pcm0p plays, pcm0c captures.
            let records = pcm.as_os_str().as_encoded_bytes().ends_with(b"c");
            let perceived = if records { Perceived::RecordsSound } else { Perceived::PlaysSound };
            for sub in folders(&pcm, "sub") {
                // Unplugged in between, it is closed.
                if found.len() < STREAMS_MAX && read_into(&sub.join("status"), text).is_ok() {
                    found.extend(parse_status(text).map(|(owner, is_running)| Stream { owner, perceived, is_running }));
                }
            }
        }
    }
    Ok(found)
}

/// The task that has a stream open, and whether the stream runs; `None` if it is closed.
fn parse_status(text: &[u8]) -> Option<(u32, bool)> {
    let state = proc::after_key(text, b"state:")?.trim_ascii();
    let owner = proc::after_key(text, b"owner_pid")?.trim_ascii_start().strip_prefix(b":")?;
    let owner = u32::try_from(proc::number(owner)?).ok()?;
    Some((owner, matches!(state, b"RUNNING" | b"DRAINING")))
}

fn folders(above: &Path, prefix: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
    // `card0` is a folder; its name (`PCH`) is a link to it, and `cards` a file.
    let fits = entries.filter(|entry| {
        entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes())
            && entry.file_type().is_ok_and(|t| t.is_dir())
    });
    fits.map(|entry| entry.path()).collect()
}

struct Owner {
    pid: u32,
    uid: u32,
    is_server: bool,
}

/// The process of a task; `None` once it has ended.
fn process_of(root: &Root, task: u32, text: &mut Vec<u8>) -> Option<Owner> {
    read_into(&root.join(format!("proc/{task}/status")), text).ok()?;
    let pid = u32::try_from(proc::value(text, b"Tgid:")?).ok()?;
    let uid = u32::try_from(proc::value(text, b"Uid:")?).ok()?;
    // Threads have names of their own.
    read_into(&root.join(format!("proc/{pid}/comm")), text).ok()?;
    let is_server = std::str::from_utf8(text.trim_ascii()).is_ok_and(is_media_server);
    Some(Owner { pid, uid, is_server })
}

#[cfg(test)]
#[path = "media/tests.rs"]
mod tests;
