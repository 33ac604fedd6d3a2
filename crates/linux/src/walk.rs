// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Going through the folders below a cgroup. A user nests cgroups deeper than a path can say
//! (PATH_MAX), and makes as many as he likes: so each folder is opened from the one above it, one is
//! open at a time, and the caller says how many are seen.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::sys::cgroup_number;
use rustix::fs::{openat, unlinkat, AtFlags, FileType, Mode, OFlags, RawDir, CWD};

use crate::error::is_gone;
use crate::file::READ_MAX_BYTES;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder on the way.
pub(crate) struct Seen<'a> {
    above: BorrowedFd<'a>,
    name: &'a CStr,
    /// The folder above it, from where the walk began.
    path: &'a Path,
    /// Its inode number.
    pub number: u64,
}

impl Seen<'_> {
    /// Reads a file in it.
    pub fn read_into(&self, file: &str, text: &mut Vec<u8>) -> io::Result<()> {
        let path = [self.name.to_bytes(), b"/", file.as_bytes()].concat();
        text.clear();
        text.reserve(8192);
        let file = openat(self.above, path.as_slice(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        File::from(file).take(READ_MAX_BYTES as u64).read_to_end(text).map(drop)
    }

    /// Its path from where the walk began: no longer one may be used as such.
    pub fn path(&self) -> PathBuf {
        self.path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// Visits at most so many folders below a folder: all that lie in one folder, then what is below
/// those of which `visit` says so. Folders that vanish meanwhile are passed over. Says whether there
/// were no more.
pub(crate) fn walk(top: &Path, most: usize, visit: &mut dyn FnMut(&Seen<'_>) -> bool) -> io::Result<bool> {
    walk_through(top, most, visit, &mut |_, _| ())
}

/// Removes the folders below a folder, those that can be; returns the first failure.
pub(crate) fn remove_below(top: &Path) -> io::Result<()> {
    let mut failure = None;
    walk_through(top, usize::MAX, &mut |_| true, &mut |above, name| match unlinkat(above, name, AtFlags::REMOVEDIR)
        .map_err(io::Error::from)
    {
        Err(e) if !is_gone(&e) => failure = failure.take().or(Some(e)),
        _ => (),
    })?;
    failure.map_or(Ok(()), Err)
}

/// Calls `leave` with a folder's name, and the one above it, when all below it has been visited.
fn walk_through(
    top: &Path,
    most: usize,
    visit: &mut dyn FnMut(&Seen<'_>) -> bool,
    leave: &mut dyn FnMut(&OwnedFd, &OsStr),
) -> io::Result<bool> {
    let top_flags = FOLDER.difference(OFlags::NOFOLLOW);
    let mut folder = match openat(CWD, top, top_flags, Mode::empty()).map_err(io::Error::from) {
        Err(e) if is_gone(&e) => return Ok(true),
        opened => opened?,
    };
    let (mut path, mut left) = (PathBuf::new(), most);
    // Of each folder from the top to where we are, those below it that are still to be entered.
    let mut levels = Vec::new();
    loop {
        let mut names = Vec::new();
        if !list(&folder, &path, &mut names, &mut left, visit) {
            return Ok(false);
        }
        levels.push(names);
        loop {
            let Some(names) = levels.last_mut() else { return Ok(true) };
            if let Some(name) = names.pop() {
                if let Ok(next) = openat(&folder, &name, FOLDER, Mode::empty()) {
                    path.push(OsStr::from_bytes(name.to_bytes()));
                    folder = next;
                    break;
                }
            } else {
                levels.pop();
                if levels.is_empty() {
                    return Ok(true);
                }
                // Cgroups cannot be moved (kernel/cgroup/cgroup.c, cgroup_kf_syscall_ops has no
                // rename), and one that was removed still knows what was above it.
                folder = openat(&folder, "..", FOLDER, Mode::empty())?;
                leave(&folder, path.file_name().unwrap_or_default());
                path.pop();
            }
        }
    }
}

/// Visits the folders in one folder; false if that was one too many.
fn list(
    folder: &OwnedFd,
    path: &Path,
    names: &mut Vec<CString>,
    left: &mut usize,
    visit: &mut dyn FnMut(&Seen<'_>) -> bool,
) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(folder, &mut buffer);
    // Gone in between.
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        if entry.file_type() != FileType::Directory || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if visit(&Seen { above: folder.as_fd(), name, path, number: cgroup_number(folder.as_fd(), name, entry.ino()) })
        {
            names.push(name.to_owned());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(top: &Path, most: usize) -> (Vec<String>, bool) {
        let mut found = Vec::new();
        let is_all = walk(top, most, &mut |seen| {
            found.push(seen.path().to_str().unwrap().to_owned());
            !seen.path().ends_with("shut")
        });
        (found, is_all.unwrap())
    }

    #[test]
    fn each_folder_comes_after_the_one_above_it_and_none_below_a_shut_one() {
        let top = tempfile::tempdir().unwrap();
        for folder in ["a/b/c", "a/d", "e", "shut/f"] {
            std::fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        std::fs::write(top.path().join("a/file"), "").unwrap();
        let (mut found, is_all) = names(top.path(), 6);
        let before = |a: &str, b: &str| found.iter().position(|n| n == a) < found.iter().position(|n| n == b);
        assert!(is_all && before("a", "a/b") && before("a/b", "a/b/c"));
        found.sort();
        assert_eq!(found, ["a", "a/b", "a/b/c", "a/d", "e", "shut"]);
        let (few, is_all) = names(top.path(), 5);
        assert_eq!((few.len(), is_all), (5, false));
        assert_eq!(names(&top.path().join("nowhere"), 6), (Vec::new(), true));
    }
}
