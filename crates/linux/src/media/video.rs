// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who has a video device open.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use crate::file::Root;
use crate::open_files::{identity, open_files, processes, Identity};
use crate::probe::watched;
use crate::Error;

/// The video devices.
pub(super) fn nodes(devices: &Root) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(devices.join("dev")).into_iter().flatten().flatten();
    let mut nodes: Vec<_> = entries.filter(|entry| is_node(&entry.file_name())).map(|entry| entry.path()).collect();
    nodes.sort();
    nodes
}

/// `video0`, `video12`.
pub(super) fn is_node(name: &OsStr) -> bool {
    let number = name.as_encoded_bytes().strip_prefix(b"video");
    number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit))
}

/// The processes that have one open; all descriptors of all processes are looked at, if there is a device at all.
pub(super) fn openers(root: &Root, devices: &Root) -> Result<Vec<u32>, Error> {
    let nodes: Vec<_> =
        nodes(devices).iter().filter_map(|node| Some(identity(&std::fs::metadata(node).ok()?))).collect();
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    // One that ends meanwhile, or is somebody else's, has none open as far as can be known.
    Ok(processes(root)?.filter(|&pid| has_open(root, pid, &nodes).unwrap_or(false)).collect())
}

fn has_open(root: &Root, pid: u32, nodes: &[Identity]) -> io::Result<bool> {
    if !watched::may_touch(pid) {
        return Ok(false);
    }
    Ok(open_files(root, pid, |to| to.file_name().is_some_and(is_node))?.any(|open| nodes.contains(&open)))
}
