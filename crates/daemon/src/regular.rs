// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Files that the owner names or that stand in the daemon's folders. A FIFO in such a place would be waited for without end, and a device
//! written to or given another mode: only regular files are opened.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file, behind a link or not.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    opened(options, path, OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Opens a file of a folder that is the daemon's own: a link there is somebody's mistake, and what it leads to is not ours.
pub(crate) fn open_own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    opened(options, path, OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW)
}

fn opened(options: &mut OpenOptions, path: &Path, flags: OFlags) -> io::Result<File> {
    let file = options.custom_flags(flags.bits() as i32).open(path).map_err(|e| match e.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            io::Error::other("a link where a file should be")
        }
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => irregular(),
        _ => e,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(irregular()),
    }
}

fn irregular() -> io::Error {
    io::Error::other("no regular file")
}

/// The text of a regular file that has at most so many bytes.
pub(crate) fn text(path: &Path, most_bytes: usize) -> io::Result<String> {
    let mut text = String::new();
    open(OpenOptions::new().read(true), path)?.take(most_bytes as u64 + 1).read_to_string(&mut text)?;
    match text.len() > most_bytes {
        true => Err(io::Error::other(format!("more than {most_bytes} bytes"))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{mknodat, FileType, Mode, CWD};

    #[test]
    fn what_is_no_regular_file_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/full", path("full")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        std::fs::write(path("file"), "12345").unwrap();
        for name in ["fifo", "full", "."] {
            assert!(open(OpenOptions::new().read(true), &path(name)).is_err(), "{name}");
            assert!(open(OpenOptions::new().append(true), &path(name)).is_err(), "{name}");
        }
        assert_eq!(text(&path("link"), 5).unwrap(), "12345");
        assert_eq!(text(&path("link"), 4).unwrap_err().to_string(), "more than 4 bytes");
        let error = open_own(OpenOptions::new().read(true), &path("link")).unwrap_err();
        assert_eq!(error.to_string(), "a link where a file should be");
        assert!(open_own(OpenOptions::new().read(true), &path("file")).is_ok());
    }
}
