// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Android's top-app cpuset as a source.

use std::path::PathBuf;
use std::time::Duration;

use fovea_linux::{top_app, Root};

use crate::{Event, Source, SourceError, Windows};

/// The cpuset, looked at again and again: there is nothing to wait for (see [`fovea_linux::top_app`]).
#[derive(Debug)]
pub struct TopApp {
    folder: PathBuf,
    period: Duration,
    root: Root,
}

impl TopApp {
    /// A cpuset's folder and the time between two looks.
    pub fn new(folder: PathBuf, period: Duration) -> Self {
        Self { folder, period, root: Root::at("/") }
    }

    fn lacking(&self) -> SourceError {
        SourceError::Absent(format!(
            "top-app: {} is missing: it is Android's; name another cpuset with --folder",
            self.folder.join("cgroup.procs").display()
        ))
    }
}

impl Source for TopApp {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        if !self.folder.join("cgroup.procs").exists() {
            return self.lacking();
        }
        let mut front = Front::default();
        loop {
            match top_app::processes(&self.folder) {
                Ok(pids) => {
                    if let Some(event) = front.look(pids, |pid| top_app::oom_score_adj(&self.root, pid)) {
                        report(event);
                    }
                }
                Err(e) => return SourceError::Lost(format!("top-app: {e}")),
            }
            std::thread::sleep(self.period);
        }
    }
}

/// Who of the cpuset's processes is the app in front. Beside it, the system's own processes are there for good, and an app that leaves
/// may still be there when the next has come.
#[derive(Debug, Default)]
struct Front {
    seen: Option<Vec<u32>>,
    chosen: Option<u32>,
}

impl Front {
    /// Takes a look's PIDs (ascending) and says what has changed by it; `score` gives a process's `oom_score_adj`.
    fn look(&mut self, pids: Vec<u32>, score: impl Fn(u32) -> Option<i32>) -> Option<Event> {
        if self.seen.as_ref() == Some(&pids) {
            return None;
        }
        // An app has a score of 0 or more, the system's own less. The lowest score is the process the user sees, not a service of it;
        // of several, the highest PID, most likely the one started last.
        let best = |among: &mut dyn Iterator<Item = u32>| {
            among
                .filter_map(|pid| Some((score(pid).filter(|&s| s >= 0)?, std::cmp::Reverse(pid))))
                .min()
                .map(|(_, p)| p.0)
        };
        let seen = self.seen.take();
        let came = |pid: &u32| seen.as_ref().is_none_or(|seen| seen.binary_search(pid).is_err());
        let stayed = self.chosen.filter(|pid| pids.binary_search(pid).is_ok());
        let chosen =
            best(&mut pids.iter().copied().filter(came)).or(stayed).or_else(|| best(&mut pids.iter().copied()));
        let first = seen.is_none();
        self.seen = Some(pids);
        let changed = first || chosen != self.chosen;
        self.chosen = chosen;
        changed.then(|| Event::Windows(Windows::new(chosen, [])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 100 to 199 are the system's.
    fn score(pid: u32) -> Option<i32> {
        match pid {
            100..200 => Some(-900),
            200..300 => Some(0),
            300..400 => Some(100),
            _ => None,
        }
    }

    fn front(pid: u32) -> Option<Event> {
        Some(Event::Windows(Windows::new(Some(pid), [])))
    }

    #[test]
    fn the_app_that_came_last_is_in_front_and_the_systems_processes_never() {
        let mut f = Front::default();
        assert_eq!(f.look(vec![100], score), Some(Event::Windows(Windows::default())));
        assert_eq!(f.look(vec![100, 250], score), front(250));
        assert_eq!(f.look(vec![100, 250], score), None);
        assert_eq!(f.look(vec![100, 210, 250], score), front(210), "the old one is still there");
        assert_eq!(f.look(vec![100, 210], score), None);
        assert_eq!(f.look(vec![100, 210, 310], score), front(310));
        assert_eq!(f.look(vec![100, 101, 210], score), front(210));
        assert_eq!(f.look(vec![100, 101, 210, 500], score), None, "one that has ended meanwhile");
        assert_eq!(f.look(vec![100], score), Some(Event::Windows(Windows::default())));
    }

    #[test]
    fn of_several_newcomers_the_visible_one_counts() {
        let mut f = Front::default();
        assert_eq!(f.look(vec![120, 220, 230, 330], score), front(230));
    }

    #[test]
    fn a_machine_without_it_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let error = TopApp::new(folder.path().to_owned(), Duration::ZERO).watch(&mut |_| panic!("reported"));
        assert!(matches!(&error, SourceError::Absent(line) if line.contains("cgroup.procs")), "{error}");
    }

    #[test]
    fn a_cpuset_is_looked_at_until_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cgroup.procs");
        // This very process has a score that may be negative here, so that which event comes is left open; that one comes is not.
        std::fs::write(&file, format!("{}\n", std::process::id())).unwrap();
        let mut events = 0;
        let error = TopApp::new(folder.path().to_owned(), Duration::ZERO).watch(&mut |_| {
            events += 1;
            std::fs::remove_file(&file).unwrap();
        });
        assert!(matches!(error, SourceError::Lost(_)), "{error}");
        assert_eq!(events, 1);
    }

    proptest! {
        #[test]
        fn whoever_is_in_front_is_an_app_of_the_last_look(
            looks in prop::collection::vec(prop::collection::btree_set(95u32..420, 0..8), 1..20)
        ) {
            let mut f = Front::default();
            let mut now = None;
            for look in looks {
                if let Some(event) = f.look(look.iter().copied().collect(), score) {
                    prop_assert_ne!(now.as_ref(), Some(&event), "told twice");
                    now = Some(event);
                }
                match now.clone().unwrap() {
                    Event::Windows(Windows { front: Some(pid), .. }) => prop_assert!(look.contains(&pid) && (200..400).contains(&pid)),
                    Event::Windows(_) => prop_assert!(look.iter().all(|p| !(200..400).contains(p))),
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }
}
