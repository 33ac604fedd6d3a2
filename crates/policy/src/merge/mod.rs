// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When the kernel looks for pages that are alike (LowMem13, section 3.3): only while there are new pages of kin in the background, and only for
//! as long as that pays.

mod config;
mod decide;
#[cfg(test)]
mod decide_tests;
mod state;

pub use config::{KinBy, MergeConfig};
pub use decide::{decide, due_ns, end, expected_pages, next_look_ns, paid_ns, rests_until_ns, stop};
pub use state::{AppMerge, MergeState, Window};
