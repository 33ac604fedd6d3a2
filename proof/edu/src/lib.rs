// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A device that imports buffers, for experiments: QEMU's `edu`, by the node of the driver `kmod/test/edu`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// At most so many bytes at once.
pub const TRANSFER_MAX: usize = 2048;

/// `enum dma_data_direction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    /// The device reads and writes.
    Both,
    /// It reads.
    ToDevice,
    /// It writes.
    FromDevice,
}

impl Direction {
    /// All of them.
    pub const ALL: [Direction; 3] = [Direction::Both, Direction::ToDevice, Direction::FromDevice];
}

/// `struct edu_request`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "edu.h has them")]
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
    /// The one in a PCI slot.
    ///
    /// # Errors
    /// Its driver is not there.
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
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn use_(&self, mut request: Request) -> io::Result<Request> {
        self.call(1, &mut request)?;
        Ok(request)
    }

    /// The same without DMA, `count` times.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn touch(&self, buffer: BorrowedFd<'_>, direction: Direction, count: u32) -> io::Result<Request> {
        self.use_(Request { fd: buffer.as_raw_fd(), direction: direction as u32, count, ..Request::default() })
    }

    /// With DMA of bytes from `offset` on; `writes`: into the buffer.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
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
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn hold(&self, buffer: BorrowedFd<'_>, direction: Direction) -> io::Result<Request> {
        let mut request = Request { fd: buffer.as_raw_fd(), direction: direction as u32, ..Request::default() };
        self.call(2, &mut request)?;
        Ok(request)
    }

    /// The same, if so many bytes from `offset` on are in one of the device's pieces; held even if not.
    ///
    /// # Errors
    /// They are not; the device is gone, or the buffer cannot be mapped for it.
    pub fn hold_at(&self, buffer: BorrowedFd<'_>, direction: Direction, offset: u64, length: usize) -> io::Result<()> {
        let (fd, direction, length) = (buffer.as_raw_fd(), direction as u32, length as u32);
        self.call(2, &mut Request { fd, direction, offset, length, ..Request::default() })
    }

    /// Attaches until `release`, or the node is closed; nothing is mapped.
    ///
    /// # Errors
    /// The device is gone, or the buffer refuses it.
    pub fn attach(&self, buffer: BorrowedFd<'_>) -> io::Result<()> {
        self.call(8, &mut Request { fd: buffer.as_raw_fd(), ..Request::default() })
    }

    /// Lets go of what it holds.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn release(&self) -> io::Result<()> {
        const RELEASE: u32 = (b'E' as u32) << 8 | 3;
        // SAFETY: the call takes no argument.
        match unsafe { libc::ioctl(self.node.as_raw_fd(), RELEASE as libc::Ioctl) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// DMA at an address of the device's, whatever is there.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn raw(&self, dma_address: u64, length: usize, writes: bool) -> io::Result<()> {
        self.call(4, &mut Request { dma_address, length: length as u32, writes: writes.into(), ..Request::default() })
    }

    /// Into the device's memory.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn load(&self, bytes: &[u8]) -> io::Result<()> {
        self.call(5, &mut Request { data: bytes.as_ptr() as u64, length: bytes.len() as u32, ..Request::default() })
    }

    /// What is in the device's memory.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn store(&self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.call(6, &mut Request { data: bytes.as_mut_ptr() as u64, length: length as u32, ..Request::default() })?;
        Ok(bytes)
    }

    /// The pieces that it takes.
    ///
    /// # Errors
    /// The device is gone, or the buffer cannot be mapped for it.
    pub fn segment(&self, bytes: u32) -> io::Result<()> {
        self.call(7, &mut Request { length: bytes, ..Request::default() })
    }
}
