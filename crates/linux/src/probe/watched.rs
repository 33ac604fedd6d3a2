// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Says, in a probe, whose process is about to be touched, and keeps to whom it may not touch. In any other process
//! nothing is said and everybody may be touched.

use std::cell::RefCell;
use std::os::unix::net::UnixStream;

use super::{frame, Answer};

struct Watched {
    link: UnixStream,
    blamed: Vec<u32>,
    last: Option<u32>,
}

thread_local! {
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

/// From now on, what this thread touches is said on a link.
pub(super) fn begin(link: UnixStream, blamed: Vec<u32>) {
    WATCHED.set(Some(Watched { link, blamed, last: None }));
}

/// A process is about to be touched.
pub(crate) fn touch(pid: u32) {
    WATCHED.with_borrow_mut(|watched| {
        let Some(watched) = watched else { return };
        if watched.last.replace(pid) != Some(pid) {
            // Whoever does not read any more has no use for the answer either.
            let _ = frame::write(&mut watched.link, &Answer::Touches(pid), frame::never());
        }
    });
}

/// Whether a process may be touched.
pub(crate) fn may_touch(pid: u32) -> bool {
    WATCHED.with_borrow(|watched| {
        let Some(watched) = watched.as_ref().filter(|watched| !watched.blamed.is_empty()) else { return true };
        crate::process::user_of_process(pid).is_some_and(|user| !watched.blamed.contains(&user))
    })
}
