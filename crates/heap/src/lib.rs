// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! libfovea-heap (`lib/heap`, C) as safe Rust: DMA-BUFs of heaps (userspace-api/dma-buf-heaps), of `/dev/udmabuf`, or somebody else's. The
//! kernel's heaps are in `/dev/dma_heap`; Fovea's in `/dev/fovea-heap` and, one for each reservation of the eCache, in `/dev/ecache`, as the
//! kernel lets no module add to the former.
//!
//! A buffer that the process has mapped once stays mapped between uses, until the buffer's end or [`Buffer::trim`].

mod ffi;

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// What was wrong, and where.
#[derive(Debug)]
pub struct Error {
    doing: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Error {
    /// The kernel's answer.
    pub fn io(&self) -> &io::Error {
        &self.source
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.doing, self.path.display(), self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A heap.
#[derive(Debug)]
pub struct Heap {
    raw: NonNull<ffi::Heap>,
    path: PathBuf,
}

/// A buffer. Its memory goes back when this and all its mappings are dropped, and every device and other process has let go of it.
#[derive(Debug)]
pub struct Buffer {
    raw: NonNull<ffi::Buffer>,
    path: PathBuf,
}

/// A use of a buffer in our addresses. Holds the buffer by itself; the addresses stay mapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    buffer: NonNull<ffi::Buffer>,
    start: NonNull<AtomicU64>,
    size_bytes: usize,
}

/// What the CPU is about to do, or has done, with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    Read,
    /// Write it.
    Write,
    /// Both.
    ReadWrite,
}

/// What becomes of a buffer's mappings for devices when it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Devices may need it in one piece: it is mapped anew.
    Whole,
    /// Devices take it in pieces: only what is new is mapped, as a piece of its own.
    Pieces,
}

impl Access {
    fn flags(self) -> u32 {
        match self {
            Access::Read => 1,
            Access::Write => 2,
            Access::ReadWrite => 3,
        }
    }
}

// SAFETY: the library's calls are for any thread.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}
// SAFETY: as above; each value holds the buffer once and gives it up once.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}
// SAFETY: the mapping belongs to the process and not to a thread, and is reached through atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

fn checked(result: i32) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Heap {
    /// Opens a heap's node, or `/dev/udmabuf`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> Result<Heap, Error> {
        let path = path.into();
        let raw = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from).and_then(|c_path| {
            // SAFETY: a terminated string.
            NonNull::new(unsafe { ffi::fovea_heap_open(c_path.as_ptr()) }).ok_or_else(io::Error::last_os_error)
        });
        match raw {
            Ok(raw) => Ok(Heap { raw, path }),
            Err(source) => Err(Error { doing: "opening", path, source }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A buffer of so many bytes, rounded up to pages.
    ///
    /// # Errors
    /// As the heap says: the eCache's EINVAL for none or more than the reservation, EBUSY while the device holds a buffer.
    pub fn allocate(&self, size_bytes: u64) -> io::Result<Buffer> {
        // SAFETY: the heap is open.
        let raw = NonNull::new(unsafe { ffi::fovea_buffer_alloc(self.raw.as_ptr(), size_bytes) });
        Ok(Buffer { raw: raw.ok_or_else(io::Error::last_os_error)?, path: self.path.clone() })
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: nobody uses it after this; its buffers hold what they need of it.
        unsafe { ffi::fovea_heap_close(self.raw.as_ptr()) };
    }
}

impl AsFd for Buffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open for as long as the buffer is held.
        unsafe { BorrowedFd::borrow_raw(ffi::fovea_buffer_fd(self.raw.as_ptr())) }
    }
}

impl Buffer {
    /// Somebody's buffer. One that the process has already, by whatever descriptor, is that one, with its mapping.
    ///
    /// # Errors
    /// The descriptor is nothing that has a size.
    pub fn import(fd: BorrowedFd<'_>) -> io::Result<Buffer> {
        // SAFETY: the descriptor is open.
        let raw = NonNull::new(unsafe { ffi::fovea_buffer_import(fd.as_raw_fd()) });
        Ok(Buffer { raw: raw.ok_or_else(io::Error::last_os_error)?, path: "an imported buffer".into() })
    }

    /// Its size, in whole pages.
    pub fn size_bytes(&self) -> usize {
        // SAFETY: the buffer is held. It is mapped whole, so its size is one of addresses.
        unsafe { ffi::fovea_buffer_size(self.raw.as_ptr()) as usize }
    }

    fn error(&self, doing: &'static str, source: io::Error) -> Error {
        Error { doing, path: self.path.clone(), source }
    }

    /// All of it, readable and writable.
    ///
    /// # Errors
    /// There are no addresses left, or the exporter refuses.
    pub fn map(&self) -> Result<Mapping, Error> {
        // SAFETY: the buffer is held.
        let start = NonNull::new(unsafe { ffi::fovea_buffer_map(self.raw.as_ptr()) });
        let start = start.ok_or_else(|| self.error("mapping a buffer of", io::Error::last_os_error()))?;
        // In use, it keeps its size.
        let size_bytes = self.size_bytes();
        // SAFETY: the buffer is held, and then once more.
        let held = unsafe { ffi::fovea_buffer_hold(self.raw.as_ptr()) };
        Ok(Mapping { buffer: NonNull::new(held).unwrap_or(self.raw), start: start.cast(), size_bytes })
    }

    /// Gives up the addresses that no use needs at the moment.
    ///
    /// # Errors
    /// EBUSY: it is in use.
    pub fn trim(&self) -> io::Result<()> {
        // SAFETY: the buffer is held; the library refuses while it is in use.
        checked(unsafe { ffi::fovea_buffer_trim(self.raw.as_ptr()) })
    }

    /// Accesses the buffer by CPU, between telling its devices' caches that this begins and that it has ended.
    ///
    /// # Errors
    /// The exporter refuses.
    pub fn access<T>(&self, access: Access, work: impl FnOnce() -> T) -> Result<T, Error> {
        let refused = |source| self.error("an access to a buffer of", source);
        // SAFETY: the buffer is held.
        checked(unsafe { ffi::fovea_buffer_begin(self.raw.as_ptr(), access.flags()) }).map_err(refused)?;
        let done = work();
        // SAFETY: as above.
        checked(unsafe { ffi::fovea_buffer_end(self.raw.as_ptr(), access.flags()) }).map_err(refused)?;
        Ok(done)
    }

    /// Gives it another size, rounded up to pages; what is new is zero. Only buffers of Fovea's heaps of system pages can.
    ///
    /// # Errors
    /// `lib/heap/fovea-heap.h` lists them: EBUSY while it is in use, EINVAL for no size, EOPNOTSUPP where buffers have one size, ENOMEM.
    pub fn resize(&self, size_bytes: u64, growth: Growth) -> io::Result<()> {
        let flags = u32::from(growth == Growth::Pieces);
        // SAFETY: the buffer is held; the library refuses while it is in use.
        checked(unsafe { ffi::fovea_buffer_resize(self.raw.as_ptr(), size_bytes, flags) })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: held once by this, which is gone.
        unsafe { ffi::fovea_buffer_free(self.raw.as_ptr()) };
    }
}

impl Mapping {
    /// The memory. Atomics, since devices and other processes may write at any time.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped readable and writable from `start` on for `size_bytes`, a multiple of the page size, until this is
        // dropped; page-aligned; and any bytes are a valid number.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size_bytes / size_of::<AtomicU64>()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this use's end, of a buffer that it holds once: the slices given out borrow this, so none is left.
        unsafe {
            ffi::fovea_buffer_unmap(self.buffer.as_ptr());
            ffi::fovea_buffer_free(self.buffer.as_ptr());
        }
    }
}
