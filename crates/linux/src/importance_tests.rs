// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Scores on a model of the kernel in which anything happens between any two calls, and on real
//! processes.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use proptest::prelude::*;

use super::*;

/// Marks as the undo log keeps them: written down before they are used.
#[derive(Default)]
struct Log(Marks);

impl MarkTable for Log {
    fn marks(&self) -> &Marks {
        &self.0
    }

    fn mark(&mut self, base: i32, wanted: i32) -> Option<i32> {
        self.0.find(base, wanted).or_else(|| {
            let mark = self.0.propose(base, wanted)?;
            self.0.insert(mark, base, wanted);
            Some(mark)
        })
    }
}

/// What processes do by themselves.
#[derive(Clone, Copy, Debug)]
enum Event {
    Fork(usize),
    End(usize),
    Move(usize, usize),
    /// One ranks another, or itself: a young one at any time, an older one between two calls only.
    Rank(usize, i32),
    Pass(u64),
}

#[derive(Clone, Copy, Debug)]
struct Task {
    score: i32,
    /// What it would have if nobody but programs wrote scores.
    without_us: i32,
    app: usize,
    start_ticks: u64,
}

const APPS: usize = 3;
const YOUNG_TICKS: u64 = 100;

struct Model<'a> {
    tasks: BTreeMap<u32, Task>,
    next_pid: u32,
    now_ticks: u64,
    events: &'a [Event],
    /// Calls until the daemon dies.
    calls_left: usize,
    /// Whose processes are listed; none: all.
    app: Option<usize>,
}

impl Model<'_> {
    fn nth(&self, n: usize) -> Option<u32> {
        let pids: Vec<u32> = self.tasks.keys().copied().collect();
        (!pids.is_empty()).then(|| pids[n % pids.len()])
    }

    /// A few events, then the call, unless the daemon is dead. `within` is true between a read and
    /// the write that follows.
    fn happens(&mut self, within: Option<u32>) -> io::Result<()> {
        let few = self.events.len().min(2);
        let (now, later) = self.events.split_at(few);
        self.events = later;
        for &event in now {
            self.happen(event, within);
        }
        match self.calls_left.checked_sub(1) {
            Some(left) => self.calls_left = left,
            None => return Err(io::Error::other("dead")),
        }
        Ok(())
    }

    fn happen(&mut self, event: Event, within: Option<u32>) {
        match event {
            Event::Fork(n) => {
                let Some(parent) = self.nth(n) else { return };
                let child = Task { start_ticks: self.now_ticks, ..self.tasks[&parent] };
                self.tasks.insert(self.next_pid, child);
                self.next_pid += 1;
            }
            Event::End(n) => drop(self.nth(n).and_then(|pid| self.tasks.remove(&pid))),
            Event::Move(n, app) => {
                if let Some(pid) = self.nth(n) {
                    self.tasks.get_mut(&pid).unwrap().app = app % APPS;
                }
            }
            Event::Rank(n, score) => {
                let Some(pid) = self.nth(n) else { return };
                let now_ticks = self.now_ticks;
                let task = self.tasks.get_mut(&pid).unwrap();
                let is_young = now_ticks - task.start_ticks < YOUNG_TICKS;
                if within != Some(pid) || is_young {
                    (task.score, task.without_us) = (score, score);
                }
            }
            // The age was asked for right before: no time passes that makes a young one old.
            Event::Pass(ticks) => self.now_ticks += if within.is_some() { 0 } else { ticks },
        }
    }

    fn task(&mut self, pid: u32) -> io::Result<&mut Task> {
        self.tasks.get_mut(&pid).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
    }

    fn nobody_is_below_his_own(&self) -> bool {
        self.tasks.values().all(|task| task.score >= task.without_us)
    }
}

impl Processes for Model<'_> {
    type Process = u32;

    fn list(&mut self, pids: &mut Vec<u32>) -> io::Result<()> {
        self.happens(None)?;
        let app = self.app;
        pids.extend(self.tasks.iter().filter(|(_, task)| app.is_none_or(|app| task.app == app)).map(|(pid, _)| pid));
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<Option<u32>> {
        self.happens(None)?;
        let app = self.app;
        Ok(self.tasks.get(&pid).filter(|task| app.is_none_or(|app| task.app == app)).map(|_| pid))
    }

    fn began(&mut self, &pid: &u32) -> io::Result<(u64, bool)> {
        self.happens(None)?;
        let now_ticks = self.now_ticks;
        let start_ticks = self.task(pid)?.start_ticks;
        Ok((start_ticks, now_ticks - start_ticks < YOUNG_TICKS))
    }

    fn score(&mut self, &pid: &u32) -> io::Result<i32> {
        self.happens(None)?;
        Ok(self.task(pid)?.score)
    }

    fn set_score(&mut self, &pid: &u32, score: i32) -> io::Result<()> {
        self.happens(Some(pid))?;
        self.task(pid)?.score = score;
        assert!(self.nobody_is_below_his_own());
        Ok(())
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0usize..64).prop_map(Event::Fork),
        2 => (0usize..64).prop_map(Event::End),
        1 => (0usize..64, 0..APPS).prop_map(|(n, app)| Event::Move(n, app)),
        // Programs' own values are no marks.
        1 => (0usize..64, prop::sample::select(vec![0, 100, 167, 200, 233, 300, 1000])).prop_map(|(n, score)| Event::Rank(n, score)),
        3 => (0u64..150).prop_map(Event::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Changes of focus among apps whose processes do what they like, then the daemon dies at some
    /// call, and the supervisor undoes what the log names.
    #[test]
    fn nobody_ends_below_what_it_has_without_us_and_nobody_keeps_a_mark(
        bases in prop::collection::vec((prop::sample::select(vec![-900, 0, 100, 200, 300]), 0..APPS), 1..8),
        ranks in prop::collection::vec((0..APPS, prop::sample::select(vec![0, 100, 200, 500, 700, 725, 900, 950])), 0..12),
        events in prop::collection::vec(event(), 0..400),
        calls in 0usize..600,
    ) {
        let task = |(base, app)| Task { score: base, without_us: base, app, start_ticks: 0 };
        let tasks = (1..).zip(bases.into_iter().map(task)).collect();
        let mut model =
            Model { tasks, next_pid: 100, now_ticks: 1000, events: &events, calls_left: calls, app: None };
        let mut log = Log::default();
        for (app, wanted) in ranks {
            model.app = Some(app);
            let _ = rank(&mut model, wanted, &mut log);
            prop_assert!(model.nobody_is_below_his_own());
        }
        (model.app, model.calls_left) = (None, usize::MAX);
        unmark(&mut model, &log.0).unwrap();
        prop_assert!(model.nobody_is_below_his_own());
        // Once it is quiet, and who was young is not any more, everybody has its own.
        (model.events, model.now_ticks) = (&[], model.now_ticks + YOUNG_TICKS);
        let ranked = unmark(&mut model, &log.0).unwrap();
        prop_assert_eq!(ranked.young, 0);
        prop_assert!(model.tasks.values().all(|task| task.score == task.without_us), "{:?}", model.tasks);
    }
}

#[test]
fn an_app_that_ranks_its_processes_is_left_as_it_is() {
    let scores = |own: &[i32], wanted| {
        let task = |score: &i32| Task { score: *score, without_us: *score, app: 0, start_ticks: 0 };
        let tasks = (1..).zip(own.iter().map(task)).collect();
        let mut model = Model { tasks, next_pid: 9, now_ticks: 500, events: &[], calls_left: usize::MAX, app: Some(0) };
        let ranked = rank(&mut model, wanted, &mut Log::default()).unwrap();
        (model.tasks.values().map(|task| task.score).collect::<Vec<_>>(), ranked.changed)
    };
    assert_eq!(scores(&[0, 0, -17], 700), (vec![701, 701, -17], 2));
    assert_eq!(scores(&[200, 200, 0], 700), (vec![901, 901, 0], 2), "who has joined it keeps its own");
    assert_eq!(scores(&[0, 300, 300], 700), (vec![0, 300, 300], 0), "a browser");
    assert_eq!(scores(&[-1, 0], 700), (vec![-1, 0], 0));
    assert_eq!(scores(&[], 700), (vec![], 0));
}

fn sleeper() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn score_of(child: &Child) -> i32 {
    parse(&std::fs::read(format!("/proc/{}/{FILE}", child.id())).unwrap()).unwrap()
}

/// Of these processes only, so that the machine's others are left alone.
struct These<'a>(Live<'a>, Vec<u32>, bool);

impl Processes for These<'_> {
    type Process = (Process, Stat);

    fn list(&mut self, pids: &mut Vec<u32>) -> io::Result<()> {
        pids.extend(&self.1);
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<Option<Self::Process>> {
        self.0.open(pid)
    }

    fn began(&mut self, process: &Self::Process) -> io::Result<(u64, bool)> {
        let (start_ticks, is_young) = self.0.began(process)?;
        Ok((start_ticks, is_young && self.2))
    }

    fn score(&mut self, process: &Self::Process) -> io::Result<i32> {
        self.0.score(process)
    }

    fn set_score(&mut self, process: &Self::Process, score: i32) -> io::Result<()> {
        self.0.set_score(process, score)
    }
}

#[test]
fn a_marked_process_may_still_set_its_own_score_and_a_young_one_is_not_marked() {
    let root = Root::at("/");
    let mut child = sleeper();
    let own = score_of(&child);
    let mut log = Log::default();
    let mut these = These(Live::new(&root, Inspect::Here(&root), None), vec![child.id()], true);
    let young = rank(&mut these, 700, &mut log).unwrap();
    assert_eq!((young.changed, young.young, score_of(&child)), (0, 1, own));
    these.2 = false;
    assert_eq!(rank(&mut these, 700, &mut log).unwrap().changed, 1);
    let mark = score_of(&child);
    assert!(mark > own && log.0.own_score(mark) == own);
    // With CAP_SYS_RESOURCE the mark would be the least that an unprivileged program may set.
    let path = format!("/proc/{}/{FILE}", child.id());
    std::fs::write(&path, (own + 1).to_string()).unwrap();
    assert_eq!(unmark(&mut these, &log.0).unwrap().changed, 0, "its own word stands");
    std::fs::write(&path, mark.to_string()).unwrap();
    assert_eq!((unmark(&mut these, &log.0).unwrap().changed, score_of(&child)), (1, own));
    drop(these);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_an_older_version_wrote_down_is_lowered_and_never_below_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let process = folder.path().join(format!("proc/{}", std::process::id()));
    std::fs::create_dir_all(&process).unwrap();
    let pid = std::process::id();
    let stat = format!("{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 555 0 0");
    std::fs::write(process.join("stat"), stat).unwrap();
    std::fs::write(process.join(FILE), "900").unwrap();
    let root = Root::at(folder.path());
    let score = |start_ticks, oom_score_adj| OldScore { pid, start_ticks, oom_score_adj };
    let is_now = || std::fs::read_to_string(process.join(FILE)).unwrap();
    assert_eq!(
        lower(&root, &mut Inspect::Here(&root), &[score(554, 0), score(555, -700), score(555, 950)]).unwrap(),
        0
    );
    assert_eq!(is_now(), "900");
    assert_eq!(lower(&root, &mut Inspect::Here(&root), &[score(555, 200)]).unwrap(), 1);
    assert_eq!(is_now(), "200");
}

#[test]
fn of_too_many_processes_the_first_are_always_ranked_and_the_turn_of_all_comes() {
    let all: Vec<u32> = (1..=3 * limits::RANKED_AT_ONCE_MAX as u32 + 7).collect();
    let mut seen = std::collections::BTreeSet::new();
    for second in 100..104 {
        let mut some = all.clone();
        let left_out = some_of(&mut some, second);
        assert!(some.len() <= limits::RANKED_AT_ONCE_MAX && some.len() + left_out as usize == all.len());
        assert_eq!(some[..limits::RANKED_AT_ONCE_MAX / 4], all[..limits::RANKED_AT_ONCE_MAX / 4]);
        seen.extend(some);
    }
    assert_eq!(seen.len(), all.len());
    let mut few = vec![3, 4];
    assert_eq!((some_of(&mut few, 100), few), (0, vec![3, 4]));
}

/// Scores of processes that do nothing, of which one cannot be opened.
struct Few(BTreeMap<u32, i32>, u32);

impl Processes for Few {
    type Process = u32;

    fn list(&mut self, pids: &mut Vec<u32>) -> io::Result<()> {
        pids.extend(self.0.keys());
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<Option<u32>> {
        if pid == self.1 {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
        }
        Ok(Some(pid))
    }

    fn began(&mut self, process: &u32) -> io::Result<(u64, bool)> {
        Ok((u64::from(*process), false))
    }

    fn score(&mut self, process: &u32) -> io::Result<i32> {
        Ok(self.0[process])
    }

    fn set_score(&mut self, process: &u32, score: i32) -> io::Result<()> {
        self.0.insert(*process, score);
        Ok(())
    }
}

#[test]
fn one_process_that_cannot_be_looked_at_keeps_none_of_the_others_from_its_place() {
    let mut few = Few([(1, 0), (2, 0), (3, 0)].into(), 2);
    let mut log = Log::default();
    assert!(rank(&mut few, 700, &mut log).is_err(), "which is said");
    assert_eq!((few.0[&1], few.0[&2], few.0[&3]), (few.0[&3], 0, few.0[&1]));
    assert!(few.0[&1] >= 700);
    assert!(unmark(&mut few, &log.0).is_err());
    assert_eq!(few.0, [(1, 0), (2, 0), (3, 0)].into());
}
