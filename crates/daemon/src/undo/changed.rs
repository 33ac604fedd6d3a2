// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What stands changed, and the log's lines, which say so one change at a time.

use std::collections::{BTreeMap, BTreeSet};

use fovea_apps::{Marks, MergeSettings};
use fovea_linux::{Controller, HeldSocket, OldScore, TierSetting, ZramDevice};
use serde::{Deserialize, Serialize};

/// A setting of the machine's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    Sysctl(String),
    /// Of a module, and its name there.
    Parameter(String, String),
    Tier(TierSetting),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Sysctl(name) => write!(f, "/proc/sys/{name}"),
            Setting::Parameter(module, name) => write!(f, "parameter {name} of {module}"),
            Setting::Tier(setting) => write!(f, "{setting:?} of moving between fast and slow memory"),
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    Frozen(String),
    Thawed(String),
    /// As versions before marks wrote it.
    Scores(String, Vec<OldScore>),
    /// A value of `oom_score_adj` that only we give, the base of those that have it, and what was
    /// wanted.
    Mark(i32, i32, i32),
    Ended(String),
    Zram(ZramDevice),
    ZramGone,
    Sysctl(String, String),
    Parameter(String, String, String),
    DiskClass(String, u64),
    DiskForgotten(String),
    IoSetting(String, String, String),
    IoPutBack(String, String, String),
    /// As versions before this one wrote it.
    PassesIo(String),
    Passes(String, Controller),
    /// All connections of a cgroup of which the windows may be held.
    Windows(String, Vec<HeldSocket>),
    /// More of them.
    MoreWindows(String, Vec<HeldSocket>),
    WindowsReleased(String),
    /// How the kernel's merging was set.
    Merging(MergeSettings),
    MergingRestored,
    TierSetting(TierSetting, String),
    /// A cgroup that had no rule of its own is kept out of fast memory.
    KeptOut(String),
    LetIn(String),
    /// A cgroup that was made for a program, and that in which the program was before.
    Adopted(String, String),
    /// What a setting reads as since it was set.
    Ours(Setting, String),
}

/// What stands changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Cgroups that may be frozen.
    pub frozen: BTreeSet<String>,
    /// Values of `oom_score_adj` that only we give, and what each stands for.
    pub marks: Marks,
    /// `oom_score_adj` values there were, by cgroup: from a log of a version without marks.
    pub scores: BTreeMap<String, Vec<OldScore>>,
    /// The zram device set up.
    pub zram: Option<ZramDevice>,
    /// Settings there were, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Modules' parameters there were, by module and name.
    pub parameters: BTreeMap<(String, String), String>,
    /// Cgroups of which the disk was told, with their names there.
    pub disk_classes: BTreeMap<String, u64>,
    /// Settings of cgroups' I/O there were, by cgroup, file, and device or "default".
    pub io_settings: BTreeMap<(String, String, String), String>,
    /// Cgroups that were made to pass a controller on.
    pub passes: BTreeSet<(String, Controller)>,
    /// Connections of which the receive windows may be held, as they were, by cgroup.
    pub windows: BTreeMap<String, Vec<HeldSocket>>,
    /// How the kernel's merging was set.
    pub merging: Option<MergeSettings>,
    /// How the kernel moved pages between fast and slow memory.
    pub tier_settings: BTreeMap<TierSetting, String>,
    /// Cgroups that may be kept out of fast memory.
    pub kept_out: BTreeSet<String>,
    /// Cgroups that were made for programs, and those in which the programs were before.
    pub adopted: BTreeMap<String, String>,
    /// What settings read as since they were set: who has set one to anything else since then wants it so.
    pub ours: BTreeMap<Setting, String>,
}

impl Changed {
    pub(super) fn apply(&mut self, line: Line) {
        match line {
            Line::Frozen(cgroup) => drop(self.frozen.insert(cgroup)),
            Line::Thawed(cgroup) => drop(self.frozen.remove(&cgroup)),
            // The first value seen is the one to go back to.
            Line::Scores(cgroup, scores) => {
                let known = self.scores.entry(cgroup).or_default();
                for score in scores {
                    if !known.iter().any(|k| (k.pid, k.start_ticks) == (score.pid, score.start_ticks)) {
                        known.push(score);
                    }
                }
            }
            Line::Mark(mark, base, wanted) => self.marks.insert(mark, base, wanted),
            Line::Ended(cgroup) => {
                self.frozen.remove(&cgroup);
                self.scores.remove(&cgroup);
                self.io_settings.retain(|(of, ..), _| *of != cgroup);
                self.windows.remove(&cgroup);
                self.kept_out.remove(&cgroup);
                self.adopted.remove(&cgroup);
            }
            Line::Adopted(cgroup, from) => drop(self.adopted.insert(cgroup, from)),
            Line::Windows(cgroup, sockets) => drop(self.windows.insert(cgroup, sockets)),
            Line::MoreWindows(cgroup, sockets) => self.windows.entry(cgroup).or_default().extend(sockets),
            Line::WindowsReleased(cgroup) => drop(self.windows.remove(&cgroup)),
            Line::Merging(settings) => drop(self.merging.get_or_insert(settings)),
            Line::MergingRestored => self.merging = None,
            Line::Zram(zram) => self.zram = Some(zram),
            Line::ZramGone => self.zram = None,
            // As versions before this one wrote it.
            Line::Sysctl(name, old) if name.starts_with("module/") => {
                if let Some((module, name)) = name.trim_start_matches("module/").split_once('/') {
                    self.parameters.entry((module.into(), name.into())).or_insert(old);
                }
            }
            Line::Sysctl(name, old) => drop(self.sysctls.entry(name).or_insert(old)),
            Line::DiskClass(cgroup, id) => drop(self.disk_classes.insert(cgroup, id)),
            Line::DiskForgotten(cgroup) => drop(self.disk_classes.remove(&cgroup)),
            Line::IoSetting(cgroup, file, old) => {
                self.io_settings.entry(io_key(cgroup, file, &old)).or_insert(old);
            }
            Line::IoPutBack(cgroup, file, old) => drop(self.io_settings.remove(&io_key(cgroup, file, &old))),
            Line::PassesIo(cgroup) => drop(self.passes.insert((cgroup, Controller::Io))),
            Line::Passes(cgroup, controller) => drop(self.passes.insert((cgroup, controller))),
            Line::TierSetting(setting, old) => drop(self.tier_settings.entry(setting).or_insert(old)),
            Line::KeptOut(cgroup) => drop(self.kept_out.insert(cgroup)),
            Line::LetIn(cgroup) => drop(self.kept_out.remove(&cgroup)),
            Line::Parameter(module, name, old) => drop(self.parameters.entry((module, name)).or_insert(old)),
            Line::Ours(setting, value) => drop(self.ours.insert(setting, value)),
        }
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<_> = self.frozen.iter().cloned().map(Line::Frozen).collect();
        lines.extend(self.scores.iter().map(|(c, s)| Line::Scores(c.clone(), s.clone())));
        lines.extend(self.marks.iter().map(|(mark, base, wanted)| Line::Mark(mark, base, wanted)));
        lines.extend(self.zram.iter().cloned().map(Line::Zram));
        lines.extend(self.sysctls.iter().map(|(n, o)| Line::Sysctl(n.clone(), o.clone())));
        let parameter = |((m, n), o): (&(String, String), &String)| Line::Parameter(m.clone(), n.clone(), o.clone());
        lines.extend(self.parameters.iter().map(parameter));
        lines.extend(self.disk_classes.iter().map(|(c, &id)| Line::DiskClass(c.clone(), id)));
        let setting =
            |((c, f, _), o): (&(String, String, String), &String)| Line::IoSetting(c.clone(), f.clone(), o.clone());
        lines.extend(self.io_settings.iter().map(setting));
        lines.extend(self.passes.iter().map(|(cgroup, controller)| Line::Passes(cgroup.clone(), *controller)));
        lines.extend(self.windows.iter().map(|(c, w)| Line::Windows(c.clone(), w.clone())));
        lines.extend(self.merging.iter().cloned().map(Line::Merging));
        lines.extend(self.tier_settings.iter().map(|(&s, o)| Line::TierSetting(s, o.clone())));
        lines.extend(self.kept_out.iter().cloned().map(Line::KeptOut));
        lines.extend(self.adopted.iter().map(|(c, from)| Line::Adopted(c.clone(), from.clone())));
        lines.extend(self.ours.iter().map(|(s, value)| Line::Ours(s.clone(), value.clone())));
        lines
    }

    /// Whether nothing stands changed.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }
}

/// A setting's first word is the device it is of, or "default".
pub(super) fn io_key(cgroup: String, file: String, old: &str) -> (String, String, String) {
    (cgroup, file, old.split(' ').next().unwrap_or_default().to_owned())
}
