// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which processes of an app or job die for it. A kill is as small as it can be: a shell, an editor and
//! a program that leaks share one cgroup, and only the program is to die.

use std::collections::BTreeMap;

use fovea_apps::{Holder, ProcessId};

use super::growth::LEAST_GAINED_BYTES;

/// A subtree is where the memory went if it has at least so much of all of it, in quarters.
const MOST_QUARTERS: u128 = 3;

/// Where it went to several at once, one of them has at least so much.
const MUCH_QUARTERS: u128 = 1;

/// Processes of which a subtree may consist: more are a unit's whole work, and take long to hold.
const PART_MAX: usize = 256;

/// What dies of an app or job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every process.
    Whole,
    /// A process and its descendants.
    Part(Part),
    /// Nothing of a unit that may not die whole: no process stands out.
    Nobody,
}

/// A process and its descendants within one app or job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The process.
    pub root: ProcessId,
    /// The process and its descendants, a parent before its children.
    pub processes: Vec<ProcessId>,
    /// What they hold, in swap too.
    pub bytes: u64,
}

/// What the processes of an app or job held when they were first seen while memory was short.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    first: BTreeMap<ProcessId, u64>,
    has_read: bool,
}

impl Baseline {
    /// Takes in a reading of all processes; those that are gone are forgotten.
    pub fn record(&mut self, processes: &[Holder]) {
        if processes.is_empty() {
            return;
        }
        let first = |process: &Holder| match self.first.get(&process.id) {
            Some(first) => process.bytes.min(*first),
            None if self.has_read => 0,
            None => process.bytes,
        };
        self.first = processes.iter().map(|process| (process.id, first(process))).collect();
        self.has_read = true;
    }

    /// What a process has gained since; one that began since then has gained all that it holds.
    fn gained_bytes(&self, process: &Holder) -> u64 {
        match self.first.get(&process.id) {
            Some(first) => process.bytes.saturating_sub(*first),
            None if self.has_read => process.bytes,
            None => 0,
        }
    }
}

/// What dies of an app or job whose turn it is, by a reading of all its processes.
///
/// - The subtree that grew, if its own process did most of that.
/// - Else the process that its app can do without, by a higher `oom_score_adj` (browsers and editors
///   set one), and the largest of these.
/// - Else, of several that grew apart from each other, the one that gained most, and never what
///   started them all, which may be a session or tmux.
/// - Else, where nothing is known of growth, the subtree that holds most of everything.
///
/// A subtree that gives less than `least_bytes` is of no use: then, and where there is none, the
/// whole unit dies, if it `may_die_whole`. A login's scope may not: a desktop's compositor may be in
/// it, and is not to die for its own growth either. A login of a single process is what took the
/// memory.
pub fn extent(processes: &[Holder], baseline: &Baseline, least_bytes: u64, may_die_whole: bool) -> Extent {
    let forest = Forest::new(processes);
    let gained: Vec<u64> = processes.iter().map(|process| baseline.gained_bytes(process)).collect();
    let held: Vec<u64> = processes.iter().map(|process| process.bytes).collect();
    let total = gained.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
    let grown = (total >= LEAST_GAINED_BYTES).then(|| forest.concentrated_in(&gained, MOST_QUARTERS)).flatten();
    let found = match grown {
        Some(at) if gained[at] >= total / 2 => Some(at),
        grown => {
            let one_of_several = || (total >= LEAST_GAINED_BYTES).then(|| forest.largest_of_several(&gained)).flatten();
            let expendable = forest.most_expendable(&held, least_bytes, grown);
            expendable.or_else(one_of_several).or_else(|| forest.concentrated_in(&held, MOST_QUARTERS))
        }
    };
    let is_only_one = !may_die_whole && processes.len() == 1;
    let may_die =
        |at: &usize| is_only_one || !(forest.is_all(*at) || !may_die_whole && forest.carries_others(*at, &held));
    let part = found.filter(may_die).map(|at| forest.part(at));
    let is_of_use = |part: &Part| part.bytes >= least_bytes && part.processes.len() <= PART_MAX;
    match part.filter(is_of_use) {
        Some(part) => Extent::Part(part),
        None if may_die_whole => Extent::Whole,
        None => Extent::Nobody,
    }
}

/// The processes of a unit by descent. Those whose parents are elsewhere are roots.
struct Forest<'a> {
    processes: &'a [Holder],
    children: Vec<Vec<usize>>,
    /// All processes, each after its parent.
    order: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// Of each process the one that it and its ancestors in the unit descend from.
    roots: Vec<usize>,
}

impl Forest<'_> {
    fn new(processes: &[Holder]) -> Forest<'_> {
        let by_pid: BTreeMap<u32, usize> =
            processes.iter().enumerate().map(|(at, process)| (process.id.pid, at)).collect();
        // A PID that was read as a parent's may have been given to a later process since: no parent is younger than its
        // child. Of the same tick the lower PID is the parent, so that nothing can go round in a circle.
        let age = |process: &Holder| (process.id.start_ticks, process.id.pid);
        let parent =
            |process: &Holder| by_pid.get(&process.parent).copied().filter(|&at| age(&processes[at]) < age(process));
        let parents: Vec<Option<usize>> = processes.iter().map(parent).collect();
        let mut children = vec![Vec::new(); processes.len()];
        for (at, parent) in parents.iter().enumerate() {
            parent.iter().for_each(|&parent: &usize| children[parent].push(at));
        }
        let mut order: Vec<usize> = (0..processes.len()).collect();
        order.sort_by_key(|&at| age(&processes[at]));
        let mut roots: Vec<usize> = (0..processes.len()).collect();
        for &at in &order {
            roots[at] = parents[at].map_or(at, |parent| roots[parent]);
        }
        Forest { processes, children, order, parents, roots }
    }

    /// What each process and its descendants have together.
    fn sums(&self, of_each: &[u64]) -> Vec<u64> {
        let mut sums = of_each.to_vec();
        for &at in self.order.iter().rev() {
            if let Some(parent) = self.parents[at] {
                sums[parent] = sums[parent].saturating_add(sums[at]);
            }
        }
        sums
    }

    /// Of the smallest subtrees that have so much of all there is the one that has most.
    fn concentrated_in(&self, of_each: &[u64], quarters: u128) -> Option<usize> {
        let sums = self.sums(of_each);
        let total: u128 = of_each.iter().map(|&bytes| u128::from(bytes)).sum();
        let mut is_above = vec![false; sums.len()];
        let mut found = None;
        for &at in self.order.iter().rev() {
            let has_enough = total > 0 && u128::from(sums[at]) * 4 >= total * quarters;
            if has_enough && !is_above[at] && found.is_none_or(|other: usize| sums[other] < sums[at]) {
                found = Some(at);
            }
            if let Some(parent) = self.parents[at] {
                is_above[parent] |= has_enough;
            }
        }
        found
    }

    /// Where several grew: the process that gained most, if that is much of all; else the smallest subtree that gained much.
    /// Never everything.
    fn largest_of_several(&self, gained: &[u64]) -> Option<usize> {
        let total: u128 = gained.iter().map(|&bytes| u128::from(bytes)).sum();
        let most = (0..gained.len()).max_by_key(|&at| gained[at])?;
        let is_much = u128::from(gained[most]) * 4 >= total * MUCH_QUARTERS;
        let alone = Some(most).filter(|&at| is_much && gained[at] >= LEAST_GAINED_BYTES && !self.is_all(at));
        alone.or_else(|| self.concentrated_in(gained, MUCH_QUARTERS).filter(|&at| !self.is_all(at)))
    }

    /// The subtree of the process that its app can most easily do without, if the app says so of any; within a subtree, if one is
    /// named.
    fn most_expendable(&self, held: &[u64], least_bytes: u64, within: Option<usize>) -> Option<usize> {
        let sums = self.sums(held);
        let score = |at: usize| self.processes[at].oom_score_adj;
        let members = within.map_or_else(|| self.order.clone(), |at| self.members(at));
        let expendable = |at: &usize| score(*at) > score(self.roots[*at]) && sums[*at] >= least_bytes;
        members.into_iter().filter(expendable).max_by_key(|&at| (score(at), sums[at]))
    }

    /// Whether it is a program, and no mere parent of what has most of its subtree, that has started several others: in a login's own
    /// scope that may be the compositor.
    fn carries_others(&self, at: usize, held: &[u64]) -> bool {
        let all = self.members(at).iter().fold(0, |sum: u64, &at| sum.saturating_add(held[at]));
        self.children[at].len() > 1 && held[at] >= all / 2
    }

    fn is_all(&self, at: usize) -> bool {
        self.members(at).len() == self.processes.len()
    }

    fn members(&self, at: usize) -> Vec<usize> {
        let mut members = vec![at];
        let mut next = 0;
        while let Some(&at) = members.get(next) {
            members.extend(&self.children[at]);
            next += 1;
        }
        members
    }

    fn part(&self, at: usize) -> Part {
        let members = self.members(at);
        Part {
            root: self.processes[at].id,
            processes: members.iter().map(|&at| self.processes[at].id).collect(),
            bytes: members.iter().fold(0, |sum: u64, &at| sum.saturating_add(self.processes[at].bytes)),
        }
    }
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
