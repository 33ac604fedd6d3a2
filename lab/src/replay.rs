// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Replay of policies on a trace.

mod counting;
mod seeds;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use fovea_report::document::{Case, Document, Input};

pub use counting::{intervals, Counting, Interval, WarmUp};
pub use seeds::{over_seeds, with_seeds, OverSeeds};

use crate::{
    dense::{Dense, DenseOptions, CHUNK_REQUESTS},
    parallel,
    policy::{Batch, Choice, Tally},
    size::Footprint,
    Capacity, Error, Result, Size, Weight,
};

/// What to replay.
#[derive(Clone)]
pub struct ReplayOptions {
    /// The trace file.
    pub trace: PathBuf,
    /// Policies; each runs at each size.
    pub policies: Vec<Choice>,
    /// Cache sizes.
    pub sizes: Vec<Size>,
    /// How the trace is made dense.
    pub dense: DenseOptions,
    /// Which requests are counted.
    pub counting: Counting,
}

/// What came of one policy at one size.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The policy and its parameters.
    pub policy: String,
    /// The size as asked for.
    pub size: String,
    /// The size on this trace.
    pub capacity: Capacity,
    /// Requests before those that are counted.
    pub warm_up_requests: u64,
    /// Requests, of those that are counted, as are the hits and weights.
    pub requests: u64,
    /// Of them, served from the cache.
    pub hits: u64,
    /// Weight of the requests: their number, or their bytes if the capacity counts bytes.
    pub request_weight: u64,
    /// Weight of those served from the cache.
    pub hit_weight: u64,
    /// The same by interval, if that was asked for.
    pub intervals: Vec<Interval>,
    /// Time the replay took; the dense form's making is not in it.
    pub elapsed: Duration,
}

impl Outcome {
    /// Requests not served from the cache.
    pub fn misses(&self) -> u64 {
        self.requests - self.hits
    }

    /// The figures of a results document.
    pub fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::from([
            ("requests".to_owned(), self.requests as f64),
            ("hits".to_owned(), self.hits as f64),
            ("misses".to_owned(), self.misses() as f64),
        ]);
        if self.capacity.weight == Weight::Bytes {
            figures.insert("capacity_bytes".into(), self.capacity.amount as f64);
            figures.insert("request_bytes".into(), self.request_weight as f64);
            figures.insert("miss_bytes".into(), (self.request_weight - self.hit_weight) as f64);
        } else {
            figures.insert("capacity_objects".into(), self.capacity.amount as f64);
        }
        if self.warm_up_requests > 0 {
            figures.insert("warm_up_requests".into(), self.warm_up_requests as f64);
        }
        figures
    }
}

/// What came of a replay.
#[derive(Clone, Debug)]
pub struct ReplayReport {
    /// The trace; nothing of one that is no file.
    pub inputs: Vec<Input>,
    /// What the outcomes depend on beside policy and size.
    pub options: BTreeMap<String, String>,
    /// Distinct objects or pages of the trace.
    pub footprint: Footprint,
    /// Records not replayed, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// One per policy and size, policies innermost.
    pub outcomes: Vec<Outcome>,
}

impl ReplayReport {
    /// The results document: a case per size, a configuration per policy.
    pub fn document(&self) -> Document {
        let case = |o: &Outcome| Case { case: o.size.clone(), configuration: o.policy.clone(), figures: o.figures() };
        let (inputs, options) = (self.inputs.clone(), self.options.clone());
        let intervals = intervals(&self.outcomes);
        Document { inputs, options, intervals, ..document("lab replay", self.outcomes.iter().map(case).collect()) }
    }
}

/// A results document of this program on this machine.
pub fn document(scenario: &str, cases: Vec<Case>) -> Document {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Document {
        scenario: scenario.into(),
        mode: "host".into(),
        kernel: kernel.trim().into(),
        qemu: String::new(),
        seed: 0,
        commit: crate::COMMIT.into(),
        version: concat!(env!("CARGO_PKG_VERSION"), "+", env!("FOVEA_LAB_SOURCES")).into(),
        cases,
        ..Document::default()
    }
}

/// A trace as results name it.
pub fn input(path: &Path, checksum: u64) -> Input {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Input { name, xxh64: format!("{checksum:016x}") }
}

/// Options as results name them.
pub fn options_of(dense: &DenseOptions) -> BTreeMap<String, String> {
    let ops: Option<Vec<_>> = dense.ops.as_ref().map(|ops| ops.iter().map(|op| op.name()).collect());
    BTreeMap::from([
        ("ops".to_owned(), ops.map_or("usual".into(), |ops| ops.join(","))),
        ("reads_only".to_owned(), dense.reads_only.to_string()),
        ("repeat".to_owned(), dense.repeat.max(1).to_string()),
    ])
}

/// The seeds of policies that draw, as results name them; nothing if none does.
pub fn seeds_of(policies: &[Choice]) -> Option<(String, String)> {
    let own = policies.iter().filter_map(|p| Some(format!("{p}={}", p.parameter("seed")?)));
    let admission = policies.iter().filter_map(|p| Some(format!("{p} admit={}", p.hooks.seed()?)));
    let seeds: Vec<_> = own.chain(admission).collect();
    (!seeds.is_empty()).then(|| ("seeds".to_owned(), seeds.join(",")))
}

/// Refuses an empty choice and one that names the same cell twice.
///
/// # Errors
/// If it is such a one.
pub fn check_grid(policies: &[Choice], sizes: &[Size]) -> Result<()> {
    if policies.is_empty() {
        return Err(Error::Usage("no policy named; name some with --policies, e.g. lru,sieve, or all".into()));
    }
    if sizes.is_empty() {
        return Err(Error::Usage("no size named; name some with --sizes, e.g. 64MiB,1000,10%".into()));
    }
    let names = policies.iter().map(|p| format!("policy {p}")).chain(sizes.iter().map(|s| format!("size {s}")));
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(Error::Usage(format!("{name}: named twice; name it once")));
        }
    }
    Ok(())
}

/// Runs one policy at one size, and counts all. The trace must have been [looked ahead](Dense::look_ahead) if the policy needs the future.
///
/// # Errors
/// If the size makes no sense for this trace, or a temporary file cannot be read.
pub fn run(dense: &Dense, choice: &Choice, size: Size) -> Result<Outcome> {
    run_counted(dense, choice, size, &Counting::default())
}

/// As [`run`], and counts what is asked for.
///
/// # Errors
/// As [`run`], or if there is nothing to count.
pub fn run_counted(dense: &Dense, choice: &Choice, size: Size, counting: &Counting) -> Result<Outcome> {
    let warm_up = counting.resolve(dense.requests())?;
    let capacity = size.resolve(dense.footprint())?;
    let (ids, sizes, next) = dense.columns();
    let times = dense.times().filter(|_| choice.needs_times());
    if choice.policy.needs_future && next.is_none() {
        return Err(Error::Usage(format!("policy {choice}: needs the future; call look_ahead first")));
    }
    if choice.needs_times() && times.is_none() {
        return Err(Error::Usage(format!(
            "policy {choice}: needs the trace's times; open it with_needs_of the policies"
        )));
    }
    if choice.hooks.needs_bytes() && capacity.weight == Weight::Objects {
        return Err(Error::Usage(format!(
            "policy {choice}: admit-size needs sizes in bytes, and by {size} each object weighs 1; take 64MiB or 10%B"
        )));
    }
    let mut cache = choice.build_until(capacity.amount, dense.stop());
    cache.ensure_ids(dense.footprint().objects as u32);
    let failed = |e| Error::io(&std::env::temp_dir(), e, "the temporary file is lost; run again");
    let (mut id_scratch, mut size_scratch, mut next_scratch) = (Vec::new(), Vec::new(), Vec::new());
    let mut time_scratch = Vec::new();
    let (mut pieces, mut piece) = (Vec::new(), Interval { first_request: warm_up, ..Interval::default() });
    let started = Instant::now();
    let mut at = 0;
    while at < dense.requests() {
        dense.stop().check()?;
        if counting.interval == Some(piece.requests) {
            pieces.push(std::mem::replace(&mut piece, Interval { first_request: at, ..Interval::default() }));
        }
        let end = match counting.interval {
            _ if at < warm_up => warm_up,
            Some(interval) => dense.requests().min(piece.first_request + interval),
            None => dense.requests(),
        };
        let count = CHUNK_REQUESTS.min((end - at) as usize);
        let sizes = match capacity.weight {
            Weight::Objects => None,
            Weight::Bytes => Some(sizes.chunk(at, count, &mut size_scratch).map_err(failed)?),
        };
        let next_distances = match next.filter(|_| choice.policy.needs_future) {
            None => None,
            Some(next) => Some(next.chunk(at, count, &mut next_scratch).map_err(failed)?),
        };
        let times_ns = times.map(|times| times.chunk(at, count, &mut time_scratch)).transpose().map_err(failed)?;
        let ids = ids.chunk(at, count, &mut id_scratch).map_err(failed)?;
        let Tally { hits, hit_weight } = cache.run(Batch { ids, sizes, next_distances, times_ns });
        if let Some(failure) = cache.failure() {
            dense.stop().check()?;
            return Err(Error::Usage(format!("policy {choice}: {failure}")));
        }
        if at >= warm_up {
            piece.requests += count as u64;
            piece.hits += hits;
            piece.hit_weight += hit_weight;
            piece.request_weight += sizes.map_or(count as u64, |sizes| sizes.iter().sum());
        }
        at += count as u64;
    }
    pieces.push(piece);
    Ok(Outcome {
        policy: choice.to_string(),
        size: size.to_string(),
        capacity,
        warm_up_requests: warm_up,
        requests: dense.requests() - warm_up,
        hits: pieces.iter().map(|p| p.hits).sum(),
        request_weight: pieces.iter().map(|p| p.request_weight).sum(),
        hit_weight: pieces.iter().map(|p| p.hit_weight).sum(),
        intervals: if counting.interval.is_some() { pieces } else { Vec::new() },
        elapsed: started.elapsed(),
    })
}

/// Replays a trace under every policy at every size, on all cores; `progress` is told (done, of, what).
///
/// # Errors
/// If the trace cannot be read, or a size makes no sense for it.
pub fn replay(options: &ReplayOptions, progress: impl Fn(u64, u64, &str) + Sync) -> Result<ReplayReport> {
    check_grid(&options.policies, &options.sizes)?;
    let shape = options.dense.with_needs_of(&options.policies);
    let mut dense = Dense::open(&options.trace, &shape, |records| progress(records, 0, "reading records"))?;
    let inputs = vec![input(&options.trace, dense.checksum().unwrap_or_default())];
    replay_opened(&mut dense, inputs, options, |done, of| progress(done, of, "replaying"))
}

/// As [`replay`], of a trace that is dense already and is called so in results: the options' trace is not read.
///
/// # Errors
/// As [`replay`].
pub fn replay_opened(
    dense: &mut Dense,
    inputs: Vec<Input>,
    options: &ReplayOptions,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<ReplayReport> {
    let outcomes = outcomes(dense, &options.policies, &options.sizes, &options.counting, progress)?;
    let named = options_of(&options.dense).into_iter().chain(seeds_of(&options.policies));
    Ok(ReplayReport {
        inputs,
        options: named.chain(options.counting.options()).collect(),
        footprint: dense.footprint(),
        left_out: dense.left_out().clone(),
        outcomes,
    })
}

/// Every policy at every size, sizes outermost.
fn outcomes(
    dense: &mut Dense,
    policies: &[Choice],
    sizes: &[Size],
    counting: &Counting,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Vec<Outcome>> {
    check_grid(policies, sizes)?;
    for size in sizes {
        size.resolve(dense.footprint())?;
    }
    counting.resolve(dense.requests())?;
    if policies.iter().any(|p| p.policy.needs_future) {
        dense.look_ahead()?;
    }
    let cells: Vec<_> = sizes.iter().flat_map(|&size| policies.iter().map(move |choice| (size, choice))).collect();
    let (dense, failed) = (&*dense, AtomicBool::new(false));
    let cell = |(size, choice): &(Size, &Choice)| match failed.load(Ordering::Relaxed) {
        // What others find is of no use any more.
        true => Err(Error::Stopped),
        false => {
            let found = run_counted(dense, choice, *size, counting);
            failed.fetch_or(found.is_err(), Ordering::Relaxed);
            found
        }
    };
    let done = |done| progress(done as u64, cells.len() as u64);
    let mut found = parallel::map(&cells, parallel::threads(None), cell, done);
    let first = found.iter().position(|found| !matches!(found, Ok(_) | Err(Error::Stopped)));
    match first {
        Some(at) => found.swap_remove(at).map(|_| Vec::new()),
        None => found.into_iter().collect(),
    }
}
