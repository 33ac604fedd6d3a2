// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The only crate that touches a kernel.

mod device;
mod error;
mod fork;

pub use device::*;
pub use error::Error;
pub use fork::{fork_worker, Forked};
