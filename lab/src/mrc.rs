// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Miss-ratio curves: the share of requests that miss, by the size of the cache. LRU by objects exactly, from stack distances, or
//! estimated from a sample of the objects (SHARDS); every other policy by miniature simulation, that is a small cache on such a sample.
//!
//! An estimate is the mean of [`SAMPLES`] samples that share no object, and its error twice their standard error. Objects are drawn by
//! a hash of their number, so that all requests for one object are in a sample or none is. Misses are set against the requests a
//! sample should have, not those it has: what is missing or too much are requests for a few hot objects, which hit (SHARDS-adj).

mod sample;
mod stack;

use std::collections::BTreeMap;

use fovea_report::document::{Case, Document};

use crate::{
    dense::{Dense, DenseOptions},
    parallel,
    policy::Choice,
    replay::{check_grid, document, input, options_of, run},
    Capacity, Error, Result, Size, Weight,
};
use sample::Sample;
pub use stack::Curve;

/// Samples that share no object.
pub const SAMPLES: usize = 4;
/// Objects that a miniature cache holds at least: below, its size is too coarse.
const LEAST_OBJECTS: f64 = 100.0;

/// What to draw.
#[derive(Clone)]
pub struct MrcOptions {
    /// The trace.
    pub trace: std::path::PathBuf,
    /// Policies; each has a curve.
    pub policies: Vec<Choice>,
    /// Cache sizes; if none is named, 25 from a thousandth of the distinct objects to all of them.
    pub sizes: Vec<Size>,
    /// Share of the objects in a sample. A greater one is taken where a miniature cache would hold too few objects.
    pub rate: f64,
    /// No estimate: stack distances for LRU, and a whole simulation at each size for the others.
    pub exact: bool,
    /// Estimate LRU too, by SHARDS.
    pub shards: bool,
    /// Threads; the result does not depend on them.
    pub threads: usize,
    /// How the trace is made dense.
    pub dense: DenseOptions,
}

/// How a point was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the stack distance of each request.
    StackDistance,
    /// From stack distances in samples.
    Shards,
    /// By a small cache on each sample.
    Miniature,
    /// By a whole simulation.
    Simulation,
}

impl Method {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        ["stack distance", "SHARDS", "miniature", "simulation"][self as usize]
    }
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The policy and its parameters.
    pub policy: String,
    /// The size as asked for.
    pub size: Size,
    /// The size on this trace.
    pub capacity: Capacity,
    /// Share of the requests that miss.
    pub miss_ratio: f64,
    /// Twice the standard error; 0 if nothing is estimated.
    pub error: f64,
    /// Share of the objects in a sample; 1 if nothing is estimated.
    pub rate: f64,
    /// How it was found.
    pub method: Method,
}

/// Curves of a trace.
pub struct Mrc {
    /// Points by policy, then by size.
    pub points: Vec<Point>,
    /// The results document: a case per size, a configuration per policy.
    pub document: Document,
}

/// 25 sizes from a thousandth of the objects to all of them, evenly on a logarithmic axis.
fn usual_sizes(objects: u64) -> Vec<Size> {
    let mut sizes: Vec<u64> = (0..=24)
        .map(|at| (objects as f64 * 10f64.powf(-3.0 + f64::from(at) / 8.0)).round() as u64)
        .filter(|&size| size > 0)
        .collect();
    sizes.dedup();
    sizes.into_iter().map(Size::Objects).collect()
}

/// Draws the curves; `progress` is told (done, of).
///
/// # Errors
/// If the trace cannot be read, or the options make no sense for it.
pub fn mrc(options: &MrcOptions, progress: impl Fn(u64, u64) + Sync) -> Result<Mrc> {
    check_rate(options.rate)?;
    let dense = Dense::open(&options.trace, &options.dense.with_needs_of(&options.policies), |_| {})?;
    let inputs = vec![input(&options.trace, dense.checksum().unwrap_or_default())];
    let mut curves = mrc_dense(dense, options, progress)?;
    curves.document.inputs = inputs;
    Ok(curves)
}

fn check_rate(rate: f64) -> Result<()> {
    match rate > 0.0 && rate <= 1.0 {
        true => Ok(()),
        false => Err(Error::Usage(format!("--rate {rate}: take a share above 0 and up to 1"))),
    }
}

/// As [`mrc`], of a trace that is dense already: the options' trace is not read, and the document names none.
///
/// # Errors
/// As [`mrc`].
pub fn mrc_dense(mut dense: Dense, options: &MrcOptions, progress: impl Fn(u64, u64) + Sync) -> Result<Mrc> {
    check_rate(options.rate)?;
    let sizes = match options.sizes.as_slice() {
        [] => usual_sizes(dense.footprint().objects),
        sizes => sizes.to_vec(),
    };
    check_grid(&options.policies, &sizes)?;
    if options.policies.iter().any(|p| p.policy.needs_future) {
        dense.look_ahead()?;
    }
    let points = points(&dense, options, &sizes, progress)?;
    let mut named = options_of(&options.dense);
    named.insert("rate".into(), options.rate.to_string());
    let cases = points.iter().map(case).collect();
    Ok(Mrc { document: Document { options: named, ..document("lab mrc", cases) }, points })
}

fn case(point: &Point) -> Case {
    let unit = if point.capacity.weight == Weight::Bytes { "bytes" } else { "objects" };
    let figures = BTreeMap::from([
        ("miss_ratio_percent".to_owned(), 100.0 * point.miss_ratio),
        ("error_points".to_owned(), 100.0 * point.error),
        ("sampled_percent".to_owned(), 100.0 * point.rate),
        (format!("capacity_{unit}"), point.capacity.amount as f64),
    ]);
    Case { case: point.size.to_string(), configuration: point.policy.clone(), figures }
}

/// The points of every policy at every size.
///
/// # Errors
/// If a size makes no sense for this trace, or a temporary file fails.
pub fn points(
    dense: &Dense,
    options: &MrcOptions,
    sizes: &[Size],
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Vec<Point>> {
    let capacities = sizes.iter().map(|size| size.resolve(dense.footprint())).collect::<Result<Vec<_>>>()?;
    let total = (options.policies.len() * sizes.len()) as u64;
    // One pass gives LRU's whole curve; it is of objects only, for sizes break the order that stack distances rest on.
    let is_lru = |choice: &Choice| choice.policy.name == "lru" && choice.hooks.is_none();
    let lru = options.policies.iter().any(is_lru);
    let by_objects = capacities.iter().any(|capacity| capacity.weight == Weight::Objects);
    let curve = match lru && by_objects && !options.shards {
        true => Some(Curve::of(dense)?),
        false => None,
    };
    let grid: Vec<(&Choice, Size, Capacity)> = options
        .policies
        .iter()
        .flat_map(|choice| sizes.iter().zip(&capacities).map(move |(&size, &capacity)| (choice, size, capacity)))
        .collect();
    let work = |&(choice, size, capacity): &(&Choice, Size, Capacity)| {
        let stackable = is_lru(choice) && capacity.weight == Weight::Objects;
        let mut point = Point {
            policy: choice.to_string(),
            size,
            capacity,
            miss_ratio: 0.0,
            error: 0.0,
            rate: 1.0,
            method: Method::StackDistance,
        };
        if let Some(curve) = curve.as_ref().filter(|_| stackable) {
            point.miss_ratio = curve.miss_ratio(capacity.amount as f64);
            return Ok(point);
        }
        let rate = rate(dense, capacity, options.rate);
        if options.exact || rate * SAMPLES as f64 >= 1.0 {
            let outcome = run(dense, choice, size)?;
            point.method = Method::Simulation;
            point.miss_ratio = outcome.misses() as f64 / outcome.requests as f64;
            return Ok(point);
        }
        point.method = if stackable { Method::Shards } else { Method::Miniature };
        let ratios = (0..SAMPLES)
            .map(|at| {
                let sample = Sample::take(dense, rate, at)?;
                Ok(match point.method {
                    Method::Shards => sample.stack_miss_ratio(capacity)?,
                    _ => sample.miniature_miss_ratio(choice, capacity)?,
                })
            })
            .collect::<Result<Vec<f64>>>()?;
        (point.miss_ratio, point.error) = estimate(&ratios);
        point.rate = rate;
        Ok(point)
    };
    parallel::map(&grid, options.threads, work, |done| progress(done as u64, total)).into_iter().collect()
}

/// The share of objects of a sample such that a miniature cache holds enough of them.
fn rate(dense: &Dense, capacity: Capacity, least: f64) -> f64 {
    let footprint = dense.footprint();
    let held = match capacity.weight {
        Weight::Objects => capacity.amount as f64,
        Weight::Bytes => capacity.amount as f64 * footprint.objects as f64 / footprint.bytes as f64,
    };
    least.max(LEAST_OBJECTS / held).min(1.0)
}

/// Mean, and twice its standard error.
fn estimate(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, 2.0 * (variance / count).sqrt())
}
