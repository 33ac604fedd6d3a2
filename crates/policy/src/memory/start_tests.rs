// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What may be a start that its user waits for.

use super::*;

/// With a leak of 34 MB/s in a terminal swap was full 9.99 s after it had begun, and another app died 10 ms before the leak was no start any more.
#[test]
fn a_job_that_holds_several_times_as_much_as_any_other_is_not_waited_for_as_a_start() {
    let killed_with = |kind, seen, mb| {
        let job = AppState { kind, seen, ..growing("job", Importance::Service, mb, 34) };
        let job = AppState { background_since_ns: 91 * SECOND_NS, ..job };
        killed(&short(10, vec![app("front", Importance::Foreground, 60), app("web", Importance::Hidden, 90), job]))
    };
    let (job, web) = (Some(("job".into(), true)), Some(("web".into(), false)));
    assert_eq!(killed_with(Kind::Job, false, 330), job);
    assert_eq!(killed_with(Kind::Job, false, 200), web, "a build may need twice what others do");
    assert_eq!(
        killed_with(Kind::App, false, 330),
        web,
        "an app that starts may be a large one, and its user waits for it"
    );
    assert_eq!(killed_with(Kind::Job, true, 330), web, "it was just left");
}
