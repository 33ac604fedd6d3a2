// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Calls that no library has: allocations with arguments that are wrong, a mapping that is refused.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `struct dma_heap_allocation_data`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocation {
    pub len: u64,
    pub fd: u32,
    pub fd_flags: u32,
    pub heap_flags: u64,
}

/// DMA_HEAP_IOCTL_ALLOC, or a call that differs from it by `number`.
pub fn allocate(heap: &File, mut allocation: Allocation, number: u32) -> io::Result<OwnedFd> {
    let request = 3 << 30 | (size_of::<Allocation>() as u32) << 16 | (b'H' as u32) << 8 | number;
    // SAFETY: the call reads and writes one `struct dma_heap_allocation_data`, borrowed for writing.
    match unsafe { libc::ioctl(heap.as_raw_fd(), request as libc::Ioctl, &mut allocation) } {
        // SAFETY: the call that just succeeded made this descriptor for us.
        0 => Ok(unsafe { OwnedFd::from_raw_fd(allocation.fd as i32) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A mapping that is not shared; what mapping it says.
pub fn map_private(buffer: BorrowedFd<'_>, size_bytes: usize) -> io::Result<()> {
    use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
    // SAFETY: the kernel chooses free addresses, and what it maps is not touched.
    unsafe {
        let start = mmap(std::ptr::null_mut(), size_bytes, ProtFlags::READ, MapFlags::PRIVATE, buffer, 0)?;
        munmap(start, size_bytes)?;
    }
    Ok(())
}

/// `struct fovea_heap_resize`.
#[repr(C)]
struct Resize {
    len: u64,
    fd: i32,
    flags: u32,
}

/// FOVEA_HEAP_IOCTL_RESIZE with any descriptor and flags.
pub fn resize(heap: &File, fd: i32, size_bytes: u64, flags: u32) -> io::Result<()> {
    let request = 1 << 30 | (size_of::<Resize>() as u32) << 16 | (b'H' as u32) << 8 | 0x46;
    let mut argument = Resize { len: size_bytes, fd, flags };
    // SAFETY: the call reads one `struct fovea_heap_resize`, borrowed for it.
    match unsafe { libc::ioctl(heap.as_raw_fd(), request as libc::Ioctl, &mut argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
