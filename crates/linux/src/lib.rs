// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The only crate that touches a kernel.
//!
//! [`Device`] is all that the daemon asks of a device, in the traits of [`device_traits`]; [`System`] is the real device. What it
//! needs beside (triggers, cgroups, `fovea check`) stands in modules of its own.

mod adopt;
mod arc;
pub mod cgroup;
mod charges;
pub mod check;
pub mod clock;
mod device;
pub mod device_traits;
pub mod disk;
pub mod dm;
pub mod ecache;
mod error;
mod file;
mod fork;
#[doc(hidden)]
pub mod fuzz;
mod generations;
pub mod heap_module;
mod importance;
mod kill;
mod kill_part;
mod lasting;
pub mod launch;
mod maps;
mod media;
mod memory;
mod merging;
pub mod module;
mod neighbours;
mod net;
mod nftables;
mod open_files;
mod origin;
mod others;
mod page;
mod pagemap;
mod pageout;
mod places;
mod prefetch;
mod priority;
mod probe;
pub mod proc;
pub mod process;
mod programs;
pub mod psi;
mod sample;
mod selfcare;
mod services;
mod sock_diag;
mod step_down;
mod sums;
pub mod swap;
mod swap_storage;
mod sys;
mod system;
mod tiers;
pub mod top_app;
pub mod trace;
mod walk;
pub mod watch;
mod zram;
mod zram_owner;

pub use adopt::ProgramTree;
pub use cgroup::Controller;
pub use check::{Report, Row, State};
pub use device::*;
pub use error::Error;
pub use file::Root;
pub use fork::{fork_worker, unblock_signals, Forked};
pub use media::{MediaChange, MediaUser, MediaWatch};
pub use merging::{register_for_merging, FOLDER as MERGING_FOLDER};
pub use net::{AppTraffic, HeldSocket, HoldOutcome, Traffic};
pub use page::PageSize;
pub use priority::NormalPriority;
pub use probe::{serve as serve_probe, Probe};
pub use process::user_of_process;
pub use psi::Trigger;
pub use sample::Codec;
pub use selfcare::{peer_of, Peer};
pub use services::ServiceUser;
pub use step_down::{become_user, user_named, NOBODY};
pub use system::System;
