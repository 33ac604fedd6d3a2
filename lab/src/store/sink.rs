// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where a trace file's bytes go until it is whole. A recording cannot be made again, so it may hold disk space in reserve: once the
//! disk is full the reserve is given up, what is under way still gets its place, and so does the file's end.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::checksum::Checksum;

/// Larger than what any file system compresses at once.
const BLOCK_BYTES: usize = 256 << 10;

/// A temporary file beside its final place.
pub(super) struct Sink {
    pub file: NamedTempFile,
    /// Of all bytes written.
    pub checksum: Checksum,
    reserve: Option<NamedTempFile>,
    full: bool,
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    tempfile::Builder::new().prefix(".fovea-trace-").permissions(permissions).tempfile_in(folder)
}

impl Sink {
    /// Makes one for a file in this folder.
    pub fn create(folder: &Path, reserve_bytes: usize) -> io::Result<Sink> {
        let mut reserve = None;
        if reserve_bytes > 0 {
            let mut file = temporary(folder)?;
            // Written and not merely allocated: that holds on every file system that does not compress. Not all zeros, for those that do.
            let mut word = 0x9e37_79b9_7f4a_7c15u64;
            let mut next = || {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                word.to_ne_bytes()
            };
            let block: Vec<u8> = (0..BLOCK_BYTES / 8).flat_map(|_| next()).collect();
            for at in (0..reserve_bytes).step_by(BLOCK_BYTES) {
                file.write_all(&block[..BLOCK_BYTES.min(reserve_bytes - at)])?;
            }
            file.as_file().sync_data()?;
            reserve = Some(file);
        }
        Ok(Sink { file: temporary(folder)?, checksum: Checksum::default(), reserve, full: false })
    }

    /// Whether the reserve had to be given up: nothing more should come.
    pub fn is_full(&self) -> bool {
        self.full
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.write_to_disk(bytes)?;
        self.checksum.add(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink {
    fn write_to_disk(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(e) if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                self.full = true;
                match self.reserve.take() {
                    None => Err(e),
                    Some(reserve) => {
                        reserve.close()?;
                        self.file.write(bytes)
                    }
                }
            }
            written => written,
        }
    }
}
