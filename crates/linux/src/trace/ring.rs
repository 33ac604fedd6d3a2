// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A page of the kernel's ring buffer as `trace_pipe_raw` hands it out (include/linux/ring_buffer.h; `events/header_page` and
//! `events/header_event` describe it). The bit fields are those of a little-endian machine, or of a big-endian one when built for it.

use super::format::{field, Field};

/// Where things lie in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    timestamp: usize,
    commit: usize,
    commit_size: usize,
    data: usize,
    page: usize,
}

/// `commit` holds the length of the data and, above, what was lost before the page (`RB_MISSED_*`).
const COMMIT_MASK: u64 = (1 << 27) - 1;
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

/// Sizes of pages the kernel can be set to (`buffer_subbuf_size_kb`); others are taken for nonsense.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// What was lost before a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lost {
    /// Nothing.
    #[default]
    None,
    /// So many events.
    Some(u64),
    /// Some events; there was no room to say how many.
    Unknown,
}

impl Layout {
    /// Reads `events/header_page`; `None` if a field is missing or the sizes make no sense.
    pub fn parse(text: &str) -> Option<Layout> {
        let fields: Vec<Field> = text.lines().filter_map(field).collect();
        let get = |name: &str| fields.iter().find(|f| f.name == name);
        let (timestamp, commit, data) = (get("timestamp")?, get("commit")?, get("data")?);
        let page = data.offset.checked_add(data.size)?;
        let fits = timestamp.size == 8
            && matches!(commit.size, 4 | 8)
            && timestamp.offset.checked_add(8)? <= data.offset
            && commit.offset.checked_add(commit.size)? <= data.offset
            && page <= PAGE_BYTES_MAX;
        fits.then_some(Layout {
            timestamp: timestamp.offset,
            commit: commit.offset,
            commit_size: commit.size,
            data: data.offset,
            page,
        })
    }

    /// Bytes of a page: what to read at a time.
    pub fn page_bytes(&self) -> usize {
        self.page
    }

    /// The events of a page, and what was lost before it. `None` if the page is shorter than its header says.
    pub fn open<'p>(&self, page: &'p [u8]) -> Option<(Lost, Events<'p>)> {
        let base_ns = u64::from_ne_bytes(bytes(page, self.timestamp)?);
        let commit = match self.commit_size {
            8 => u64::from_ne_bytes(bytes(page, self.commit)?),
            _ => u64::from(u32::from_ne_bytes(bytes(page, self.commit)?)),
        };
        let length = usize::try_from(commit & COMMIT_MASK).ok()?;
        let end = self.data.checked_add(length)?;
        let data = page.get(self.data..end)?;
        let lost = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Lost::None,
            (true, false) => Lost::Unknown,
            // An unsigned long right behind the data.
            (true, true) => Lost::Some(match self.commit_size {
                8 => u64::from_ne_bytes(bytes(page, end)?),
                _ => u64::from(u32::from_ne_bytes(bytes(page, end)?)),
            }),
        };
        Some((lost, Events { data, at: 0, time_ns: base_ns, damaged: false }))
    }
}

/// The events of a page, in order.
#[derive(Debug)]
pub struct Events<'p> {
    data: &'p [u8],
    at: usize,
    time_ns: u64,
    damaged: bool,
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The kernel keeps 59 bits of an absolute time; the rest is that of the time before (`TS_MSB`, kernel/trace/ring_buffer.c).
const ABSOLUTE_BITS: u32 = 59;

/// Type and time of an event's head.
fn head(word: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (word & 31, u64::from(word >> 5))
    } else {
        (word >> 27, u64::from(word & ((1 << 27) - 1)))
    }
}

impl<'p> Events<'p> {
    /// Whether the page broke off in the middle of something; to be asked at the end.
    pub fn damaged(&self) -> bool {
        self.damaged
    }

    fn word(&mut self) -> Option<u32> {
        let word = u32::from_ne_bytes(bytes(self.data, self.at)?);
        self.at += 4;
        Some(word)
    }

    /// Takes so many bytes.
    fn take(&mut self, length: usize) -> Option<&'p [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.data.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn step(&mut self) -> Option<Step<'p>> {
        let (kind, delta) = head(self.word()?);
        Some(match kind {
            // No time: nothing but padding up to the end of the page.
            29 if delta == 0 => {
                self.at = self.data.len();
                Step::Nothing
            }
            // Its length counts itself.
            29 => {
                let length = self.word()? as usize;
                self.take(length.checked_sub(4)?)?;
                self.time_ns = self.time_ns.wrapping_add(delta);
                Step::Nothing
            }
            30 => {
                let high = u64::from(self.word()?);
                self.time_ns = self.time_ns.wrapping_add((high << 27) + delta);
                Step::Nothing
            }
            31 => {
                let absolute = (u64::from(self.word()?) << 27) + delta;
                self.time_ns = absolute | (self.time_ns >> ABSOLUTE_BITS << ABSOLUTE_BITS);
                Step::Nothing
            }
            0 => {
                let length = self.word()? as usize;
                self.time_ns = self.time_ns.wrapping_add(delta);
                Step::Event(self.take(length.checked_sub(4)?)?)
            }
            words => {
                self.time_ns = self.time_ns.wrapping_add(delta);
                Step::Event(self.take(words as usize * 4)?)
            }
        })
    }
}

enum Step<'p> {
    Event(&'p [u8]),
    Nothing,
}

impl<'p> Iterator for Events<'p> {
    /// When, and the event from its `common_type` on.
    type Item = (u64, &'p [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            match self.step() {
                Some(Step::Event(event)) => return Some((self.time_ns, event)),
                Some(Step::Nothing) => (),
                None => {
                    self.damaged = true;
                    self.at = self.data.len();
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = include_str!("../../tests/fixtures/trace-6.12/events/header_page");

    fn layout() -> Layout {
        Layout::parse(HEADER).unwrap()
    }

    /// A page of a little-endian machine with these words as data.
    fn page(time_ns: u64, flags: u64, words: &[u32]) -> Vec<u8> {
        let mut page = time_ns.to_ne_bytes().to_vec();
        page.extend((flags | (words.len() as u64 * 4)).to_ne_bytes());
        page.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        page.resize(4096, 0xaa);
        page
    }

    fn read(page: &[u8]) -> (Lost, Vec<(u64, Vec<u8>)>, bool) {
        let (lost, mut events) = layout().open(page).unwrap();
        let all = events.by_ref().map(|(t, e)| (t, e.to_vec())).collect();
        (lost, all, events.damaged())
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn times_add_up_over_every_kind_of_record() {
        let words = [
            1 | 5 << 5, // one word of data, 5 ns later
            7,
            30 | 3 << 5, // time extend: 2^27 + 3
            1,
            0, // data with its length in the next word: 12 = itself and two words
            12,
            8,
            9,
            29 | 2 << 5, // a discarded event of 8 bytes: itself and one word, 2 ns
            8,
            0xffff_ffff,
            31 | 11 << 5, // absolute: 11 above the bits that are kept
            0,
            1 | 1 << 5,
            3,
            29, // to the end
            0xdead_beef,
        ];
        let base = 5 << 59;
        let (lost, events, damaged) = read(&page(base, 0, &words));
        let word = |n: u32| n.to_ne_bytes().to_vec();
        assert_eq!(lost, Lost::None);
        assert!(!damaged);
        let expected =
            [(base + 5, word(7)), (base + 5 + (1 << 27) + 3, [word(8), word(9)].concat()), (base + 12, word(3))];
        assert_eq!(events, expected);
    }

    #[test]
    fn what_was_lost_before_a_page_is_told() {
        assert_eq!(read(&page(0, MISSED_EVENTS, &[])).0, Lost::Unknown);
        let mut stored = page(0, MISSED_EVENTS | MISSED_STORED, &[29]);
        stored[20..28].copy_from_slice(&1234u64.to_ne_bytes());
        assert_eq!(read(&stored).0, Lost::Some(1234));
    }

    #[test]
    fn a_page_that_breaks_off_is_known_as_damaged() {
        let (_, events, damaged) = read(&page(0, 0, &[1 | 1 << 5, 7, 4 | 1 << 5, 1]));
        assert_eq!((events.len(), damaged), (1, true));
        assert!(read(&page(0, 0, &[0, 3])).2, "a length that does not cover itself");
        assert!(layout().open(&page(0, 8000, &[])).is_none(), "longer than the page");
        assert!(layout().open(&[0; 15]).is_none());
    }

    #[test]
    fn headers_that_make_no_sense_are_refused() {
        assert_eq!(layout().page_bytes(), 4096);
        assert!(Layout::parse("").is_none());
        assert!(Layout::parse(&HEADER.replace("offset:16", "offset:8")).is_none());
        assert!(Layout::parse(&HEADER.replace("4080", "99999999")).is_none());
        assert!(Layout::parse(&HEADER.replace("4080", &usize::MAX.to_string())).is_none());
    }

    proptest! {
        #[test]
        fn any_page_is_read_without_panic(
            header in any::<(u64, u64)>(),
            length in 0u64..5000,
            words in prop::collection::vec(prop_oneof![any::<u32>(), 0u32..32, (0u32..32, 0u32..64).prop_map(|(k, d)| k | d << 5)], 0..200),
            cut in 0usize..4200,
        ) {
            for commit in [header.1, header.1 >> 34 << 27 | length, length] {
                let mut bytes = page(header.0, 0, &words);
                bytes[8..16].copy_from_slice(&commit.to_ne_bytes());
                bytes.truncate(cut);
                if let Some((_, mut events)) = layout().open(&bytes) {
                    let total: usize = events.by_ref().map(|(_, event)| event.len()).sum();
                    prop_assert!(total <= bytes.len());
                }
            }
        }
    }
}
