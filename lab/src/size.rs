// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Cache sizes as users write them.

use std::{fmt, str::FromStr};

use crate::{Error, Result};

/// What a cache's capacity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weight {
    /// Every object counts one.
    Objects,
    /// An object counts its bytes.
    Bytes,
}

/// A cache size: `64MiB`, `1000` objects, or `10%` of the footprint (`10%B`: of its bytes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Objects.
    Objects(u64),
    /// Share of the trace's distinct objects, or of their bytes.
    Percent(f64, Weight),
}

/// A size resolved for one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// How much, in the unit of `weight`.
    pub amount: u64,
    /// What is counted.
    pub weight: Weight,
}

/// Distinct objects of a trace and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Distinct objects (pages, in block and file traces).
    pub objects: u64,
    /// Sum of their sizes, each as first seen.
    pub bytes: u64,
}

const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

fn usage(text: &str, what: &str) -> Error {
    Error::Usage(format!(
        "size {text:?}: {what}; write bytes (64MiB), objects (1000) or a share of the footprint (10%, 10%B)"
    ))
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let trimmed = text.trim();
        for (suffix, weight) in [("%B", Weight::Bytes), ("%", Weight::Objects)] {
            if let Some(number) = trimmed.strip_suffix(suffix) {
                let percent: f64 = number.trim().parse().map_err(|_| usage(text, "not a number"))?;
                if !percent.is_finite() || percent <= 0.0 || percent > 100.0 {
                    return Err(usage(text, "not between 0 and 100 percent"));
                }
                return Ok(Size::Percent(percent, weight));
            }
        }
        let (number, size): (&str, fn(u64) -> Size) =
            match UNITS.iter().find_map(|&(unit, bytes)| Some((trimmed.strip_suffix(unit)?, bytes))) {
                Some((number, bytes)) => {
                    let count: u64 = number.trim().parse().map_err(|_| usage(text, "not a whole number of bytes"))?;
                    let bytes = count.checked_mul(bytes).ok_or_else(|| usage(text, "larger than 2^64 bytes"))?;
                    return if bytes == 0 { Err(usage(text, "a cache of size zero")) } else { Ok(Size::Bytes(bytes)) };
                }
                None => (trimmed.strip_suffix("obj").unwrap_or(trimmed), Size::Objects),
            };
        match number.trim().parse() {
            Ok(0) => Err(usage(text, "a cache of size zero")),
            Ok(count) => Ok(size(count)),
            Err(_) => Err(usage(text, "not a size")),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Size::Bytes(bytes) => match UNITS[..4].iter().find(|&&(_, unit)| bytes % unit == 0) {
                Some((name, unit)) => write!(f, "{}{name}", bytes / unit),
                None => write!(f, "{bytes}B"),
            },
            Size::Objects(objects) => write!(f, "{objects}"),
            Size::Percent(percent, Weight::Objects) => write!(f, "{percent}%"),
            Size::Percent(percent, Weight::Bytes) => write!(f, "{percent}%B"),
        }
    }
}

impl Size {
    /// What the size counts.
    pub fn weight(self) -> Weight {
        match self {
            Size::Bytes(_) => Weight::Bytes,
            Size::Objects(_) => Weight::Objects,
            Size::Percent(_, weight) => weight,
        }
    }

    /// The size on a trace of this footprint.
    pub fn resolve(self, footprint: Footprint) -> Result<Capacity> {
        let amount = match self {
            Size::Bytes(amount) | Size::Objects(amount) => amount,
            Size::Percent(percent, weight) => {
                let whole = if weight == Weight::Bytes { footprint.bytes } else { footprint.objects };
                (whole as f64 * percent / 100.0) as u64
            }
        };
        if amount == 0 {
            let unit = if self.weight() == Weight::Bytes { "byte" } else { "object" };
            return Err(Error::Usage(format!(
                "size {self}: less than one {unit} of this trace's footprint ({} objects, {} bytes); take a larger share",
                footprint.objects, footprint.bytes
            )));
        }
        Ok(Capacity { amount, weight: self.weight() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_written() {
        for (text, size) in [
            ("64MiB", Size::Bytes(64 << 20)),
            ("1kB", Size::Bytes(1000)),
            ("7B", Size::Bytes(7)),
            ("1000", Size::Objects(1000)),
            ("12obj", Size::Objects(12)),
            ("10%", Size::Percent(10.0, Weight::Objects)),
            ("0.5%B", Size::Percent(0.5, Weight::Bytes)),
        ] {
            let read: Size = text.parse().unwrap();
            assert_eq!(read, size);
            assert_eq!(read.to_string().parse::<Size>().unwrap(), size);
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_mend() {
        for text in ["", "0", "0MiB", "0%", "101%", "-1", "x", "1.5MiB", "NaN%", "99999999999999TiB"] {
            let error = text.parse::<Size>().unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("write bytes (64MiB)"), "{error}");
        }
    }

    #[test]
    fn a_share_below_one_object_is_refused() {
        let footprint = Footprint { objects: 50, bytes: 5000 };
        assert!("1%".parse::<Size>().unwrap().resolve(footprint).is_err());
        assert_eq!("2%".parse::<Size>().unwrap().resolve(footprint).unwrap().amount, 1);
        assert_eq!("1%B".parse::<Size>().unwrap().resolve(footprint).unwrap().amount, 50);
    }
}
