// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Rows of plain numbers and texts, which most rows of most tables are, decoded into columns in one pass over their bytes. Every other row
//! is left to the reader of single rows, which also says what is wrong with it.

use super::{
    layout::Layout,
    text_ids::{TextIds, NUMBERS},
    words::{self, Does},
};
use crate::{
    import::{Source, JUMP_NS},
    input::LINE_LIMIT_BYTES,
    Result,
};

/// Rows decoded at a time: their columns stay in the first-level cache.
const BATCH: usize = 1024;

/// Words of operations that are remembered.
const MOST_WORDS: usize = 16;

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    /// Nothing that is asked for.
    Other,
    Time,
    Id,
    Size,
    Op,
}

/// Decodes plain rows of a table of objects.
pub(super) struct Plain {
    cells: Vec<Cell>,
    delimiter: u8,
    /// The power of ten that makes nanoseconds of a time; none where rows have no times.
    power: Option<u32>,
    /// Words seen, and whether they write.
    words: Vec<(Vec<u8>, bool)>,
    numeric_ops: bool,
    space: &'static str,
    times_ns: Vec<u64>,
    objects: Vec<u64>,
    sizes: Vec<u64>,
    writes: Vec<bool>,
}

/// A row, decoded.
struct Row<'a> {
    time: u64,
    id: &'a [u8],
    size: u64,
    write: bool,
    /// Bytes, its end included.
    length: usize,
}

impl Plain {
    /// Nothing for a table with rows of another kind: requests to disks, counts, dates, sums of sizes.
    pub fn of(layout: &Layout) -> Option<Plain> {
        let id = layout.id?;
        let several = layout.sizes.len() > 1 || layout.count.is_some() || layout.offset.is_some();
        if several || layout.delimiter == b' ' {
            return None;
        }
        let power = match layout.time {
            Some((_, unit)) => Some(unit.power()? as u32),
            None => None,
        };
        let mut cells = vec![Cell::Other; layout.columns];
        let times = layout.time.map(|(at, _)| (at, Cell::Time));
        let sizes = layout.sizes.first().map(|&at| (at, Cell::Size));
        let ops = layout.op.map(|at| (at, Cell::Op));
        for (at, cell) in [Some((id, Cell::Id)), times, sizes, ops].into_iter().flatten() {
            // A column that is said to be two things.
            if std::mem::replace(&mut cells[at], cell) != Cell::Other {
                return None;
            }
        }
        Some(Plain {
            cells,
            delimiter: layout.delimiter,
            power,
            words: Vec::new(),
            numeric_ops: layout.numeric_ops,
            space: NUMBERS,
            times_ns: Vec::with_capacity(BATCH),
            objects: Vec::with_capacity(BATCH),
            sizes: Vec::with_capacity(BATCH),
            writes: Vec::with_capacity(BATCH),
        })
    }

    /// Takes plain rows from the start of `lines`: of one namespace, in which time neither goes back nor jumps. `number` is that of the line
    /// before them. Returns how many rows and bytes.
    pub fn decode(&mut self, lines: &[u8], ids: &mut TextIds, mut last_ns: u64, number: u64) -> (usize, usize) {
        for column in [&mut self.times_ns, &mut self.objects, &mut self.sizes] {
            column.clear();
        }
        self.writes.clear();
        let mut at = 0;
        while self.objects.len() < BATCH {
            let Some(row) = self.row(&lines[at..]) else { break };
            let time_ns = match self.power {
                Some(_) => row.time,
                None => number + self.objects.len() as u64 + 1,
            };
            // Back is a jump by far, without a sign.
            if time_ns.wrapping_sub(last_ns) >= JUMP_NS {
                break;
            }
            let Ok((space, object)) = ids.object(row.id) else { break };
            if self.objects.is_empty() {
                self.space = space;
            } else if !std::ptr::eq(self.space, space) {
                break;
            }
            self.times_ns.push(time_ns);
            self.objects.push(object);
            self.sizes.push(row.size);
            self.writes.push(row.write);
            last_ns = time_ns;
            at += row.length;
        }
        (self.objects.len(), at)
    }

    /// Gives the rows decoded last to the trace.
    pub fn emit(&self, source: &mut Source<'_>) -> Result<()> {
        let writes = if self.writes.contains(&true) { &self.writes[..] } else { &[] };
        source.emit_lines(self.space, [&self.times_ns, &self.objects, &self.sizes], writes)
    }

    /// The row at the start of `lines`, if it is a plain one.
    #[inline]
    fn row<'a>(&mut self, lines: &'a [u8]) -> Option<Row<'a>> {
        let mut row = Row { time: 0, id: &[], size: 1, write: false, length: 0 };
        let mut at = 0;
        for column in 0..self.cells.len() {
            let start = at;
            match self.cells[column] {
                Cell::Time => (row.time, at) = self.time(lines, start)?,
                Cell::Size => {
                    let (size, digits) = digits(&lines[start..]);
                    if !(1..=19).contains(&digits) {
                        return None;
                    }
                    (row.size, at) = (size, start + digits);
                }
                cell => {
                    // Most ids are numbers.
                    at = if cell == Cell::Id { start + digits(&lines[start..]).1 } else { start };
                    at += lines[at..].iter().position(|&byte| byte == self.delimiter || byte <= b'"')?;
                    let field = &lines[start..at];
                    match cell {
                        Cell::Id => row.id = field,
                        Cell::Op => row.write = self.writes(field)?,
                        _ => {}
                    }
                }
            }
            // Else a quote, a blank or anything else that wants a closer look.
            let end = if column + 1 < self.cells.len() { self.delimiter } else { b'\n' };
            at += usize::from(end == b'\n' && lines.get(at) == Some(&b'\r'));
            if lines.get(at) != Some(&end) {
                return None;
            }
            at += 1;
        }
        row.length = at;
        (at <= LINE_LIMIT_BYTES).then_some(row)
    }

    /// A time in nanoseconds, and where it ends.
    #[inline]
    fn time(&self, lines: &[u8], start: usize) -> Option<(u64, usize)> {
        let power = self.power?;
        let (whole, count) = digits(&lines[start..]);
        if !(1..=19).contains(&count) {
            return None;
        }
        let whole_ns = whole.checked_mul(10u64.pow(power))?;
        let at = start + count;
        if lines.get(at) != Some(&b'.') {
            return Some((whole_ns, at));
        }
        let (fraction, places) = digits(&lines[at + 1..]);
        if !(1..=power as usize).contains(&places) {
            return None;
        }
        let fraction_ns = fraction.checked_mul(10u64.pow(power - places as u32))?;
        Some((whole_ns.checked_add(fraction_ns)?, at + 1 + places))
    }

    /// Whether an operation writes; nothing for one that is not known, or deletes.
    fn writes(&mut self, word: &[u8]) -> Option<bool> {
        if let Some((_, write)) = self.words.iter().find(|(known, _)| known == word) {
            return Some(*write);
        }
        let write = match words::does(word, self.numeric_ops)? {
            Does::Read => false,
            Does::Write => true,
            Does::Delete => return None,
        };
        if self.words.len() < MOST_WORDS {
            self.words.push((word.to_vec(), write));
        }
        Some(write)
    }
}

const POWERS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that the digits at the start of a text are, and how many they are; of more than 19 only that they are more.
#[inline]
fn digits(text: &[u8]) -> (u64, usize) {
    let (mut number, mut count) = (0u64, 0);
    // Eight bytes at a time.
    while let Some(word) = text.get(count..count + 8).and_then(|bytes| bytes.try_into().ok()) {
        let values = u64::from_le_bytes(word) ^ 0x3030_3030_3030_3030;
        // The upper bit of each byte that is no digit. A carry goes to bytes behind it only.
        let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
        let here = (others.trailing_zeros() / 8) as usize;
        if here == 0 || count + here > 19 {
            return (number, count + here);
        }
        // Zeros before them instead of what is behind them.
        let eight = values << (64 - 8 * here);
        number = number * POWERS[here] + of_eight(eight);
        count += here;
        if here < 8 {
            return (number, count);
        }
    }
    for byte in &text[count..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || count > 19 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (number, count)
}

/// The number of eight digits, the first in the lowest byte: pairs, then fours, then all.
#[inline]
fn of_eight(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let lower = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    upper.wrapping_add(lower) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_read_as_numbers_are(text in "[0-9]{0,21}[,.a\n ]{0,2}[0-9a/:]{0,9}") {
            let count = text.bytes().take_while(u8::is_ascii_digit).count();
            let (number, found) = digits(text.as_bytes());
            prop_assert_eq!(found.min(20), count.min(20));
            if (1..=19).contains(&count) {
                prop_assert_eq!(number, text[..count].parse::<u64>().unwrap());
            }
        }
    }
}
