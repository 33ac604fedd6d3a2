// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One checksum over a whole trace file (XXH64), which is also the content's name. It stands in the file's own metadata, and is taken
//! with zeros in its place. Parquet's page checksums would leave out page headers and the footer.

use std::{
    fs::File,
    hash::Hasher,
    io::{self, Error, Read, Seek, SeekFrom},
    os::unix::fs::FileExt,
    path::Path,
};

use twox_hash::XxHash64;

pub(super) const KEY: &str = "fovea.trace.checksum";
/// What stands there until the checksum is known.
pub(super) const PLACE: &str = "xxh64:0000000000000000";
const DIGITS: usize = 16;
const BUFFER_BYTES: usize = 1 << 18;
/// The footer's length and the magic number behind it.
const TAIL_BYTES: u64 = 8;
/// Footers are some hundred bytes a row group and column.
const LONGEST_FOOTER_BYTES: u64 = 1 << 30;

/// A checksum in the making.
pub struct Checksum(XxHash64);

impl Default for Checksum {
    fn default() -> Self {
        Checksum(XxHash64::with_seed(0))
    }
}

impl Checksum {
    /// Takes the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The checksum.
    pub fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// The checksum of any file.
///
/// # Errors
/// If it cannot be read.
pub fn checksum_of(path: &Path) -> io::Result<u64> {
    of(&mut File::open(path)?, None)
}

/// The checksum of a file from its beginning, with zeros at `place`.
fn of(file: &mut File, place: Option<u64>) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let (mut checksum, mut buffer, mut at) = (Checksum::default(), vec![0; BUFFER_BYTES], 0);
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(checksum.finish()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        if let Some(place) = place {
            let (first, last) = (place.max(at), (place + DIGITS as u64).min(at + count as u64));
            if first < last {
                buffer[(first - at) as usize..(last - at) as usize].fill(b'0');
            }
        }
        checksum.add(&buffer[..count]);
        at += count as u64;
    }
}

/// Where the digits stand: behind the key and the string's header, as Thrift's compact protocol writes a pair of strings.
fn find(file: &File) -> io::Result<Option<(u64, String)>> {
    let length = file.metadata()?.len();
    let mut tail = [0; TAIL_BYTES as usize];
    let Some(end) = length.checked_sub(TAIL_BYTES) else { return Ok(None) };
    file.read_exact_at(&mut tail, end)?;
    let footer_bytes = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let Some(start) = end.checked_sub(footer_bytes).filter(|_| footer_bytes < LONGEST_FOOTER_BYTES) else {
        return Ok(None);
    };
    let mut footer = vec![0; footer_bytes as usize];
    file.read_exact_at(&mut footer, start)?;
    let head = PLACE.len() - DIGITS;
    let before = [KEY.as_bytes(), &[0x18, PLACE.len() as u8], &PLACE.as_bytes()[..head]].concat();
    let found = footer.windows(before.len()).position(|window| window == before).map(|at| at + before.len());
    Ok(found.and_then(|at| {
        let digits = footer.get(at..at + DIGITS)?;
        Some((start + at as u64, String::from_utf8_lossy(digits).into_owned()))
    }))
}

/// Puts a checksum into a file that was written with [`PLACE`].
pub(super) fn put(file: &File, checksum: Checksum) -> io::Result<()> {
    let (place, _) = find(file)?.ok_or_else(|| Error::other("the new file has no place for its checksum"))?;
    file.write_all_at(format!("{:016x}", checksum.finish()).as_bytes(), place)
}

/// A file's content by name, and whether it is what the file says it is; `None` if it says nothing.
pub(super) fn check(file: &mut File) -> io::Result<(u64, Option<bool>)> {
    let found = find(file)?;
    let is = of(file, found.as_ref().map(|f| f.0))?;
    Ok((is, found.map(|(_, digits)| digits == format!("{is:016x}"))))
}
