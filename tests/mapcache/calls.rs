// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Calls that no library has: those of the importer (`kmod/test/edu/edu.h`), and allocations with arguments that are wrong.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// At most so many bytes at once.
pub const TRANSFER_MAX: usize = 2048;

/// `enum dma_data_direction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    Both,
    ToDevice,
    FromDevice,
}

impl Direction {
    pub const ALL: [Direction; 3] = [Direction::Both, Direction::ToDevice, Direction::FromDevice];
}

/// `struct edu_request`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    pub dma_address: u64,
    pub offset: u64,
    pub data: u64,
    pub elapsed_ns: u64,
    pub fd: i32,
    pub direction: u32,
    pub length: u32,
    pub writes: u32,
    pub count: u32,
    pub pieces: u32,
}

/// A device by its driver's node.
#[derive(Debug)]
pub struct Edu {
    node: File,
}

const fn iowr(number: u32) -> u32 {
    3 << 30 | (size_of::<Request>() as u32) << 16 | (b'E' as u32) << 8 | number
}

impl Edu {
    pub fn open(slot: u32) -> io::Result<Edu> {
        File::options().read(true).write(true).open(format!("/dev/edu-{slot}")).map(|node| Edu { node })
    }

    fn call(&self, number: u32, request: &mut Request) -> io::Result<()> {
        // SAFETY: these calls read and write one `struct edu_request`, borrowed for writing; `data`, where a call uses it, is the address
        // of bytes that the caller borrows for as long (`load`, `store`).
        match unsafe { libc::ioctl(self.node.as_raw_fd(), iowr(number) as libc::Ioctl, std::ptr::from_mut(request)) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Attach, map, DMA, unmap, detach.
    pub fn use_(&self, mut request: Request) -> io::Result<Request> {
        self.call(1, &mut request)?;
        Ok(request)
    }

    /// The same without DMA, `count` times.
    pub fn touch(&self, buffer: BorrowedFd<'_>, direction: Direction, count: u32) -> io::Result<Request> {
        self.use_(Request { fd: buffer.as_raw_fd(), direction: direction as u32, count, ..Request::default() })
    }

    /// With DMA of bytes from `offset` on; `writes`: into the buffer.
    pub fn transfer(
        &self,
        buffer: BorrowedFd<'_>,
        direction: Direction,
        offset: u64,
        length: usize,
        writes: bool,
    ) -> io::Result<Request> {
        let (fd, direction, length) = (buffer.as_raw_fd(), direction as u32, length as u32);
        self.use_(Request { fd, direction, offset, length, writes: writes.into(), ..Request::default() })
    }

    /// Attaches and maps until `release`, or the node is closed.
    pub fn hold(&self, buffer: BorrowedFd<'_>, direction: Direction) -> io::Result<Request> {
        let mut request = Request { fd: buffer.as_raw_fd(), direction: direction as u32, ..Request::default() };
        self.call(2, &mut request)?;
        Ok(request)
    }

    pub fn release(&self) -> io::Result<()> {
        const RELEASE: u32 = (b'E' as u32) << 8 | 3;
        // SAFETY: the call takes no argument.
        match unsafe { libc::ioctl(self.node.as_raw_fd(), RELEASE as libc::Ioctl) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// DMA at an address of the device's, whatever is there.
    pub fn raw(&self, dma_address: u64, length: usize, writes: bool) -> io::Result<()> {
        self.call(4, &mut Request { dma_address, length: length as u32, writes: writes.into(), ..Request::default() })
    }

    /// Into the device's memory.
    pub fn load(&self, bytes: &[u8]) -> io::Result<()> {
        self.call(5, &mut Request { data: bytes.as_ptr() as u64, length: bytes.len() as u32, ..Request::default() })
    }

    /// What is in the device's memory.
    pub fn store(&self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.call(6, &mut Request { data: bytes.as_mut_ptr() as u64, length: length as u32, ..Request::default() })?;
        Ok(bytes)
    }

    /// The pieces that it takes.
    pub fn segment(&self, bytes: u32) -> io::Result<()> {
        self.call(7, &mut Request { length: bytes, ..Request::default() })
    }
}

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
