// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which requests of a replay are counted, and in which pieces.

use std::{collections::BTreeMap, fmt, str::FromStr};

use fovea_report::document;
use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::{Error, Result, Weight};

/// More make a file that nobody can plot.
const MOST_INTERVALS: u64 = 100_000;

/// Requests that fill the cache and are not counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmUp {
    /// So many.
    Requests(u64),
    /// A share of all, from 0 to 1.
    Share(f64),
}

impl FromStr for WarmUp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let parsed = match text.strip_suffix('%') {
            Some(percent) => {
                percent.parse().ok().filter(|p| (0.0..100.0).contains(p)).map(|p: f64| WarmUp::Share(p / 100.0))
            }
            None => text.parse().ok().map(WarmUp::Requests),
        };
        parsed.ok_or_else(|| {
            let mend = "take a number of requests, 10000, or a share of them below 100%, 10%";
            Error::Usage(format!("warm-up {text:?}: makes no sense; {mend}"))
        })
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WarmUp::Requests(requests) => write!(f, "{requests}"),
            WarmUp::Share(share) => write!(f, "{}%", 100.0 * share),
        }
    }
}

/// What of a replay is counted: all, in one piece, by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counting {
    /// Requests at the beginning that are not.
    pub warm_up: WarmUp,
    /// Count so many requests at a time too, beside all.
    pub interval: Option<u64>,
}

impl Default for Counting {
    fn default() -> Self {
        Counting { warm_up: WarmUp::Requests(0), interval: None }
    }
}

impl Counting {
    /// As results name it; nothing of what is at its default.
    pub fn options(&self) -> BTreeMap<String, String> {
        let warm_up = (!self.is_cold()).then(|| ("warm_up".to_owned(), self.warm_up.to_string()));
        let interval = self.interval.map(|requests| ("interval".to_owned(), requests.to_string()));
        warm_up.into_iter().chain(interval).collect()
    }

    fn is_cold(&self) -> bool {
        matches!(self.warm_up, WarmUp::Requests(0)) || self.warm_up == WarmUp::Share(0.0)
    }

    /// The requests that are not counted, of so many.
    ///
    /// # Errors
    /// If none is left, or the intervals are none or too many.
    pub fn resolve(&self, requests: u64) -> Result<u64> {
        let warm_up = match self.warm_up {
            WarmUp::Requests(requests) => requests,
            WarmUp::Share(share) => (requests as f64 * share) as u64,
        };
        if warm_up >= requests {
            let what = format!("the trace has {requests} requests, and some must be left to count");
            return Err(Error::Usage(format!("warm-up {warm_up}: {what}; take fewer, or a share, 10%")));
        }
        match self.interval {
            Some(0) => Err(Error::Usage("interval 0: no request in it; take 1 or more".into())),
            Some(interval) if (requests - warm_up).div_ceil(interval) > MOST_INTERVALS => {
                let least = (requests - warm_up).div_ceil(MOST_INTERVALS);
                let what = format!("more than {MOST_INTERVALS} intervals on this trace");
                Err(Error::Usage(format!("interval {interval}: {what}; take {least} requests or more")))
            }
            _ => Ok(warm_up),
        }
    }
}

/// What came of some requests in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The number of the first of them in the trace, from 0.
    pub first_request: u64,
    /// Requests.
    pub requests: u64,
    /// Of them, served from the cache.
    pub hits: u64,
    /// Weight of all.
    pub request_weight: u64,
    /// Weight of those served from the cache.
    pub hit_weight: u64,
}

impl Interval {
    /// As results documents have it.
    pub fn document(&self, case: &str, configuration: &str, by_bytes: bool) -> document::Interval {
        let mut figures = BTreeMap::from([
            ("requests".to_owned(), self.requests as f64),
            ("hits".to_owned(), self.hits as f64),
            ("misses".to_owned(), (self.requests - self.hits) as f64),
        ]);
        if by_bytes {
            figures.insert("request_bytes".into(), self.request_weight as f64);
            figures.insert("miss_bytes".into(), (self.request_weight - self.hit_weight) as f64);
        }
        let (case, configuration) = (case.to_owned(), configuration.to_owned());
        document::Interval { case, configuration, first_request: self.first_request, figures }
    }
}

/// The intervals of replays as results documents have them.
pub fn intervals(outcomes: &[Outcome]) -> Vec<document::Interval> {
    let of = |o: &Outcome| {
        let by_bytes = o.capacity.weight == Weight::Bytes;
        o.intervals.iter().map(|i| i.document(&o.size, &o.policy, by_bytes)).collect::<Vec<_>>()
    };
    outcomes.iter().flat_map(of).collect()
}
