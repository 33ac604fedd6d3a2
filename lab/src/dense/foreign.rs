// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Makes a foreign trace dense while it is read, without a trace file in between.

use std::{collections::BTreeMap, path::Path};

use super::{wrong, Builder, DenseOptions, CHUNK_REQUESTS};
use crate::{
    import::{self, Objects, Sink},
    Error, Record, Result,
};

struct ToBuilder<'a, P> {
    path: &'a Path,
    options: &'a DenseOptions,
    progress: P,
    builder: Builder,
    records: u64,
}

impl<P: Fn(u64)> ToBuilder<'_, P> {
    /// So many records come next.
    fn count(&mut self, records: usize) -> Result<()> {
        let before = self.records / CHUNK_REQUESTS as u64;
        self.records += records as u64;
        if self.records / CHUNK_REQUESTS as u64 > before {
            self.options.stop.check()?;
            (self.progress)(self.records);
        }
        Ok(())
    }

    fn wrong(&self, record: u64, what: String) -> Error {
        wrong(self.path, &format!("record {record}"), what, "replay a trace without it")
    }
}

impl<P: Fn(u64)> Sink for ToBuilder<'_, P> {
    fn record(&mut self, record: Record) -> Result<()> {
        self.count(1)?;
        self.builder.record(&record).map_err(|what| self.wrong(self.records, what))
    }

    fn objects(&mut self, objects: &Objects<'_>) -> Result<()> {
        let before = self.records;
        self.count(objects.objects.len())?;
        self.builder.imported(objects).map_err(|(at, what)| self.wrong(before + at as u64 + 1, what))
    }
}

/// Also tells how many records there are, and the content's checksum.
pub(super) fn read(path: &Path, options: &DenseOptions, progress: impl Fn(u64)) -> Result<(Builder, u64, u64)> {
    let builder = Builder::new(options, &BTreeMap::new());
    let mut sink = ToBuilder { path, options, progress, builder, records: 0 };
    let checksum = import::each_summed(path, &mut sink)?;
    Ok((sink.builder, sink.records, checksum))
}
