// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Events as a phone writes them, with only what the tests tell apart.
#![allow(dead_code, reason = "each test program uses some of them")]

use fovea_scenario::{EventBody, LaunchKind};

/// A sample of a phone that has swapped nothing.
pub fn sample(label: &str, free_bytes: u64, available_bytes: u64, read_bytes: u64) -> EventBody {
    EventBody::Sample {
        label: label.into(),
        free_bytes,
        available_bytes,
        swapped_bytes: 0,
        zram_bytes: 0,
        read_bytes,
        alive: 3,
    }
}

/// A launch that read nothing and found its pages right.
pub fn launch(app: &str, kind: LaunchKind, elapsed_ns: u64) -> EventBody {
    EventBody::Launch {
        app: app.into(),
        kind,
        elapsed_ns,
        read_bytes: 0,
        wrong_pages: 0,
        verified_pages: 100,
        cpu: None,
    }
}
