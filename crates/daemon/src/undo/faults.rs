// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Lets calls of the log's file fail, for tests: the n-th, or all from the n-th on.

use std::cell::RefCell;
use std::io;

use rustix::io::Errno;

#[derive(Default)]
struct Plan {
    calls: usize,
    from: usize,
    fault: Option<(Errno, bool)>,
    writes_only: bool,
}

thread_local! {
    static PLAN: RefCell<Plan> = RefCell::default();
}

/// Lets the calls of this thread fail from one on, `for_good` or only that one. A disk that is full or read-only
/// (`writes_only`) can still be read.
pub(super) fn plan(from: usize, errno: Errno, for_good: bool, writes_only: bool) {
    PLAN.set(Plan { calls: 0, from, fault: Some((errno, for_good)), writes_only });
}

/// Ends that; returns how many calls there were.
pub(super) fn end() -> usize {
    PLAN.take().calls
}

pub(super) fn next(name: &str) -> io::Result<()> {
    PLAN.with_borrow_mut(|plan| {
        let Some((errno, for_good)) = plan.fault else { return Ok(()) };
        if plan.writes_only && matches!(name, "open to read" | "read" | "stat") {
            return Ok(());
        }
        let at = plan.calls;
        plan.calls += 1;
        match at == plan.from || (for_good && at > plan.from) {
            true => Err(errno.into()),
            false => Ok(()),
        }
    })
}
