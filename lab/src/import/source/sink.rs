// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where an importer's records go.

use std::sync::Arc;

use crate::{Op, Record, Result};

/// What takes an importer's records.
pub trait Sink {
    /// Takes the next record.
    ///
    /// # Errors
    /// If it cannot; the import then ends.
    fn record(&mut self, record: Record) -> Result<()>;

    /// Takes the next records, all of them requests for objects of one namespace and of no known app.
    ///
    /// # Errors
    /// As [`Sink::record`].
    fn objects(&mut self, objects: &Objects<'_>) -> Result<()> {
        (0..objects.objects.len()).try_for_each(|at| self.record(objects.record(at)))
    }
}

impl<F: FnMut(Record) -> Result<()>> Sink for F {
    fn record(&mut self, record: Record) -> Result<()> {
        self(record)
    }
}

/// Requests for objects in a row, as columns.
pub struct Objects<'a> {
    /// The objects' namespace.
    pub space: &'a Arc<str>,
    /// The name of no app.
    pub nobody: &'a Arc<str>,
    /// When.
    pub times_ns: &'a [u64],
    /// Object numbers.
    pub objects: &'a [u64],
    /// Sizes.
    pub sizes_bytes: &'a [u64],
    /// Which of them write; none does if this is empty.
    pub writes: &'a [bool],
}

impl Objects<'_> {
    /// One of them.
    pub fn record(&self, at: usize) -> Record {
        let size_bytes = self.sizes_bytes[at];
        let write = self.writes.get(at).copied().unwrap_or(false);
        let (app, space) = (self.nobody.clone(), self.space.clone());
        Record { write, ..object_record(self.times_ns[at], app, space, self.objects[at], size_bytes) }
    }
}

pub(super) fn object_record(time_ns: u64, app: Arc<str>, space: Arc<str>, object: u64, size_bytes: u64) -> Record {
    Record {
        time_ns,
        app,
        importance: None,
        op: Op::Object,
        space,
        object,
        offset_bytes: 0,
        length_bytes: size_bytes,
        write: false,
        sync: false,
        size_bytes: Some(size_bytes),
    }
}
