// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Page-cache and block events of the running system, from stock tracepoints.
//!
//! [`Session`] makes tracefs instances of its own, so that nobody else's tracing is disturbed, and reads their ring buffers as the
//! kernel fills them: whole pages, no text. How a page and an event look is told by the kernel's own format files ([`ring`],
//! [`format`]); what they mean is decided in [`event`]. These three are pure and take any bytes.

pub mod event;
pub mod format;
mod held;
mod instance;
pub mod merge;
pub mod names;
pub mod ring;
mod session;
pub mod task;

pub use event::{Comm, Decoder, Dev, Event, PageOp, Rwbs, Seen, Tracepoint};
pub use held::Held;
pub use session::{Filter, Loss, Session, Settings};

/// Any bytes as a page of the ring buffer, and as the kernel's descriptions of its formats, for fuzzing.
pub(crate) fn fuzz(bytes: &[u8]) {
    const HEADER: &str = include_str!("../tests/fixtures/trace-6.12/events/header_page");
    if let Some((_, mut events)) = ring::Layout::parse(HEADER).as_ref().and_then(|layout| layout.open(bytes)) {
        let total: usize = events.by_ref().map(|(_, event)| event.len()).sum();
        assert!(total <= bytes.len());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (ring::Layout::parse(text), format::Format::parse(text));
    }
}
