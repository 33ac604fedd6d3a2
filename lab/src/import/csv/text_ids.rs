// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Objects of ids. A number as one writes it (`7`) is the object of that number; any other spelling (`007`, `+7`, `key-a`) is a text,
//! which is an object of its own. So two spellings are never one object.

use hashbrown::{hash_map::Entry, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use twox_hash::XxHash3_128;

use super::super::text::quoted_bytes;
use super::number::Decimal;

/// The namespace of objects by number.
pub const NUMBERS: &str = "object";
/// The namespace of objects by text.
pub const TEXTS: &str = "object-text";

/// A hash as it is.
#[derive(Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers only")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Gives texts their objects: the lower half of XXH3's 128 bits, whose upper half is kept to see whether two texts have the same lower one.
/// Takes 16 bytes a text.
pub struct TextIds {
    upper: HashMap<u64, u64, BuildHasherDefault<AsItIs>>,
    hash: fn(&[u8]) -> u128,
    /// Numbers are texts too, and so are those that have lost digits.
    all_texts: bool,
}

impl TextIds {
    /// None given so far.
    pub fn new(all_texts: bool) -> Self {
        TextIds { upper: HashMap::default(), hash: XxHash3_128::oneshot, all_texts }
    }

    /// The object of an id, and its namespace.
    ///
    /// # Errors
    /// If the id is empty, has lost digits, or has the object of another id.
    #[inline]
    pub fn object(&mut self, id: &[u8]) -> Result<(&'static str, u64), String> {
        if !self.all_texts {
            if let Some(number) = canonical(id) {
                return Ok((NUMBERS, number));
            }
        }
        self.text(id)
    }

    fn text(&mut self, id: &[u8]) -> Result<(&'static str, u64), String> {
        if id.is_empty() {
            return Err("no object id".into());
        }
        if !self.all_texts && lost_digits(id) {
            return Err(format!(
                "id {} is a float, which may stand for several ids; write the ids as whole numbers, or say ids=text",
                quoted_bytes(id)
            ));
        }
        let hash = (self.hash)(id);
        let (lower, upper) = (hash as u64, (hash >> 64) as u64);
        match self.upper.entry(lower) {
            Entry::Occupied(known) if *known.get() != upper => {
                Err(format!("id {} has the hash of another id; number the ids", quoted_bytes(id)))
            }
            Entry::Occupied(_) => Ok((TEXTS, lower)),
            Entry::Vacant(place) => {
                place.insert(upper);
                Ok((TEXTS, lower))
            }
        }
    }
}

/// A number below 2^64 without sign, point and leading zeros.
#[inline]
fn canonical(id: &[u8]) -> Option<u64> {
    match id {
        [b'0'] => Some(0),
        [b'1'..=b'9', ..] if id.len() < 20 => super::number::digits(id),
        [b'1'..=b'9', ..] if id.len() == 20 => std::str::from_utf8(id).ok()?.parse().ok(),
        _ => None,
    }
}

/// `1.2345678901234567e+18`, or a float of 2^53 and more: what a program writes whose ids went through floating point.
fn lost_digits(id: &[u8]) -> bool {
    if !id.first().is_some_and(|&byte| byte.is_ascii_digit() || b"+-.".contains(&byte)) {
        return false;
    }
    if !id.iter().any(|byte| b".eE".contains(byte)) || !id.iter().any(|&byte| byte == b'.' || byte == b'+') {
        return false;
    }
    let Some((value, _)) = Decimal::of(id).and_then(|number| number.scaled(0)) else { return false };
    value.unsigned_abs() >= 1 << 53
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_never_one_object() {
        let mut ids = TextIds::new(false);
        let spellings = ["7", "007", "+7", "7.0", "-7", "07", "seven", "18446744073709551615", "18446744073709551616"];
        let objects: std::collections::BTreeSet<_> =
            spellings.iter().map(|id| ids.object(id.as_bytes()).unwrap()).collect();
        assert_eq!(objects.len(), spellings.len());
        assert_eq!(ids.object(b"7").unwrap(), (NUMBERS, 7));
        assert_eq!(ids.object(b"007").unwrap(), ids.object(b"007").unwrap());
        assert_eq!(TextIds::new(true).object(b"7").unwrap().0, TEXTS);
    }

    #[test]
    fn the_hash_of_a_text_is_xxh3_of_128_bits() {
        // As `xxhsum -H2` prints it for the empty text and `abc`; the lower half is the object.
        assert_eq!(XxHash3_128::oneshot(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
        let (_, object) = TextIds::new(false).object(b"abc").unwrap();
        assert_eq!(object, XxHash3_128::oneshot(b"abc") as u64);
    }

    #[test]
    fn two_texts_of_one_hash_are_refused() {
        let mut ids = TextIds::new(false);
        ids.hash = |id| 5 | (id.len() as u128) << 64;
        assert_eq!(ids.object(b"a"), Ok((TEXTS, 5)));
        assert_eq!(ids.object(b"a"), Ok((TEXTS, 5)));
        assert!(ids.object(b"ab").unwrap_err().contains("hash of another id"));
    }

    #[test]
    fn ids_that_went_through_floating_point_are_refused() {
        for id in ["1.2345678901234567e+18", "9007199254740993.0", "1e+300"] {
            let found = TextIds::new(false).object(id.as_bytes());
            // What is no number of ours is a text.
            assert!(id == "1e+300" || found.unwrap_err().contains("ids=text"), "{id}");
            assert!(TextIds::new(true).object(id.as_bytes()).is_ok());
        }
        for id in ["17.0", "v1.2", "1e3", "a.b+c"] {
            assert!(TextIds::new(false).object(id.as_bytes()).is_ok(), "{id}");
        }
    }
}
