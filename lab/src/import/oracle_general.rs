// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! libCacheSim's oracleGeneral: packed little-endian records {u32 time in s, u64 object, u32 size, i64 next access or -1}.

use super::{Format, Source, JUMP_NS};
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

/// Records decoded at a time: their columns stay in the first-level cache.
const BATCH: usize = 1024;

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
    let mut batch = Batch::new();
    loop {
        if let Some(last_ns) = source.last_ns() {
            let rows = batch.decode(source.records_at_hand(LENGTH), last_ns);
            if rows > 0 {
                let (times_ns, objects, sizes) =
                    (&batch.times_ns[..rows], &batch.objects[..rows], &batch.sizes[..rows]);
                source.emit_objects("object", times_ns, objects, sizes, LENGTH)?;
                continue;
            }
        }
        let Some(bytes) = source.record::<LENGTH>()? else { return Ok(()) };
        let raw = Raw::little(&bytes);
        if raw.plausible_next() {
            source.emit_object(u64::from(raw.time_s) * 1_000_000_000, "object", raw.object, raw.size.into())?;
        } else {
            source.bad_record(&format!("next access is {}", raw.next), "name the right format with --format")?;
        }
    }
}

/// Records as columns.
struct Batch {
    times_ns: Vec<u64>,
    objects: Vec<u64>,
    sizes: Vec<u64>,
}

impl Batch {
    fn new() -> Self {
        Batch { times_ns: vec![0; BATCH], objects: vec![0; BATCH], sizes: vec![0; BATCH] }
    }

    /// Decodes records up to the first that wants a closer look: one that is bad, or before which time goes back or jumps. Returns how
    /// many.
    fn decode(&mut self, bytes: &[u8], mut last_ns: u64) -> usize {
        let columns = self.times_ns.iter_mut().zip(&mut self.objects).zip(&mut self.sizes);
        let mut rows = 0;
        for (bytes, ((time_ns, object), size)) in bytes.chunks_exact(LENGTH).zip(columns) {
            let raw = Raw::little(bytes);
            let now_ns = u64::from(raw.time_s) * 1_000_000_000;
            // Back is a jump by far, without a sign.
            if now_ns.wrapping_sub(last_ns) >= JUMP_NS || !raw.plausible_next() {
                break;
            }
            (*time_ns, *object, *size) = (now_ns, raw.object, raw.size.into());
            last_ns = now_ns;
            rows += 1;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        import::{parse_bytes, ImportOptions, Order, Tally},
        input::Input,
    };
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        /// Batches end at bad records, at jumps and where time goes back, wherever these are.
        #[test]
        fn batches_give_what_records_one_by_one_give(
            odd in prop::collection::btree_map(0..5000usize, 0..3u8, 0..8),
            length in 0..5000usize,
        ) {
            let (mut bytes, mut expected, mut now_s, mut tally) = (Vec::new(), Vec::new(), 100_000u32, Tally::default());
            for at in 0..=length {
                let (mut next, before_s) = (-1i64, now_s);
                match odd.get(&at) {
                    Some(0) => next = -2,
                    Some(1) => now_s -= 7,
                    Some(2) => now_s += 6 * 3600,
                    _ => now_s += (at % 3) as u32,
                }
                for part in [&now_s.to_le_bytes()[..], &(at as u64 % 99).to_le_bytes(), &9u32.to_le_bytes(), &next.to_le_bytes()] {
                    bytes.extend(part);
                }
                if next == -2 {
                    *tally.dropped.entry("bad records".into()).or_default() += 1;
                    continue;
                }
                expected.push((u64::from(now_s) * 1_000_000_000, at as u64 % 99, Some(9)));
                let (records, ns) = (expected.len() as u64, |s: u32| u64::from(s) * 1_000_000_000);
                tally.backwards += u64::from(records > 1 && now_s < before_s);
                tally.jumps.look(records, ns(before_s), ns(now_s));
            }
            prop_assume!(!expected.is_empty());
            let options = ImportOptions { order: Order::Keep, skip_bad: true, ..ImportOptions::default() };
            let (records, told) = parse_bytes(&FORMAT, &bytes, &options).unwrap();
            let records: Vec<_> = records.iter().map(|r| (r.time_ns, r.object, r.size_bytes)).collect();
            prop_assert_eq!(records, expected);
            prop_assert_eq!(told, tally);
            let options = ImportOptions { order: Order::Reject, ..options };
            let back = (1..=length).find(|at| odd.get(at) == Some(&1));
            match (back, parse_bytes(&FORMAT, &bytes, &options)) {
                (Some(at), Err(error)) => {
                    let place = format!("input: record {}: time goes back by ", at + 1);
                    prop_assert!(error.to_string().starts_with(&place), "{} and not {}", error, place);
                }
                (back, parsed) => prop_assert!(back.is_none() && parsed.is_ok() || odd.get(&0) == Some(&0)),
            }
        }
    }

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
