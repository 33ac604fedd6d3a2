// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the package `fovea` has in Rust: traces as Arrow streams, and the lab's replay, curves and sweeps without the interpreter's lock.

mod commands;
mod interrupt;
mod naming;
mod records;
mod steps;
mod trace;

use std::path::PathBuf;

use fovea_lab::dense::{Dense, DenseOptions, CHUNK_REQUESTS};
use fovea_lab::mrc::{mrc_dense, MrcOptions};
use fovea_lab::policy::{self, Choice};
use fovea_lab::replay::{
    check_grid, input, over_seeds, replay_opened, with_seeds, Counting, OverSeeds, ReplayOptions, ReplayReport,
};
use fovea_lab::store::content_of;
use fovea_lab::sweep::{trace_key, Cell, SweepOptions};
use fovea_lab::{Result, Size, Stop, Weight};
use fovea_report::document::Input;
use pyo3::prelude::*;

use interrupt::{fail, interruptible};
use steps::Steps;
use trace::Trace;

/// A trace: a file's path, or one in memory.
#[derive(FromPyObject)]
enum Source {
    Memory(Py<Trace>),
    File(PathBuf),
}

/// What the user chose, as text; it is read here, so that mistakes are answered in the lab's words.
#[derive(FromPyObject)]
struct Shape {
    #[pyo3(item)]
    reads_only: bool,
    #[pyo3(item)]
    ops: Option<Vec<String>>,
    #[pyo3(item)]
    repeat: u64,
    #[pyo3(item)]
    keep: bool,
}

impl Shape {
    fn options(&self, stop: &Stop) -> Result<DenseOptions> {
        let known = |name: &String| {
            let op: Option<fovea_lab::Op> = name.parse().ok();
            op.filter(|op| op.is_request()).ok_or_else(|| {
                let what = "requests are object, block, page-get, page-fault and page-map";
                fovea_lab::Error::Usage(format!("ops {name:?}: {what}"))
            })
        };
        let ops = self.ops.as_ref().map(|ops| ops.iter().map(known).collect::<Result<_>>()).transpose()?;
        let usual = DenseOptions::default();
        let keep_requests = usual.keep_requests.filter(|_| self.keep);
        let (reads_only, repeat, stop) = (self.reads_only, self.repeat, stop.clone());
        Ok(DenseOptions { reads_only, repeat, ops, keep_requests, stop, ..usual })
    }
}

/// Which requests are counted, as text.
#[derive(FromPyObject)]
struct Counted {
    #[pyo3(item)]
    warm_up: String,
    #[pyo3(item)]
    interval: Option<u64>,
}

impl Counted {
    fn counting(&self) -> Result<Counting> {
        Ok(Counting { warm_up: self.warm_up.parse()?, interval: self.interval })
    }
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            Source::Memory(_) => trace::NAME.into(),
        }
    }

    /// As results name it: a trace in memory has no content to go by.
    fn inputs(&self, dense: &Dense) -> Vec<Input> {
        match self {
            Source::File(path) => vec![input(path, dense.checksum().unwrap_or_default())],
            Source::Memory(_) => Vec::new(),
        }
    }

    fn open(&self, options: &DenseOptions) -> Result<Dense> {
        match self {
            Source::File(path) => Dense::open(path, options, |_| {}),
            Source::Memory(trace) => trace.get().dense(options),
        }
    }
}

fn choices(names: &[String]) -> Result<Vec<Choice>> {
    match names {
        [all] if all == "all" => Ok(policy::all()),
        names => names.iter().map(|name| name.parse()).collect(),
    }
}

fn sizes_of(texts: &[String]) -> Result<Vec<Size>> {
    texts.iter().map(|text| text.parse()).collect()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("results serialise")
}

/// Rows and results document, as JSON.
type Found = (String, String);

/// The same, and rows that take a policy's seeds together.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn replay(
    py: Python<'_>,
    trace: Source,
    policies: Vec<String>,
    sizes: Vec<String>,
    shape: Shape,
    counting: Counted,
    seeds: u32,
) -> PyResult<(String, String, String)> {
    interruptible(py, |stop| {
        let (policies, sizes) = (with_seeds(&choices(&policies)?, seeds), sizes_of(&sizes)?);
        check_grid(&policies, &sizes)?;
        let (dense, counting) = (shape.options(stop)?, counting.counting()?);
        let options = ReplayOptions { trace: PathBuf::new(), policies, sizes, dense, counting };
        let mut dense = trace.open(&options.dense.with_needs_of(&options.policies))?;
        let inputs = trace.inputs(&dense);
        let report = replay_opened(&mut dense, inputs, &options, |_, _| {})?;
        let cells: Vec<Cell> = report.outcomes.iter().map(|o| Cell::new(&trace.name(), o, &dense)).collect();
        let over: Vec<_> = over_seeds(&options.policies, &report.outcomes)
            .iter()
            .map(|found| row_over_seeds(&trace.name(), found, &report))
            .collect();
        Ok((json(&cells), json(&report.document()), json(&over)))
    })
}

fn row_over_seeds(trace: &str, found: &OverSeeds, report: &ReplayReport) -> serde_json::Value {
    // All policies were asked the same.
    let requests = report.outcomes.first().map_or(0, |outcome| outcome.requests);
    let ratio = |misses: f64| misses / requests.max(1) as f64;
    serde_json::json!({
        "trace": trace,
        "policy": found.policy,
        "size": found.size,
        "seeds": found.seeds,
        "requests": requests,
        "mean_misses": found.mean_misses,
        "half_interval": found.half_interval,
        "least_misses": found.range[0],
        "most_misses": found.range[1],
        "miss_ratio": ratio(found.mean_misses),
        "miss_ratio_half_interval": ratio(found.half_interval),
    })
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn mrc(
    py: Python<'_>,
    trace: Source,
    policies: Vec<String>,
    sizes: Vec<String>,
    shape: Shape,
    rate: f64,
    exact: bool,
    shards: bool,
    threads: Option<usize>,
) -> PyResult<Found> {
    interruptible(py, |stop| {
        let options = MrcOptions {
            trace: PathBuf::new(),
            policies: choices(&policies)?,
            sizes: sizes_of(&sizes)?,
            rate,
            exact,
            shards,
            threads: fovea_lab::threads(threads),
            dense: shape.options(stop)?,
        };
        let dense = trace.open(&options.dense.with_needs_of(&options.policies))?;
        let inputs = trace.inputs(&dense);
        let mut found = mrc_dense(dense, &options, |_, _| {})?;
        found.document.inputs = inputs;
        let name = trace.name();
        let rows: Vec<_> = found.points.iter().map(|p| point(&name, p)).collect();
        Ok((json(&rows), json(&found.document)))
    })
}

fn point(trace: &str, point: &fovea_lab::mrc::Point) -> serde_json::Value {
    serde_json::json!({
        "trace": trace,
        "policy": point.policy,
        "size": point.size.to_string(),
        "capacity": point.capacity.amount,
        "by_bytes": point.capacity.weight == Weight::Bytes,
        "miss_ratio": point.miss_ratio,
        "error": point.error,
        "rate": point.rate,
        "method": point.method.name(),
    })
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn sweep(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    policies: Vec<String>,
    sizes: Vec<String>,
    shape: Shape,
    counting: Counted,
    output: PathBuf,
    threads: Option<usize>,
) -> PyResult<(String, String, usize)> {
    interruptible(py, |stop| {
        let (policies, sizes, dense) = (choices(&policies)?, sizes_of(&sizes)?, shape.options(stop)?);
        let options = SweepOptions { traces, policies, sizes, output, threads, dense, counting: counting.counting()? };
        let report = fovea_lab::sweep(&options, |_, _| {})?;
        Ok((json(&report.cells), json(&report.document), report.resumed))
    })
}

/// Each trace's key in a sweep's journal, and (policy, size) of its cells as they are written there.
#[pyfunction]
fn plan(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    policies: Vec<String>,
    sizes: Vec<String>,
    shape: Shape,
    counting: Counted,
) -> PyResult<(Vec<String>, Vec<(String, String)>)> {
    interruptible(py, |stop| {
        let (policies, sizes, options) = (choices(&policies)?, sizes_of(&sizes)?, shape.options(stop)?);
        check_grid(&policies, &sizes)?;
        let counting = counting.counting()?;
        let key = |path: &PathBuf| Ok(trace_key(content_of(path)?, &options, &counting));
        let cell = |size: &Size, policy: &Choice| (policy.to_string(), size.to_string());
        let grid = sizes.iter().flat_map(|size| policies.iter().map(move |policy| cell(size, policy)));
        Ok((traces.iter().map(key).collect::<Result<_>>()?, grid.collect()))
    })
}

/// Name, source, and parameters as (name, default, least, greatest, meaning), of every policy.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn policies() -> Vec<(&'static str, &'static str, Vec<(&'static str, f64, f64, f64, &'static str)>)> {
    let parameters = |p: &policy::Parameter| (p.name, p.default, p.least, p.greatest, p.meaning);
    policy::ALL.iter().map(|p| (p.name, p.source, p.parameters.iter().map(parameters).collect())).collect()
}

/// A dense trace, for policies that are written in Python.
#[pyclass(frozen)]
struct Requests {
    dense: Dense,
    name: String,
}

#[pymethods]
impl Requests {
    #[new]
    fn new(py: Python<'_>, trace: Source, shape: Shape) -> PyResult<Self> {
        interruptible(py, |stop| {
            let dense = trace.open(&shape.options(stop)?)?;
            Ok(Requests { name: trace.name(), dense })
        })
    }

    fn __len__(&self) -> usize {
        self.dense.requests() as usize
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Distinct objects and their bytes.
    #[getter]
    fn footprint(&self) -> (u64, u64) {
        (self.dense.footprint().objects, self.dense.footprint().bytes)
    }

    /// How much a size is of this trace, whether it counts bytes, and its text as results have it.
    fn resolve(&self, size: &str) -> PyResult<(u64, bool, String)> {
        let parsed: Size = size.parse().map_err(fail)?;
        let capacity = parsed.resolve(self.dense.footprint()).map_err(fail)?;
        Ok((capacity.amount, capacity.weight == Weight::Bytes, parsed.to_string()))
    }

    /// How many of its requests are not counted.
    fn warm_up(&self, counting: Counted) -> PyResult<u64> {
        counting.counting().and_then(|counting| counting.resolve(self.dense.requests())).map_err(fail)
    }

    /// Objects and their bytes from request `start` on, a chunk of them or as many as are asked for.
    fn chunk(&self, start: u64, most: u64) -> PyResult<(Vec<u32>, Vec<u64>)> {
        let count = CHUNK_REQUESTS.min(self.dense.requests().saturating_sub(start).min(most) as usize);
        let (ids, sizes, _) = self.dense.columns();
        let (mut scratch, mut size_scratch) = (Vec::new(), Vec::new());
        let ids = ids.chunk(start, count, &mut scratch)?.to_vec();
        Ok((ids, sizes.chunk(start, count, &mut size_scratch)?.to_vec()))
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<interrupt::Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Trace>()?;
    module.add_class::<Requests>()?;
    module.add_class::<Steps>()?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(mrc, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_function(wrap_pyfunction!(policies, module)?)?;
    module.add_function(wrap_pyfunction!(commands::import_trace, module)?)?;
    module.add_function(wrap_pyfunction!(commands::info, module)?)?;
    module.add_function(wrap_pyfunction!(commands::make, module)?)?;
    module.add_function(wrap_pyfunction!(commands::filter, module)?)?;
    module.add_function(wrap_pyfunction!(commands::export, module)?)?;
    module.add_function(wrap_pyfunction!(commands::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(commands::reproduce_papers, module)?)?;
    module.add_function(wrap_pyfunction!(commands::hybrid, module)?)?;
    module.add_function(wrap_pyfunction!(commands::ecache, module)?)?;
    Ok(())
}
