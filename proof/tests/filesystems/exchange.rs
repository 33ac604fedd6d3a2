// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! XFS's feature "exchange range", set in the superblock as `mkfs.xfs -i exchange=1` does. That option came with xfsprogs 6.10: Debian 12
//! has an older one, whose `xfs_repair` refuses the feature.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use fovea_tests::kernel::{at, Outcome};

/// Offsets in the superblock (`struct xfs_dsb`); numbers are big-endian there, but for the checksum.
const SECTOR_BYTES_AT: usize = 102;
const INCOMPATIBLE_AT: usize = 216;
const CHECKSUM_AT: usize = 224;
/// XFS_SB_FEAT_INCOMPAT_EXCHRANGE.
const EXCHANGE: u32 = 1 << 6;
/// The first release of Linux with it.
const SINCE: (u32, u32) = (6, 10);

/// CRC-32C as XFS has it: of the whole sector, with zeros in its own place.
fn checksum(sector: &[u8]) -> u32 {
    !sector.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    })
}

/// Whether the kernel is of this release or a later one.
pub fn is_kernel_since(first: (u32, u32)) -> Outcome<bool> {
    let release = at("osrelease", fs::read_to_string("/proc/sys/kernel/osrelease"))?;
    let mut numbers = release.split(['.', '-', '+']).map_while(|part| part.parse().ok());
    Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= first)
}

/// Switches it on, where the kernel has it, or off, in the superblock of a file system that is not mounted.
pub fn set(node: &Path, on: bool) -> Outcome<()> {
    if !is_kernel_since(SINCE)? {
        return Ok(());
    }
    let file = at(node.display(), File::options().read(true).write(true).open(node))?;
    let mut sector = vec![0; 4096];
    at(node.display(), file.read_exact_at(&mut sector, 0))?;
    sector.truncate(usize::from(u16::from_be_bytes([sector[SECTOR_BYTES_AT], sector[SECTOR_BYTES_AT + 1]])));
    let field = |at: usize| [sector[at], sector[at + 1], sector[at + 2], sector[at + 3]];
    let (features, written) = (u32::from_be_bytes(field(INCOMPATIBLE_AT)), u32::from_le_bytes(field(CHECKSUM_AT)));
    sector[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    if checksum(&sector) != written {
        return Err(format!("{}: this is no superblock of XFS with checksums", node.display()));
    }
    let features = if on { features | EXCHANGE } else { features & !EXCHANGE };
    sector[INCOMPATIBLE_AT..INCOMPATIBLE_AT + 4].copy_from_slice(&features.to_be_bytes());
    let sum = checksum(&sector);
    sector[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
    at(node.display(), file.write_all_at(&sector, 0).and_then(|()| file.sync_all()))
}
