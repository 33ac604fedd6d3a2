// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Scales with round ticks.

/// Numbers beyond this are not drawn: their differences would be no numbers.
const GREATEST: f64 = 1e300;

/// Whether a number can be drawn.
pub(crate) fn drawable(value: f64) -> bool {
    value.abs() <= GREATEST
}

/// From values to the part of an axis's length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// Where the axis is labelled.
    pub ticks: Vec<f64>,
}

fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| drawable(*v)).fold(None, |span, v| match span {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

/// The round step of about a fifth of the range: 1, 2 or 5 of a power of ten.
fn step(range: f64) -> f64 {
    let raw = range / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= raw * 0.999).unwrap_or(10.0);
    factor * power
}

impl Scale {
    /// A scale that ends at ticks, over all these values; with zero in it if asked for, as bars need it. None without a value.
    pub fn linear(values: impl Iterator<Item = f64>, with_zero: bool) -> Option<Scale> {
        let (mut low, mut high) = span(values)?;
        if with_zero || low == high {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if low == high {
            high = 1.0;
        }
        let step = step(high - low);
        if !step.is_normal() || !(low / step).is_finite() {
            return Some(Scale { low, high, log: false, ticks: vec![low, high] });
        }
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first).min(12.0) as u32;
        let ticks = (0..=count).map(|at| (first + f64::from(at)) * step).collect();
        Some(Scale { low: first * step, high: last * step, log: false, ticks })
    }

    /// A scale of an x axis: by powers of ten if the values are above zero and far apart, else from the first to the last.
    pub fn of_x(values: impl Iterator<Item = f64> + Clone) -> Option<Scale> {
        let (low, high) = span(values.clone())?;
        if low > 0.0 && high / low >= 100.0 {
            let (first, last) = (low.log10().floor(), high.log10().ceil());
            let every = ((last - first) / 8.0).ceil().max(1.0);
            let count = ((last - first) / every) as u32;
            let ticks = (0..=count).map(|at| 10f64.powf(first + f64::from(at) * every)).collect();
            return Some(Scale { low: first, high: last, log: true, ticks });
        }
        Scale::from_end_to_end(values)
    }

    /// A scale from the first value to the last, with round ticks between.
    pub fn from_end_to_end(values: impl Iterator<Item = f64> + Clone) -> Option<Scale> {
        let (low, high) = span(values.clone())?;
        let mut scale = Scale::linear(values, false)?;
        if low < high {
            (scale.low, scale.high) = (low, high);
            let slack = (high - low) * 1e-9;
            scale.ticks.retain(|t| (low - slack..=high + slack).contains(t));
        }
        Some(scale)
    }

    /// Where a value is: 0 at the low end, 1 at the high one.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_scales_hold_zero_and_end_at_round_numbers() {
        let scale = Scale::linear([12.0, 83.0].into_iter(), true).unwrap();
        assert_eq!(scale.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((scale.at(0.0), scale.at(50.0)), (0.0, 0.5));
        let scale = Scale::linear([-39.3, -1.4].into_iter(), true).unwrap();
        assert_eq!((scale.ticks[0], *scale.ticks.last().unwrap()), (-40.0, 0.0));
    }

    #[test]
    fn wide_x_axes_go_by_powers_of_ten() {
        let scale = Scale::of_x([10.0, 1e3, 1e5].into_iter()).unwrap();
        assert_eq!(scale.ticks, [10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(scale.at(1e3), 0.5);
        let scale = Scale::of_x([10.0, 90.0].into_iter()).unwrap();
        assert_eq!((scale.ticks.as_slice(), scale.at(10.0)), ([20.0, 40.0, 60.0, 80.0].as_slice(), 0.0));
    }

    #[test]
    fn any_values_give_a_scale_of_few_ticks() {
        let hard = [f64::MIN_POSITIVE, 1e-320, 1e299, -1e299, 0.0, 5.0, f64::NAN, f64::INFINITY, 1e308, 1e-12];
        for a in hard {
            for b in hard {
                for scale in [
                    Scale::linear([a, b].into_iter(), true),
                    Scale::linear([a, b].into_iter(), false),
                    Scale::of_x([a, b].into_iter()),
                    Scale::from_end_to_end([a, b].into_iter()),
                ] {
                    let Some(scale) = scale else { continue };
                    assert!(scale.ticks.len() <= 13, "{a} {b}");
                    for value in [a, b].into_iter().filter(|v| drawable(*v)) {
                        let at = scale.at(value);
                        assert!((-1e-6..=1.0 + 1e-6).contains(&at), "{a} {b}: {value} at {at} of {scale:?}");
                    }
                }
            }
        }
        assert_eq!(Scale::linear([f64::NAN].into_iter(), true), None);
    }
}
