// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Block requests: what most formats tell of.

use std::sync::Arc;

use super::Source;
use crate::{Op, Record, Result};

/// A block request.
pub struct Block<'a> {
    /// When.
    pub time_ns: u64,
    /// The disk's name, unique in the trace.
    pub disk: &'a str,
    /// What it is: block, discard or flush.
    pub op: Op,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes.
    pub length_bytes: u64,
    /// Written, not read.
    pub write: bool,
    /// Somebody waits for it.
    pub sync: bool,
}

impl Source<'_> {
    /// Delivers all lines of a csv format of block requests, whose columns are these; the header is passed over. `parse` makes a request of a
    /// line, and puts its disk's name in the buffer.
    ///
    /// # Errors
    /// For a line that is none, unless bad ones are skipped; as [`Source::emit`].
    pub fn blocks(
        &mut self,
        parse: for<'d> fn(&str, &'d mut String) -> Result<Block<'d>, String>,
        columns: &str,
    ) -> Result<()> {
        let first = columns.split_inclusive(',').next().unwrap_or_default();
        let mut disk = String::new();
        while let Some(line) = self.line()? {
            if line.starts_with(first) {
                self.drop("header lines");
                continue;
            }
            match parse(&line, &mut disk) {
                Ok(block) => {
                    let app = self.nobody("the format tells no process");
                    self.emit_block(block, app)?;
                }
                Err(what) => self.bad_line(&what, &format!("write {columns} there"))?,
            }
        }
        Ok(())
    }

    /// Gives a block request to the trace.
    ///
    /// # Errors
    /// As [`Source::emit`].
    pub fn emit_block(&mut self, block: Block<'_>, app: Arc<str>) -> Result<()> {
        let space = self.names.share(block.disk);
        let whole = self.whole_requests && block.op == Op::Block;
        let (op, object, offset_bytes) =
            if whole { (Op::Object, block.offset_bytes, 0) } else { (block.op, 0, block.offset_bytes) };
        self.emit(Record {
            time_ns: block.time_ns,
            app,
            importance: None,
            op,
            space,
            object,
            offset_bytes,
            length_bytes: block.length_bytes,
            write: block.write,
            sync: block.sync,
            size_bytes: whole.then_some(block.length_bytes),
        })
    }
}
