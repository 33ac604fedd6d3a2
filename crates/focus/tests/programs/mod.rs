// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Desktops' own programs, run by a test, and what a source says of their windows.

use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use fovea_focus::{Event, Source, SourceError, Windows};

/// Nothing here depends on this time: a test that would hang fails instead.
pub const HANGS: Duration = Duration::from_secs(120);

/// Ends a program whatever becomes of the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program on the path.
#[allow(dead_code)]
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.exists())
}

/// Whether all programs are there; a test that is skipped where everything can be installed has failed.
#[allow(dead_code)]
pub fn have(programs: &[&str]) -> bool {
    let missing: Vec<_> = programs.iter().filter(|program| find(program).is_none()).collect();
    assert!(missing.is_empty() || std::env::var_os("CI").is_none(), "missing: {missing:?}");
    if !missing.is_empty() {
        println!("skipped: no {missing:?}");
    }
    missing.is_empty()
}

/// What a source tells, from when it is there; why it ended.
#[allow(dead_code)]
pub fn watching_from_the_start(
    mut source: impl Source + 'static,
) -> (Receiver<Event>, std::thread::JoinHandle<SourceError>) {
    let (to, events) = channel();
    let watch = move || loop {
        match source.watch(&mut |event| drop(to.send(event))) {
            SourceError::Absent(_) => std::thread::yield_now(),
            other => return other,
        }
    };
    (events, std::thread::spawn(watch))
}

/// Waits until these processes' windows can be seen, and whose is in front.
#[allow(dead_code)]
pub fn until(events: &Receiver<Event>, front: Option<&Running>, visible: &[&Running]) {
    let expected = Windows::new(front.map(|one| one.0.id()), visible.iter().map(|one| one.0.id()));
    let mut seen = Vec::new();
    loop {
        match events.recv_timeout(HANGS) {
            Ok(Event::Windows(windows)) if windows == expected => return,
            Ok(Event::Windows(windows)) if windows.front == Some(1) => panic!("a lie was believed"),
            Ok(event) => seen.push(event),
            Err(e) => panic!("{e}: waited for {expected:?}, saw {seen:?}"),
        }
    }
}
