// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was measured and what it shows: the results document that every scenario, experiment and benchmark writes, verdicts on
//! claims, and from these tables, plots and pages.
//!
//! Everything but [`gather`] and [`Document::write`] is pure: no clock, no network. The page needs nothing but itself.

pub mod chart;
#[cfg(feature = "page")]
pub mod docs;
pub mod document;
pub mod experiment;
pub mod gather;
#[cfg(feature = "page")]
pub mod page;
pub mod panel;
pub mod paper;
#[cfg(feature = "page")]
mod plot;
pub mod repeat;
#[cfg(feature = "schema")]
pub mod schema;
pub mod seeds;
pub mod text;
#[cfg(feature = "page")]
mod units;
pub mod verdict;

pub use document::{Case, Document};
pub use verdict::Verdict;
