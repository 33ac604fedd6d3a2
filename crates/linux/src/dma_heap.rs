// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! DMA-BUF heaps (userspace-api/dma-buf-heaps): buffers for devices, by a call on a heap's node. The kernel's own are in
//! `/dev/dma_heap`; the eCache has one per reservation in `/dev/ecache`, as the kernel lets no module add to the former.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::{sys, Error};

/// A heap.
#[derive(Debug)]
pub struct Heap {
    node: File,
    path: PathBuf,
}

/// A buffer of a heap. Its memory goes back when this and all its mappings are dropped, and every device has let go of it.
#[derive(Debug)]
pub struct Buffer {
    fd: OwnedFd,
    path: PathBuf,
    size_bytes: usize,
}

/// A buffer in our addresses. Holds the buffer by itself.
#[derive(Debug)]
pub struct Mapping {
    start: *mut AtomicU64,
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

/// `DMA_BUF_SYNC_END`; without it an access begins.
const SYNC_END: u64 = 1 << 2;

impl Access {
    fn flags(self) -> u64 {
        match self {
            Access::Read => 1,
            Access::Write => 2,
            Access::ReadWrite => 3,
        }
    }
}

impl Heap {
    /// Opens a heap's node.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> Result<Heap, Error> {
        let path = path.into();
        let node = File::open(&path).map_err(|e| Error::file("opening", &path, e))?;
        Ok(Heap { node, path })
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
        let size = size_bytes.checked_next_multiple_of(rustix::param::page_size() as u64);
        let size = size.and_then(|size| usize::try_from(size).ok());
        // The heap itself is to refuse 0; only what is beyond addresses never gets to it.
        let size_in_pages = size.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let fd = sys::dma_heap_alloc(self.node.as_fd(), size_bytes)?;
        Ok(Buffer { fd, path: self.path.clone(), size_bytes: size_in_pages })
    }
}

/// What becomes of a buffer's mappings for devices when it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Devices may need it in one piece: it is mapped anew.
    Whole,
    /// Devices take it in pieces: only what is new is mapped, as a piece of its own.
    Pieces,
}

impl Heap {
    /// Gives a buffer of this heap another size, rounded up to pages; what is new is zero. Only heaps of Fovea's can.
    ///
    /// # Errors
    /// `kmod/include/fovea-heap.h` lists them: EBUSY while a device, the kernel or a process has what would change, EINVAL for no size or a
    /// buffer that is not this heap's, EOPNOTSUPP where buffers have one size, ENOMEM.
    pub fn resize(&self, buffer: &mut Buffer, size_bytes: u64, growth: Growth) -> io::Result<()> {
        sys::heap_resize(self.node.as_fd(), buffer.as_fd(), size_bytes, u32::from(growth == Growth::Pieces))?;
        // It fits: the kernel has just given it.
        buffer.size_bytes = (size_bytes as usize).next_multiple_of(rustix::param::page_size());
        Ok(())
    }
}

impl AsFd for Buffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Buffer {
    /// Its size, in whole pages.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Maps all of it, readable and writable.
    ///
    /// # Errors
    /// There are no addresses left, or the exporter refuses.
    pub fn map(&self) -> Result<Mapping, Error> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses free addresses, so nothing of ours is replaced.
        let start = unsafe {
            mmap(std::ptr::null_mut(), self.size_bytes, protection, MapFlags::SHARED, &self.fd, 0)
                .map_err(|e| Error::call("mmap", self.path.display(), e))?
        };
        Ok(Mapping { start: start.cast(), size_bytes: self.size_bytes })
    }

    /// Accesses the buffer by CPU, between telling its devices' caches that this begins and that it has ended.
    ///
    /// # Errors
    /// The exporter refuses.
    pub fn access<T>(&self, access: Access, work: impl FnOnce() -> T) -> Result<T, Error> {
        let sync = |flags: u64| {
            sys::dma_buf_sync(self.as_fd(), flags)
                .map_err(|e| Error::call("DMA_BUF_IOCTL_SYNC", self.path.display(), e))
        };
        sync(access.flags())?;
        let done = work();
        sync(access.flags() | SYNC_END)?;
        Ok(done)
    }
}

// SAFETY: the mapping belongs to the process and not to a thread, and is reached through atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The memory. Atomics, since devices and other processes may write at any time.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped readable and writable from `start` on for `size_bytes`, a multiple of the page size, until this is
        // dropped; page-aligned; and any bytes are a valid number.
        unsafe { std::slice::from_raw_parts(self.start, self.size_bytes / size_of::<AtomicU64>()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: ours alone: the slices given out borrow this, so none is left.
        let gone = unsafe { munmap(self.start.cast(), self.size_bytes) };
        debug_assert!(gone.is_ok(), "munmap of our own mapping: {gone:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_kernels() {
        let flags = [Access::Read, Access::Write, Access::ReadWrite].map(Access::flags);
        assert_eq!(flags, [1, 2, 3]);
        assert_eq!(SYNC_END, 4);
    }

    #[test]
    fn what_is_no_heap_refuses_and_a_missing_node_is_named() {
        let error = Heap::open("/dev/null").unwrap().allocate(4096).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        let error = Heap::open("/dev/null").unwrap().allocate(u64::MAX).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        assert!(Heap::open("/dev/ecache/none").unwrap_err().to_string().contains("/dev/ecache/none"));
    }
}
