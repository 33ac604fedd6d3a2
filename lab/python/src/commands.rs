// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the command line has beside replay: import, info, make, filter, export, and the papers' experiments.

use std::path::PathBuf;

use fovea_lab::dense::DenseOptions;
use fovea_lab::ecache::compare as ecache_compare;
use fovea_lab::hybrid::{compare::compare as hybrid_compare, HybridTrace, Policy, POLICIES};
use fovea_lab::import::{self, CsvOptions, Format, ImportOptions, Order};
use fovea_lab::reproduce::{self, Settings};
use fovea_lab::synthetic::{self, Synthetic};
use fovea_lab::{Error, Filter, Op, Result, Size};
use pyo3::prelude::*;

use crate::interrupt::interruptible;
use crate::json;

/// How a foreign trace is read, as text; it is read here, so that mistakes are answered in the lab's words.
#[derive(Default, FromPyObject)]
pub struct Foreign {
    #[pyo3(item)]
    format: Option<String>,
    #[pyo3(item)]
    csv: Option<String>,
    #[pyo3(item)]
    order: String,
    #[pyo3(item)]
    skip_bad: bool,
    #[pyo3(item)]
    whole_requests: bool,
    #[pyo3(item)]
    apps: Vec<String>,
    #[pyo3(item)]
    blkparse_action: Option<char>,
}

impl Foreign {
    /// As the lab takes it, for this file.
    pub fn options(&self, input: PathBuf, output: PathBuf) -> Result<ImportOptions> {
        let named = self.format.as_deref().or(self.csv.as_ref().map(|_| "csv"));
        let order = match self.order.as_str() {
            "reject" => Order::Reject,
            "keep" => Order::Keep,
            "sort" => Order::Sort,
            other => return Err(Error::Usage(format!("order {other:?}: not known; take reject, keep or sort"))),
        };
        Ok(ImportOptions {
            input,
            output,
            format: named.map(str::parse::<&'static Format>).transpose()?,
            order,
            skip_bad: self.skip_bad,
            csv: self.csv.as_deref().map_or(Ok(CsvOptions::default()), str::parse)?,
            blkparse_action: self.blkparse_action,
            apps: self.apps.iter().map(|rule| rule.parse()).collect::<Result<_>>()?,
            whole_requests: self.whole_requests,
        })
    }
}

/// The import's report, as JSON.
#[pyfunction]
pub fn import_trace(py: Python<'_>, input: PathBuf, output: PathBuf, foreign: Foreign) -> PyResult<String> {
    interruptible(py, |stop| {
        let options = foreign.options(input, output)?;
        import::import_until(&options, stop, |_, _| {}).map(|report| json(&report))
    })
}

#[pyfunction]
pub fn info(py: Python<'_>, trace: PathBuf) -> PyResult<String> {
    interruptible(py, |_| fovea_lab::info(&trace, |_, _| {}).map(|info| json(&info)))
}

#[pyfunction]
pub fn make(
    py: Python<'_>,
    output: PathBuf,
    requests: u64,
    objects: u64,
    zipf: f64,
    once_percent: f64,
    seed: u64,
) -> PyResult<()> {
    interruptible(py, |_| synthetic::make(&Synthetic { requests, objects, zipf, once_percent, seed }, &output, |_| {}))
}

fn ops(names: Option<&[String]>) -> Result<Option<Vec<Op>>> {
    let known = |name: &String| {
        let names = Op::ALL.map(|op| op.name()).join(", ");
        name.parse().map_err(|()| Error::Usage(format!("ops {name:?}: operations are {names}")))
    };
    names.map(|names| names.iter().map(known).collect()).transpose()
}

fn ns(seconds: Option<f64>, name: &str) -> Result<Option<u64>> {
    let wrong = |s: f64| Error::Usage(format!("{name} {s}: take seconds after the trace's first record, 0 or more"));
    seconds.map(|s| if (0.0..1e10).contains(&s) { Ok((s * 1e9).round() as u64) } else { Err(wrong(s)) }).transpose()
}

/// Records that were kept.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn filter(
    py: Python<'_>,
    trace: PathBuf,
    output: PathBuf,
    from_s: Option<f64>,
    to_s: Option<f64>,
    names: Option<Vec<String>>,
    apps: Option<Vec<String>>,
    sample: Option<f64>,
    seed: u64,
) -> PyResult<u64> {
    interruptible(py, |_| {
        let (from_ns, to_ns) = (ns(from_s, "start")?, ns(to_s, "end")?);
        let filter = Filter { from_ns, to_ns, ops: ops(names.as_deref())?, apps, sample, seed };
        fovea_lab::filter(&trace, &output, &filter, |_, _| {})
    })
}

/// Requests that were written.
#[pyfunction]
pub fn export(
    py: Python<'_>,
    trace: PathBuf,
    output: PathBuf,
    reads_only: bool,
    names: Option<Vec<String>>,
    from_start: bool,
) -> PyResult<u64> {
    interruptible(py, |stop| {
        let options =
            DenseOptions { reads_only, ops: ops(names.as_deref())?, stop: stop.clone(), ..DenseOptions::default() };
        fovea_lab::export(&trace, &output, &options, from_start, |_, _| {})
    })
}

/// Experiments as (id, title, source, claim).
#[pyfunction]
pub fn experiments() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    reproduce::ENTRIES.iter().map(|entry| (entry.id, entry.title, entry.source, entry.claim)).collect()
}

/// The results document with the plots' series, as JSON.
#[pyfunction]
pub fn reproduce_papers(
    py: Python<'_>,
    ids: Vec<String>,
    seed: u64,
    seeds: Option<u32>,
    quick: bool,
    threads: Option<usize>,
) -> PyResult<String> {
    interruptible(py, |stop| {
        let mut all = Vec::new();
        for entry in reproduce::select(reproduce::ENTRIES, &ids)? {
            stop.check()?;
            all.push(entry);
        }
        let seeds = seeds.unwrap_or(Settings::usual_seeds(quick));
        let settings = Settings { seed, seeds, quick, threads: fovea_lab::threads(threads) };
        reproduce::reproduce(&all, &settings, |_| {}).map(|found| json(&found))
    })
}

/// The results document, as JSON.
#[pyfunction]
pub fn hybrid(
    py: Python<'_>,
    trace: PathBuf,
    policies: Vec<String>,
    sizes: Vec<String>,
    dram_percent: f64,
    foreground: Vec<String>,
) -> PyResult<String> {
    interruptible(py, |_| {
        let named: Vec<Policy> = policies.iter().map(|name| name.parse()).collect::<Result<_>>()?;
        let policies = if named.is_empty() { POLICIES.to_vec() } else { named };
        let sizes: Vec<Size> = sizes.iter().map(|size| size.parse()).collect::<Result<_>>()?;
        let trace = HybridTrace::open(&trace, &foreground)?;
        hybrid_compare(&trace, &policies, &sizes, dram_percent).map(|document| json(&document))
    })
}

/// The results document, as JSON.
#[pyfunction]
pub fn ecache(py: Python<'_>, traces: Vec<String>, launches: u32, seed: u64, width: usize) -> PyResult<String> {
    interruptible(py, |_| {
        let traces = ecache_compare::traces(&traces, launches, seed)?;
        let rows = ecache_compare::compare(&traces, width)?;
        Ok(json(&ecache_compare::results(&rows, seed)))
    })
}
