// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What `fovea-prefetch` asks of the kernel: who is started, which files a process uses, what of them is in memory and where it lies.
//!
//! The daemon uses none of this. Opening and reading may take as long as a file system likes, so it belongs into a process with a deadline.

mod as_user;
mod battery;
mod extents;
mod files;
mod looked;
mod memory;
mod residency;

pub use as_user::{bind_to_parent, work_idly, work_in_short_turns, AppUser};
pub use battery::discharging_percent;
pub use extents::{command_pages, extents, is_rotational, PhysicalExtent};
pub use files::{LaunchFile, Version};
pub use looked::{local_files, Namespace, Touched};
pub use memory::{memory_state, MemoryState};
pub use residency::{read_ahead, read_page, resident};

/// Bytes of a page of this machine.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}
