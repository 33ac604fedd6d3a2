// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Events as Linux 6.12 lays them out.

use proptest::prelude::*;

use super::*;

macro_rules! format_of {
    ($path:literal) => {
        Format::parse(include_str!(concat!("../../tests/fixtures/trace-6.12/events/", $path, "/format"))).unwrap()
    };
}

fn formats() -> Vec<(Tracepoint, Format)> {
    vec![
        (Tracepoint::GetPages, format_of!("filemap/mm_filemap_get_pages")),
        (Tracepoint::Fault, format_of!("filemap/mm_filemap_fault")),
        (Tracepoint::MapPages, format_of!("filemap/mm_filemap_map_pages")),
        (Tracepoint::Add, format_of!("filemap/mm_filemap_add_to_page_cache")),
        (Tracepoint::Delete, format_of!("filemap/mm_filemap_delete_from_page_cache")),
        (Tracepoint::Issue, format_of!("block/block_rq_issue")),
        (Tracepoint::Complete, format_of!("block/block_rq_complete")),
        (Tracepoint::Fork, format_of!("sched/sched_process_fork")),
        (Tracepoint::Exec, format_of!("sched/sched_process_exec")),
        (Tracepoint::Exit, format_of!("sched/sched_process_exit")),
        (Tracepoint::Attach, format_of!("cgroup/cgroup_attach_task")),
    ]
}

fn decoder() -> Decoder {
    let mut decoder = Decoder::new(PageSize::SMALLEST);
    for (tracepoint, format) in formats() {
        assert!(decoder.learn(tracepoint, &format), "{tracepoint:?}");
    }
    decoder
}

#[test]
fn pages_of_16_kib_are_told_as_those_of_4() {
    let fields = [("s_dev", 8 << 20), ("i_ino", 5), ("index", 3), ("last_index", 4)];
    let bytes = bytes(Tracepoint::GetPages, &fields, &[]);
    let decoded = |page| {
        let mut decoder = Decoder::new(PageSize::new(page).unwrap());
        formats().iter().for_each(|(tracepoint, format)| assert!(decoder.learn(*tracepoint, format)));
        match decoder.decode(0, &bytes).unwrap().event {
            Event::Pages { first, last, .. } => (first, last),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((decoded(4096), decoded(16384)), ((3, 4), (12, 19)));
}

/// An event with these fields set; texts of `__data_loc` go behind the rest.
fn bytes(tracepoint: Tracepoint, numbers: &[(&str, u64)], texts: &[(&str, &str)]) -> Vec<u8> {
    let (_, format) = formats().into_iter().find(|(t, _)| *t == tracepoint).unwrap();
    let mut bytes = vec![0; 64];
    let mut put = |field: &Field, value: u64| {
        let value = value.to_ne_bytes();
        let from = if cfg!(target_endian = "little") { 0 } else { 8 - field.size };
        bytes[field.offset..field.offset + field.size].copy_from_slice(&value[from..from + field.size]);
    };
    put(format.field("common_type").unwrap(), u64::from(format.id));
    put(format.field("common_pid").unwrap(), 77);
    for (name, value) in numbers {
        put(format.field(name).unwrap(), *value);
    }
    for (name, text) in texts {
        let field = format.field(name).unwrap();
        let at = if field.located { bytes.len() } else { field.offset };
        if field.located {
            let located = (text.len() as u32 + 1) << 16 | at as u32;
            bytes[field.offset..field.offset + 4].copy_from_slice(&located.to_ne_bytes());
            bytes.resize(at + text.len() + 1, 0);
        }
        bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    bytes
}

fn decoded(tracepoint: Tracepoint, numbers: &[(&str, u64)], texts: &[(&str, &str)]) -> Event {
    let seen = decoder().decode(5, &bytes(tracepoint, numbers, texts)).unwrap();
    assert_eq!((seen.time_ns, seen.pid), (5, 77));
    seen.event
}

#[test]
fn a_request_from_within_an_interrupt_is_nobodys() {
    for (flags, pid) in [(0, 77), (0x08, 0), (0x10, 0), (0x04, 77)] {
        let fields = [("dev", 8 << 20), ("sector", 8), ("nr_sector", 8), ("bytes", 4096), ("common_flags", flags)];
        let issued = bytes(Tracepoint::Issue, &fields, &[("rwbs", "R")]);
        assert_eq!(decoder().decode(5, &issued).unwrap().pid, pid);
        let fault = bytes(Tracepoint::Fault, &[("common_flags", flags)], &[]);
        assert_eq!(decoder().decode(5, &fault).unwrap().pid, 77);
    }
}

#[test]
fn page_events_tell_file_and_range() {
    let file = [("s_dev", 254 << 20 | 12), ("i_ino", 1 << 40), ("index", 7)];
    let pages = |op, last| Event::Pages { op, dev: Dev::new(254, 12), inode: 1 << 40, first: 7, last };
    let ranged = [&file[..], &[("last_index", 9)]].concat();
    assert_eq!(decoded(Tracepoint::GetPages, &ranged, &[]), pages(PageOp::Get, 9));
    assert_eq!(decoded(Tracepoint::MapPages, &ranged, &[]), pages(PageOp::Map, 9));
    assert_eq!(decoded(Tracepoint::Fault, &file, &[]), pages(PageOp::Fault, 7));
    let folio = [&file[..], &[("order", 2)]].concat();
    assert_eq!(decoded(Tracepoint::Add, &folio, &[]), pages(PageOp::Add, 10));
    assert_eq!(decoded(Tracepoint::Delete, &file, &[]), pages(PageOp::Delete, 7));
    // A range that ends before it begins is taken for one page.
    let backwards = [&file[..], &[("last_index", 2)]].concat();
    assert_eq!(decoded(Tracepoint::GetPages, &backwards, &[]), pages(PageOp::Get, 7));
    assert_eq!(Dev::new(254, 12).to_string(), "254:12");
}

#[test]
fn letters_of_a_block_request_say_what_it_is_for() {
    let request = [("dev", 8 << 20 | 1), ("sector", 2048), ("nr_sector", 16), ("bytes", 8192)];
    let issue = |letters: &str| match decoded(Tracepoint::Issue, &request, &[("rwbs", letters), ("comm", "x")]) {
        Event::Issue { dev, sector, length_bytes, rwbs } => {
            assert_eq!((dev, sector, length_bytes), (Dev::new(8, 1), 2048, 8192));
            rwbs
        }
        other => panic!("{other:?}"),
    };
    let is = |write, discard, sync, flush| Rwbs { write, discard, sync, flush };
    assert_eq!(issue("R"), is(false, false, true, false));
    assert_eq!(issue("RA"), is(false, false, false, false));
    assert_eq!(issue("W"), is(true, false, false, false));
    assert_eq!(issue("WFSM"), is(true, false, true, false));
    assert_eq!(issue("DS"), is(false, true, true, false));
    assert_eq!(issue("FF"), is(false, false, false, true));
    let done = [("dev", 8 << 20), ("sector", 1), ("nr_sector", 8)];
    let rwbs = is(true, false, true, false);
    let expected = Event::Complete { dev: Dev::new(8, 0), sector: 1, sectors: 8, rwbs };
    assert_eq!(decoded(Tracepoint::Complete, &done, &[("rwbs", "WS")]), expected);
}

#[test]
fn tasks_come_become_go_and_move() {
    let fork = decoded(Tracepoint::Fork, &[("child_pid", 78)], &[("child_comm", "sh"), ("parent_comm", "init")]);
    assert_eq!(fork, Event::Fork { child: 78, comm: Comm::new(b"sh") });
    let exec = decoded(Tracepoint::Exec, &[("pid", 77), ("old_pid", 79)], &[("filename", "/usr/bin/git")]);
    assert_eq!(exec, Event::Exec { pid: 77, old_pid: 79, file: (*b"/usr/bin/git").into() });
    let exit = decoded(Tracepoint::Exit, &[("pid", 77)], &[("comm", "a name of 15 by")]);
    assert_eq!(exit, Event::Exit { pid: 77, comm: Comm::new(b"a name of 15 by") });
    let texts = [("dst_path", "/apps/mail"), ("comm", "x")];
    let moved = decoded(Tracepoint::Attach, &[("pid", 80)], &texts);
    assert_eq!(moved, Event::Move { pid: 80, cgroup: (*b"/apps/mail").into() });
    // Another hierarchy, that is, cgroup v1.
    assert_eq!(decoder().decode(0, &bytes(Tracepoint::Attach, &[("pid", 80), ("dst_root", 3)], &texts)), None);
    assert_eq!(Comm::new(b"a name longer than the kernel's").text(), "a name longer t");
}

#[test]
fn a_format_without_a_field_that_is_needed_is_not_learnt() {
    let (tracepoint, mut format) = formats().remove(0);
    format.fields.retain(|field| field.name != "last_index");
    assert!(!Decoder::new(PageSize::SMALLEST).learn(tracepoint, &format));
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_without_panic(
        which in 0usize..11,
        tail in prop::collection::vec(prop_oneof![any::<u8>(), Just(0u8), Just(255)], 0..90),
        shift in 0usize..70,
    ) {
        let (tracepoint, mut format) = formats().remove(which);
        let mut event = format.id.to_ne_bytes().to_vec();
        event.extend(&tail);
        let _ = decoder().decode(0, &event);
        // A format file that lies.
        for field in &mut format.fields[1..] {
            field.offset = field.offset.wrapping_add(shift.wrapping_mul(usize::MAX / 69));
            field.size = field.size.wrapping_mul(shift);
        }
        let mut decoder = Decoder::new(PageSize::SMALLEST);
        decoder.learn(tracepoint, &format);
        let _ = decoder.decode(0, &event);
    }
}
