// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Opening a file that a path names, with all that others may have put there in mind.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{fstat, openat, openat2, FileType, Mode, OFlags, ResolveFlags, CWD};

/// Which version of a file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// File system, as stat(2) has it.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// Its size.
    pub size: u64,
    /// When it was written, in nanoseconds since 1970.
    pub mtime_ns: u64,
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct LaunchFile {
    file: File,
    /// Which version.
    pub version: Version,
}

impl LaunchFile {
    /// Opens a regular file, with the rights that the calling thread has. No part of the path may be a link. What is there is looked at
    /// before it is opened, so that neither a device nor a FIFO is. `None` if the file is not of the wanted version.
    pub fn open(path: &Path, wanted: Option<Version>) -> io::Result<Option<LaunchFile>> {
        let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let there = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), no_links)?;
        let version = version_of(there.as_fd())?;
        if version.is_none() || wanted.is_some_and(|wanted| version != Some(wanted)) {
            return Ok(None);
        }
        let again = format!("/proc/self/fd/{}", there.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(openat(CWD, again, flags, Mode::empty())?);
        // Its size may be another by now.
        let Some(version) = version_of(file.as_fd())?.filter(|&now| wanted.is_none_or(|wanted| wanted == now)) else {
            return Ok(None);
        };
        Ok(Some(LaunchFile { file, version }))
    }

    /// Its pages.
    pub fn pages(&self) -> u32 {
        u32::try_from(self.version.size.div_ceil(super::page_bytes())).unwrap_or(u32::MAX)
    }
}

impl AsFd for LaunchFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// `None` if it is no regular file.
fn version_of(file: BorrowedFd<'_>) -> io::Result<Option<Version>> {
    let stat = fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mtime_ns = (stat.st_mtime as u64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as u64);
    Ok(Some(Version { device: stat.st_dev as u64, inode: stat.st_ino as u64, size: stat.st_size as u64, mtime_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_devices_and_fifos_are_not_opened_and_other_versions_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let path = folder.join("file");
        std::fs::write(&path, "one").unwrap();
        let version = LaunchFile::open(&path, None).unwrap().unwrap().version;
        assert!(LaunchFile::open(&path, Some(version)).unwrap().is_some());
        std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("up")).unwrap();
        for link in ["link", "up/file"] {
            assert!(LaunchFile::open(&folder.join(link), Some(version)).is_err(), "{link}");
        }
        // A FIFO without a writer would hold up who opens it.
        rustix::fs::mknodat(CWD, folder.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        for no_file in ["fifo", "."] {
            assert!(LaunchFile::open(&folder.join(no_file), None).unwrap().is_none(), "{no_file}");
        }
        assert!(LaunchFile::open(Path::new("/dev/null"), None).unwrap().is_none());
        // Replaced, as a package manager does it, and written over in place.
        std::fs::write(folder.join("new"), "one").unwrap();
        std::fs::rename(folder.join("new"), &path).unwrap();
        assert!(LaunchFile::open(&path, Some(version)).unwrap().is_none());
        let version = LaunchFile::open(&path, None).unwrap().unwrap().version;
        std::fs::write(&path, "longer").unwrap();
        assert!(LaunchFile::open(&path, Some(version)).unwrap().is_none());
    }
}
