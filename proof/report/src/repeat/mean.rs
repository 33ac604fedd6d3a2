// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The mean of a figure over seeds, and its margin: half the width of the mean's 95 % confidence interval (Student, "The probable error of a
//! mean", Biometrika 6(1), 1908), which takes the seeds' figures, or their logarithms, for draws from a normal distribution.

/// Student's t for 95 %, two-sided, by degrees of freedom from 1. The test integrates the density.
pub(super) const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Ends of the names of figures that compare as ratios: one seed's hour then weighs no more than another's minute.
const RATIO_SCALED: [&str; 5] = ["_ns", "_bytes", "_nj", "_bytes_per_s", "_insns"];

/// A mean, and its margin: none of what is the same with every seed, as the paper's own numbers are.
pub type Mean = (f64, Option<f64>);

/// The mean of a scenario's figure, by its name: geometric of times, sizes and the like if all are positive, else arithmetic.
pub(super) fn by_name(name: &str, values: &[f64]) -> Mean {
    let as_ratio = RATIO_SCALED.iter().any(|end| name.ends_with(end)) && values.iter().all(|&v| v > 0.0);
    if as_ratio {
        geometric(values)
    } else {
        arithmetic(values)
    }
}

/// Their mean; not a number if one is none. Summed from the least up, so that no bit depends on the order of the seeds.
pub fn arithmetic(values: &[f64]) -> Mean {
    let first = values[0];
    if values.iter().all(|&v| v == first) {
        return (first, None);
    }
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if !mean.is_finite() {
        return (f64::NAN, None);
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = T[(values.len() - 2).min(T.len() - 1)];
    (mean, Some(t * (variance / count).sqrt()).filter(|margin| margin.is_finite()))
}

/// The logarithms' mean carried back. Its interval is not even, from mean / e^m to mean * e^m with the logarithms' margin m; half its width is
/// mean * sinh m.
fn geometric(values: &[f64]) -> Mean {
    if values.iter().all(|&v| v == values[0]) {
        return (values[0], None);
    }
    let (mean, margin) = arithmetic(&values.iter().map(|v| v.ln()).collect::<Vec<_>>());
    let mean = mean.exp();
    (mean, margin.map(|m| mean * m.sinh()).filter(|margin| margin.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The t distribution's density, without its constant, which the integral over all gives.
    fn share_within(t: f64, freedom: f64) -> f64 {
        let density = |x: f64| (1.0 + x * x / freedom).powf(-(freedom + 1.0) / 2.0);
        // x = tan(a) brings the whole line to a finite interval; the rule is the midpoint's.
        let integral = |to: f64| {
            let steps = 20_000;
            let width = to / f64::from(steps);
            let at = |step| (f64::from(step) + 0.5) * width;
            (0..steps).map(|step| density(at(step).tan()) / at(step).cos().powi(2) * width).sum::<f64>()
        };
        integral(t.atan()) / integral(std::f64::consts::FRAC_PI_2)
    }

    #[test]
    fn the_table_holds_95_percent_of_the_distribution() {
        for (at, &t) in T.iter().enumerate() {
            let share = share_within(t, at as f64 + 1.0);
            assert!((share - 0.95).abs() < 1e-4, "{} degrees of freedom: {share}", at + 1);
        }
    }

    #[test]
    fn means_have_the_margins_of_the_book() {
        let (value, margin) = arithmetic(&[1.0, 2.0, 3.0]);
        // s = 1, t = 4.303, n = 3.
        assert_eq!(value, 2.0);
        assert!((margin.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(arithmetic(&[0.1, 0.1, 0.1]), (0.1, None));
        assert!(arithmetic(&[1.0, f64::NAN]).0.is_nan());
        assert_eq!(arithmetic(&[1.0, f64::INFINITY]).1, None);
    }

    #[test]
    fn a_geometric_mean_has_half_the_width_of_its_interval_as_margin() {
        let (value, margin) = by_name("start_ns", &[1.0, 4.0]);
        assert!((value - 2.0).abs() < 1e-12);
        // Of the logarithms: s = ln 4 / sqrt 2, t = 12.706, n = 2.
        let m = 12.706 * 4f64.ln() / 2.0;
        let (low, high) = (2.0 / m.exp(), 2.0 * m.exp());
        assert!((margin.unwrap() / ((high - low) / 2.0) - 1.0).abs() < 1e-9, "{margin:?}");
    }

    #[test]
    fn the_end_of_a_name_and_the_signs_decide_which_mean() {
        for name in ["a_ns", "read_bytes", "energy_nj", "total_bytes_per_s", "hit_insns"] {
            assert!((by_name(name, &[2.0, 8.0]).0 - 4.0).abs() < 1e-12, "{name}");
            assert_eq!(by_name(name, &[0.0, 8.0]).0, 4.0, "{name}: no product of nothing");
            assert_eq!(by_name(name, &[-2.0, 8.0]).0, 3.0, "{name}");
        }
        for name in ["kills", "hit_percent", "wakeups_per_s", "ns", "bytes_saved"] {
            assert_eq!(by_name(name, &[2.0, 8.0]).0, 5.0, "{name}");
        }
    }

    /// The same, another way: a root of a product.
    fn slow(name: &str, values: &[f64]) -> f64 {
        let ratio = name == "x_ns" && values.iter().all(|&v| v > 0.0);
        let count = values.len() as f64;
        match ratio {
            true => values.iter().fold(1.0, |product, v| product * v.powf(1.0 / count)),
            false => values.iter().fold(0.0, |sum, v| sum + v / count),
        }
    }

    fn seeds_figures() -> impl Strategy<Value = Vec<f64>> {
        let figure = prop_oneof![Just(0.0), -1e6..1e6, 1e-3..1e12];
        prop_oneof![prop::collection::vec(figure, 1..32), prop::collection::vec(1e-3..1e12, 1..32)]
    }

    proptest! {
        #[test]
        fn means_are_those_of_the_definition(values in seeds_figures(), name in prop::sample::select(vec!["x_ns", "kills"])) {
            let (mean, margin) = by_name(name, &values);
            let largest = values.iter().map(|v| v.abs()).fold(0.0, f64::max);
            prop_assert!((mean - slow(name, &values)).abs() <= 1e-9 * largest, "{} {}", mean, slow(name, &values));
            prop_assert!(margin.is_none_or(|m| m.is_finite() && m >= 0.0));
        }

        #[test]
        fn the_order_of_seeds_changes_no_bit(
            (values, other) in seeds_figures().prop_flat_map(|v| (Just(v.clone()), Just(v).prop_shuffle())),
        ) {
            for name in ["x_ns", "kills"] {
                prop_assert_eq!(by_name(name, &values), by_name(name, &other));
            }
        }

        #[test]
        fn one_seeds_figure_is_its_own_mean(value in any::<f64>().prop_filter("", |v| v.is_finite())) {
            prop_assert_eq!(by_name("x_ns", &[value]), (value, None));
        }
    }
}
