// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Swap areas: those in use, and making a new one.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::file::{read, Root};
use crate::page::PageSize;
use crate::{proc, sys};

/// A line of /proc/swaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// Device or file.
    pub path: PathBuf,
    /// Its size.
    pub size_bytes: u64,
    /// What of it is in use.
    pub used_bytes: u64,
    /// Areas of higher priority are filled first.
    pub priority: i32,
}

impl SwapArea {
    /// Number N if the area is `/dev/zramN`.
    pub fn zram_number(&self) -> Option<u32> {
        self.path.file_name()?.to_str()?.strip_prefix("zram")?.parse().ok()
    }
}

/// The swap areas in use; none where /proc/swaps cannot be read.
pub(crate) fn areas(root: &Root) -> Vec<SwapArea> {
    read(&root.join("proc/swaps")).map(|text| parse_swaps(&text)).unwrap_or_default()
}

/// Reads /proc/swaps; lines that make no sense are left out.
pub fn parse_swaps(text: &[u8]) -> Vec<SwapArea> {
    text.split(|&b| b == b'\n').skip(1).filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<SwapArea> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty());
    let path = PathBuf::from(std::ffi::OsString::from_vec(proc::unescape(fields.next()?)));
    let size_bytes = proc::number(fields.nth(1)?)?.checked_mul(1024)?;
    let used_bytes = proc::number(fields.next()?)?.checked_mul(1024)?;
    let priority = i32::try_from(proc::signed(fields.next()?)?).ok()?;
    Some(SwapArea { path, size_bytes, used_bytes, priority })
}

/// Makes a device of `size_bytes` a swap area of this kernel (mkswap's version 1 header: union swap_header in linux/swap.h).
pub fn make(device: &Path, size_bytes: u64) -> io::Result<()> {
    make_of(device, size_bytes, PageSize::of_system())
}

/// The same of a kernel with such pages: the signature ends the first of them, and the area is counted in them.
pub(crate) fn make_of(device: &Path, size_bytes: u64, page: PageSize) -> io::Result<()> {
    let header = header(size_bytes, page).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let file = OpenOptions::new().write(true).open(device)?;
    file.write_all_at(&header, 0)?;
    file.sync_all()
}

/// The first page; `None` for less than ten pages (mkswap's own bound) or more than the field can say.
fn header(size_bytes: u64, page: PageSize) -> Option<Vec<u8>> {
    let pages = size_bytes / page.bytes();
    let last_page = u32::try_from(pages.checked_sub(1)?).ok().filter(|&last| last >= 9)?;
    let page_bytes = usize::try_from(page.bytes()).ok()?;
    let mut page = vec![0; page_bytes];
    page[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&last_page.to_ne_bytes());
    page[1052..1057].copy_from_slice(b"fovea");
    page[page_bytes - 10..].copy_from_slice(b"SWAPSPACE2");
    Some(page)
}

/// `SWAP_FLAG_PREFER` and `SWAP_FLAG_PRIO_MASK` (linux/swap.h).
const PREFER: i32 = 0x8000;
const PRIORITY_MASK: i32 = 0x7fff;

/// Begins to use a swap area; a negative priority leaves the order to the kernel.
pub fn on(device: &Path, priority: i32) -> io::Result<()> {
    let flags = if priority < 0 { 0 } else { PREFER | priority.min(PRIORITY_MASK) };
    sys::swapon(device, flags)
}

/// Stops using a swap area, reading everything back; no error if it was not in use.
pub fn off(device: &Path) -> io::Result<()> {
    match sys::swapoff(device) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn several_areas_are_read() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
/dev/zram0                              partition\t262140\t\t1024\t\t100\n\
/swap\\040file                           file\t\t524284\t\t0\t\t-2\nbroken line\n";
        let areas = parse_swaps(text);
        assert_eq!(areas.len(), 2);
        assert_eq!((areas[0].zram_number(), areas[0].size_bytes, areas[0].priority), (Some(0), 262140 * 1024, 100));
        assert_eq!((areas[1].path.to_str(), areas[1].zram_number()), (Some("/swap file"), None));
        assert_eq!(areas[1].priority, -2);
    }

    #[test]
    fn the_header_is_mkswaps() {
        for (bytes, last_page) in [(4096, 255u32), (16384, 63), (65536, 15)] {
            let page = PageSize::new(bytes as u64).unwrap();
            let header = super::header(1 << 20, page).unwrap();
            assert_eq!((header.len(), &header[bytes - 10..]), (bytes, &b"SWAPSPACE2"[..]));
            assert_eq!(header[1028..1032], last_page.to_ne_bytes());
            for size_bytes in [9 * page.bytes(), 0, u64::MAX] {
                assert!(super::header(size_bytes, page).is_none(), "{size_bytes} bytes");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300), line in "h\n[^ ]{0,9} [a-z]{0,4}( -?[0-9]{0,25}){0,4}") {
            let _ = (parse_swaps(&text), parse_swaps(line.as_bytes()));
        }
    }
}
