// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A job in the background: compilers that fill their memory, compute, check it and end (proof/guest/src/load.rs).
//!
//! The virtual phone gives it a cgroup with `cpu.idle`: it runs while nobody else wants the CPU, so here while an app waits for flash or for
//! its user. A compiler is a mapping of the job's process here, and no process of its own: the OOM killer, which takes one of them
//! there and so breaks the job, takes the job.

use std::collections::VecDeque;

use fovea_scenario::Load;

use super::costs::*;
use super::machine::{Cpu, Machine};
use super::process::Region;

/// What a compiler has of the CPU before the next one's turn: a tick (HZ=250).
const SLICE_NS: u64 = 4_000_000;

/// A job of a process.
#[derive(Clone, Debug)]
pub struct Job {
    at_a_time: usize,
    pages: u64,
    compute_ns: u64,
    period_ns: u64,
    /// When the next compiler is due, and whether one is that waits for an earlier one's end.
    next_ns: u64,
    is_due: bool,
    compilers: VecDeque<Compiler>,
}

/// One compiler: where its memory is, and how far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Compiler {
    /// Its memory; the index goes on from the process's own, so that each compiler has content of its own.
    pub region: Region,
    filled: u64,
    computes_ns: u64,
    checked: u64,
}

impl Job {
    /// The job of a load, from now on; `None` for another kind of load.
    pub fn new(load: Load, now_ns: u64) -> Option<Job> {
        let Load::Build { jobs, pages, compute_insns, period_ns } = load else { return None };
        let at_a_time = jobs.max(1) as usize;
        let compilers = VecDeque::new();
        // In exact mode an instruction takes a nanosecond.
        let compute_ns = compute_insns;
        Some(Job { at_a_time, pages, compute_ns, period_ns, next_ns: now_ns, is_due: false, compilers })
    }

    /// Those that run.
    pub fn compilers(&self) -> impl Iterator<Item = &Compiler> {
        self.compilers.iter()
    }

    /// When it wants the CPU next.
    fn wants_ns(&self, now_ns: u64) -> u64 {
        match self.is_due || !self.compilers.is_empty() {
            true => now_ns,
            false => self.next_ns,
        }
    }

    /// Whether a compiler is to be started now.
    fn starts(&mut self, now_ns: u64) -> bool {
        if !self.is_due && now_ns >= self.next_ns {
            (self.is_due, self.next_ns) = (true, now_ns + self.period_ns);
        }
        let starts = self.is_due && self.compilers.len() < self.at_a_time;
        self.is_due &= !starts;
        starts
    }
}

impl Machine {
    /// A process begins the job of its profile, if it has one.
    pub fn begin_job(&mut self, cgroup: &str) {
        let now_ns = self.now_ns;
        if let Some(process) = self.processes.get_mut(cgroup) {
            process.job = process.profile.load.and_then(|load| Job::new(load, now_ns));
        }
    }

    /// Jobs have the CPU until then, as far as they want it; no longer than memory can be had.
    pub fn run_jobs(&mut self, until_ns: u64) {
        let cpu = std::mem::replace(&mut self.cpu, Cpu::Apps);
        while self.now_ns < until_ns && !self.starved {
            let wants = |(cgroup, process): (&String, &super::process::Process)| {
                let job = process.job.as_ref().filter(|_| !process.frozen)?;
                Some((job.wants_ns(self.now_ns), cgroup.clone()))
            };
            match self.processes.iter().filter_map(wants).min() {
                Some((wants_ns, cgroup)) if wants_ns <= self.now_ns => self.run_job(&cgroup, until_ns),
                Some((wants_ns, _)) if wants_ns < until_ns => self.stay_idle(wants_ns),
                _ => break,
            }
        }
        self.cpu = cpu;
    }

    fn job(&mut self, cgroup: &str) -> Option<&mut Job> {
        self.processes.get_mut(cgroup)?.job.as_mut()
    }

    /// One compiler's slice, after a new one was started if one is due.
    fn run_job(&mut self, cgroup: &str, until_ns: u64) {
        let now_ns = self.now_ns;
        let starts = self.job(cgroup).and_then(|job| job.starts(now_ns).then_some((job.pages, job.compute_ns)));
        if let Some((pages, computes_ns)) = starts {
            self.work(FORK_NS);
            let Some(region) = self.map_child(cgroup, pages) else { return };
            let compiler = Compiler { region, filled: 0, computes_ns, checked: 0 };
            if let Some(job) = self.job(cgroup) {
                job.compilers.push_back(compiler);
            }
        }
        let until_ns = until_ns.min(self.now_ns + SLICE_NS);
        while self.now_ns < until_ns && !self.starved {
            // Memory that this takes can be that of the job itself.
            let Some(mut compiler) = self.job(cgroup).and_then(|job| job.compilers.front().copied()) else { return };
            let first_page = compiler.region.first;
            let has_ended = self.compile(cgroup, &mut compiler, until_ns);
            let Some(front) = self.job(cgroup).and_then(|job| job.compilers.front_mut()) else { return };
            if front.region.first != first_page {
                return;
            }
            *front = compiler;
            if has_ended {
                if let Some(job) = self.job(cgroup) {
                    job.compilers.pop_front();
                }
                self.unmap_child(compiler.region);
                return;
            }
        }
        if let Some(job) = self.job(cgroup).filter(|job| !job.compilers.is_empty()) {
            job.compilers.rotate_left(1);
        }
    }

    /// A page's worth of a compiler's work, or computing; whether it has ended.
    fn compile(&mut self, cgroup: &str, compiler: &mut Compiler, until_ns: u64) -> bool {
        let Some(process) = self.processes.get(cgroup) else { return false };
        let lists = process.lists;
        let noise = |at: u64| process.noise(compiler.region.index + at);
        if compiler.filled < compiler.region.pages {
            let ns = content_ns(noise(compiler.filled));
            self.touch_anon(compiler.region.first + compiler.filled as u32, lists);
            self.work(ns);
            compiler.filled += 1;
        } else if compiler.computes_ns > 0 {
            let ns = compiler.computes_ns.min(until_ns - self.now_ns);
            self.work(ns);
            compiler.computes_ns -= ns;
        } else if compiler.checked < compiler.region.pages {
            let ns = content_ns(noise(compiler.checked)) + COMPARE_NS;
            self.touch_anon(compiler.region.first + compiler.checked as u32, lists);
            self.work(ns);
            compiler.checked += 1;
        }
        compiler.checked == compiler.region.pages
    }
}
