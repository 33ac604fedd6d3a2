// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whether memory is short.

use crate::file::{read_into, Root};
use crate::proc::Meminfo;
use crate::psi::Pressure;

/// What prefetching goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryState {
    /// Pages that a program could have without anything being swapped.
    pub available: u64,
    /// All of the machine's.
    pub total: u64,
    /// Tasks have waited for memory for over a tenth of the last ten seconds.
    pub is_short: bool,
}

/// Reads it; `None` where /proc does not tell.
pub fn memory_state(root: &Root) -> Option<MemoryState> {
    let mut text = Vec::new();
    read_into(&root.join("proc/meminfo"), &mut text).ok()?;
    let page = super::page_bytes();
    let info = Meminfo::parse(&text)?;
    let waits = read_into(&root.join("proc/pressure/memory"), &mut text).ok().map(|()| Pressure::parse(&text));
    let is_short = waits.and_then(|waits| waits.some).is_some_and(|some| some.avg10 > 10.0);
    Some(MemoryState { available: info.available_bytes / page, total: info.total_bytes / page, is_short })
}
