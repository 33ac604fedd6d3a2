// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Importers: foreign trace formats into trace files. One file per format, listed in [`FORMATS`].

mod apps;
mod biotracer;
mod blkparse;
mod csv;
mod ids;
mod lcs;
mod mobile;
mod msr;
mod oracle_general;
mod sanity;
mod sort;
mod source;
mod systor;
mod text;
mod vscsi;
mod ycsb;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Serialize;

pub use apps::AppRule;
pub use csv::{does, role_of_title, CsvOptions, Does, Role, TextIds, TimeUnit};
pub use sanity::Sanity;
pub use source::{Jumps, Objects, Order, Sink, Source, Tally, JUMP_NS};

use crate::{
    input::{Input, STANDARD_INPUT},
    output::distinct,
    requests::FORMAT_KEY,
    store::Writer,
    Error, Record, Result, Stop,
};

/// A foreign format.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is and where it is used.
    pub about: &'static str,
    /// Whether a file that begins so looks like it.
    sniff: fn(&[u8]) -> bool,
    /// Reads a whole file.
    read: fn(&mut Source<'_>) -> Result<()>,
}

/// Every format, most distinctive first, which is the order of detection.
pub static FORMATS: &[&Format] = &[
    &mobile::FORMAT,
    &msr::FORMAT,
    &systor::FORMAT,
    &biotracer::FORMAT,
    &blkparse::FORMAT,
    &ycsb::FORMAT,
    &csv::FORMAT,
    &ids::FORMAT,
    &lcs::FORMAT,
    &vscsi::FORMAT,
    &oracle_general::FORMAT,
];

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for &'static Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        FORMATS.iter().copied().find(|f| f.name == name).ok_or_else(|| {
            let known: Vec<_> = FORMATS.iter().map(|f| f.name).collect();
            Error::Usage(format!("format {name:?}: not known; take one of {}", known.join(", ")))
        })
    }
}

/// What to import and how.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The foreign file; may be compressed with gzip, xz, zstd, bzip2 or lz4; `-` is standard input.
    pub input: PathBuf,
    /// The trace file to make.
    pub output: PathBuf,
    /// Its format; detected if absent.
    pub format: Option<&'static Format>,
    /// What to do when time goes back.
    pub order: Order,
    /// Leave bad records out instead of stopping at the first.
    pub skip_bad: bool,
    /// What is known of a csv file's columns.
    pub csv: CsvOptions,
    /// Which event of blkparse's counts as the request (`Q`, `D` or `C`); `Q` if absent.
    pub blkparse_action: Option<char>,
    /// Apps in place of threads' names; of several that fit the first.
    pub apps: Vec<AppRule>,
    /// Each request to a disk is one for an object, which its first byte is the number of, and as large as it: what libCacheSim makes of vscsi.
    pub whole_requests: bool,
}

/// What was imported.
#[derive(Clone, Debug, Serialize)]
pub struct ImportReport {
    /// The format, as named or detected.
    pub format: &'static str,
    /// What the file was understood as, in one line.
    pub understood: String,
    /// Records in the trace file.
    pub records: u64,
    /// Figures that show a wrong reading.
    pub sanity: Sanity,
    /// What was left out and what is not known, by kind.
    #[serde(flatten)]
    pub tally: Tally,
}

/// What is none, by its first bytes: a program's table of relocations has the shape of oracleGeneral, 24 bytes a record.
const OTHERS: [(&[u8], &str); 6] = [
    (b"\x7fELF", "a program"),
    (b"!<arch>\n", "a library"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF"),
    (b"SQLite format 3", "a database"),
    (b"\x89PNG", "a picture"),
];

fn detect(path: &Path, input: &mut Input) -> Result<&'static Format> {
    let head = input.peek(1 << 16)?;
    if head.is_empty() {
        return Err(empty(path));
    }
    let other = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| what);
    let known = FORMATS.iter().copied().find(|format| other.is_none() && (format.sniff)(&head));
    known.ok_or_else(|| {
        let known: Vec<_> = FORMATS.iter().map(|f| f.name).collect();
        Error::Content {
            path: path.display().to_string(),
            place: "its beginning".into(),
            what: format!(
                "looks like no format known here{}",
                other.map_or(String::new(), |o| format!(", but like {o}"))
            ),
            mend: format!(
                "if each line is an id, import it with `fovea trace import --format ids`; else with one of {}",
                known.join(", ")
            ),
        }
    })
}

fn empty(path: &Path) -> Error {
    Error::Content {
        path: path.display().to_string(),
        place: "the whole file".into(),
        what: "empty: no record in it".into(),
        mend: "fetch the file again".into(),
    }
}

/// Reads a foreign file record by record; [`import`] writes them to a trace file.
fn read_all(mut input: Input, options: &ImportOptions, sink: &mut dyn Sink) -> Result<Done> {
    let path = input.path().to_owned();
    if input.peek(1)?.is_empty() {
        return Err(empty(&path));
    }
    let format = match options.format {
        Some(format) => format,
        None => detect(&path, &mut input)?,
    };
    let mut source = Source::new(input, options, sink);
    (format.read)(&mut source)?;
    let (records, tally, understood) = source.finish();
    if records == 0 {
        let left_out = match tally.summary() {
            text if text.is_empty() => String::new(),
            text => format!(" ({text})"),
        };
        return Err(Error::Content {
            path: path.display().to_string(),
            place: "the whole file".into(),
            what: format!("no {} record in it{left_out}", format.name),
            mend: "name the right format with --format".into(),
        });
    }
    let understood = match understood {
        Some(words) => format!("{}: {words}", format.name),
        None => format!("{}: {}", format.name, format.about),
    };
    Ok(Done { format: format.name, tally, understood })
}

/// What was read.
struct Done {
    format: &'static str,
    tally: Tally,
    understood: String,
}

/// Reads a foreign file with the importers' defaults, for who needs its records only.
///
/// # Errors
/// As [`import`], and what `sink` returns.
pub fn each(path: &Path, sink: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
    let (input, _) = Input::open(path)?;
    read_all(input, &ImportOptions::default(), &mut |record| sink(record)).map(drop)
}

/// As [`each`], and returns the checksum of what was read (XXH64): the whole file's, which is read once for both.
pub(crate) fn each_summed(path: &Path, sink: &mut dyn Sink) -> Result<u64> {
    let (input, summed) = Input::open_summed(path)?;
    read_all(input, &ImportOptions::default(), sink)?;
    summed.finish()
}

/// Imports a foreign file; `progress` is told the bytes read so far of the file and the file's size.
///
/// # Errors
/// If the file cannot be read, a record of it is bad (unless those are skipped), or the trace file cannot be written.
pub fn import(options: &ImportOptions, progress: impl Fn(u64, u64)) -> Result<ImportReport> {
    import_until(options, &Stop::default(), progress)
}

/// As [`import`], until somebody asks that it end.
///
/// # Errors
/// As [`import`], and if it is to end.
pub fn import_until(options: &ImportOptions, stop: &Stop, progress: impl Fn(u64, u64)) -> Result<ImportReport> {
    distinct(&options.input, &options.output)?;
    let mut writer = Writer::create(&options.output)?;
    let report = read_to(options, stop, progress, &mut writer)?;
    writer.finish(&report.notes(options))?;
    Ok(report)
}

/// Reads a foreign file as [`import`] does, and gives its records to `sink` in the order that a trace file would have them. Records are
/// sorted in the folder of the options' output.
///
/// # Errors
/// As [`import_until`], and what `sink` returns.
pub fn read(
    options: &ImportOptions,
    stop: &Stop,
    progress: impl Fn(u64, u64),
    mut sink: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<ImportReport> {
    read_to(options, stop, progress, &mut sink)
}

/// Counts what goes by, and lets itself be stopped.
struct Counted<'a, P> {
    counter: sanity::Counter,
    records: u64,
    stop: &'a Stop,
    progress: P,
    sink: &'a mut dyn Sink,
}

/// Records between looks at whether to stop.
const LOOK_RECORDS: u64 = 65_536;

impl<P: Fn()> Counted<'_, P> {
    fn count(&mut self, records: u64) -> Result<()> {
        let before = self.records / LOOK_RECORDS;
        self.records += records;
        if self.records / LOOK_RECORDS > before {
            self.stop.check()?;
            (self.progress)();
        }
        Ok(())
    }
}

impl<P: Fn()> Sink for Counted<'_, P> {
    fn record(&mut self, record: Record) -> Result<()> {
        self.counter.look(&record);
        self.count(1)?;
        self.sink.record(record)
    }

    fn objects(&mut self, objects: &Objects<'_>) -> Result<()> {
        self.counter.look_at_objects(objects);
        self.count(objects.objects.len() as u64)?;
        self.sink.objects(objects)
    }
}

/// As [`read`], to a sink that may take columns.
fn read_to(
    options: &ImportOptions,
    stop: &Stop,
    progress: impl Fn(u64, u64),
    sink: &mut dyn Sink,
) -> Result<ImportReport> {
    // Standard input tells no size.
    let size = match options.input == Path::new(STANDARD_INPUT) {
        true => 0,
        false => std::fs::metadata(&options.input).map_err(|e| Error::read(&options.input, e))?.len(),
    };
    let (input, bytes_read) = Input::open(&options.input)?;
    let progress = || progress(bytes_read.get(), size);
    let mut counted = Counted { counter: sanity::Counter::new(), records: 0, stop, progress, sink };
    let Done { format, tally, understood } = match options.order {
        Order::Sort => {
            let mut sorter = sort::Sorter::new(&options.output);
            let done = read_all(input, options, &mut |record| sorter.push(record))?;
            sorter.finish(&mut |record| counted.record(record))?;
            done
        }
        _ => read_all(input, options, &mut counted)?,
    };
    let (records, sanity) = (counted.records, counted.counter.finish());
    Ok(ImportReport { format, understood, records, sanity, tally })
}

impl ImportReport {
    /// What a trace file says of where it comes from.
    pub fn notes(&self, options: &ImportOptions) -> BTreeMap<String, String> {
        let source = options.input.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut notes = BTreeMap::from([
            (FORMAT_KEY.to_owned(), self.format.to_owned()),
            ("fovea.trace.source".to_owned(), source),
            ("fovea.trace.understood".to_owned(), self.understood.clone()),
            ("fovea.trace.sanity".to_owned(), serde_json::to_string(&self.sanity).expect("figures serialise")),
            ("fovea.trace.tally".to_owned(), serde_json::to_string(&self.tally).expect("counts serialise")),
        ]);
        if !options.apps.is_empty() {
            let rules: Vec<_> = options.apps.iter().map(AppRule::to_string).collect();
            notes.insert("fovea.trace.apps".into(), rules.join(" "));
        }
        if options.whole_requests {
            notes.insert("fovea.trace.whole-requests".into(), "true".into());
        }
        notes
    }
}

/// Reads bytes as a file of a format and returns its records: what the fuzz targets and the property tests drive.
///
/// # Errors
/// As [`import`].
pub fn parse_bytes(format: &'static Format, bytes: &[u8], options: &ImportOptions) -> Result<(Vec<Record>, Tally)> {
    let options = ImportOptions { format: Some(format), ..options.clone() };
    let mut records = Vec::new();
    let input = Input::from_bytes("input", bytes)?;
    let Done { tally, .. } = read_all(input, &options, &mut |record| {
        records.push(record);
        Ok(())
    })?;
    Ok((records, tally))
}
