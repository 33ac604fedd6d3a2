// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The events of one boot, gathered.

use std::collections::{BTreeMap, BTreeSet};

use super::desktop::{Desktop, Outside};
use super::{Boot, Figures};
use crate::{
    AppProfile, BufferUse, CpuTimes, DiskUse, Event, EventBody, Heard, LaunchKind, Load, Plan, Played, StartScore,
    Step, TierUse,
};

/// Label of the sample that measuring begins with.
const BEGIN: &str = "begin";

/// An app that came to the screen.
pub(crate) struct Launch {
    pub app: String,
    pub kind: LaunchKind,
    pub elapsed_ns: f64,
    pub read_bytes: f64,
    /// Not the first of this app in this boot.
    pub again: bool,
    /// What the CPUs did meanwhile.
    pub cpu: Option<CpuTimes>,
}

/// A state of memory.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub free_bytes: f64,
    pub read_bytes: f64,
    pub zram_bytes: f64,
}

/// The end of a boot.
pub(crate) struct End {
    pub oom_kills: f64,
    pub kills: f64,
    pub daemon_cpu_ns: f64,
}

/// Hits and misses of the eCache by kind of file.
pub(crate) type Kinds = BTreeMap<String, [u64; 2]>;

/// The eCache's state: the module's own numbers by name.
pub(crate) type Pool = BTreeMap<String, u64>;

/// What only boots with device memory have.
#[derive(Default)]
pub(crate) struct Devices {
    /// By app that allocated, in order; each with the eCache's state before the app was opened, if it has one.
    pub buffers: Vec<(Vec<BufferUse>, Option<Pool>)>,
    /// The eCache's state by label.
    pub pools: BTreeMap<String, Pool>,
    /// By label, added up; how often that label came.
    pub kinds: BTreeMap<String, (Kinds, u64)>,
}

/// What only boots with a slow disk have: a stretch of time.
pub(crate) struct DiskStretch {
    pub apps: BTreeMap<String, DiskUse>,
    /// dm-aciom's numbers.
    pub volume: BTreeMap<String, u64>,
    pub classes_left: Option<u64>,
}

/// One boot.
pub(crate) struct Folded {
    pub case: String,
    pub exact: bool,
    /// Hits were counted by file: its times are not to be compared.
    pub traced: bool,
    pub devices: Devices,
    pub configuration: String,
    pub kernel: Option<String>,
    pub user_memory_bytes: Option<f64>,
    pub launches: Vec<Launch>,
    pub wrong_pages: f64,
    pub idle_wakeups: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub stray_frozen: Option<f64>,
    pub left_after_kill: Option<f64>,
    pub zram_kept: Option<f64>,
    pub steps: f64,
    /// Longest time from the wake-up that led to a kill to the signal; none without a kill.
    pub kill_signal_ns: Option<f64>,
    pub desktop: Desktop,
    /// For how long everybody at once waited for memory, by the kernel's account.
    pub psi_full_ns: Option<f64>,
    /// CPU time that was not idle, of programs and kernel, since the phone started.
    pub cpu_busy_ns: Option<f64>,
    /// Written to the flash until then, and the daemon's memory at most, by label.
    pub wrote: BTreeMap<String, (f64, f64)>,
    /// By label.
    pub disk: BTreeMap<String, DiskStretch>,
    /// For how long the stream's picture stood still; what came of it and of the download, by second.
    pub traffic: Option<(f64, Vec<u64>, Vec<u64>)>,
    /// The kernel's numbers of merging, by label, in order.
    pub merging: Vec<(String, BTreeMap<String, u64>)>,
    /// What apps did in fast and slow memory.
    pub tier: Option<TierUse>,
    /// In which pieces memory was free, by how many apps had been opened.
    pub pieces: Vec<(u32, Vec<u64>)>,
    /// What was heard at the end.
    pub heard: Option<Heard>,
    /// Videos played, in order.
    pub played: Vec<Played>,
    /// What fovea-prefetch says of apps' starts.
    pub starts: Vec<StartScore>,
    samples: Vec<(String, Sample)>,
    end: Option<End>,
    failed: bool,
}

/// Adds to a figure that may not be there yet.
fn add(sum: &mut Option<f64>, value: f64) {
    *sum = Some(sum.unwrap_or(0.0) + value);
}

impl Folded {
    pub fn new(boot: &Boot<'_>) -> Folded {
        let mut folded = Folded {
            case: boot.plan.case.clone(),
            exact: boot.plan.exact,
            traced: boot.plan.trace_files,
            devices: Devices::default(),
            configuration: boot.plan.configuration.name().to_owned(),
            kernel: None,
            user_memory_bytes: None,
            launches: Vec::new(),
            wrong_pages: 0.0,
            idle_wakeups: None,
            resident_bytes: None,
            stray_frozen: None,
            left_after_kill: None,
            zram_kept: None,
            steps: 0.0,
            kill_signal_ns: None,
            desktop: Desktop::new(culprits(boot.plan)),
            psi_full_ns: None,
            cpu_busy_ns: None,
            wrote: BTreeMap::new(),
            disk: BTreeMap::new(),
            traffic: None,
            merging: Vec::new(),
            tier: None,
            pieces: Vec::new(),
            heard: None,
            played: Vec::new(),
            starts: Vec::new(),
            samples: Vec::new(),
            end: None,
            failed: false,
        };
        let mut seen = BTreeSet::new();
        let services = services(boot.plan);
        for event in boot.events {
            match &event.body {
                EventBody::Step { index } => folded.desktop.look(boot.plan.steps.get(*index)),
                EventBody::Killed { app, .. } => {
                    let wrong = services.contains(app.as_str()) || folded.desktop.is_in_front(app);
                    folded.desktop.wrong_victims += f64::from(wrong);
                }
                _ => {}
            }
            folded.take(event, &mut seen);
        }
        // In fast mode this would measure the host's load.
        if !boot.plan.exact {
            folded.kill_signal_ns = None;
        }
        folded
    }

    fn take<'a>(&mut self, event: &'a Event, seen: &mut BTreeSet<&'a str>) {
        match &event.body {
            EventBody::Ready { kernel, user_memory_bytes, .. } => {
                self.kernel = Some(kernel.clone());
                self.user_memory_bytes = Some(*user_memory_bytes as f64);
            }
            EventBody::Step { .. } => self.steps += 1.0,
            EventBody::Launch { app, kind, elapsed_ns, read_bytes, wrong_pages, cpu, .. } => {
                self.wrong_pages += *wrong_pages as f64;
                let again = !seen.insert(app.as_str());
                let elapsed_ns = *elapsed_ns as f64;
                let read_bytes = *read_bytes as f64;
                self.desktop.shown(app);
                let cpu = *cpu;
                self.launches.push(Launch { app: app.clone(), kind: *kind, elapsed_ns, read_bytes, again, cpu });
            }
            EventBody::Interacted { elapsed_ns, stall_ns, wrong_pages, .. } => {
                self.wrong_pages += *wrong_pages as f64;
                let pairs = elapsed_ns.iter().zip(stall_ns).map(|(&elapsed, &stall)| (elapsed as f64, stall as f64));
                self.desktop.interactions.extend(pairs);
            }
            EventBody::Traffic { degraded_ns, stream_bytes, bursty_bytes } => {
                self.traffic = Some((*degraded_ns as f64, stream_bytes.clone(), bursty_bytes.clone()));
            }
            EventBody::Used { wrong_pages, .. } => self.wrong_pages += *wrong_pages as f64,
            EventBody::Buffers { buffers, .. } => {
                self.wrong_pages += buffers.iter().map(|b| b.wrong_pages as f64).sum::<f64>();
                let before = self.devices.pools.get("open").cloned();
                self.devices.buffers.push((buffers.clone(), before));
            }
            EventBody::Pieces { launches, free } => self.pieces.push((*launches, free.clone())),
            EventBody::Heard(heard) => self.heard = Some(*heard),
            EventBody::Prefetched { starts } => self.starts.clone_from(starts),
            EventBody::Played(played) => self.played.push(played.clone()),
            EventBody::Pool { label, values } => {
                self.devices.pools.insert(label.clone(), values.clone());
            }
            EventBody::FileKinds { label, kinds } => {
                let (sum, times) = self.devices.kinds.entry(label.clone()).or_default();
                *times += 1;
                for (kind, [hits, misses]) in kinds {
                    let of = sum.entry(kind.clone()).or_default();
                    of[0] += hits;
                    of[1] += misses;
                }
            }
            EventBody::Sample { label, free_bytes, read_bytes, zram_bytes, .. } => {
                let [free_bytes, read_bytes, zram_bytes] = [free_bytes, read_bytes, zram_bytes].map(|b| *b as f64);
                let sample = Sample { free_bytes, read_bytes, zram_bytes };
                if label == BEGIN {
                    // What came before was to bring the phone into use.
                    self.launches.clear();
                    self.devices.buffers.clear();
                }
                self.samples.push((label.clone(), sample));
            }
            EventBody::DaemonIdle { wakeups, resident_bytes, .. } => {
                add(&mut self.idle_wakeups, *wakeups as f64);
                let highest = self.resident_bytes.unwrap_or(0.0).max(*resident_bytes as f64);
                self.resident_bytes = Some(highest);
            }
            EventBody::AfterKill { frozen, adjusted, zram_left, settings } => {
                add(&mut self.left_after_kill, f64::from(*frozen) + f64::from(*adjusted) + settings.len() as f64);
                // Swap whose pages do not fit in memory stays until they do: taking it away would end in the OOM killer.
                add(&mut self.zram_kept, f64::from(*zram_left));
            }
            EventBody::FrozenCheck { stray } => add(&mut self.stray_frozen, f64::from(*stray)),
            EventBody::Failed { .. } => self.failed = true,
            EventBody::Done { oom_kills, kills, daemon_cpu_ns } => {
                self.end = Some(End {
                    oom_kills: *oom_kills as f64,
                    kills: *kills as f64,
                    daemon_cpu_ns: *daemon_cpu_ns as f64,
                });
            }
            EventBody::Journal { entry } => {
                if let Some(ns) = entry["outcome"]["signal_after_ns"].as_f64() {
                    self.kill_signal_ns = Some(self.kill_signal_ns.unwrap_or(0.0).max(ns));
                }
            }
            EventBody::Leaking { app } => self.desktop.leaks(app, event.t_ns),
            EventBody::Killed { app, .. } => self.desktop.killed(app, event.t_ns),
            EventBody::Outsider { watched_ns, leaker_ended, siblings_lost, scores_changed, scores_below, .. } => {
                let [siblings_lost, scores_changed, scores_below] =
                    [siblings_lost, scores_changed, scores_below].map(|count| f64::from(*count));
                let (watched_ns, leaker_ended) = (*watched_ns as f64, *leaker_ended);
                self.desktop.outside =
                    Some(Outside { watched_ns, leaker_ended, siblings_lost, scores_changed, scores_below });
            }
            EventBody::OwnedZram { refused, is_his, .. } => {
                add(&mut self.desktop.zram_lost, f64::from(u8::from(refused.is_some() || !is_his)));
            }
            EventBody::DiskLoad { label, apps, volume, classes_left } => {
                let (apps, volume) = (apps.clone(), volume.clone());
                self.disk.insert(label.clone(), DiskStretch { apps, volume, classes_left: *classes_left });
            }
            EventBody::Merging { label, values } => self.merging.push((label.clone(), values.clone())),
            EventBody::Tier(tier) => {
                self.wrong_pages += tier.apps.values().map(|app| app.wrong_pages as f64).sum::<f64>();
                self.tier = Some(tier.clone());
            }
            EventBody::Wrote { label, written_bytes, daemon_bytes } => {
                self.wrote.insert(label.clone(), (*written_bytes as f64, *daemon_bytes as f64));
            }
            EventBody::Stalled { full_ns } => self.psi_full_ns = Some(*full_ns as f64),
            EventBody::Worked(cpus) => self.cpu_busy_ns = Some((cpus.user_ns + cpus.system_ns) as f64),
            EventBody::Check { .. } => {}
        }
    }

    /// Whether the plan was followed to its end.
    pub fn complete(&self) -> bool {
        self.end.is_some() && !self.failed
    }

    /// The end, if the plan was followed to it.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref().filter(|_| !self.failed)
    }

    /// All samples of that label, in order.
    pub fn samples(&self, label: &str) -> Vec<Sample> {
        self.samples.iter().filter(|(l, _)| l == label).map(|(_, s)| *s).collect()
    }

    /// Memory that zram took at most.
    pub fn zram_most_bytes(&self) -> Option<f64> {
        self.samples.iter().map(|(_, s)| s.zram_bytes).reduce(f64::max)
    }

    /// The last sample of that label.
    pub fn sample(&self, label: &str) -> Option<Sample> {
        self.samples.iter().rev().find(|(l, _)| l == label).map(|(_, s)| *s)
    }
}

/// What the system starts and needs. A job is none, and a content provider is the ladder's to end: it starts again when it is asked.
fn services(plan: &Plan) -> BTreeSet<&str> {
    let started = plan.steps.iter().filter(|step| matches!(step, Step::Start { .. })).filter_map(Step::app);
    let is_needed = |name: &&str| {
        plan.apps.iter().any(|app| app.name == *name && app.load.is_none() && app.role != "content-provider")
    };
    started.filter(is_needed).collect()
}

/// Apps whose end the user would wish for.
fn culprits(plan: &Plan) -> BTreeSet<String> {
    let culprit = |app: &&AppProfile| app.load.is_some_and(Load::is_culprit);
    let leaks = plan.steps.iter().filter(|step| matches!(step, Step::Leak { .. })).filter_map(Step::app);
    plan.apps.iter().filter(culprit).map(|app| app.name.as_str()).chain(leaks).map(str::to_owned).collect()
}

/// Boots of a case and configuration whose times compare, if there are any and all are complete.
pub(crate) fn select<'a>(folded: &'a [Folded], case: &str, configuration: &str) -> Option<Vec<&'a Folded>> {
    let boots: Vec<_> =
        folded.iter().filter(|f| f.case == case && f.configuration == configuration && !f.traced).collect();
    (!boots.is_empty() && boots.iter().all(|f| f.complete())).then_some(boots)
}

/// Arithmetic mean over the rounds, as the seed takes it (LowMem13, section 4.2); `None` if one has no such figure.
pub(crate) fn mean(boots: &[&Folded], value: impl Fn(&Folded) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = boots.iter().map(|f| value(f)).collect();
    average(values?)
}

/// Arithmetic mean; `None` of nothing.
pub(crate) fn average(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0u32), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Geometric mean.
pub(crate) fn geomean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), v| (sum + v.max(1.0).ln(), count + 1));
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// The least value that 95 % of all do not exceed.
pub(crate) fn p95(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 95).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

/// Sets a figure if it was measured.
pub(crate) fn set(figures: &mut Figures, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        figures.insert(name.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p95_is_a_value_that_was_measured() {
        assert_eq!(p95(std::iter::empty()), None);
        assert_eq!(p95([3.0].into_iter()), Some(3.0));
        assert_eq!(p95((1..=20).map(f64::from)), Some(19.0));
        assert_eq!(p95((1..=100).rev().map(f64::from)), Some(95.0));
    }
}
