// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which devices and sockets processes have open.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::str::FromStr;

use crate::file::Root;
use crate::Error;

/// What makes two files one device: its number, or for what is no device (in a test) the file itself.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(file: &Metadata) -> Identity {
    match file.file_type().is_char_device() || file.file_type().is_block_device() {
        true => (0, file.rdev()),
        false => (file.dev(), file.ino()),
    }
}

/// The live processes' PIDs.
pub(crate) fn processes(root: &Root) -> Result<impl Iterator<Item = u32>, Error> {
    let proc = root.join("proc");
    let entries = std::fs::read_dir(&proc).map_err(|e| Error::file("reading", &proc, e))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// What a process has open, of that whose name may be one of those looked for. By name first, for that costs the least; a name proves nothing.
pub(crate) fn open_files(
    root: &Root,
    pid: u32,
    may_be: impl Fn(&Path) -> bool,
) -> io::Result<impl Iterator<Item = Identity>> {
    let entries = std::fs::read_dir(root.join(format!("proc/{pid}/fd")))?.flatten();
    let named = entries.filter(move |entry| std::fs::read_link(entry.path()).is_ok_and(|to| may_be(&to)));
    Ok(named.filter_map(|entry| Some(identity(&std::fs::metadata(entry.path()).ok()?))))
}

/// The number of the socket that a descriptor's link names, if it names one.
pub(crate) fn socket_number<N: FromStr>(link: &Path) -> Option<N> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The numbers of a process' sockets.
pub(crate) fn sockets(root: &Root, pid: u32) -> io::Result<impl Iterator<Item = u32>> {
    let entries = std::fs::read_dir(root.join(format!("proc/{pid}/fd")))?.flatten();
    Ok(entries.filter_map(|entry| socket_number(&std::fs::read_link(entry.path()).ok()?)))
}
