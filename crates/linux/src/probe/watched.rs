// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Writes down, in a probe, whose process is about to be touched, and keeps to whom it may not touch. In any other process
//! nothing is written and everybody may be touched.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::blame::Owner;

struct Watched {
    touches: File,
    blamed: Vec<Owner>,
    /// Processes that are passed over.
    held_up: Vec<u32>,
    last: Option<u32>,
}

thread_local! {
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

/// From now on, what this thread touches is written into a file.
pub(super) fn begin(touches: File, blamed: Vec<Owner>, held_up: Vec<u32>) {
    let _ = touches.write_all_at(&[0; 4], 0);
    WATCHED.set(Some(Watched { touches, blamed, held_up, last: None }));
}

/// A process is about to be touched; false if it must not be.
pub(crate) fn touch(pid: u32) -> bool {
    WATCHED.with_borrow_mut(|watched| {
        let Some(watched) = watched else { return true };
        if watched.held_up.contains(&pid) {
            return false;
        }
        if watched.last.replace(pid) != Some(pid) {
            // Without it nobody is blamed, and all goes on.
            let _ = watched.touches.write_all_at(&pid.to_ne_bytes(), 0);
        }
        true
    })
}

/// Whether a process may be touched.
pub(crate) fn may_touch(pid: u32) -> bool {
    WATCHED.with_borrow(|watched| {
        let Some(watched) = watched.as_ref().filter(|watched| !watched.blamed.is_empty()) else { return true };
        Owner::of_process(pid).is_some_and(|owner| !watched.blamed.contains(&owner))
    })
}
