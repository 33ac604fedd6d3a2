// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Numbers and times of a table's fields, exact: a float would lose the last digits of ids, and of times since 1970.

use super::super::text::quoted_bytes;

/// Unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Windows filetime: 100 ns.
    Filetime,
    /// `2024-01-15 10:00:00.5`, `2024-01-15T10:00:00Z`; UTC unless it names a zone.
    Date,
    /// `20240115100000`.
    CompactDate,
}

impl TimeUnit {
    /// Units by name.
    pub const NAMES: [(&'static str, TimeUnit); 7] = [
        ("s", TimeUnit::Seconds),
        ("ms", TimeUnit::Millis),
        ("us", TimeUnit::Micros),
        ("ns", TimeUnit::Nanos),
        ("filetime", TimeUnit::Filetime),
        ("date", TimeUnit::Date),
        ("yyyymmddhhmmss", TimeUnit::CompactDate),
    ];

    /// The unit of this name.
    pub fn named(name: &str) -> Option<TimeUnit> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| name)
    }

    /// The power of ten that makes nanoseconds of it.
    pub(super) fn power(self) -> Option<i32> {
        match self {
            TimeUnit::Seconds => Some(9),
            TimeUnit::Millis => Some(6),
            TimeUnit::Micros => Some(3),
            TimeUnit::Nanos => Some(0),
            TimeUnit::Filetime => Some(2),
            TimeUnit::Date | TimeUnit::CompactDate => None,
        }
    }

    /// A field as nanoseconds; digits below a nanosecond are dropped.
    ///
    /// # Errors
    /// If it is no time of this unit.
    pub fn ns(self, text: &[u8]) -> Result<i128, String> {
        let wrong = || match self.power() {
            Some(_) => format!("time is {}, not a number", quoted_bytes(text)),
            None => format!("time is {}, not a {}", quoted_bytes(text), self.name()),
        };
        match self {
            TimeUnit::Date => date_ns(text).ok_or_else(wrong),
            TimeUnit::CompactDate => compact_ns(text).ok_or_else(wrong),
            _ => {
                let power = self.power().ok_or_else(wrong)?;
                if let Some(whole) = digits(text) {
                    return Ok(i128::from(whole) * 10i128.pow(power as u32));
                }
                Decimal::of(text).and_then(|number| number.scaled(power)).map(|(ns, _)| ns).ok_or_else(wrong)
            }
        }
    }
}

/// A number of up to 19 digits and nothing else: what most fields are.
#[inline]
pub fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut number = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = 10 * number + u64::from(digit);
    }
    Some(number)
}

/// A decimal number, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    mantissa: u128,
    exponent: i32,
    /// Digits beyond what fits were not zero.
    cut: bool,
}

impl Decimal {
    /// Reads `-12`, `1.5`, `1e3`, `2.5E-3`.
    pub fn of(text: &[u8]) -> Option<Decimal> {
        let (negative, mut rest) = match text.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, text),
        };
        let (mut mantissa, mut exponent, mut any, mut fraction, mut cut) = (0u128, 0i32, false, false, false);
        while let Some((&byte, after)) = rest.split_first() {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    let digit = byte - b'0';
                    if mantissa < 10u128.pow(36) {
                        mantissa = 10 * mantissa + u128::from(digit);
                        exponent -= i32::from(fraction);
                    } else if fraction {
                        cut |= digit > 0;
                    } else {
                        return None;
                    }
                }
                b'.' if !fraction => fraction = true,
                b'e' | b'E' if any => {
                    let power: i32 = std::str::from_utf8(after).ok()?.parse().ok()?;
                    exponent = exponent.checked_add(power)?;
                    rest = &[];
                    break;
                }
                _ => return None,
            }
            rest = after;
        }
        (any && rest.is_empty()).then_some(Decimal { negative, mantissa, exponent, cut })
    }

    /// The number times a power of ten as an integer, towards zero, and whether that is exact; none if it is too large.
    pub fn scaled(self, power: i32) -> Option<(i128, bool)> {
        let exponent = self.exponent.checked_add(power)?;
        let (value, exact) = match exponent {
            _ if self.mantissa == 0 => (0, true),
            0.. => (10u128.checked_pow(exponent as u32)?.checked_mul(self.mantissa)?, true),
            _ => match 10u128.checked_pow(exponent.unsigned_abs()) {
                Some(divisor) => (self.mantissa / divisor, self.mantissa % divisor == 0),
                None => (0, false),
            },
        };
        let value = i128::try_from(value).ok()?;
        Some((if self.negative { -value } else { value }, exact && !self.cut))
    }
}

/// A whole number that is not below zero, however it is written: `512`, `512.0`, `1e3`.
#[inline]
pub fn whole(text: &[u8], name: &str) -> Result<u64, String> {
    if let Some(number) = digits(text) {
        return Ok(number);
    }
    let wrong = || format!("{name} is {}, not a whole number", quoted_bytes(text));
    let (value, exact) = Decimal::of(text).and_then(|number| number.scaled(0)).ok_or_else(wrong)?;
    if !exact {
        return Err(wrong());
    }
    u64::try_from(value).map_err(|_| format!("{name} is {}, not within 0 and 2^64", quoted_bytes(text)))
}

fn pair(text: &[u8], at: usize) -> Option<i64> {
    digits(text.get(at..at + 2)?).map(|n| n as i64)
}

/// Days since 1970 of a date of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    const LENGTHS: [i64; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = *LENGTHS.get(usize::try_from(month - 1).ok()?)? - i64::from(month == 2 && !leap);
    if !(1..=longest).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn moment_ns(date: [i64; 3], time: [i64; 3]) -> Option<i128> {
    let [hour, minute, second] = time;
    // A leap second is told as 60.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(date[0], date[1], date[2])? * 86_400 + hour * 3600 + minute * 60 + second;
    Some(i128::from(seconds) * 1_000_000_000)
}

fn year(text: &[u8]) -> Option<i64> {
    digits(text.get(..4)?).map(|n| n as i64)
}

fn date_ns(text: &[u8]) -> Option<i128> {
    let is = |at: usize, what: &[u8]| text.get(at).is_some_and(|byte| what.contains(byte));
    if !is(4, b"-") || !is(7, b"-") {
        return None;
    }
    let date = [year(text)?, pair(text, 5)?, pair(text, 8)?];
    if text.len() == 10 {
        return moment_ns(date, [0; 3]);
    }
    if !is(10, b" T") || !is(13, b":") || !is(16, b":") {
        return None;
    }
    let mut ns = moment_ns(date, [pair(text, 11)?, pair(text, 14)?, pair(text, 17)?])?;
    let mut rest = text.get(19..)?;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        let nine = fraction[..length].iter().copied().chain(std::iter::repeat(b'0')).take(9);
        ns += nine.fold(0i128, |n, b| 10 * n + i128::from(b - b'0'));
        rest = &fraction[length..];
    }
    let zone_s = match rest {
        b"" | b"Z" | b" UTC" => 0,
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let (hours, minutes) = match zone.len() {
                2 => (pair(zone, 0)?, 0),
                4 => (pair(zone, 0)?, pair(zone, 2)?),
                5 if zone[2] == b':' => (pair(zone, 0)?, pair(zone, 3)?),
                _ => return None,
            };
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'-' {
                -seconds
            } else {
                seconds
            }
        }
        _ => return None,
    };
    Some(ns - i128::from(zone_s) * 1_000_000_000)
}

fn compact_ns(text: &[u8]) -> Option<i128> {
    if text.len() != 14 {
        return None;
    }
    let at = |place| pair(text, place);
    moment_ns([year(text)?, at(4)?, at(6)?], [at(8)?, at(10)?, at(12)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(unit: &str, text: &str) -> Option<i128> {
        TimeUnit::named(unit).unwrap().ns(text.as_bytes()).ok()
    }

    #[test]
    fn times_are_exact_in_every_unit() {
        for (unit, text, expected) in [
            ("s", "1425000000.000000001", 1_425_000_000_000_000_001),
            ("s", "49680.645025000005", 49_680_645_025_000),
            ("s", "-1.5", -1_500_000_000),
            ("s", "1e3", 1_000_000_000_000),
            ("ms", "1700000000123.5", 1_700_000_000_123_500_000),
            ("us", "7", 7_000),
            ("ns", "1.7e18", 1_700_000_000_000_000_000),
            ("filetime", "128166372003061629", 12_816_637_200_306_162_900),
            ("date", "1970-01-01", 0),
            ("date", "2024-02-29 00:00:01.25", 1_709_164_801_250_000_000),
            ("date", "2024-02-29T01:00:01+01:00", 1_709_164_801_000_000_000),
            ("date", "1969-12-31T23:59:59Z", -1_000_000_000),
            ("yyyymmddhhmmss", "20160201000001", 1_454_284_801_000_000_000),
        ] {
            assert_eq!(ns(unit, text), Some(expected), "{text} {unit}");
        }
        for (unit, text) in [
            ("s", ""),
            ("s", "."),
            ("s", "1.2.3"),
            ("s", "1e"),
            ("s", "1e400"),
            ("date", "2023-02-29"),
            ("date", "2024-13-01"),
            ("date", "2024-01-01 24:00:00"),
            ("date", "2024-01-01 10:00:00 CET"),
            ("yyyymmddhhmmss", "2016020100000"),
        ] {
            assert_eq!(ns(unit, text), None, "{text} {unit}");
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats_but_have_no_fraction() {
        for (text, expected) in [
            ("512", Some(512)),
            ("512.0", Some(512)),
            ("1e3", Some(1000)),
            ("1.5E3", Some(1500)),
            ("+7", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("512.5", None),
            ("-1", None),
            ("1e-3", None),
            ("nan", None),
            ("0x10", None),
            ("1e99999999999", None),
        ] {
            assert_eq!(whole(text.as_bytes(), "size").ok(), expected, "{text}");
        }
    }
}
