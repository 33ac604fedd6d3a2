// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! System calls of the tests that no library makes safe: mappings of files, blocks of files, discards.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::mm::{madvise, mmap, msync, munmap, Advice, MapFlags, MsyncFlags, ProtFlags};

/// Bytes of a block of the tests' files: no larger than a page of any machine.
pub const PAGE: usize = 4096;

/// Bytes of a page of memory, which on arm64 may be several blocks.
pub fn frame_bytes() -> usize {
    rustix::param::page_size()
}

/// Pages in memory, aligned as O_DIRECT wants it.
pub struct Pages(Vec<Aligned>);

#[derive(Clone)]
#[repr(C, align(4096))]
struct Aligned([u8; PAGE]);

impl Pages {
    /// Zeroed pages.
    pub fn new(count: usize) -> Pages {
        Pages(vec![Aligned([0; PAGE]); count])
    }

    /// The first `count` of them as bytes.
    pub fn bytes(&mut self, count: usize) -> &mut [u8] {
        let part = &mut self.0[..count];
        // SAFETY: an exclusive slice of byte arrays without padding between or in them, seen as the same bytes.
        unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast(), size_of_val(part)) }
    }
}

/// A shared, writable mapping of a range of a file.
pub struct FileMapping {
    start: *mut u8,
    size_bytes: usize,
    /// What was asked for begins so far behind the start, which is a page's.
    skipped_bytes: usize,
}

impl FileMapping {
    /// Maps. The file must be as long as the range, and stay so, and not be changed by others, as long as the mapping is there: each
    /// file of the tests belongs to one thread, and that is the one that maps it.
    pub fn new(file: &File, offset_bytes: u64, size_bytes: usize) -> io::Result<FileMapping> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let skipped_bytes = offset_bytes as usize % frame_bytes();
        let (size_bytes, from) = (size_bytes + skipped_bytes, offset_bytes - skipped_bytes as u64);
        // SAFETY: the kernel chooses free addresses, so nothing of ours is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), size_bytes, protection, MapFlags::SHARED, file, from)? };
        Ok(FileMapping { start: start.cast(), size_bytes, skipped_bytes })
    }

    /// The file's content.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped readable and writable for this length until dropped, and reached by nobody else (`new`).
        let all = unsafe { std::slice::from_raw_parts_mut(self.start, self.size_bytes) };
        &mut all[self.skipped_bytes..]
    }

    /// MADV_PAGEOUT: reclaims its pages now.
    pub fn page_out(&self) -> io::Result<()> {
        // SAFETY: our own mapping; the advice does not change what it holds.
        unsafe { madvise(self.start.cast(), self.size_bytes, Advice::LinuxPageOut) }.map_err(io::Error::from)
    }

    /// MADV_HWPOISON of each page: the kernel is told that its memory is broken, and drops it. How many it believed.
    pub fn poison(&self) -> usize {
        let poisoned = |at: usize| {
            // SAFETY: a page of our own mapping, which nobody has a slice of (`self` is borrowed, slices borrow it for writing); it is
            // mapped anew, from the disk, when it is touched again.
            let advised = unsafe { libc::madvise(self.start.add(at).cast(), frame_bytes(), libc::MADV_HWPOISON) };
            advised == 0
        };
        (0..self.size_bytes).step_by(frame_bytes()).filter(|&at| poisoned(at)).count()
    }

    /// Writes what was changed to disk.
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: our own mapping.
        unsafe { msync(self.start.cast(), self.size_bytes, MsyncFlags::SYNC) }.map_err(io::Error::from)
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: ours alone, and no slice of it is left.
        let _ = unsafe { munmap(self.start.cast(), self.size_bytes) };
    }
}

/// FIBMAP: the file system's block that holds a page of a file; 0 for a hole.
pub fn block_of(file: &File, page: u32) -> io::Result<u32> {
    const FIBMAP: libc::Ioctl = 1;
    let mut number = i32::try_from(page).map_err(io::Error::other)?;
    // SAFETY: the call reads and writes one int, borrowed for writing.
    match unsafe { libc::ioctl(file.as_raw_fd(), FIBMAP, &mut number) } {
        0 => Ok(number as u32),
        _ => Err(io::Error::last_os_error()),
    }
}

fn range_call(device: &File, request: libc::Ioctl, offset_bytes: u64, size_bytes: u64) -> io::Result<()> {
    let range = [offset_bytes, size_bytes];
    // SAFETY: both calls made this way read two numbers.
    match unsafe { libc::ioctl(device.as_raw_fd(), request, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// BLKDISCARD: content is no longer wanted.
pub fn discard(device: &File, offset_bytes: u64, size_bytes: u64) -> io::Result<()> {
    range_call(device, 0x1277, offset_bytes, size_bytes)
}

/// BLKZEROOUT: content is zeros from now on.
pub fn zero_out(device: &File, offset_bytes: u64, size_bytes: u64) -> io::Result<()> {
    range_call(device, 0x127f, offset_bytes, size_bytes)
}
