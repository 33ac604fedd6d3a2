// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Traces in memory, as Arrow record batches: what comes through the Arrow C stream interface stays where it is, and what goes out is
//! handed over by its address.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use arrow_array::{
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::SchemaRef;
use fovea_lab::dense::{Dense, DenseOptions};
use fovea_lab::store::{is_trace_file, Reader, Writer};
use fovea_lab::{
    import::{self, TextIds},
    Record, Result,
};
use pyo3::{
    buffer::PyBuffer,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods, PyDict},
};

use crate::commands::Foreign;
use crate::interrupt::{fail, interruptible, Error};
use crate::records::{batch, schema, Naming, Rows};

/// What a trace in memory is called.
pub const NAME: &str = "memory";
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// Rows of a batch, as in a trace file.
const BATCH_ROWS: usize = 65_536;

/// A column of a buffer of numbers, or of a list.
fn column_of(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = values.py();
    macro_rules! buffer {
        ($($from:ty => $array:ident as $to:ty),*) => {
            $(if let Ok(buffer) = PyBuffer::<$from>::get(values) {
                let numbers = buffer.to_vec(py)?.into_iter().map(|n| n as $to);
                return Ok(Arc::new(numbers.collect::<$array>()));
            })*
        };
    }
    buffer!(
        u64 => UInt64Array as u64, i64 => Int64Array as i64, u32 => Int64Array as i64, i32 => Int64Array as i64,
        u16 => Int64Array as i64, i16 => Int64Array as i64, u8 => Int64Array as i64, i8 => Int64Array as i64,
        f64 => Float64Array as f64, f32 => Float64Array as f64
    );
    if let Ok(numbers) = values.extract::<Vec<Option<u64>>>() {
        return Ok(Arc::new(UInt64Array::from(numbers)));
    }
    if let Ok(numbers) = values.extract::<Vec<Option<i64>>>() {
        return Ok(Arc::new(Int64Array::from(numbers)));
    }
    if let Ok(numbers) = values.extract::<Vec<Option<f64>>>() {
        return Ok(Arc::new(Float64Array::from(numbers)));
    }
    Ok(Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)))
}

/// A trace in memory.
#[pyclass(frozen, module = "fovea")]
pub struct Trace {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    notes: BTreeMap<String, String>,
    naming: Naming,
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
        let (mut first, mut ids) = (0, TextIds::new(false));
        self.batches.iter().flat_map(move |batch| {
            let mut records = Vec::new();
            match Rows::of(batch, first, &self.naming) {
                Ok(mut rows) => {
                    records.extend((0..rows.len()).filter_map(|at| rows.record(at, &mut ids).transpose()));
                }
                Err(error) => records.push(Err(error)),
            }
            first += batch.num_rows() as u64;
            records
        })
    }

    /// Of batches of a table whose columns are called otherwise.
    fn of_table(
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        columns: Option<&BTreeMap<String, Option<String>>>,
        time_unit: Option<&str>,
    ) -> PyResult<Self> {
        let mut notes: BTreeMap<String, String> =
            schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        // pandas' own.
        notes.remove("pandas");
        let naming = Naming::of(&schema, columns, time_unit).map_err(fail)?;
        for batch in &batches {
            Rows::of(batch, 0, &naming).map_err(fail)?;
        }
        Ok(Trace { schema, batches, notes, naming })
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
    #[pyo3(signature = (source, columns=None, time_unit=None))]
    fn from_arrow(
        source: &Bound<'_, PyAny>,
        columns: Option<BTreeMap<String, Option<String>>>,
        time_unit: Option<&str>,
    ) -> PyResult<Self> {
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
        let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(wrong)?;
        Self::of_table(schema, batches, columns.as_ref(), time_unit)
    }

    /// Takes columns by name: buffers of numbers, or lists of numbers or texts.
    #[staticmethod]
    #[pyo3(signature = (source, columns=None, time_unit=None))]
    fn from_columns(
        source: &Bound<'_, PyDict>,
        columns: Option<BTreeMap<String, Option<String>>>,
        time_unit: Option<&str>,
    ) -> PyResult<Self> {
        let mut made: Vec<(String, ArrayRef)> = Vec::new();
        for (name, values) in source.iter() {
            let name: String = name.extract()?;
            let array = column_of(&values).map_err(|_| {
                Error::new_err(format!(
                    "{NAME}: column {name}: neither whole numbers nor texts; give an array or a list of those"
                ))
            })?;
            if let Some((first, other)) = made.first().filter(|(_, other)| other.len() != array.len()) {
                let (length, others) = (array.len(), other.len());
                return Err(Error::new_err(format!(
                    "{NAME}: column {name}: {length} rows, where {first} has {others}; give one value a request in each"
                )));
            }
            made.push((name, array));
        }
        let batch = RecordBatch::try_from_iter_with_nullable(made.into_iter().map(|(name, array)| (name, array, true)))
            .map_err(|e| Error::new_err(format!("{NAME}: {e}")))?;
        Self::of_table(batch.schema(), vec![batch], columns.as_ref(), time_unit)
    }

    /// Reads a trace file, or a foreign trace as `fovea trace import` does.
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn open(py: Python<'_>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        // The same function that import_trace calls reads the options.
        let how = py.import("fovea._traces")?.getattr("foreign")?.call((), options)?;
        let foreign: Foreign = how.extract()?;
        interruptible(py, |stop| {
            let mut notes = BTreeMap::new();
            let batches = Trace::of(&mut |sink| {
                if !is_trace_file(&path)? {
                    let options = foreign.options(path.clone(), std::env::temp_dir().join("sorted"))?;
                    let report = import::read(&options, stop, |_, _| {}, sink)?;
                    notes = report.notes(&options);
                    return Ok(());
                }
                let mut reader = Reader::open(&path)?;
                notes = reader.notes();
                while let Some(records) = reader.batch()? {
                    stop.check()?;
                    records.into_iter().try_for_each(&mut *sink)?;
                }
                Ok(())
            })?;
            let with_notes = Arc::new(schema().with_metadata(notes.clone().into_iter().collect()));
            let batches = batches.into_iter().map(|batch| {
                let columns = batch.columns().to_vec();
                RecordBatch::try_new(with_notes.clone(), columns).expect("the schema's columns")
            });
            let naming = Naming::of(&with_notes, None, None)?;
            Ok(Trace { batches: batches.collect(), schema: with_notes, notes, naming })
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

    /// Which column of its source is what.
    #[getter]
    fn understood(&self) -> String {
        let noted = self.notes.get("fovea.trace.understood");
        noted.unwrap_or(&self.naming.understood).clone()
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
