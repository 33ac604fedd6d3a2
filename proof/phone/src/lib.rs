// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The virtual phone: builds its image, boots it, runs plans, collects events.
//!
//! [`Cache::open`] -> [`fetch::kernel`] (or [`Kernel::from_files`]) -> [`Phone::prepare`] -> [`Phone::run`], [`Phone::run_all`] or
//! [`Phone::shell`].

mod apt;
mod cache;
mod child;
mod command;
mod console;
pub mod debug_kernel;
pub mod desktop;
mod device_tree;
mod error;
pub mod fetch;
mod foreign;
pub mod guard;
mod hardware;
mod host_program;
pub mod initramfs;
mod kernel;
pub mod kmod;
mod kvm;
mod modules;
mod packages;
mod patience;
mod phone;
mod platform;
mod progress;
mod qemu;
mod run;
mod shell;
mod skip;
mod static_program;
mod stream;
mod unpack;

#[cfg(test)]
mod testing;

pub use cache::{Cache, CacheLock};
pub use error::{BootFailure, BuildFailure, Error, FailureReason, Result};
pub use hardware::{Hardware, Iommu};
pub use host_program::with_libraries;
pub use initramfs::{GuestFile, Programs};
pub use kernel::Kernel;
pub use modules::{Module, ModuleTree};
pub use phone::Phone;
pub use platform::Platform;
pub use progress::{Progress, Stage};
pub use qemu::{memory_bytes, Accel, Console, Machine};
pub use run::{Outcome, RunOptions};
pub use shell::SHELL_ARG;
pub use skip::skip;
pub use stream::{EventParser, Line};
