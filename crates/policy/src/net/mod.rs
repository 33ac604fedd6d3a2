// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How fast bursty apps may receive while a time-sensitive one does (Aciom11, section 5).

mod config;
pub mod control;
#[cfg(test)]
mod control_tests;
mod decide;
#[cfg(test)]
mod decide_tests;
mod state;

pub use config::NetConfig;
pub use decide::{decide, has_sensitive_traffic, is_wanted, look_ns, release, udp_bytes_per_s, window_bytes};
pub use state::{AppNet, NetState};
