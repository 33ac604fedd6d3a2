// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures for people: the end of a figure's name is its unit, and a unit is chosen so that numbers are short.

/// A unit to show figures in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// So many of the unit in the figure's name make one of this.
    per: f64,
    /// Its sign; empty for counts.
    pub sign: &'static str,
}

type Units = &'static [(f64, &'static str)];

const KIB: f64 = 1024.0;

/// Ends of names and the units that go with them, small ones first. The longest end that fits comes first.
const FAMILIES: [(&str, Units); 9] = [
    ("_bytes_per_s", &[(1.0, "B/s"), (KIB, "KiB/s"), (KIB * KIB, "MiB/s"), (KIB * KIB * KIB, "GiB/s")]),
    ("_bytes", &[(1.0, "B"), (KIB, "KiB"), (KIB * KIB, "MiB"), (KIB * KIB * KIB, "GiB")]),
    ("_per_s", &[(1.0, "per s")]),
    ("_ns", &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")]),
    ("_nj", &[(1.0, "nJ"), (1e3, "µJ"), (1e6, "mJ"), (1e9, "J")]),
    ("_mw", &[(1.0, "mW"), (1e3, "W")]),
    ("_percent", &[(1.0, "%")]),
    ("_insns", &[(1.0, "instructions"), (1e3, "k instructions"), (1e6, "M instructions")]),
    ("_pages", &[(1.0, "pages"), (1e3, "k pages"), (1e6, "M pages")]),
];

const COUNTS: Units = &[(1.0, "")];

fn units(name: &str) -> (&'static str, Units) {
    FAMILIES.into_iter().find(|(end, _)| name.ends_with(end)).unwrap_or(("", COUNTS))
}

/// The end of a name that is its unit; figures with the same one compare. Empty for counts.
pub(crate) fn family(name: &str) -> &'static str {
    units(name).0
}

/// A name without its unit, in words.
pub(crate) fn words(name: &str) -> String {
    name.strip_suffix(family(name)).unwrap_or(name).replace('_', " ")
}

/// In exact mode an instruction is a nanosecond, and a person counts in time.
pub(crate) fn in_time(figure: &str, mode: &str) -> String {
    match figure.strip_suffix("_insns") {
        Some(name) if mode == "exact" => format!("{name}_ns"),
        _ => figure.to_owned(),
    }
}

impl Unit {
    /// The greatest unit of which the largest of these figures still has ten, so that nothing is said with a leading zero.
    pub fn of(name: &str, figures: impl IntoIterator<Item = f64>) -> Unit {
        let largest = figures.into_iter().map(f64::abs).filter(|f| f.is_finite()).fold(0.0, f64::max);
        let (_, units) = units(name);
        let &(per, sign) = units.iter().rfind(|(per, _)| largest >= 10.0 * per).unwrap_or(&units[0]);
        Unit { per, sign }
    }

    /// The unit of an axis: where all is nothing, one that people count in, not the smallest there is.
    pub fn of_axis(name: &str, figures: impl IntoIterator<Item = f64> + Clone) -> Unit {
        match figures.clone().into_iter().all(|figure| figure == 0.0) {
            true => {
                let (_, units) = units(name);
                let (per, sign) = units[units.len() / 2];
                Unit { per, sign }
            }
            false => Unit::of(name, figures),
        }
    }

    /// A figure in this unit.
    pub fn scale(self, figure: f64) -> f64 {
        figure / self.per
    }

    /// A figure in this unit, with its sign.
    pub fn show(self, figure: f64) -> String {
        let number = number(self.scale(figure));
        if self.sign.is_empty() || !figure.is_finite() {
            number
        } else {
            format!("{number} {}", self.sign)
        }
    }
}

/// A number in four digits or so.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "not measured".into(),
        v if v >= 1e15 => format!("{value:.3e}"),
        v if v >= 999.5 || value.fract() == 0.0 => grouped(value),
        v if v >= 99.95 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        v if v >= 1e-4 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A number and its margin, the margin in two digits and the number in as many places; large ones as numbers are.
pub(crate) fn with_margin(value: f64, margin: Option<f64>) -> String {
    match margin {
        None => number(value),
        Some(margin) if value.is_finite() && (1e-4..1.0).contains(&margin) => {
            let places = (-margin.log10()).floor() as usize + 2;
            format!("{value:.places$} \u{b1} {margin:.places$}")
        }
        Some(margin) => format!("{} \u{b1} {}", number(value), number(margin)),
    }
}

/// A whole number, its thousands kept apart where there are more than four digits.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let sign = if value < 0.0 { "-" } else { "" };
    if digits.len() < 5 {
        return format!("{sign}{digits}");
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            // A narrow space at which no line breaks.
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    format!("{sign}{text}")
}

/// A number for an axis or the end of a bar: three digits or so.
pub(crate) fn short(value: f64) -> String {
    let trimmed = |value: f64, decimals: usize| {
        let text = format!("{value:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    };
    let text = match value.abs() {
        _ if !value.is_finite() => "not measured".into(),
        v if v >= 1e15 => format!("{value:.1e}"),
        v if v >= 1e11 => trimmed(value / 1e9, 0) + "G",
        v if v >= 1e8 => trimmed(value / 1e6, 0) + "M",
        v if v >= 1e5 => trimmed(value / 1e3, 0) + "k",
        v if v >= 99.95 => trimmed(value, 0),
        v if v >= 9.995 => trimmed(value, 1),
        v if v >= 0.01 => trimmed(value, 2),
        v if v >= 0.0005 => trimmed(value, 4),
        0.0 => "0".into(),
        _ => format!("{value:.1e}"),
    };
    if text == "-0" {
        "0".into()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_is_its_unit() {
        assert_eq!((family("start_lowmem_ns"), words("start_lowmem_ns").as_str()), ("_ns", "start lowmem"));
        assert_eq!(family("total_bytes_per_s"), "_bytes_per_s");
        assert_eq!((family("kills"), words("oom_kills").as_str()), ("", "oom kills"));
    }

    #[test]
    fn units_keep_numbers_short() {
        let unit = Unit::of("restart_ns", [265_290_818.0, 1_921_115_409.0, f64::NAN]);
        assert_eq!((unit.show(1_921_115_409.0), unit.show(265_290_818.0)), ("1921 ms".into(), "265.3 ms".into()));
        assert_eq!(Unit::of("read_bytes", [40_160_461.0]).show(40_160_461.0), "38.30 MiB");
        assert_eq!(Unit::of("kills", [17.0]).show(17.0), "17");
        assert_eq!(
            Unit::of_axis("degraded_ns", [0.0, 0.0]).sign,
            "ms",
            "an axis of one nanosecond shows nobody anything"
        );
        assert_eq!(Unit::of_axis("degraded_ns", [0.0, 20.0]).sign, "ns");
        assert_eq!(Unit::of("kills", []).show(f64::NAN), "not measured");
    }

    #[test]
    fn numbers_of_any_size_are_short() {
        let shown = [0.0, -0.0, 12.0, 0.290_132, 1_234_567.0, 1e300, -2.922, 0.000_012].map(number);
        assert_eq!(shown[..4], ["0", "0", "12", "0.29"]);
        assert_eq!(shown[4..], ["1\u{202f}234\u{202f}567", "1.000e300", "-2.92", "1.20e-5"]);
        for value in [-1e300, -123_456.0, -0.001, 99.99, 9.999, 1e5, 0.05, f64::INFINITY, 1e-310] {
            assert!(short(value).chars().count() <= 12, "{}", short(value));
        }
        assert_eq!([99.96, 100_000.0, 0.0, 2.5].map(short), ["100", "100k", "0", "2.5"]);
    }

    #[test]
    fn a_number_has_as_many_places_as_its_margin() {
        let shown = |value, margin| with_margin(value, Some(margin));
        assert_eq!(shown(0.8475, 0.0903), "0.848 \u{b1} 0.090");
        assert_eq!(shown(0.8475, 0.134), "0.85 \u{b1} 0.13");
        assert_eq!(shown(5.0, 0.0123), "5.000 \u{b1} 0.012");
        assert_eq!(shown(1500.4, 12.0), "1500 \u{b1} 12");
        assert_eq!(with_margin(0.5, None), "0.50");
    }
}
