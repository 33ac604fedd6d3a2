// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who has a video device open.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

use crate::file::Root;
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

/// What makes two files one device: its number, or for what is no device (in a test) the file itself.
fn identity(file: &Metadata) -> (u64, u64) {
    if file.file_type().is_char_device() {
        (0, file.rdev())
    } else {
        (file.dev(), file.ino())
    }
}

/// The processes that have one open; all descriptors of all processes are looked at, if there is a device at all.
pub(super) fn openers(root: &Root, devices: &Root) -> Result<Vec<u32>, Error> {
    let nodes: Vec<_> =
        nodes(devices).iter().filter_map(|node| Some(identity(&std::fs::metadata(node).ok()?))).collect();
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    let proc = root.join("proc");
    let entries = std::fs::read_dir(&proc).map_err(|e| Error::file("reading", &proc, e))?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // One that ends meanwhile, or is somebody else's, has none open as far as can be known.
    Ok(pids.filter(|&pid| has_open(root, pid, &nodes).unwrap_or(false)).collect())
}

fn has_open(root: &Root, pid: u32, nodes: &[(u64, u64)]) -> io::Result<bool> {
    for entry in std::fs::read_dir(root.join(format!("proc/{pid}/fd")))?.flatten() {
        // By name first, for that costs the least; a name proves nothing.
        let named = std::fs::read_link(entry.path()).is_ok_and(|to| to.file_name().is_some_and(is_node));
        if named && std::fs::metadata(entry.path()).is_ok_and(|file| nodes.contains(&identity(&file))) {
            return Ok(true);
        }
    }
    Ok(false)
}
