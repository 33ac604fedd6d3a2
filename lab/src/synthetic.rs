// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Made-up traces: requests that are drawn independently by Zipf's law, and objects that are asked for once only. For speed and
//! memory at any length, and for questions with a known answer; what a policy is worth, real traces say.

use std::{collections::BTreeMap, path::Path};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Zipf};

use crate::{
    record::{Op, Record},
    store::Writer,
    Error, Result,
};

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    /// Requests.
    pub requests: u64,
    /// Objects that are asked for again and again.
    pub objects: u64,
    /// Exponent of Zipf's law: 0 for all alike; web and storage traces are near 1.
    pub zipf: f64,
    /// Share of requests, in percent, that go to an object nobody asks for before or after.
    pub once_percent: f64,
    /// Decides everything that is drawn.
    pub seed: u64,
}

impl Synthetic {
    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Usage(what));
        if self.requests == 0 {
            return wrong("a trace of 0 requests: ask for at least 1 with --requests".into());
        }
        if self.objects == 0 || self.objects > u64::from(u32::MAX) {
            return wrong(format!("{} objects: ask for 1 to {} with --objects", self.objects, u32::MAX));
        }
        if !(0.0..=10.0).contains(&self.zipf) {
            return wrong(format!("--zipf {}: give an exponent from 0 to 10", self.zipf));
        }
        if !(0.0..=100.0).contains(&self.once_percent) {
            return wrong(format!("--once-percent {}: give a share from 0 to 100", self.once_percent));
        }
        Ok(())
    }
}

/// Writes it; `progress` is told how many requests are written.
///
/// # Errors
/// It makes no sense, or the file cannot be written.
pub fn make(what: &Synthetic, path: &Path, mut progress: impl FnMut(u64)) -> Result<()> {
    what.check()?;
    let law = Zipf::new(what.objects, what.zipf).map_err(|e| Error::Usage(format!("--zipf: {e}")))?;
    let mut random = ChaCha8Rng::seed_from_u64(what.seed);
    let mut writer = Writer::create(path)?;
    let (app, space) = ("".into(), "object".into());
    let template = Record {
        time_ns: 0,
        app,
        importance: None,
        op: Op::Object,
        space,
        object: 0,
        offset_bytes: 0,
        length_bytes: 1,
        write: false,
        sync: true,
        size_bytes: Some(1),
    };
    let mut once = what.objects;
    for at in 0..what.requests {
        let object = if random.gen::<f64>() * 100.0 < what.once_percent {
            once += 1;
            once
        } else {
            law.sample(&mut random) as u64
        };
        writer.push(Record { time_ns: at, object, ..template.clone() })?;
        if at % (1 << 16) == 0 {
            progress(at);
        }
    }
    let notes = BTreeMap::from([
        ("fovea.trace.format".to_owned(), "synthetic".to_owned()),
        ("fovea.trace.source".to_owned(), format!("{what:?}")),
    ]);
    writer.finish(&notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Reader;

    const SMALL: Synthetic = Synthetic { requests: 20_000, objects: 100, zipf: 1.0, once_percent: 10.0, seed: 7 };

    fn objects(what: &Synthetic) -> Vec<u64> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        make(what, &path, |_| ()).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        let mut all = Vec::new();
        while let Some(batch) = reader.batch().unwrap() {
            all.extend(batch.iter().map(|r| r.object));
        }
        all
    }

    #[test]
    fn the_same_seed_makes_the_same_trace_and_another_another() {
        assert_eq!(objects(&SMALL), objects(&SMALL));
        assert_ne!(objects(&SMALL), objects(&Synthetic { seed: 8, ..SMALL }));
    }

    #[test]
    fn popularity_follows_the_law() {
        let mut counts = BTreeMap::new();
        let all = objects(&SMALL);
        assert_eq!(all.len(), 20_000);
        all.iter().filter(|&&o| o <= 100).for_each(|&o| *counts.entry(o).or_insert(0u32) += 1);
        // With exponent 1 the first is asked for 10 times as often as the tenth: 3470 and 347 times here, give or take.
        let (first, tenth) = (f64::from(counts[&1]), f64::from(counts[&10]));
        assert!((7.0..14.0).contains(&(first / tenth)), "{first} {tenth}");
        let once = all.iter().filter(|&&o| o > 100).count();
        assert!((1800..2200).contains(&once), "{once}");
        let mut seldom: Vec<_> = all.iter().filter(|&&o| o > 100).collect();
        seldom.dedup();
        assert_eq!(seldom.len(), once, "asked for once only");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        for bad in [
            Synthetic { requests: 0, ..SMALL },
            Synthetic { objects: 0, ..SMALL },
            Synthetic { zipf: -1.0, ..SMALL },
            Synthetic { zipf: f64::NAN, ..SMALL },
            Synthetic { once_percent: 101.0, ..SMALL },
        ] {
            assert_eq!(make(&bad, &path, |_| ()).unwrap_err().exit_code(), 2, "{bad:?}");
        }
        assert!(!path.exists());
    }
}
