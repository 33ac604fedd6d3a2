// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How a trace is made dense.

use crate::{policy::Choice, Op, Stop};

/// How a trace is made dense.
#[derive(Clone, Debug)]
pub struct DenseOptions {
    /// Leave writes out.
    pub reads_only: bool,
    /// Replay the trace so many times in a row.
    pub repeat: u64,
    /// Take these records as requests; without a word on it, those that [`Requests::of`](crate::Requests::of) names.
    pub ops: Option<Vec<Op>>,
    /// Keep the requests' times: 8 bytes each. A trace that tells none is refused.
    pub times: bool,
    /// Memory a column may take before it goes to a temporary file.
    pub column_memory_bytes: u64,
    /// Keep the dense form on disk if the trace has at least so many requests: shorter ones are made dense sooner than it is said.
    pub keep_requests: Option<u64>,
    /// Ends the making, and every replay of what was made.
    pub stop: Stop,
}

impl Default for DenseOptions {
    fn default() -> Self {
        DenseOptions {
            reads_only: false,
            repeat: 1,
            ops: None,
            times: false,
            column_memory_bytes: 256 << 20,
            keep_requests: Some(1 << 20),
            stop: Stop::default(),
        }
    }
}

impl DenseOptions {
    /// What of the options changes the requests that are made of a trace.
    pub fn shape(&self) -> String {
        let reads = if self.reads_only { "reads" } else { "all" };
        let ops: Vec<_> = self.ops.iter().flatten().map(|op| format!("/{op}")).collect();
        reads.to_owned() + &ops.concat()
    }

    /// These, with all that the policies need.
    pub fn with_needs_of(&self, policies: &[Choice]) -> Self {
        DenseOptions { times: self.times || policies.iter().any(|p| p.needs_times()), ..self.clone() }
    }
}
