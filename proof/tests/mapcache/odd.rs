// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Buffers that no library makes: of `kmod/test/odd`, and of memory in huge pages by udmabuf.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use rustix::mm::{madvise, mmap, munmap, Advice, MapFlags, ProtFlags};

const HUGE_BYTES: usize = 2 << 20;
/// What is in memory that is in no buffer.
const BESIDE: u8 = 0x11;

/// `struct odd_request`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    data: u64,
    size_bytes: u64,
    offset: u64,
    length: u32,
    kind: u32,
    fd: i32,
    writes: u32,
}

/// What is wrong with a list, `enum odd_fault`: nothing, or it must be refused.
pub fn is_right(fault: u32) -> bool {
    fault == 0
}

fn call(node: &File, number: u32, request: &mut Request) -> io::Result<u32> {
    let command = 3 << 30 | (size_of::<Request>() as u32) << 16 | (b'O' as u32) << 8 | number;
    // SAFETY: these calls read and write one `struct odd_request`, borrowed for writing; `data` is the address of bytes that the caller
    // borrows for as long (`read`, `write`).
    match unsafe { libc::ioctl(node.as_raw_fd(), command as libc::Ioctl, std::ptr::from_mut(request)) } {
        done if done >= 0 => Ok(done as u32),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Memory behind a DMA-BUF, as the CPU sees it.
enum Memory {
    /// By a call of the exporter's.
    Odd(File),
    /// A memfd's, mapped: where all of it is, and where in that the buffer begins.
    Mapped { start: *mut u8, offset: usize },
}

/// A buffer with its memory.
pub struct Shared {
    pub fd: OwnedFd,
    pub size_bytes: usize,
    memory: Memory,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Memory::Mapped { start, .. } = self.memory {
            // SAFETY: the mapping that `huge` made; nobody else has its address.
            let _ = unsafe { munmap(start.cast(), HUGE_BYTES) };
        }
    }
}

impl Shared {
    /// One of the odd exporter's, and what is wrong with its list; `None` after the last kind.
    pub fn odd(kind: u32) -> io::Result<Option<(Shared, u32)>> {
        let node = File::open("/dev/odd-exporter")?;
        let mut request = Request { kind, ..Request::default() };
        match call(&node, 1, &mut request) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(None),
            Err(e) => Err(e),
            Ok(fault) => {
                // SAFETY: the call that just succeeded made this descriptor for us.
                let fd = unsafe { OwnedFd::from_raw_fd(request.fd) };
                Ok(Some((Shared { fd, size_bytes: request.size_bytes as usize, memory: Memory::Odd(node) }, fault)))
            }
        }
    }

    /// A part of a memfd that is one huge page.
    pub fn huge(kind: Huge, offset: usize, size_bytes: usize) -> io::Result<Shared> {
        let flags = if kind == Huge::Hugetlb { MemfdFlags::HUGETLB } else { MemfdFlags::empty() };
        let memfd = memfd_create(c"huge", flags | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&memfd, HUGE_BYTES as u64)?;
        fcntl_add_seals(&memfd, SealFlags::SHRINK)?;
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses free addresses.
        let start = unsafe { mmap(std::ptr::null_mut(), HUGE_BYTES, access, shared, &memfd, 0) }?.cast::<u8>();
        let mut made = Shared { fd: memfd, size_bytes, memory: Memory::Mapped { start, offset } };
        if kind == Huge::Shmem {
            // SAFETY: the mapping that was just made.
            unsafe { madvise(start.cast(), HUGE_BYTES, Advice::LinuxHugepage) }?;
        }
        // SAFETY: all of it is mapped, for writing, and nobody else's.
        unsafe { start.write_bytes(BESIDE, HUGE_BYTES) };
        made.fd = udmabuf(&made.fd, offset as u64, size_bytes as u64)?;
        Ok(made)
    }

    /// Whether memory that is in no buffer is as it was.
    pub fn is_beside_whole(&self) -> bool {
        let Memory::Mapped { start, offset } = self.memory else { return true };
        // SAFETY: all of it is mapped, for reading; devices write the buffer only, or that is what is looked for.
        let all = unsafe { std::slice::from_raw_parts(start, HUGE_BYTES) };
        all[..offset].iter().chain(&all[offset + self.size_bytes..]).all(|&byte| byte == BESIDE)
    }

    /// By the CPU, all of it.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        assert_eq!(bytes.len(), self.size_bytes);
        match &self.memory {
            Memory::Odd(node) => {
                let (data, length, fd) = (bytes.as_ptr() as u64, bytes.len() as u32, self.fd.as_raw_fd());
                call(node, 2, &mut Request { data, length, fd, writes: 1, ..Request::default() }).map(drop)
            }
            // SAFETY: mapped for writing and as long as the buffer, behind `offset`.
            Memory::Mapped { start, offset } => unsafe {
                start.add(*offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                Ok(())
            },
        }
    }

    /// What the CPU sees of it.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.size_bytes];
        match &self.memory {
            Memory::Odd(node) => {
                let (data, length, fd) = (bytes.as_mut_ptr() as u64, bytes.len() as u32, self.fd.as_raw_fd());
                call(node, 2, &mut Request { data, length, fd, ..Request::default() })?;
            }
            // SAFETY: mapped for reading and as long as the buffer, behind `offset`.
            Memory::Mapped { start, offset } => unsafe {
                start.add(*offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
            },
        }
        Ok(bytes)
    }
}

/// Whose huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Huge {
    Hugetlb,
    Shmem,
}

/// UDMABUF_CREATE.
fn udmabuf(memfd: &impl AsFd, offset: u64, size: u64) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        memfd: u32,
        flags: u32,
        offset: u64,
        size: u64,
    }
    let node = File::options().read(true).write(true).open("/dev/udmabuf")?;
    let create = Create { memfd: memfd.as_fd().as_raw_fd() as u32, flags: 1, offset, size };
    let command = 1 << 30 | (size_of::<Create>() as u32) << 16 | (b'u' as u32) << 8 | 0x42;
    // SAFETY: the call reads one `struct udmabuf_create`, borrowed for it.
    match unsafe { libc::ioctl(node.as_raw_fd(), command as libc::Ioctl, &create) } {
        // SAFETY: the call that just succeeded made this descriptor for us.
        fd if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
