// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where the kernel's files are, and how they are read without allocating anew each time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::page::PageSize;
use crate::Error;

/// No kernel file that we read whole is longer; a runaway one is cut here.
pub(crate) const READ_MAX_BYTES: usize = 4 << 20;

/// The folder below which `proc`, `sys`, `dev` and `lib/modules` are looked for: `/`, or a folder of captured files.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    page: PageSize,
}

impl Root {
    /// Any folder.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        let path = path.into();
        // Captured files say it themselves; those of before did not, and are of 4 KiB.
        let page = match path == Path::new("/") {
            true => PageSize::of_system(),
            false => std::fs::read(path.join("proc/self/auxv"))
                .ok()
                .and_then(|auxv| PageSize::of_auxv(&auxv))
                .unwrap_or(PageSize::SMALLEST),
        };
        Root { path, page }
    }

    /// The size of its kernel's pages.
    pub fn page_size(&self) -> PageSize {
        self.page
    }

    /// Whether this is the running machine, so that system calls say something about it.
    pub fn is_live(&self) -> bool {
        self.path == Path::new("/")
    }

    /// A path below the root; a leading slash does not escape it.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.path.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// A file that is opened once and read many times.
#[derive(Debug)]
pub(crate) struct KernelFile {
    file: File,
    path: PathBuf,
}

impl KernelFile {
    pub(crate) fn open(path: PathBuf) -> Result<KernelFile, Error> {
        let file = File::open(&path).map_err(|e| Error::file("opening", &path, e))?;
        Ok(KernelFile { file, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads from the beginning until `enough` says so, or to the end. Files made of records (vmstat) give a page at a time and
    /// compute everything again for each, so stopping early is worth a third of the cost.
    pub(crate) fn read_until(&self, buffer: &mut Vec<u8>, enough: impl Fn(&[u8]) -> bool) -> Result<(), Error> {
        buffer.clear();
        loop {
            buffer.reserve(8192);
            let offset = buffer.len() as u64;
            let got = retry(|| rustix::io::pread(&self.file, rustix::buffer::spare_capacity(buffer), offset))
                .map_err(|e| Error::file("reading", &self.path, e))?;
            if got == 0 || buffer.len() >= READ_MAX_BYTES || enough(buffer) {
                return Ok(());
            }
        }
    }

    /// Reads it whole.
    pub(crate) fn read(&self, buffer: &mut Vec<u8>) -> Result<(), Error> {
        self.read_until(buffer, |_| false)
    }
}

/// Repeats a call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => (),
            result => return result,
        }
    }
}

/// Reads a file whole into a buffer that is reused.
pub(crate) fn read_into(path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
    use std::io::Read;
    buffer.clear();
    // Into an empty buffer the standard library reads 32 bytes first, and tracefs's header_page answers one read only
    // (kernel/trace/trace_events.c, show_header).
    buffer.reserve(8192);
    File::open(path)?.take(READ_MAX_BYTES as u64).read_to_end(buffer).map(drop)
}

/// Reads a file whole.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut buffer = Vec::new();
    read_into(path, &mut buffer).map_err(|e| Error::file("reading", path, e))?;
    Ok(buffer)
}

/// Writes to a file that exists, in one write, as control files want it.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// The same with the path in the error.
pub(crate) fn write_named(path: &Path, text: &str) -> Result<(), Error> {
    write(path, text).map_err(|e| Error::file("writing", path, e))
}

/// A captured file below a root, for tests: with the folders that hold it.
#[cfg(test)]
pub(crate) fn capture(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}
