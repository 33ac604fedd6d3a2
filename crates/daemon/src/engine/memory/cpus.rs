// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whether the CPUs have something better to do than to compress.

use fovea_apps::CpuReading;
use fovea_linux::Device;

use crate::engine::engine_state::EngineState;

/// Least time over which the CPUs' idle share is taken; the kernel counts it in 10 ms.
const IDLE_OVER_NS: u64 = 40_000_000;

#[derive(Debug, Default)]
pub(super) struct Cpus {
    /// The others kept them busy for more than half of the time that the daemon left them.
    pub(super) busy: bool,
    /// When their share was last taken, and what they had done by then.
    looked: (u64, CpuReading),
    /// They could not be read the last time.
    unread: bool,
}

impl Cpus {
    pub(super) fn look<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        let (then_ns, then) = self.looked;
        let elapsed_ns = now_ns.saturating_sub(then_ns);
        if elapsed_ns < IDLE_OVER_NS {
            return;
        }
        let now = match shared.device.cpu() {
            Ok(now) => now,
            // What was last known of them stands; it only says when to compress.
            Err(e) => {
                if !std::mem::replace(&mut self.unread, true) {
                    say!("fovea: {e}: going on without");
                }
                return;
            }
        };
        self.unread = false;
        self.looked = (now_ns, now);
        let own_ns = now.own_ns.saturating_sub(then.own_ns);
        let left_ns = (elapsed_ns * shared.cpus as u64).saturating_sub(own_ns);
        let idle_ns = now.idle_ns.saturating_sub(then.idle_ns);
        // The idle time is counted in 10 ms: less left than that says nothing.
        self.busy = left_ns > 10_000_000 && idle_ns * 2 < left_ns;
    }
}
