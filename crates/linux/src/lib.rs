// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The only crate that touches a kernel.

mod device;
mod error;

pub use device::*;
pub use error::Error;
