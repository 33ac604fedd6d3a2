// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sizes of memory as people write them.

/// The least size that means anything: a page.
const LEAST_BYTES: u64 = 4096;

/// What may stand behind the number, and its power of two.
const UNITS: [(&str, u32); 5] = [("", 0), ("k", 10), ("m", 20), ("g", 30), ("t", 40)];

/// Bytes of `4096`, `40M`, `40MiB`, `40m` or `1.5G`. Units are powers of 1024, as in the kernel's and systemd's options;
/// `40MB`, which is a power of 1000 to some, is refused, and so is what is less than a page: `40` was meant as 40M.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size: write a number and K, M, G or T, as 40M or 40MiB");
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").filter(|letter| !letter.is_empty()).unwrap_or(&unit);
    let shift = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, shift)| *shift).ok_or_else(wrong)?;
    let bytes = match number.split_once('.') {
        None => number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)),
        Some((_, fraction)) if shift == 0 || fraction.is_empty() => None,
        Some(_) => number.parse::<f64>().ok().map(|n| (n * (1u64 << shift) as f64) as u64),
    };
    match bytes.ok_or_else(wrong)? {
        bytes if bytes < LEAST_BYTES => {
            Err(format!("{text} is less than a page (4096 bytes): write a unit, as {number}M"))
        }
        bytes if bytes > i64::MAX as u64 => Err(wrong()),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("4096", 4096),
            ("64K", 64 << 10),
            ("34m", 34 << 20),
            ("40MiB", 40 << 20),
            ("1.5G", 3 << 29),
            ("1G", 1 << 30),
            ("2t", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        let bad = [
            "",
            "M",
            "-1",
            "0",
            "40",
            "4095",
            "1.5",
            "1.M",
            ".M",
            "1..5M",
            "99999999999999G",
            "40MB",
            "40 M",
            "4iB",
            "1e9",
            "inf",
            "NaN",
        ];
        for bad in bad {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert!(parse_size("40").unwrap_err().contains("40M"));
    }
}
