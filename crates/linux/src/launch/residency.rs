// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which pages of a file are in the page cache, and reading some into it.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use crate::file::retry;

/// Pages that are asked about at once: 256 MiB of addresses, 64 KiB of answers.
const AT_ONCE: u64 = 65_536;

/// Whether each of these pages of a file is in the page cache. The kernel tells the owner of the file, who may write to it, and
/// CAP_FOWNER; to anybody else every page seems to be (mm/mincore.c, can_do_mincore).
pub fn resident(file: impl AsFd, pages: Range<u32>) -> io::Result<Vec<bool>> {
    let bytes = super::page_bytes();
    let mut flags = Vec::with_capacity(pages.len());
    let mut answer = Vec::new();
    for first in (u64::from(pages.start)..pages.end.into()).step_by(AT_ONCE as usize) {
        let count = (u64::from(pages.end) - first).min(AT_ONCE);
        answer.clear();
        answer.resize(count as usize, 0u8);
        asked(file.as_fd().as_raw_fd(), first * bytes, (count * bytes) as usize, &mut answer)?;
        flags.extend(answer.iter().map(|page| page & 1 != 0));
    }
    Ok(flags)
}

fn asked(file: libc::c_int, offset: u64, length: usize, answer: &mut [u8]) -> io::Result<()> {
    let none = std::ptr::null_mut();
    let offset = libc::off_t::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody touches.
    let at = unsafe { libc::mmap(none, length, libc::PROT_NONE, libc::MAP_SHARED, file, offset) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping's, and the kernel writes a byte for each of its pages, as many as `answer` has.
    let status = unsafe { libc::mincore(at, length, answer.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping was made above, and nobody has a reference into it.
    unsafe { libc::munmap(at, length) };
    (status == 0).then_some(()).ok_or(error)
}

/// Starts to read pages into the page cache; waits for the device's queue, not for the pages.
pub fn read_ahead(file: impl AsFd, pages: &Range<u32>) -> io::Result<()> {
    let bytes = super::page_bytes();
    let length = u64::from(pages.end - pages.start) * bytes;
    let (offset, fd) = (u64::from(pages.start) * bytes, file.as_fd().as_raw_fd());
    let wrong = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let offset = libc::off64_t::try_from(offset).map_err(wrong)?;
    // SAFETY: takes integers only.
    match unsafe { libc::readahead(fd, offset, length as usize) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until a page is in memory.
pub fn read_page(file: impl AsFd, page: u32) -> io::Result<()> {
    let mut byte = [0u8];
    retry(|| rustix::io::pread(&file, &mut byte, u64::from(page) * super::page_bytes())).map(drop)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_was_cut_short_meanwhile_does_no_harm() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1u8; 64 * super::super::page_bytes() as usize]).unwrap();
        file.set_len(1).unwrap();
        assert_eq!(resident(&file, 0..64).unwrap().len(), 64);
        read_ahead(&file, &(0..64)).unwrap();
        read_page(&file, 63).unwrap();
    }

    #[test]
    fn pages_that_were_read_ahead_are_resident_and_others_are_not() {
        // On the target folder's file system: a file of tmpfs is always in memory.
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1u8; 64 * super::super::page_bytes() as usize]).unwrap();
        file.sync_all().unwrap();
        assert!(resident(&file, 0..64).unwrap().iter().all(|&page| page));
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        if resident(&file, 0..64).unwrap().iter().any(|&page| page) {
            eprintln!("skipped: this file system keeps what it is told to drop");
            return;
        }
        read_ahead(&file, &(8..16)).unwrap();
        read_page(&file, 15).unwrap();
        let flags = resident(&file, 0..64).unwrap();
        assert!(flags[8..16].iter().all(|&page| page), "{flags:?}");
        assert!(flags[48..].iter().all(|&page| !page), "{flags:?}");
    }
}
