// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The contract with the outside: whoever speaks to the daemon or reads what it wrote (command line, focus sources, the virtual phone's
//! guest, tests) needs this crate, and not the daemon.

mod connection;
pub mod journal;
pub mod news;
pub mod protocol;
pub mod replay;
mod simulation;
mod status;

pub use connection::{request, ClientError, Connection};
pub use simulation::{Assumed, Simulation};
pub use status::{AppStatus, Merging, Status, Tiers};
