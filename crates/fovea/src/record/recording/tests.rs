// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Events to records.

use fovea_apps::Importance;
use fovea_lab::{FileNote, FILES_KEY};
use fovea_linux::trace::Comm;
use proptest::prelude::*;

use super::*;

const DEV: Dev = Dev(254 << 20 | 1);

fn comm(name: &str) -> Comm {
    Comm::new(name.as_bytes())
}

fn task(name: &str, cgroup: &str) -> Task {
    Task { comm: comm(name), cgroup: cgroup.into(), kernel: false }
}

fn pages(time_ns: u64, pid: u32, op: PageOp, inode: u64, first: u64, last: u64) -> Seen {
    Seen { time_ns, pid, event: Event::Pages { op, dev: DEV, inode, first, last } }
}

fn issue(time_ns: u64, pid: u32, sector: u64, rwbs: Rwbs) -> Seen {
    Seen { time_ns, pid, event: Event::Issue { dev: DEV, sector, length_bytes: 8192, rwbs } }
}

fn nobody(_: u32) -> Option<Task> {
    None
}

#[test]
fn an_app_is_the_daemons_else_the_cgroup_else_the_name_and_has_the_rank_of_its_time() {
    let mut recording = Recording::new(None);
    let app = |importance| AppNow { name: "mail".into(), cgroup: "apps/mail".into(), importance };
    recording.apps(0, vec![app(Importance::Foreground)]);
    recording.apps(100, vec![app(Importance::Hidden)]);
    recording.apps(200, Vec::new());
    let mut describe = |pid| match pid {
        1 => Some(task("a", "apps/mail/worker")),
        2 => Some(task("b", "system.slice/cron.service")),
        3 => Some(task("c", "")),
        4 => Some(Task { kernel: true, ..task("kswapd0", "") }),
        _ => None,
    };
    let mut of = |time_ns, pid| {
        let record = recording.take(&pages(time_ns, pid, PageOp::Fault, 7, 0, 0), &mut describe).unwrap();
        (record.app.to_string(), record.importance)
    };
    assert_eq!(of(99, 1), ("mail".into(), Some(Importance::Foreground)));
    assert_eq!(of(100, 1), ("mail".into(), Some(Importance::Hidden)));
    assert_eq!(of(200, 1), ("apps/mail/worker".into(), None), "the daemon has gone");
    assert_eq!(of(201, 2), ("system.slice/cron.service".into(), None));
    assert_eq!(of(202, 3), ("c".into(), None));
    for pid in [0, 4, 5] {
        assert_eq!(of(203, pid), ("".into(), None));
    }
    let unattributed = &recording.tally().unattributed;
    assert_eq!(unattributed["page cache, by kernel threads"], 2);
    assert_eq!(unattributed["tasks that ended before they could be asked"], 1);
}

#[test]
fn children_inherit_their_parents_cgroup_and_programs_name_their_tasks() {
    let mut recording = Recording::new(Some(&[10]));
    recording.know(10, task("sh", ""));
    let events = [
        (10, Event::Fork { child: 11, comm: comm("sh") }),
        (11, Event::Exec { pid: 11, old_pid: 11, file: Box::from(*b"/usr/bin/git-remote-https-x") }),
        (11, Event::Fork { child: 12, comm: comm("worker") }),
        (11, Event::Move { pid: 11, cgroup: Box::from(*b"/apps/git") }),
        (11, Event::Exit { pid: 11, comm: comm("git") }),
    ];
    for (pid, event) in events {
        assert_eq!(recording.take(&Seen { time_ns: 1, pid, event }, &mut nobody), None);
    }
    let mut app = |pid| recording.take(&pages(2, pid, PageOp::Get, 7, 0, 0), &mut nobody).unwrap().app.to_string();
    assert_eq!([app(10), app(11), app(12)], ["sh", "apps/git", "worker"]);
    // Its last doings are told after its end.
    assert_eq!(recording.tally().unattributed, BTreeMap::new());
    // 12 is of the family, 13 is somebody else, and nobody knows whose the kernel's writeback is.
    let read = Rwbs { sync: true, ..Rwbs::default() };
    let write = Rwbs { write: true, ..Rwbs::default() };
    let mut describe = |pid| Some(Task { kernel: pid == 14, ..task("x", "") });
    let of = |recording: &mut Recording, seen, describe: &mut dyn FnMut(u32) -> Option<Task>| {
        recording.take(&seen, describe).map(|r| (r.app.to_string(), r.offset_bytes, r.write, r.sync))
    };
    let mut take = |seen| of(&mut recording, seen, &mut describe);
    assert_eq!(take(issue(3, 12, 8, read)), Some(("worker".into(), 4096, false, true)));
    assert_eq!(take(issue(4, 13, 16, read)), None);
    assert_eq!(take(issue(5, 14, 24, write)), Some((String::new(), 24 * 512, true, false)));
    let done = |sector| Seen {
        time_ns: 105,
        pid: 0,
        event: Event::Complete { dev: DEV, sector, sectors: 16, rwbs: Rwbs::default() },
    };
    assert_eq!((take(done(8)), take(done(16)), take(done(24))), (None, None, None));
    let tally = recording.tally();
    assert_eq!((tally.others, tally.answered, tally.service_ns), (1, 2, 102 + 100));
    assert_eq!(tally.unattributed["block writes by kernel threads (deferred writeback)"], 1);
    assert_eq!((tally.events["fork"], tally.events["block-issue"], tally.events["block-complete"]), (2, 3, 3));
}

#[test]
fn a_long_read_is_one_record_and_a_repeated_one_is_two() {
    let mut recording = Recording::new(None);
    recording.know(1, task("a", ""));
    recording.know(2, task("b", ""));
    let mut get = |pid, inode, first, last| {
        let record = recording.take(&pages(1, pid, PageOp::Get, inode, first, last), &mut nobody);
        record.map(|r| (r.offset_bytes / PAGE_BYTES, r.length_bytes / PAGE_BYTES))
    };
    assert_eq!(get(1, 7, 0, 63), Some((0, 64)));
    assert_eq!(get(2, 7, 15, 63), Some((15, 49)), "another task's");
    assert_eq!(get(1, 7, 15, 63), None);
    assert_eq!(get(1, 7, 30, 63), None);
    assert_eq!(get(1, 7, 64, 127), Some((64, 64)), "the next read");
    assert_eq!(get(1, 7, 64, 127), Some((64, 64)), "the same again");
    assert_eq!(get(1, 8, 65, 127), Some((65, 63)), "another file");
    assert_eq!(recording.tally().continued, 2);
}

#[test]
fn requests_of_a_recording_are_the_page_caches_and_end_with_the_file() {
    let file = FileNote { space: "file:254:1".into(), object: 7, size_bytes: Some(5000), path: Some("/x".into()) };
    let notes = BTreeMap::from([
        (fovea_lab::FORMAT_KEY.to_owned(), fovea_lab::FORMAT_RECORDED.to_owned()),
        (FILES_KEY.to_owned(), FileNote::text(std::slice::from_ref(&file))),
    ]);
    assert_eq!(FileNote::all(&notes), [file]);
    let requests = fovea_lab::Requests::of(&notes, None);
    let mut recording = Recording::new(None);
    recording.know(1, task("a", ""));
    let mut record =
        |op, inode, first, last| recording.take(&pages(1, 1, op, inode, first, last), &mut nobody).unwrap();
    let read = record(PageOp::Get, 7, 0, 31);
    assert!(requests.takes(&read));
    assert_eq!(requests.length_bytes(&read), 5000);
    assert_eq!(requests.length_bytes(&record(PageOp::Get, 8, 0, 31)), 32 * PAGE_BYTES, "nobody knows its size");
    assert_eq!(requests.length_bytes(&record(PageOp::Get, 7, 2, 3)), 2 * PAGE_BYTES, "it was longer then");
    assert!(requests.takes(&record(PageOp::Fault, 7, 0, 0)));
    for op in [PageOp::Map, PageOp::Add, PageOp::Delete] {
        assert!(!requests.takes(&record(op, 7, 0, 0)));
    }
    assert!(fovea_lab::Requests::of(&notes, Some(&[Op::PageMap])).takes(&record(PageOp::Map, 7, 0, 0)));
    assert_eq!(recording.ends_bytes().collect::<Vec<_>>(), [((DEV, 7), PAGE_BYTES)]);
}

proptest! {
    #[test]
    fn any_event_is_taken_without_panic(events in prop::collection::vec((any::<u64>(), 0u32..6, 0u8..6, any::<u64>(), any::<u64>()), 0..60)) {
        let mut recording = Recording::new(Some(&[1]));
        for (time_ns, pid, kind, a, b) in events {
            let event = match kind {
                0 => Event::Pages { op: PageOp::Get, dev: Dev(a as u32), inode: a, first: a, last: b },
                1 => Event::Pages { op: PageOp::Add, dev: Dev(a as u32), inode: a, first: a, last: b.max(a) },
                2 => Event::Issue { dev: DEV, sector: a, length_bytes: b, rwbs: Rwbs::default() },
                3 => Event::Complete { dev: DEV, sector: a, sectors: 1, rwbs: Rwbs::default() },
                4 => Event::Fork { child: a as u32 % 6, comm: comm("c") },
                _ => Event::Exit { pid, comm: comm("c") },
            };
            let _ = recording.take(&Seen { time_ns, pid, event }, &mut |pid| (pid % 2 == 0).then(|| task("x", "c/d")));
        }
        let _ = recording.ends_bytes().count();
    }
}
