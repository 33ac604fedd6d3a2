// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The contract with the outside: whoever speaks to the daemon or reads what it wrote (command line, focus sources, the virtual phone's
//! guest, tests) needs this crate, and not the daemon.

#[doc(hidden)]
pub mod fuzz;
pub mod journal;
pub mod news;
pub mod protocol;
pub mod replay;
mod simulation;
pub mod socket;
mod status;
pub mod words;

pub use simulation::{Assumed, Simulation};
pub use socket::{request, status, tell, ClientError, Connection};
pub use status::{AppStatus, Expected, Merging, Status, Tiers};
