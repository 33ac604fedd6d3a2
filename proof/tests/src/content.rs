// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What pages hold: each write of each page is different, and can be told from all others and from zeros.

use std::fmt;

use crate::raw::PAGE;

/// Bytes that say whose page it is.
const HEAD: usize = 16;
/// "fove", so that a page of ours is told from others in messages.
const MARK: u32 = 0x666f_7665;
/// Where page bodies are cut from. Copies and comparisons of long runs of bytes are fast even where instructions are translated.
const TABLE_BYTES: usize = 64 << 10;
const ZEROS: [u8; PAGE] = [0; PAGE];

/// A generator of numbers (splitmix64): one seed decides everything.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed, and a number for who draws.
    pub fn new(seed: u64, who: u64) -> Random {
        let mut random = Random(seed ^ who.wrapping_mul(0xd134_2543_de82_ef95));
        random.draw();
        random
    }

    /// 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(end)) >> 64) as u64
    }

    /// The same for sizes.
    pub fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A state of a page: the version-th write of page `page` of file `file`. Version 0 is zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub file: u32,
    pub page: u32,
    pub version: u32,
}

/// Makes and recognises content.
pub struct Contents {
    table: Vec<u8>,
}

impl Contents {
    /// The content of one seed.
    pub fn new(seed: u64) -> Contents {
        let mut random = Random::new(seed, 0);
        Contents { table: (0..TABLE_BYTES / 8).flat_map(|_| random.draw().to_le_bytes()).collect() }
    }

    fn body(&self, state: State) -> &[u8] {
        let name = u64::from(state.file) << 40 ^ u64::from(state.page) << 24 ^ u64::from(state.version);
        let from = mix(name) as usize % (TABLE_BYTES - PAGE);
        &self.table[from..from + PAGE - HEAD]
    }

    /// Writes a page.
    pub fn write(&self, state: State, into: &mut [u8]) {
        if state.version == 0 {
            return into.fill(0);
        }
        into[..HEAD].copy_from_slice(&head(state));
        into[HEAD..].copy_from_slice(self.body(state));
    }

    /// Whether a page is in this state.
    pub fn holds(&self, state: State, found: &[u8]) -> bool {
        match state.version {
            0 => found == ZEROS,
            _ => found[..HEAD] == head(state) && &found[HEAD..] == self.body(state),
        }
    }

    /// Which state a page is in, for messages.
    pub fn recognise(&self, found: &[u8]) -> Found {
        let word = |at: usize| u32::from_le_bytes([found[at], found[at + 1], found[at + 2], found[at + 3]]);
        let state = State { file: word(0), page: word(4), version: word(8) };
        match word(12) {
            MARK if self.holds(state, found) => Found::Whole(state),
            MARK => Found::Torn(state),
            _ if found == ZEROS => Found::Zeros,
            _ => Found::Unknown,
        }
    }
}

fn head(state: State) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    for (part, value) in head.chunks_exact_mut(4).zip([state.file, state.page, state.version, MARK]) {
        part.copy_from_slice(&value.to_le_bytes());
    }
    head
}

/// What a page turned out to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Whole(State),
    Torn(State),
    Zeros,
    Unknown,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Whole(s) => write!(f, "file {} page {} version {}", s.file, s.page, s.version),
            Found::Torn(s) => write!(f, "part of file {} page {} version {}", s.file, s.page, s.version),
            Found::Zeros => write!(f, "zeros"),
            Found::Unknown => write!(f, "none of our pages"),
        }
    }
}
