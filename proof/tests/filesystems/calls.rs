// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! System calls of these tests that no library makes safe.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fovea_tests::raw::PAGE;
use rustix::mm::{madvise, mmap, mmap_anonymous, munmap, Advice, MapFlags, ProtFlags};

pub fn checked(result: libc::c_long) -> io::Result<i64> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// A file's pages in our address space, only to be read, and that by way of /proc/self/mem: the same page fault as a plain read
/// of memory, but one that fails is an error there and not the end of the machine's first process.
pub struct ReadMapping {
    start: *mut libc::c_void,
    size_bytes: usize,
    memory: File,
}

impl ReadMapping {
    /// `advice` of madvise(2), for all of it.
    pub fn new(file: &File, size_bytes: usize, advice: Advice) -> io::Result<ReadMapping> {
        let memory = File::open("/proc/self/mem")?;
        // SAFETY: the kernel chooses free addresses, so nothing of ours is replaced; nobody makes a reference from them.
        let start = unsafe { mmap(std::ptr::null_mut(), size_bytes, ProtFlags::READ, MapFlags::SHARED, file, 0)? };
        let mapping = ReadMapping { start, size_bytes, memory };
        // SAFETY: our own mapping; no advice used here changes what it holds.
        unsafe { madvise(start, size_bytes, advice)? };
        Ok(mapping)
    }

    pub fn read(&self, offset: usize, into: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(into, self.start as u64 + offset as u64)
    }

    /// Maps each page.
    pub fn touch(&self) -> io::Result<()> {
        (0..self.size_bytes).step_by(PAGE).try_for_each(|offset| self.read(offset, &mut [0]))
    }

    /// MADV_PAGEOUT: reclaims its pages now.
    pub fn page_out(&self) -> io::Result<()> {
        // SAFETY: our own mapping; the advice does not change what it holds.
        unsafe { madvise(self.start, self.size_bytes, Advice::LinuxPageOut) }.map_err(io::Error::from)
    }

    /// Asks for all its pages to be moved to a NUMA node; returns how many are there then.
    pub fn move_to(&self, node: i32) -> io::Result<u64> {
        const MOVE_ALL: libc::c_int = 4;
        let count = self.size_bytes.div_ceil(PAGE);
        let pages: Vec<u64> = (0..count).map(|page| self.start as u64 + (page * PAGE) as u64).collect();
        let nodes = vec![node; count];
        let mut status = vec![-1i32; count];
        // SAFETY: three arrays of `count` elements, of which the kernel writes the last; the addresses are of our own mapping.
        checked(unsafe {
            let (pages, nodes, status) = (pages.as_ptr(), nodes.as_ptr(), status.as_mut_ptr());
            libc::syscall(libc::SYS_move_pages, 0, count, pages, nodes, status, MOVE_ALL)
        })?;
        Ok(status.iter().filter(|&&now| now == node).count() as u64)
    }
}

impl Drop for ReadMapping {
    fn drop(&mut self) {
        // SAFETY: ours alone, and no reference into it exists.
        let _ = unsafe { munmap(self.start, self.size_bytes) };
    }
}

/// Anonymous memory; of huge pages it is contiguous in pieces of 2 MiB, so that one bio takes more than 256 pages.
pub struct Memory {
    start: *mut u8,
    size_bytes: usize,
}

// SAFETY: plain memory, owned by this value.
unsafe impl Send for Memory {}

impl Memory {
    pub fn huge(size_bytes: usize) -> io::Result<Memory> {
        Self::of(size_bytes, MapFlags::PRIVATE | MapFlags::HUGETLB)
    }

    pub fn plain(size_bytes: usize) -> io::Result<Memory> {
        Self::of(size_bytes, MapFlags::PRIVATE)
    }

    fn of(size_bytes: usize, flags: MapFlags) -> io::Result<Memory> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses free addresses, so nothing of ours is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), size_bytes, protection, flags)? };
        Ok(Memory { start: start.cast(), size_bytes })
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped readable and writable for this length until dropped, zeroed by the kernel, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.size_bytes) }
    }

    /// MADV_PAGEOUT: to swap, now.
    pub fn page_out(&self) -> io::Result<()> {
        // SAFETY: our own mapping; the advice does not change what it holds.
        unsafe { madvise(self.start.cast(), self.size_bytes, Advice::LinuxPageOut) }.map_err(io::Error::from)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: ours alone, and no slice of it is left.
        let _ = unsafe { munmap(self.start.cast(), self.size_bytes) };
    }
}

/// FS_IOC_SHUTDOWN without writing the log: the file system ends as if the power went.
pub fn shut_down(mount_point: &Path) -> io::Result<()> {
    const SHUTDOWN: libc::Ioctl = 0x8004_587d;
    const NO_LOG_FLUSH: u32 = 2;
    let folder = File::open(mount_point)?;
    // SAFETY: the call reads one number.
    checked(unsafe { libc::ioctl(folder.as_raw_fd(), SHUTDOWN, &NO_LOG_FLUSH) }.into()).map(drop)
}

/// FITRIM: the file system discards what it does not use, as a weekly timer has it do.
pub fn trim(mount_point: &Path) -> io::Result<()> {
    const TRIM: libc::Ioctl = 0xc018_5879u32 as libc::Ioctl;
    let folder = File::open(mount_point)?;
    let mut range = [0u64, u64::MAX, 0];
    // SAFETY: the call reads and writes three numbers.
    checked(unsafe { libc::ioctl(folder.as_raw_fd(), TRIM, range.as_mut_ptr()) }.into()).map(drop)
}

/// preadv2(2) with RWF_NOWAIT; returns how much was read.
pub fn read_without_waiting(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    const NOWAIT: libc::c_int = 8;
    let part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: one buffer, borrowed for writing, of this length.
    let read = unsafe { libc::preadv2(file.as_raw_fd(), &part, 1, offset as libc::off_t, NOWAIT) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// FICLONE: `to` shares the blocks of `from` until either is written.
pub fn clone_file(from: &File, to: &File) -> io::Result<()> {
    const CLONE: libc::Ioctl = 0x4004_9409;
    // SAFETY: takes a descriptor, which is open.
    checked(unsafe { libc::ioctl(to.as_raw_fd(), CLONE, from.as_raw_fd()) }.into()).map(drop)
}

/// FICLONERANGE: the same of a part; `at`: where it is in the one, and comes to be in the other.
pub fn clone_range(from: &File, to: &File, at: (u64, u64), length: u64) -> io::Result<()> {
    const CLONE_RANGE: libc::Ioctl = 0x4020_940d;
    let argument = [from.as_raw_fd() as u64, at.0, length, at.1];
    // SAFETY: the call reads four numbers.
    checked(unsafe { libc::ioctl(to.as_raw_fd(), CLONE_RANGE, argument.as_ptr()) }.into()).map(drop)
}

/// FIDEDUPERANGE: the same of a part that is equal already, 1 MiB at a time at most.
pub fn dedupe_range(from: &File, to: &File, at: (u64, u64), length: u64) -> io::Result<()> {
    const DEDUPE: libc::Ioctl = 0xc018_9436u32 as libc::Ioctl;
    const STEP: u64 = 1 << 20;
    for done in (0..length).step_by(STEP as usize) {
        let part = STEP.min(length - done);
        // Where and how long in the source, one destination; its descriptor and place, what was done, how it went.
        let mut argument = [at.0 + done, part, 1, to.as_raw_fd() as u64, at.1 + done, 0, 0];
        // SAFETY: the call reads a header of three numbers and one destination of four, and writes the latter.
        checked(unsafe { libc::ioctl(from.as_raw_fd(), DEDUPE, argument.as_mut_ptr()) }.into())?;
        match argument[6] as u32 as i32 {
            0 => {}
            1 => return Err(io::Error::other("the kernel finds ranges different that are equal")),
            error => return Err(io::Error::from_raw_os_error(-error)),
        }
    }
    Ok(())
}

/// XFS_IOC_EXCHANGE_RANGE: blocks of both files change places; `at`: where they are in the one, and in the other.
pub fn exchange_range(one: &File, other: &File, at: (u64, u64), length: u64) -> io::Result<()> {
    const EXCHANGE: libc::Ioctl = 0x4028_5881;
    let argument = [other.as_raw_fd() as u64, at.1, at.0, length, 0];
    // SAFETY: the call reads five numbers.
    checked(unsafe { libc::ioctl(one.as_raw_fd(), EXCHANGE, argument.as_ptr()) }.into()).map(drop)
}

/// FS_IOC_ADD_ENCRYPTION_KEY; returns what the kernel calls the key.
pub fn add_key(mount_point: &Path, key: &[u8; 64]) -> io::Result<[u8; 16]> {
    const ADD_KEY: libc::Ioctl = 0xc050_6617u32 as libc::Ioctl;
    /// Named by a hash that the kernel makes of it.
    const BY_IDENTIFIER: u32 = 2;
    #[repr(C)]
    struct Argument {
        kind: u32,
        reserved: u32,
        identifier: [u8; 32],
        size_bytes: u32,
        key_number: u32,
        more_reserved: [u32; 8],
        key: [u8; 64],
    }
    let folder = File::open(mount_point)?;
    let mut argument = Argument {
        kind: BY_IDENTIFIER,
        reserved: 0,
        identifier: [0; 32],
        size_bytes: key.len() as u32,
        key_number: 0,
        more_reserved: [0; 8],
        key: *key,
    };
    // SAFETY: the call reads this structure and the key behind it, of the length that is in it, and writes the identifier.
    checked(unsafe { libc::ioctl(folder.as_raw_fd(), ADD_KEY, &mut argument) }.into())?;
    Ok(std::array::from_fn(|i| argument.identifier[i]))
}

/// FS_IOC_SET_ENCRYPTION_POLICY for an empty folder: AES-256-XTS, names by AES-256-CTS.
pub fn encrypt_folder(folder: &Path, key: [u8; 16]) -> io::Result<()> {
    const SET_POLICY: libc::Ioctl = 0x800c_6613u32 as libc::Ioctl;
    let mut policy = [0u8; 24];
    // Version, how contents are encrypted, how names are, names padded to 32 bytes.
    policy[..4].copy_from_slice(&[2, 1, 4, 3]);
    policy[8..].copy_from_slice(&key);
    let folder = File::open(folder)?;
    // SAFETY: the call reads as many bytes as policies of version 2 have.
    checked(unsafe { libc::ioctl(folder.as_raw_fd(), SET_POLICY, policy.as_ptr()) }.into()).map(drop)
}

/// FS_IOC_ENABLE_VERITY: SHA-256 over blocks of 4 KiB.
pub fn enable_verity(file: &File) -> io::Result<()> {
    const ENABLE: libc::Ioctl = 0x4080_6685;
    let mut argument = [0u32; 32];
    // Version, SHA-256, bytes of a block.
    argument[..3].copy_from_slice(&[1, 1, 4096]);
    // SAFETY: the call reads 128 bytes; without a salt and a signature no address in it is used.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), ENABLE, argument.as_ptr()) }.into()).map(drop)
}

/// Attaches a file to a free loop device; returns its number.
pub fn loop_attach(file: &File) -> io::Result<i64> {
    const GET_FREE: libc::Ioctl = 0x4c82;
    const SET_FD: libc::Ioctl = 0x4c00;
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    // SAFETY: takes no argument.
    let number = checked(unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE) }.into())?;
    let device = File::options().read(true).write(true).open(format!("/dev/loop{number}"))?;
    // SAFETY: takes a descriptor, which is open.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), SET_FD, file.as_raw_fd()) }.into())?;
    Ok(number)
}

pub fn loop_detach(number: i64) -> io::Result<()> {
    const CLEAR_FD: libc::Ioctl = 0x4c01;
    let device = File::open(format!("/dev/loop{number}"))?;
    // SAFETY: takes no argument.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), CLEAR_FD) }.into()).map(drop)
}

/// This thread on the first CPU alone, and before all threads without a real-time priority if wanted.
pub fn on_first_cpu(real_time: bool) -> io::Result<()> {
    let mut cpus = rustix::thread::CpuSet::new();
    cpus.set(0);
    rustix::thread::sched_setaffinity(None, &cpus)?;
    if real_time {
        let parameters = libc::sched_param { sched_priority: 1 };
        // SAFETY: the call reads one structure.
        checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }.into())?;
    }
    Ok(())
}
