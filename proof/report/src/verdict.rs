// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Verdicts: a claim, a bound, and what was found. What was not found does not hold.

use serde::{Deserialize, Serialize};

use crate::document::null_if_missing;

/// A claim checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Stable name.
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// Where it comes from, e.g. "LowMem13, 4.2".
    pub source: String,
    /// Our figure; not a number, and `null` in JSON, if it was not measured.
    #[serde(with = "null_if_missing")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub figure: f64,
    /// The bound, e.g. ">= 0.15".
    pub bound: String,
    /// Half the width of the figure's 95 % confidence interval, if it is of several seeds that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Whether it holds; of several seeds, for their mean.
    pub pass: bool,
    /// Why the run shows nothing of the claim, if it does not: then it does not hold either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_shown: Option<String>,
    /// With how many seeds it holds, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
}

/// How many seeds a claim holds with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seeds {
    /// With so many.
    pub holds: u32,
    /// Of so many.
    pub of: u32,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The figure is no less.
    AtLeast(f64),
    /// The figure is no more.
    AtMost(f64),
    /// The figure is more.
    Above(f64),
    /// The figure is less.
    Below(f64),
    /// The figure is just this.
    Equal(f64),
}

impl Bound {
    /// Whether a figure is within it.
    pub fn holds(self, figure: f64) -> bool {
        match self {
            Bound::AtLeast(bound) => figure >= bound,
            Bound::AtMost(bound) => figure <= bound,
            Bound::Above(bound) => figure > bound,
            Bound::Below(bound) => figure < bound,
            Bound::Equal(bound) => figure == bound,
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::AtLeast(bound) => write!(f, ">= {bound}"),
            Bound::AtMost(bound) => write!(f, "<= {bound}"),
            Bound::Above(bound) => write!(f, "> {bound}"),
            Bound::Below(bound) => write!(f, "< {bound}"),
            Bound::Equal(bound) => write!(f, "== {bound}"),
        }
    }
}

impl std::str::FromStr for Bound {
    type Err = String;

    /// As it is displayed.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no bound; write it as \">= 53\"");
        let (sign, number) = text.split_once(' ').ok_or_else(wrong)?;
        let number = number.trim().parse().map_err(|_| wrong())?;
        match sign {
            ">=" => Ok(Bound::AtLeast(number)),
            "<=" => Ok(Bound::AtMost(number)),
            ">" => Ok(Bound::Above(number)),
            "<" => Ok(Bound::Below(number)),
            "==" => Ok(Bound::Equal(number)),
            _ => Err(wrong()),
        }
    }
}

/// A verdict; a missing figure, or one that is no number, fails.
pub fn verdict(id: &str, claim: &str, source: &str, figure: Option<f64>, bound: Bound) -> Verdict {
    let figure = figure.filter(|f| f.is_finite());
    Verdict {
        id: id.into(),
        claim: claim.into(),
        source: source.into(),
        figure: figure.unwrap_or(f64::NAN),
        bound: bound.to_string(),
        margin: None,
        seeds: None,
        pass: figure.is_some_and(|f| bound.holds(f)),
        not_shown: None,
    }
}

impl Verdict {
    /// The claim is of something that a control suffers from: where the control's figure says that it does not, ours says nothing.
    #[must_use]
    pub fn against(self, control: &str, figure: Option<f64>, suffers: Bound) -> Verdict {
        let figure = figure.filter(|f| f.is_finite());
        if figure.is_some_and(|f| suffers.holds(f)) {
            return self;
        }
        let found = figure.map_or("not measured".into(), |f| f.to_string());
        let reason = format!("the control {control} does not suffer: {found}, expected {suffers}");
        Verdict { pass: false, not_shown: Some(reason), ..self }
    }
}

/// a / b, if both are there and b is above 0.
pub fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a?, b?) {
        (a, b) if b > 0.0 => Some(a / b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_control_does_not_suffer_from_is_not_shown() {
        let missed = || verdict("missed", "no frame is missed", "this project", Some(0.0), Bound::Equal(0.0));
        let against = |control| missed().against("none", control, Bound::AtLeast(10.0));
        assert_eq!(against(Some(524.0)), missed());
        for (control, word) in
            [(Some(0.0), ": 0, expected >= 10"), (None, "not measured"), (Some(f64::NAN), "not measured")]
        {
            let verdict = against(control);
            assert!(!verdict.pass && verdict.not_shown.as_ref().is_some_and(|why| why.contains(word)), "{verdict:?}");
        }
        // One that fails, and whose control suffers, fails.
        let fails =
            verdict("missed", "", "", Some(1.0), Bound::Equal(0.0)).against("none", Some(524.0), Bound::Above(0.0));
        assert!(!fails.pass && fails.not_shown.is_none());
        let text = serde_json::to_string(&against(Some(0.0))).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), against(Some(0.0)));
    }

    #[test]
    fn bounds_are_read_as_they_are_written() {
        let all = [Bound::AtLeast, Bound::AtMost, Bound::Above, Bound::Below, Bound::Equal];
        for (bound, number) in all.iter().zip([53.0, 0.1 + 0.2, -1e-12, 1e300, 0.0]) {
            assert_eq!(bound(number).to_string().parse(), Ok(bound(number)));
        }
        for wrong in ["", "53", ">=", ">= much", "=> 5"] {
            assert!(wrong.parse::<Bound>().unwrap_err().starts_with(&format!("{wrong:?} is no bound")));
        }
    }
}
