// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kinds compare that are about how a phone's memory is managed.

use std::borrow::Cow;

use crate::{Configuration, Daemon, Reservation};

const fn managed(name: &'static str, daemon: Daemon, zram: bool) -> Configuration {
    Configuration {
        name: Cow::Borrowed(name),
        daemon,
        zram,
        reservation: Reservation::Absent,
        guard: None,
        merging: None,
        queue: None,
        tiering: None,
        disk: None,
    }
}

/// No swap; the daemon's kill ladder only.
pub const STOCK: Configuration = managed("stock", Daemon::Ladder, false);

/// zram, the kernel picks the pages; the daemon's kill ladder.
pub const ZRAM: Configuration = managed("zram", Daemon::Ladder, true);

/// zram; the kernel's OOM killer, which knows nothing of apps.
pub const KERNEL: Configuration = managed("kernel", Daemon::Idle, true);

/// The same, told who matters.
pub const KERNEL_ADJ: Configuration = managed("kernel-adj", Daemon::Ranks, true);

/// Everything.
pub const FOVEA: Configuration = managed("fovea", Daemon::Full, true);

/// All of them.
pub const MANAGED: &[Configuration] = &[STOCK, ZRAM, FOVEA];
