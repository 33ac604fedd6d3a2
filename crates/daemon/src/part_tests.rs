// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kills of single processes of an app or job: as small as they can be, and all of it when that is not enough.

use crate::engine_tests::{bench_with, freezing, Bench, MB, SECOND_NS};
use fovea_apps::{Holder, ProcessId, PAGE_BYTES};
use fovea_client::protocol::Request;

/// A process of a terminal: its PID, its parent's, and what it holds.
fn process(pid: u32, parent: u32, mb: u64) -> Holder {
    let id = ProcessId { pid, start_ticks: u64::from(pid) };
    Holder { id, parent, bytes: mb * MB, ..Holder::default() }
}

/// The same, begun at a second.
fn begun(at_s: u64, process: Holder) -> Holder {
    Holder { started_ns: at_s * SECOND_NS, ..process }
}

impl Bench {
    /// What the terminal runs beside its shell, which has 5 MB.
    fn runs_job(&self, job: Vec<Holder>) {
        let mut state = self.device.0.borrow_mut();
        let app = state.apps.get_mut("apps/terminal").unwrap();
        app.other_scores = vec![0; job.len()];
        app.anon_pages = (5 * MB + job.iter().map(|process| process.bytes).sum::<u64>()) / PAGE_BYTES;
        app.job = job;
    }

    /// Looks at a shortage that somebody waits in; the kills that follow.
    fn starves(&mut self, at_ns: u64) -> Vec<String> {
        self.fill_swap();
        {
            let mut state = self.device.0.borrow_mut();
            state.done.clear();
            (state.memory.free_bytes, state.memory.file_bytes) = (5 * MB, 5 * MB);
            state.memory.psi_some_total_us = Some(at_ns / 1000);
        }
        self.engine.pressure();
        self.engine.turn(at_ns).unwrap();
        self.killed()
    }

    fn killed(&self) -> Vec<String> {
        let done = &self.device.0.borrow().done;
        done.iter().filter(|d| d.starts_with("kill") || d.starts_with("term")).cloned().collect()
    }
}

fn terminal(grace_ms: u64) -> Bench {
    let mut config = freezing();
    config.memory.kill_grace_ms = grace_ms;
    let mut b = bench_with(&[("terminal", 5), ("front", 60)], config);
    b.engine.handle(Request::Focus { app: "front".parse().unwrap() }, 0);
    b
}

#[test]
fn of_a_terminal_the_process_that_holds_most_dies_and_its_number_is_the_same_everywhere() {
    let mut b = terminal(0);
    b.runs_job(vec![process(7, 1, 20), process(8, 1, 300), process(9, 8, 2)]);
    b.fill_swap();
    assert_eq!(b.starves(20 * SECOND_NS), ["kill [8, 9] of apps/terminal"]);
    let line = b.journal("kill").pop().unwrap();
    assert_eq!(line["outcome"]["size_bytes"], 302 * MB);
    let expected = serde_json::json!({ "name": "program8", "pid": 8, "processes": 2, "bytes": 302 * MB });
    assert_eq!(line["outcome"]["process"], expected);
    // The terminal lives on and is known.
    b.engine.victim_ended(20 * SECOND_NS + 1);
    assert_eq!(b.journal("victim-gone").len(), 1);
    assert!(b.status().apps.iter().any(|app| app.name.as_str() == "terminal"));
}

#[test]
fn what_starts_its_processes_anew_dies_with_them() {
    let mut b = terminal(0);
    let job = || vec![process(7, 1, 20), process(8, 1, 300)];
    b.runs_job(job());
    assert_eq!(b.starves(20 * SECOND_NS), ["kill [8] of apps/terminal"]);
    b.engine.victim_ended(20 * SECOND_NS);
    b.runs_job(vec![process(7, 1, 20), begun(21, process(12, 1, 300))]);
    assert_eq!(b.starves(23 * SECOND_NS), ["kill apps/terminal"]);
    // Its user entered the command again: his shell and editor are not what starts it anew.
    let mut b = terminal(0);
    b.runs_job(job());
    assert_eq!(b.starves(20 * SECOND_NS), ["kill [8] of apps/terminal"]);
    b.engine.victim_ended(20 * SECOND_NS);
    b.runs_job(vec![process(7, 1, 20), begun(28, process(12, 1, 300))]);
    assert_eq!(b.starves(40 * SECOND_NS), ["kill [12] of apps/terminal"]);
    // What was there before is another one's leak.
    let mut b = terminal(0);
    b.runs_job(vec![process(7, 1, 20), process(8, 1, 300), process(9, 1, 60)]);
    assert_eq!(b.starves(20 * SECOND_NS), ["kill [8] of apps/terminal"]);
    b.engine.victim_ended(20 * SECOND_NS);
    b.runs_job(vec![process(7, 1, 20), process(9, 1, 400)]);
    assert_eq!(b.starves(23 * SECOND_NS), ["kill [9] of apps/terminal"]);
    let mut b = terminal(0);
    b.runs_job(job());
    b.starves(20 * SECOND_NS);
    b.engine.victim_ended(20 * SECOND_NS);
    b.runs_job(vec![process(7, 1, 20), begun(21, process(12, 1, 200))]);
    assert_eq!(b.starves(23 * SECOND_NS), ["kill [12] of apps/terminal"], "another one, and less than before");
}

/// Of a terminal with a leak the shell and the unsaved work died too, because the probe had to wait for memory as everybody did.
#[test]
fn nobody_dies_for_a_process_that_could_not_be_told_apart_for_a_moment() {
    let mut b = terminal(0);
    b.runs_job(vec![process(7, 1, 20), process(8, 1, 300)]);
    b.device.0.borrow_mut().failing = Some("holders");
    assert_eq!(b.starves(20 * SECOND_NS), Vec::<String>::new());
    assert_eq!(b.starves(21 * SECOND_NS), Vec::<String>::new());
    b.device.0.borrow_mut().failing = None;
    assert_eq!(b.starves(21 * SECOND_NS + 100_000_000), ["kill [8] of apps/terminal"]);
    // One that goes on holding up whoever looks is not spared for that, and others die for it.
    let mut b = terminal(0);
    b.runs_job(vec![process(7, 1, 20), process(8, 1, 300)]);
    b.device.0.borrow_mut().failing = Some("holders");
    assert_eq!(b.starves(20 * SECOND_NS), Vec::<String>::new());
    assert_eq!(b.starves(22 * SECOND_NS), ["kill apps/terminal"]);
}

#[test]
fn a_part_that_lives_on_takes_the_rest_with_it() {
    let mut b = terminal(0);
    b.runs_job(vec![process(7, 1, 20), process(8, 1, 300)]);
    b.device.0.borrow_mut().unkillable = Some("apps/terminal".into());
    assert_eq!(b.starves(20 * SECOND_NS), ["kill [8] of apps/terminal"]);
    assert_eq!(b.starves(21 * SECOND_NS), Vec::<String>::new(), "patience");
    assert_eq!(b.starves(23 * SECOND_NS), ["kill apps/terminal"]);
}

#[test]
fn a_part_is_asked_first_and_the_same_part_is_killed_when_its_grace_is_over() {
    for ends_by_itself in [true, false] {
        let mut b = terminal(1000);
        b.runs_job(vec![process(7, 1, 20), process(8, 1, 300)]);
        b.fill_swap();
        {
            let mut state = b.device.0.borrow_mut();
            state.done.clear();
            (state.memory.free_bytes, state.memory.file_bytes) = (12 * MB, 10 * MB);
            state.memory.psi_some_total_us = Some(9000);
        }
        b.engine.pressure();
        b.engine.turn(20 * SECOND_NS).unwrap();
        assert_eq!(b.killed(), ["terminate [8] of apps/terminal"]);
        // By then another one holds more: it is not the one that was asked.
        b.runs_job(vec![process(7, 1, 600), process(8, 1, 300)]);
        if ends_by_itself {
            b.engine.victim_ended(20 * SECOND_NS + 1);
            b.device.0.borrow_mut().memory.free_bytes = 300 * MB;
        }
        b.engine.turn(22 * SECOND_NS).unwrap();
        let expected = ["terminate [8] of apps/terminal", "kill [8] of apps/terminal"];
        assert_eq!(b.killed(), expected[..if ends_by_itself { 1 } else { 2 }]);
    }
}
