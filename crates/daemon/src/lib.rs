// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Observe, decide, act, journal: one event loop.
//!
//! [`run`] is the daemon on a real device. [`Engine`] is the daemon without its event loop, over any [`fovea_linux::Device`]: the lab drives
//! it on a simulated one.

/// Says something to whoever runs the daemon: one line, whatever names are in it. Unlike `eprintln!` it does not panic when nobody listens
/// any more: a daemon must not die because the reader of its messages did.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", fovea_apps::log_line(&format!($($text)*)));
    }};
}

#[cfg(test)]
mod adopt_tests;
#[cfg(test)]
mod ahead_tests;
#[cfg(test)]
mod attention_tests;
#[cfg(test)]
mod classes_tests;
mod config;
#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod ecache_tests;
mod engine;
#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod front_tests;
#[doc(hidden)]
pub mod fuzz;
mod journal;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod listed_tests;
#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod net_tests;
mod news;
mod notify;
#[cfg(test)]
mod part_tests;
#[cfg(test)]
mod perceptible_tests;
mod regular;
#[cfg(test)]
mod returns_tests;
#[cfg(test)]
mod runaway_tests;
pub mod simulate;
mod supervisor;
mod syslog;
#[cfg(test)]
mod tier_tests;
mod undo;
#[cfg(test)]
mod whom_tests;
mod worker;

pub use config::{files as config_files, AboveStorage, BadConfig, Config, DaemonConfig, Loaded, Preset, ZramConfig};
pub use engine::{Engine, Turn};
pub use journal::{Entry, Journal};
pub use supervisor::{restore_alone, run};

/// The rows of `fovea check`: what this machine has, and what each mechanism makes of it.
pub fn check(system: &fovea_linux::System) -> fovea_linux::Report {
    engine::check::<fovea_linux::System>(system.check())
}
pub use syslog::Syslog;
pub use undo::{restore, Changed, UndoLog};
