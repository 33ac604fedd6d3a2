// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! libCacheSim's oracleGeneral: packed little-endian records {u32 time in s, u64 object, u32 size, i64 next access or -1}.

use super::{Format, Source};
use crate::Result;

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "oracle-general",
    about: "libCacheSim oracleGeneral binary",
    sniff: |head| {
        let (little, big) = (plausible(head, Raw::little), plausible(head, Raw::big));
        let records = head.len() / LENGTH;
        records > 0 && 100 * little.max(big) >= 95 * records
    },
    read,
};

const LENGTH: usize = 24;

struct Raw {
    time_s: u32,
    object: u64,
    size: u32,
    next: i64,
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

impl Raw {
    fn little(b: &[u8]) -> Self {
        Raw {
            time_s: u32::from_le_bytes(take(b, 0)),
            object: u64::from_le_bytes(take(b, 4)),
            size: u32::from_le_bytes(take(b, 12)),
            next: i64::from_le_bytes(take(b, 16)),
        }
    }

    fn big(b: &[u8]) -> Self {
        Raw {
            time_s: u32::from_be_bytes(take(b, 0)),
            object: u64::from_be_bytes(take(b, 4)),
            size: u32::from_be_bytes(take(b, 12)),
            next: i64::from_be_bytes(take(b, 16)),
        }
    }

    /// Next accesses count requests, so they are small; "never" is -1, or the largest number in older files.
    fn plausible_next(&self) -> bool {
        (-1..1 << 40).contains(&self.next) || self.next == i64::MAX
    }
}

/// How many records of a file's beginning make sense in a byte order: also beside the one before, for programs are full of small
/// numbers and zeros.
fn plausible(head: &[u8], read: fn(&[u8]) -> Raw) -> usize {
    let mut before_s = 0;
    let sense = head.chunks_exact(LENGTH).map(read).filter(|r| {
        let in_order = r.time_s >= before_s;
        before_s = r.time_s;
        in_order && r.plausible_next() && r.next != 0 && r.size < 1 << 30
    });
    sense.count()
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let head = source.peek(256 * LENGTH)?;
    let (little, big) = (plausible(&head, Raw::little), plausible(&head, Raw::big));
    if big > little {
        return Err(source.wrong_file(
            &format!("big-endian: {big} of the first records make sense so, {little} as the format's little-endian"),
            "swap the bytes of each field (4, 8, 4, 8)",
        ));
    }
    while let Some(bytes) = source.record::<LENGTH>()? {
        let raw = Raw::little(&bytes);
        if raw.plausible_next() {
            source.emit_object(u64::from(raw.time_s) * 1_000_000_000, "object", raw.object, raw.size.into())?;
        } else {
            source.bad_record(&format!("next access is {}", raw.next), "name the right format with --format")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;

    #[test]
    fn input_reads_packed_records() {
        let mut bytes = Vec::new();
        bytes.extend(7u32.to_le_bytes());
        bytes.extend(9u64.to_le_bytes());
        bytes.extend(512u32.to_le_bytes());
        bytes.extend((-1i64).to_le_bytes());
        let raw = Raw::little(&Input::from_bytes("t", &bytes).unwrap().record::<LENGTH>().unwrap().unwrap());
        assert_eq!((raw.time_s, raw.object, raw.size, raw.next), (7, 9, 512, -1));
    }
}
