// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The command line.
fn main() {}
