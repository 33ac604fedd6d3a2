// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How fast bursty apps may receive while a time-sensitive one does (Aciom11, section 5).

mod config;
pub mod control;
#[cfg(test)]
mod control_tests;

pub use config::NetConfig;
