// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Traces in memory, as Arrow record batches: what comes through the Arrow C stream interface stays where it is, and what goes out is
//! handed over by its address.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use arrow_array::{
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
    RecordBatch, RecordBatchIterator,
};
use arrow_schema::SchemaRef;
use fovea_lab::dense::{Dense, DenseOptions};
use fovea_lab::store::{is_trace_file, Reader, Writer};
use fovea_lab::{import, Record, Result};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};

use crate::interrupt::{fail, interruptible, Error};
use crate::records::{batch, schema, Rows};

/// What a trace in memory is called.
pub const NAME: &str = "memory";
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// Rows of a batch, as in a trace file.
const BATCH_ROWS: usize = 65_536;

/// A trace in memory.
#[pyclass(frozen, module = "fovea")]
pub struct Trace {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    notes: BTreeMap<String, String>,
}

impl Trace {
    fn of(records: &mut dyn FnMut(&mut dyn FnMut(Record) -> Result<()>) -> Result<()>) -> Result<Vec<RecordBatch>> {
        let (mut batches, mut rows) = (Vec::new(), Vec::new());
        records(&mut |record| {
            rows.push(record);
            if rows.len() == BATCH_ROWS {
                batches.push(batch(&rows));
                rows.clear();
            }
            Ok(())
        })?;
        if !rows.is_empty() {
            batches.push(batch(&rows));
        }
        Ok(batches)
    }

    fn records(&self) -> impl Iterator<Item = Result<Record>> + '_ {
        let mut first = 0;
        self.batches.iter().flat_map(move |batch| {
            let (rows, failed) = match Rows::of(batch, first) {
                Ok(rows) => (Some(rows), None),
                Err(error) => (None, Some(error)),
            };
            first += batch.num_rows() as u64;
            let records = rows.into_iter().flat_map(|mut rows| (0..rows.len()).map(move |at| rows.record(at)));
            failed.map(Err).into_iter().chain(records)
        })
    }

    /// Makes it dense.
    pub fn dense(&self, options: &DenseOptions) -> Result<Dense> {
        Dense::of_records(NAME, &self.notes, self.records(), options)
    }
}

#[pymethods]
impl Trace {
    /// Takes whatever speaks the Arrow C stream interface.
    #[staticmethod]
    fn from_arrow(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = source.getattr("__arrow_c_stream__").map_err(|_| {
            let kind = source.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
            PyTypeError::new_err(format!("{kind}: no trace; give a path, a fovea.Trace, or a table (pyarrow, pandas)"))
        })?;
        let capsule = method.call0()?.cast_into::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of that name holds an ArrowArrayStream, by the interface's definition; it is moved out and marked released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        let wrong = |e: arrow_schema::ArrowError| Error::new_err(format!("{NAME}: the Arrow stream: {e}"));
        let reader = ArrowArrayStreamReader::try_new(stream).map_err(wrong)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let notes = schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(wrong)?;
        for batch in &batches {
            Rows::of(batch, 0).map_err(fail)?;
        }
        Ok(Trace { schema, batches, notes })
    }

    /// Reads a trace file, or a foreign trace as `fovea trace import` does.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        interruptible(py, |stop| {
            let mut notes = BTreeMap::new();
            let batches = Trace::of(&mut |sink| {
                if !is_trace_file(&path)? {
                    return import::each(&path, sink);
                }
                let mut reader = Reader::open(&path)?;
                notes = reader.notes();
                while let Some(records) = reader.batch()? {
                    stop.check()?;
                    records.into_iter().try_for_each(&mut *sink)?;
                }
                Ok(())
            })?;
            let with_notes = schema().with_metadata(notes.clone().into_iter().collect());
            let batches = batches.into_iter().map(|batch| {
                let columns = batch.columns().to_vec();
                RecordBatch::try_new(Arc::new(with_notes.clone()), columns).expect("the schema's columns")
            });
            Ok(Trace { batches: batches.collect(), schema: Arc::new(with_notes.clone()), notes })
        })
    }

    /// Writes a trace file; it appears under its name when it is whole.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        interruptible(py, |stop| {
            let mut writer = Writer::create(&path)?;
            for record in self.records() {
                if writer.records() % BATCH_ROWS as u64 == 0 {
                    stop.check()?;
                }
                writer.push(record?)?;
            }
            // The writer sets its own version.
            let notes = self.notes.iter().filter(|(key, _)| *key != fovea_lab::store::VERSION_KEY);
            writer.finish(&notes.map(|(key, value)| (key.clone(), value.clone())).collect())
        })
    }

    /// Where it comes from and what was dropped.
    #[getter]
    fn notes(&self) -> BTreeMap<String, String> {
        self.notes.clone()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish only, by the interface's definition: whoever asks casts.
        drop(requested_schema);
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }
}
