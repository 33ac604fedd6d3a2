// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kinds of scenarios.

pub mod desktop;
pub mod ecache;
pub mod lowmem;
pub mod monkey;
pub mod workload;
