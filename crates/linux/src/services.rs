// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who uses a service right now: by a connection to a program that serves it, or by a device node that is open. The kernel tells nobody when a
//! unix socket is connected, so this is looked at, not waited for.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use fovea_apps::limits::SERVERS_OF_USER_MAX;
use fovea_apps::Service;
use serde::{Deserialize, Serialize};

use crate::file::{read_into, Root};
use crate::media::clients::clients;
use crate::media::Users;
use crate::open_files::{identity, open_files, processes, Identity};
use crate::probe::watched;
use crate::process::user_of;
use crate::Error;

/// A process that uses a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceUser {
    /// PID.
    pub pid: u32,
    /// The service's place in the table.
    pub service: usize,
}

/// Device nodes looked for, at most, and how deep.
const NODES_MAX: usize = 256;
const DEPTH_MAX: usize = 3;

/// Everybody, each process once for each service. `devices` is where `dev` is; processes are the live ones.
pub(crate) fn users(root: &Root, devices: &Root, table: &[Service]) -> Result<Vec<ServiceUser>, Error> {
    let mut users = BTreeSet::new();
    let nodes = nodes(devices, table);
    let by_peer = table.iter().any(|service| !service.peers.is_empty());
    if nodes.is_empty() && !by_peer {
        return Ok(Vec::new());
    }
    let proc = root.join("proc");
    let mut servers = Vec::new();
    let mut asked = Users::new(SERVERS_OF_USER_MAX);
    let mut text = Vec::new();
    for pid in processes(root)? {
        // One that ends meanwhile, or is somebody else's, uses nothing as far as can be known.
        if by_peer && read_into(&proc.join(format!("{pid}/comm")), &mut text).is_ok() {
            let program = String::from_utf8_lossy(text.trim_ascii());
            let of = table.iter().enumerate().filter(|(_, service)| service.is_peer(&program));
            let of: Vec<_> = of.map(|(service, _)| (pid, service)).collect();
            // Of each user so many: their names are anybody's to choose.
            if !of.is_empty() && user_of(root, pid).is_some_and(|uid| asked.insert(uid, pid)) {
                servers.extend(of);
            }
        }
        if !nodes.is_empty() {
            let open = opened(root, pid, &nodes).unwrap_or_default();
            users.extend(open.into_iter().map(|service| ServiceUser { pid, service }));
        }
    }
    for (server, service) in servers {
        let of = clients(root, server).unwrap_or_default();
        users.extend(of.into_iter().filter(|&pid| pid != server).map(|pid| ServiceUser { pid, service }));
    }
    Ok(users.into_iter().collect())
}

/// A device node of a service.
struct Node {
    identity: Identity,
    service: usize,
}

/// The nodes that are there.
fn nodes(devices: &Root, table: &[Service]) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (service, row) in table.iter().enumerate() {
        for pattern in &row.devices {
            // The folder above the first part that is a pattern.
            let text = pattern.as_str();
            let plain = &text[..text.find(['*', '?', '[']).unwrap_or(text.len())];
            let above = Path::new(&plain[..plain.rfind('/').unwrap_or(0)]);
            walk(&devices.join(above.strip_prefix("/").unwrap_or(above)), DEPTH_MAX, &mut |path| {
                let name = path.strip_prefix(devices.join("")).map(|below| format!("/{}", below.display()));
                if name.is_ok_and(|name| pattern.fits(&name)) && nodes.len() < NODES_MAX {
                    if let Ok(file) = std::fs::metadata(path) {
                        nodes.push(Node { identity: identity(&file), service });
                    }
                }
            });
        }
    }
    nodes
}

fn walk(folder: &Path, depth: usize, take: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path: PathBuf = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => walk(&path, depth - 1, take),
            Ok(kind) if !kind.is_dir() => take(&path),
            _ => {}
        }
    }
}

/// The services of which a process has a node open. Sockets, pipes and the like have no path.
fn opened(root: &Root, pid: u32, nodes: &[Node]) -> io::Result<BTreeSet<usize>> {
    if !watched::may_touch(pid) {
        return Ok(BTreeSet::new());
    }
    let open = open_files(root, pid, Path::is_absolute)?;
    let of = |open| nodes.iter().filter(move |node| node.identity == open).map(|node| node.service);
    Ok(open.flat_map(of).collect())
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
