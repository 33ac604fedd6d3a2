// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kinds compare that are about how a phone's memory is managed.

use fovea_report::verdict::{verdict, Bound};

use super::leak;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{figure, id, Figures};
use crate::scenario::Scenario;
use crate::{Case, Configuration, Daemon, Verdict};

/// For how long MGLRU keeps what was used, in `kernel-ttl`: what the kernel's documentation names as long enough against lags that a person notices
/// (admin-guide/mm/multigen_lru.rst).
const MIN_TTL_MS: u32 = 1000;

const fn managed(name: &'static str, daemon: Daemon, zram: bool) -> Configuration {
    let mut configuration = Configuration::new(name, daemon);
    configuration.zram = zram;
    configuration
}

/// zram, and a program that ends apps.
const fn guarded(name: &'static str, daemon: Daemon, program: &'static str) -> Configuration {
    let mut configuration = Configuration::guarded(name, daemon, Some(program));
    configuration.zram = true;
    configuration
}

/// zram, and MGLRU calls the OOM killer once it would have to evict what was used within that time.
const fn kept(name: &'static str, min_ttl_ms: u32) -> Configuration {
    let mut configuration = managed(name, Daemon::Idle, true);
    configuration.min_ttl_ms = Some(min_ttl_ms);
    configuration
}

/// No swap; the daemon's kill ladder only.
pub const STOCK: Configuration = managed("stock", Daemon::Ladder, false);

/// zram, the kernel picks the pages; the daemon's kill ladder.
pub const ZRAM: Configuration = managed("zram", Daemon::Ladder, true);

/// zram; the kernel's OOM killer, which knows nothing of apps.
pub const KERNEL: Configuration = managed("kernel", Daemon::Idle, true);

/// The same, told who matters.
pub const KERNEL_ADJ: Configuration = managed("kernel-adj", Daemon::Ranks, true);

/// What the kernel alone does, and MGLRU calls the OOM killer once it would have to evict what was used within a second.
pub const KERNEL_TTL: Configuration = kept("kernel-ttl", MIN_TTL_MS);

/// earlyoom, which knows nothing of apps.
pub const EARLYOOM: Configuration = guarded("earlyoom", Daemon::Idle, "earlyoom");

/// The same, told who matters.
pub const EARLYOOM_ADJ: Configuration = guarded("earlyoom-adj", Daemon::Ranks, "earlyoom");

/// nohang, which knows nothing of apps.
pub const NOHANG: Configuration = guarded("nohang", Daemon::Idle, "nohang");

/// The same, told who matters.
pub const NOHANG_ADJ: Configuration = guarded("nohang-adj", Daemon::Ranks, "nohang");

/// Facebook's oomd, to which all apps are the same.
pub const OOMD: Configuration = guarded("oomd", Daemon::Idle, "oomd");

/// The same, told whom to prefer and whom to avoid.
pub const OOMD_ADJ: Configuration = guarded("oomd-adj", Daemon::Ranks, "oomd");

/// systemd-oomd, to which all apps are the same. It is told what systemd would tell it.
pub const SYSTEMD_OOMD: Configuration = guarded("systemd-oomd", Daemon::Idle, "systemd-oomd");

/// The same, told whom to avoid.
pub const SYSTEMD_OOMD_ADJ: Configuration = guarded("systemd-oomd-adj", Daemon::Ranks, "systemd-oomd");

/// Everything.
pub const FOVEA: Configuration = managed("fovea", Daemon::Full, true);

/// Everything, by a daemon that does not look who plays.
pub const DEAF: Configuration = managed("fovea-deaf", Daemon::Deaf, true);

/// All of them.
pub const MANAGED: &[Configuration] = &[STOCK, ZRAM, FOVEA];

/// Who can be asked for as well: what people would install instead.
pub const PEERS: &[Configuration] =
    &[KERNEL_TTL, EARLYOOM, EARLYOOM_ADJ, NOHANG, NOHANG_ADJ, OOMD, OOMD_ADJ, SYSTEMD_OOMD, SYSTEMD_OOMD_ADJ];

/// The same, where the kernel alone is not compared anyway.
pub const PEERS_AND_KERNEL: &[Configuration] = &[
    KERNEL,
    KERNEL_ADJ,
    KERNEL_TTL,
    EARLYOOM,
    EARLYOOM_ADJ,
    NOHANG,
    NOHANG_ADJ,
    OOMD,
    OOMD_ADJ,
    SYSTEMD_OOMD,
    SYSTEMD_OOMD_ADJ,
];

/// The least of a figure under the others, if all that are compared were measured: the best of some would be no best.
pub(super) fn best_other(scenario: &Scenario, cases: &[Case], case: &str, name: &str) -> Option<f64> {
    best_among(scenario, cases, case, name, |_| true)
}

/// The same of those others that count.
pub(super) fn best_among(
    scenario: &Scenario,
    cases: &[Case],
    case: &str,
    name: &str,
    counts: impl Fn(&Configuration) -> bool,
) -> Option<f64> {
    let others = scenario.configurations.iter().filter(|&other| other.name() != FOVEA.name() && counts(other));
    let figures: Option<Vec<f64>> = others.map(|other| figure(cases, case, other.name(), name)).collect();
    figures?.into_iter().reduce(f64::min)
}

/// Whom neither the daemon nor the kernel may end.
pub(super) fn nobody_wrong(cases: &[Case], case: &str) -> [Verdict; 2] {
    let none = |name: &str, claim: &str, of: &str| {
        verdict(&id(name, case), claim, "this project", figure(cases, case, FOVEA.name(), of), Bound::Equal(0.0))
    };
    [
        none("oom-kills", "the kernel's OOM killer is never reached", "oom_kills"),
        none("wrong-victims", "no service and no app in front is killed", "wrong_victims"),
    ]
}

/// A leak's figures, and who died that must not.
pub(super) fn fill_victims(figures: &mut Figures, boots: &[&Folded]) {
    leak::fill(figures, boots);
    // Nobody leaks here.
    figures.remove("wrong_kills");
    set(figures, "wrong_victims", mean(boots, |f| Some(f.desktop.wrong_victims)));
}
