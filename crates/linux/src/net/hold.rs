// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A connection whose window is held.

use super::HeldSocket;

/// How often in a row a window that is larger than it was set to is set anew: a kernel may go on telling of the old one.
const UNDONE_MAX: u8 = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub before: HeldSocket,
    /// 0 if it is to be set anew.
    pub window_bytes: u32,
    pub undone: u8,
}

impl Hold {
    /// Takes note of the window that it offers. Held before its first whole segment came, a connection is given another clamp by the kernel then
    /// (tcp_measure_rcv_mss, since 6.11), lock or not.
    pub fn offers(&mut self, window_bytes: u32) {
        if window_bytes <= self.window_bytes {
            self.undone = 0;
        } else if self.undone < UNDONE_MAX {
            self.undone += 1;
            self.window_bytes = 0;
        }
    }
}
