// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which devices and sockets processes have open. What a file is, is asked of the kernel's memory of it and not of whoever keeps it
//! (AT_STATX_DONT_SYNC): a file system may answer late or never.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::str::FromStr;

use rustix::fs::{statx, AtFlags, FileType, StatxFlags, CWD};

use crate::file::Root;
use crate::probe::watched;
use crate::Error;

/// What makes two files one device: its number, or for what is no device (in a test) the file itself.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(file: &Metadata) -> Identity {
    match file.file_type().is_char_device() || file.file_type().is_block_device() {
        true => (0, file.rdev()),
        false => (file.dev(), file.ino()),
    }
}

/// The same of a descriptor's link in /proc.
fn identity_of_link(path: &Path) -> io::Result<Identity> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
    let file = statx(CWD, path, AtFlags::STATX_DONT_SYNC, wanted)?;
    let number = |major, minor| rustix::fs::makedev(major, minor);
    Ok(match FileType::from_raw_mode(file.stx_mode.into()) {
        FileType::CharacterDevice | FileType::BlockDevice => (0, number(file.stx_rdev_major, file.stx_rdev_minor)),
        _ => (number(file.stx_dev_major, file.stx_dev_minor), file.stx_ino),
    })
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
    watched::touch(pid);
    let entries = std::fs::read_dir(root.join(format!("proc/{pid}/fd")))?.flatten();
    let named = entries.filter(move |entry| std::fs::read_link(entry.path()).is_ok_and(|to| may_be(&to)));
    Ok(named.filter_map(move |entry| identity_of_link(&entry.path()).ok()))
}

/// The number of the socket that a descriptor's link names, if it names one.
pub(crate) fn socket_number<N: FromStr>(link: &Path) -> Option<N> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The numbers of a process' sockets.
pub(crate) fn sockets(root: &Root, pid: u32) -> io::Result<impl Iterator<Item = u32>> {
    watched::touch(pid);
    let entries = std::fs::read_dir(root.join(format!("proc/{pid}/fd")))?.flatten();
    Ok(entries.filter_map(|entry| socket_number(&std::fs::read_link(entry.path()).ok()?)))
}
