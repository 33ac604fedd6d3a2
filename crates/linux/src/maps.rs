// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The private writable mappings of a process, one at a time from an address on.
//!
//! Since 6.11 the kernel answers for a single mapping (PROCMAP_QUERY), which spares it the formatting and us the parsing of the
//! hundreds of read-only library mappings in between. Before that, /proc/PID/maps is read as a stream.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use memchr::memchr;

use crate::page::PageSize;
use crate::proc;
use crate::sys::{procmap_query, ProcmapQuery};

/// A mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Whether it has no file behind it.
    pub anonymous: bool,
}

const QUERY_WRITABLE: u64 = 0x02;
const QUERY_SHARED: u64 = 0x08;
const QUERY_COVERING_OR_NEXT: u64 = 0x10;

/// Text read at a time: what the kernel gives at a time.
const BUFFER_BYTES: usize = 4096;

/// A process's mappings.
#[derive(Debug)]
pub(crate) struct Maps {
    fd: OwnedFd,
    query: bool,
    text: Vec<u8>,
    /// Bytes of `text` consumed.
    used: usize,
    /// Bytes of the file read.
    offset: u64,
    /// Last mapping read from the text, which a later question may ask for again.
    last: Option<Mapping>,
}

impl Maps {
    /// Takes an open /proc/PID/maps.
    pub(crate) fn new(fd: OwnedFd) -> Maps {
        Maps { fd, query: true, text: Vec::new(), used: 0, offset: 0, last: None }
    }

    /// The private writable mapping that holds `address`, or the next one. Addresses must not descend from call to call.
    pub(crate) fn next(&mut self, address: u64) -> io::Result<Option<Mapping>> {
        if self.query {
            match self.next_by_query(address) {
                // EINVAL: something that is not a maps file of a kernel with the query, e.g. a captured one.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => self.query = false,
                result => return result,
            }
        }
        self.next_by_text(address)
    }

    fn next_by_query(&self, mut address: u64) -> io::Result<Option<Mapping>> {
        loop {
            let mut query = ProcmapQuery::at(address, QUERY_COVERING_OR_NEXT | QUERY_WRITABLE);
            match procmap_query(self.fd.as_fd(), &mut query) {
                Ok(()) => (),
                Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
                Err(e) => return Err(e),
            }
            // hugetlb pages are larger than a page, cannot be paged out, and are always file-backed.
            if query.vma_flags & QUERY_SHARED == 0 && query.vma_page_size == PageSize::of_system().bytes() {
                let (start, end) = (query.vma_start, query.vma_end);
                return Ok(Some(Mapping { start, end, anonymous: query.inode == 0 }));
            }
            address = query.vma_end;
        }
    }

    fn next_by_text(&mut self, address: u64) -> io::Result<Option<Mapping>> {
        if let Some(last) = self.last.filter(|m| m.end > address) {
            return Ok(Some(last));
        }
        loop {
            while let Some(length) = memchr(b'\n', &self.text[self.used..]) {
                let line = &self.text[self.used..self.used + length];
                self.used += length + 1;
                if let Some(mapping) = parse_line(line).filter(|m| m.end > address) {
                    self.last = Some(mapping);
                    return Ok(Some(mapping));
                }
            }
            self.text.drain(..self.used);
            self.used = 0;
            self.text.reserve(BUFFER_BYTES);
            let spare = rustix::buffer::spare_capacity(&mut self.text);
            let got = rustix::io::pread(&self.fd, spare, self.offset)?;
            self.offset += got as u64;
            if got == 0 {
                self.last = None;
                return Ok(None);
            }
        }
    }
}

/// Reads a line of /proc/PID/maps; `None` unless it is a private writable mapping of memory that can be paged.
pub(crate) fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let permissions = fields.next()?;
    if permissions.get(1) != Some(&b'w') || permissions.get(3) != Some(&b'p') || start >= end {
        return None;
    }
    let inode = proc::number(fields.nth(2)?)?;
    let name = fields.next().unwrap_or_default().trim_ascii();
    // Device memory and huge pages cannot be paged out; the kernel's own pages ([vvar], [vdso], [vsyscall]) are not the app's.
    let foreign = [&b"/dev/"[..], b"/anon_hugepage", b"[v"].iter().any(|prefix| name.starts_with(prefix));
    (!foreign || name.starts_with(b"/dev/zero")).then_some(Mapping { start, end, anonymous: inode == 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const TEXT: &str = "\
00400000-00401000 r--p 00000000 fe:01 42                                 /bin/app
00401000-00403000 rw-p 00001000 fe:01 42                                 /bin/app
01000000-01800000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000100000 rw-s 00000000 00:01 7                          /dev/shm/x
7f0000200000-7f0000300000 rw-p 00000000 00:06 9                          /dev/gpu
7f0000300000-7f0000400000 ---p 00000000 00:00 0 \n\
7f0000400000-7f0000500000 rw-p 00000000 00:00 0 \n\
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
7ffd00031000-7ffd00033000 rw-p 00000000 00:00 0                          [vvar]
";

    fn maps_of(text: &[u8]) -> Maps {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        Maps::new(file.into())
    }

    fn all(maps: &mut Maps) -> Vec<Mapping> {
        let mut found: Vec<Mapping> = Vec::new();
        while let Some(mapping) = maps.next(found.last().map_or(0, |m| m.end)).unwrap() {
            found.push(mapping);
        }
        found
    }

    #[test]
    fn private_writable_mappings_are_found_in_order() {
        let found = all(&mut maps_of(TEXT.as_bytes()));
        let starts: Vec<_> = found.iter().map(|m| (m.start, m.anonymous)).collect();
        let expected = [(0x401000, false), (0x1000000, true), (0x7f0000400000, true), (0x7ffd00000000, true)];
        assert_eq!(starts, expected);
    }

    #[test]
    fn asking_again_within_a_mapping_gives_it_again() {
        let mut maps = maps_of(TEXT.as_bytes());
        assert_eq!(maps.next(0x1400000).unwrap().unwrap().start, 0x1000000);
        assert_eq!(maps.next(0x1500000).unwrap().unwrap().start, 0x1000000);
        assert_eq!(maps.next(0x1800000).unwrap().unwrap().start, 0x7f0000400000);
    }

    #[test]
    fn lines_longer_than_the_buffer_are_read_whole() {
        let long = format!("1000-2000 rw-p 0 00:00 0 {}\n3000-4000 rw-p 0 00:00 0\n", "x".repeat(3 * BUFFER_BYTES));
        assert_eq!(all(&mut maps_of(long.as_bytes())).len(), 2);
    }

    #[test]
    fn the_running_kernels_answer_agrees_with_its_text() {
        let open = || Maps::new(std::fs::File::open("/proc/self/maps").unwrap().into());
        let (mut query, mut text) = (open(), open());
        text.query = false;
        // Other test threads map and unmap meanwhile; the program's own data segment stays where it is.
        static DATA: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(1);
        let address = DATA.as_ptr() as u64;
        let (query, text) = (query.next(address).unwrap().unwrap(), text.next(address).unwrap().unwrap());
        assert_eq!(query, text);
        assert!(query.start <= address && address < query.end);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_line(&text);
            all(&mut maps_of(&text));
        }

        #[test]
        fn broken_lines_are_read_without_panic(text in "[0-9a-f]{0,17}-?[0-9a-f]{0,17} ?[rwxps-]{0,4} [0-9a-f ]{0,9}(00:00)? ?[0-9]{0,30}") {
            let _ = parse_line(text.as_bytes());
        }
    }
}
