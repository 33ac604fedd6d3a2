// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Grids of traces, policies and sizes over all cores: resumable, and the same result whatever the number of threads.

mod journal;
mod output;

use std::{
    path::PathBuf,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        Mutex,
    },
};

use fovea_report::document::{Document, Input};

use journal::Journal;
pub use journal::{trace_key, Cell};

use crate::{
    dense::{Dense, DenseOptions},
    output::write_json,
    policy::Choice,
    replay::{check_grid, input, options_of, run_counted, seeds_of, Counting},
    store, Error, Result, Size,
};

/// What to sweep.
#[derive(Clone)]
pub struct SweepOptions {
    /// Trace files.
    pub traces: Vec<PathBuf>,
    /// Policies.
    pub policies: Vec<Choice>,
    /// Cache sizes.
    pub sizes: Vec<Size>,
    /// Results go to this path with `.json` and `.parquet` behind it; finished cells, until all are, to `.partial.jsonl`.
    pub output: PathBuf,
    /// Threads; all cores if absent.
    pub threads: Option<usize>,
    /// How the traces are made dense.
    pub dense: DenseOptions,
    /// Which requests are counted.
    pub counting: Counting,
}

/// What came of a sweep.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// Cells in the order of traces, sizes, policies.
    pub cells: Vec<Cell>,
    /// Of them, those an interrupted sweep had finished.
    pub resumed: usize,
    /// The results document as written.
    pub document: Document,
    /// The files written.
    pub files: [PathBuf; 2],
}

fn with_suffix(path: &std::path::Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Runs every policy at every size on every trace; `progress` is told (done, of).
///
/// Cells that an interrupted sweep of the same output finished are taken from it, if trace, options and program are the same.
///
/// # Errors
/// At the first cell that fails, or if results cannot be written; finished cells are kept.
pub fn sweep(options: &SweepOptions, progress: impl Fn(u64, u64) + Sync) -> Result<SweepReport> {
    check_grid(&options.policies, &options.sizes)?;
    if options.traces.is_empty() {
        return Err(Error::Usage("no trace named; name at least one trace file".into()));
    }
    let threads = match options.threads {
        Some(0) => return Err(Error::Usage("--threads 0: no thread to work; take at least 1".into())),
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let names = trace_names(&options.traces)?;
    let mut journal = Journal::open(&with_suffix(&options.output, ".partial.jsonl"))?;
    let total = (options.traces.len() * options.sizes.len() * options.policies.len()) as u64;
    let (mut cells, mut resumed, mut inputs) = (Vec::new(), 0, Vec::<Input>::new());
    for (path, name) in options.traces.iter().zip(names) {
        let content = store::content_of(path)?;
        inputs.push(input(path, content));
        let key = journal::trace_key(content, &options.dense, &options.counting);
        let grid: Vec<(Size, &Choice)> =
            options.sizes.iter().flat_map(|&size| options.policies.iter().map(move |policy| (size, policy))).collect();
        let mut found: Vec<Option<Cell>> = grid
            .iter()
            .map(|(size, policy)| journal.take(&key, &name, &policy.to_string(), &size.to_string()))
            .collect();
        resumed += found.iter().flatten().count();
        let missing: Vec<usize> = (0..grid.len()).filter(|&at| found[at].is_none()).collect();
        let done = cells.len() + grid.len() - missing.len();
        progress(done as u64, total);
        if !missing.is_empty() {
            let mut dense = Dense::open(path, &options.dense.with_needs_of(&options.policies), |_| {})?;
            if missing.iter().any(|&at| grid[at].1.policy.needs_future) {
                dense.look_ahead()?;
            }
            let counting = &options.counting;
            let work = Work { dense: &dense, grid: &grid, missing: &missing, key: &key, name: &name, counting };
            let computed = work.run(threads, &mut journal, |finished| progress((done + finished) as u64, total))?;
            for (at, cell) in computed {
                found[at] = Some(cell);
            }
        }
        cells.extend(found.into_iter().flatten());
    }
    let named = options_of(&options.dense).into_iter().chain(seeds_of(&options.policies));
    let named = named.chain(options.counting.options()).collect();
    let document = Document { inputs, options: named, ..output::document(&cells) };
    let files = [with_suffix(&options.output, ".json"), with_suffix(&options.output, ".parquet")];
    let mend = format!(
        "all {total} finished cells are kept in {}; make room and run the same sweep again",
        journal.path().display()
    );
    write_json(&files[0], &document, &mend)?;
    output::write_parquet(&files[1], &cells, &mend)?;
    journal.remove()?;
    Ok(SweepReport { cells, resumed, document, files })
}

/// Traces' names in the results: their files', which must differ.
fn trace_names(traces: &[PathBuf]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for path in traces {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if names.contains(&name) {
            return Err(Error::Usage(format!("two traces are named {name}; rename one, results go by the name")));
        }
        names.push(name);
    }
    Ok(names)
}

/// The cells of one trace that are to be computed.
struct Work<'a> {
    dense: &'a Dense,
    grid: &'a [(Size, &'a Choice)],
    missing: &'a [usize],
    key: &'a str,
    name: &'a str,
    counting: &'a Counting,
}

impl Work<'_> {
    fn run(
        &self,
        threads: usize,
        journal: &mut Journal,
        progress: impl Fn(usize) + Sync,
    ) -> Result<Vec<(usize, Cell)>> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results = Mutex::new((Vec::new(), journal, None));
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.missing.len()) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let Some(&at) = self.missing.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                        let (size, choice) = self.grid[at];
                        let outcome = run_counted(self.dense, choice, size, self.counting);
                        let mut guard = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        let (cells, journal, failure) = &mut *guard;
                        let kept = outcome.and_then(|outcome| {
                            let cell = Cell::new(self.name, &outcome, self.dense);
                            journal.append(self.key, &cell).map(|()| cell)
                        });
                        match kept {
                            Ok(cell) => {
                                cells.push((at, cell));
                                progress(cells.len());
                            }
                            Err(error) => {
                                stop.store(true, Ordering::Relaxed);
                                failure.get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        let (cells, _, failure) = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        failure.map_or(Ok(cells), Err)
    }
}
