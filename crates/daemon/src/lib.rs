// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Observe, decide, act, journal: one event loop.

pub mod protocol;
