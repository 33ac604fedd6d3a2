// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The log's file: lines are appended to space that was reserved at the start, and the log is replaced by a
//! spare file whose space was reserved as well. So a full disk stops neither.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fallocate, FallocateFlags};

use crate::regular;

/// Space reserved in the log and in its spare beyond what the log holds already.
const RESERVE_BYTES: u64 = 96 << 10;

/// Every call that changes or reads the log goes through here, so that a test can let any of them fail.
fn call<T>(name: &'static str, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    super::faults::next(name)?;
    #[cfg(not(test))]
    let _ = name;
    make()
}

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    length: u64,
    /// A line was cut off and could not be taken back: the next one begins on a line of its own.
    torn: bool,
    /// Why no space is reserved, if none is.
    unreserved: Option<io::Error>,
}

impl LogFile {
    /// Opens or makes it. A log without reserved space is a log all the same.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        let file = call("open", || appending(path))?;
        let length = call("stat", || file.metadata())?.len();
        let torn = length > 0;
        let mut log = LogFile { path: path.to_owned(), file, length, torn, unreserved: None };
        log.unreserved = reserve(&log.file, length).and_then(|()| log.spare()).err();
        Ok(log)
    }

    /// Why no space is reserved, if none is.
    pub fn unreserved(&self) -> Option<&io::Error> {
        self.unreserved.as_ref()
    }

    /// Appends a line in one write, so that a death leaves all of it or none. Of a line that does not fit, nothing
    /// is left.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let started;
        let line = match self.torn {
            true => {
                started = [b"\n", line].concat();
                &started[..]
            }
            false => line,
        };
        let done = loop {
            match call("write", || self.file.write(line)) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                done => break done,
            }
        };
        match done {
            Ok(written) if written == line.len() => {
                self.length += written as u64;
                self.torn = false;
                Ok(())
            }
            Ok(written) => {
                let taken_back = call("truncate", || self.file.set_len(self.length));
                if taken_back.is_err() {
                    self.length += written as u64;
                    self.torn = true;
                }
                Err(io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()))
            }
            Err(e) => Err(e),
        }
    }

    /// Puts another text in the place of all lines, or leaves them as they are.
    pub fn replace(&mut self, text: &[u8]) -> io::Result<()> {
        let (spare, path) = (self.spare_path(), self.path.clone());
        let mut fresh = call("open", || appending(&spare))?;
        if call("stat", || fresh.metadata())?.len() > 0 {
            // A death left it half-written.
            call("truncate", || fresh.set_len(0))?;
        }
        let written = call("write", || fresh.write_all(text)).and_then(|()| call("rename", || rename(&spare, &path)));
        if let Err(e) = written {
            let _ = call("truncate", || fresh.set_len(0));
            return Err(e);
        }
        (self.file, self.length, self.torn) = (fresh, text.len() as u64, false);
        self.unreserved = reserve(&self.file, self.length).and_then(|()| self.spare()).err();
        Ok(())
    }

    fn spare_path(&self) -> PathBuf {
        self.path.with_extension("new")
    }

    /// Makes the file that will replace this one, empty and with its space.
    fn spare(&self) -> io::Result<()> {
        let file = call("open", || appending(&self.spare_path()))?;
        if call("stat", || file.metadata())?.len() > 0 {
            call("truncate", || file.set_len(0))?;
        }
        reserve(&file, self.length)
    }
}

/// Empties a log of which everything was undone: that needs no space, and where the file cannot be changed its
/// name can go.
pub(super) fn empty(path: &Path) -> io::Result<()> {
    let truncated = call("open", || regular::open_own(OpenOptions::new().write(true), path))
        .and_then(|file| call("truncate", || file.set_len(0)));
    match truncated {
        Err(e) if e.kind() != io::ErrorKind::NotFound => call("unlink", || std::fs::remove_file(path)),
        _ => Ok(()),
    }
}

/// Keeps lines that make no sense beside the log, which is written anew without them: whoever can read them may still need
/// them. Returns where.
pub(super) fn keep_senseless(log: &Path, lines: &[u8]) -> io::Result<PathBuf> {
    let path = log.with_extension("senseless");
    let mut file = call("open", || appending(&path))?;
    call("write", || file.write_all(lines))?;
    Ok(path)
}

/// What can be read of a log, and why the rest cannot, if there is a rest; nothing if there is no log.
pub(super) fn read(path: &Path) -> io::Result<(Vec<u8>, Option<io::Error>)> {
    let mut text = Vec::new();
    let mut file = match call("open to read", || regular::open_own(OpenOptions::new().read(true), path)) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((text, None)),
        Err(e) => return Err(e),
    };
    let mut part = [0; 4096];
    loop {
        match call("read", || file.read(&mut part)) {
            Ok(0) => return Ok((text, None)),
            Ok(length) => text.extend(&part[..length]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Ok((text, Some(e))),
        }
    }
}

fn appending(path: &Path) -> io::Result<File> {
    regular::open_own(OpenOptions::new().create(true).append(true).mode(0o600), path)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Reserves space behind the end of a file without making it longer. A file system that reserves nothing is none to
/// complain of.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    let reserved = call("fallocate", || Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, length + RESERVE_BYTES)?));
    match reserved {
        Err(e) if e.kind() == io::ErrorKind::Unsupported => Ok(()),
        reserved => reserved,
    }
}
