// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Probes that compute for as long as they are let.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::file::Root;
use crate::{CompressCursor, CompressOutcome};

/// A probe whose compression lasts until a file is there, and which has one number for everything else.
const SLOW: &str = r#"#!/usr/bin/env python3
import os, sys
folder = os.path.dirname(sys.argv[0])
def say(what):
    os.write(0, open(f"{folder}/{what}", "rb").read())
os.pwrite(1, bytes(4), 0)
say("ready")
while head := os.read(0, 4):
    left, question = int.from_bytes(head, sys.byteorder), b""
    while len(question) < left:
        question += os.read(0, left - len(question))
    if b"Compress" in question:
        while not os.path.exists(f"{folder}/done"):
            pass
        say("compressed")
    else:
        say("number")
"#;

fn write_answer(folder: &Path, name: &str, answer: &Answer) {
    let text = serde_json::to_vec(answer).unwrap();
    std::fs::write(folder.join(name), [&(text.len() as u32).to_ne_bytes()[..], &text].concat()).unwrap();
}

/// While memory is short something may have to be killed, whatever is being compressed.
#[test]
fn a_compression_that_lasts_is_not_waited_for_and_its_outcome_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (program, done) = (folder.path().join("program"), folder.path().join("done"));
    let compressed = CompressOutcome { swapped_pages: 7, ..CompressOutcome::default() };
    write_answer(folder.path(), "ready", &Answer::Ready);
    write_answer(folder.path(), "compressed", &Answer::Process(Ok(Outcome::Compressed(compressed))));
    write_answer(folder.path(), "number", &Answer::Process(Ok(Outcome::Numbers(vec![1]))));
    std::fs::write(&program, SLOW).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let places = Places { root: Root::at("/"), devices: Root::at("/nowhere") };
    let mut inspector = Inspector::new(program, Duration::from_millis(300), false);
    if let Err(e) = inspector.start(&places) {
        println!("skipped: no python3 here: {e}");
        return;
    }
    let (owner, cursor) = (Owner::User(1000), CompressCursor { pid: 5, address: 1 << 20 });
    let mut ask = |task: Task| inspector.ask(&places, &owner, task).unwrap();
    let compress =
        |cgroup: &str| Task::Compress { cgroup: cgroup.into(), cursor, pages: 64, under_permille: 500, is_zstd: false };
    let outcome = |outcome: Outcome| match outcome {
        Outcome::Compressed(outcome) => (outcome.swapped_pages, outcome.next),
        other => panic!("{other:?}"),
    };
    // It would not return before the file is there.
    assert_eq!(outcome(ask(compress("app"))), (0, Some(cursor)), "to be gone on with from where it was");
    assert_eq!(outcome(ask(compress("other"))), (0, Some(cursor)), "one at a time");
    assert!(matches!(ask(Task::LastingBytes), Outcome::Numbers(one) if one == [1]), "others are answered");
    std::fs::write(&done, "").unwrap();
    let mut at_last = outcome(ask(compress("app")));
    while at_last.0 == 0 {
        at_last = outcome(ask(compress("app")));
    }
    assert_eq!(at_last, (7, None));
    assert_eq!(outcome(ask(compress("other"))), (7, None));
    // What has come of it while others asked is kept.
    std::fs::remove_file(&done).unwrap();
    assert_eq!(outcome(ask(compress("app"))), (0, Some(cursor)));
    std::fs::write(&done, "").unwrap();
    while inspector.late.is_none() {
        inspector.ask(&places, &owner, Task::LastingBytes).unwrap();
    }
    std::fs::remove_file(&done).unwrap();
    assert_eq!(outcome(inspector.ask(&places, &owner, compress("app")).unwrap()), (7, None));
    assert!(inspector.late.is_none() && inspector.busy.is_none() && inspector.standby.is_some());
}
