// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A film beside a copy on a slow disk (Aciom11, section 6.2).

use fovea_report::panel::{Form, Panel};
use fovea_report::verdict::{ratio, verdict, Bound};

use super::{About, Parameters};
use crate::catalog::builtin;
pub use crate::disk_load::Disk;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{by_case, compares, figure, Figures};
use crate::scenario::Scenario;
use crate::script::{in_range, BadParameter, Script};
use crate::{
    Boot, Case, Catalog, Configuration, Daemon, DiskLoad, DiskSetting, DiskUse, Error, OpenLoop, Step, Verdict,
};

/// All have the daemon, which sees to the disk in the last two.
const fn ordered(name: &'static str, disk: DiskSetting) -> Configuration {
    let mut configuration = Configuration::new(name, Daemon::Full);
    configuration.disk = Some(disk);
    configuration
}

const CONFIGURATIONS: &[Configuration] = &[
    ordered("none", DiskSetting::None),
    ordered("mq-deadline", DiskSetting::MqDeadline),
    ordered("kyber", DiskSetting::Kyber),
    ordered("bfq", DiskSetting::Bfq),
    ordered("bfq-weights", DiskSetting::BfqWeights),
    ordered("io-max", DiskSetting::IoMax),
    ordered("fovea-cgroup", DiskSetting::FoveaCgroup),
    ordered("fovea-dm", DiskSetting::FoveaDm),
];

/// What needs no word by hand about any app.
const STOCK: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const BY_HAND: [&str; 2] = ["bfq-weights", "io-max"];
const DM: &str = "fovea-dm";

/// Figures of how long a frame's read takes: so many of a hundred within that time (Aciom11, figure 6).
const SHARES: [(&str, &str); 8] = [
    ("p10_read_ns", "10"),
    ("p25_read_ns", "25"),
    ("p50_read_ns", "50"),
    ("p75_read_ns", "75"),
    ("p80_read_ns", "80"),
    ("p90_read_ns", "90"),
    ("p99_read_ns", "99"),
    ("p100_read_ns", "100"),
];

/// How long an app that saves a file may stand still.
const STALL_MAX_NS: f64 = 4e9;
/// How long a small read of an app of no class may take.
const WORST_MAX_NS: f64 = 5e8;
/// What a player misses at least who suffers, of any number of frames.
const MISSED_MIN: f64 = 10.0;

pub(super) const ABOUT: About = About {
    configurations: CONFIGURATIONS,
    scenarios: builtin!["scenarios/disk.toml"],
    panels: &[
        Panel {
            scenario: "disk",
            title: "Frames missed beside a copy, after the first 60",
            form: Form::Bars,
            figures: &[("missed_frames", "missed")],
        },
        Panel {
            scenario: "disk",
            title: "Frames' reads beside a copy: so many of a hundred within that time",
            form: Form::Shares,
            figures: &SHARES,
        },
    ],
    ..About::NONE
};

impl Parameters for Disk {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("play_ns", self.play_ns, 3_000_000_000, 3_600_000_000_000)?;
        in_range("alone_ns", self.alone_ns, 1_000_000_000, 3_600_000_000_000)?;
        in_range("command_ns", self.command_ns, 1, 1_000_000_000)?;
        in_range("command_bytes", self.command_bytes, 4096, 1 << 20)?;
        in_range("queue_depth", self.queue_depth, 1, 1024)?;
        in_range("frame_bytes", self.frame_bytes, 4096, 1 << 20)?;
        for (key, bytes) in [("frame_bytes", self.frame_bytes), ("command_bytes", self.command_bytes)] {
            if bytes % 4096 != 0 {
                return Err((key, format!("{bytes} is no multiple of 4096")));
            }
        }
        in_range("frame_ns", self.frame_ns, 1_000_000, 1_000_000_000)?;
        in_range("open_ns", self.open_ns, 3_000_000_000, 3_600_000_000_000)?;
        in_range("copy_threads", self.copy_threads, 1, 256)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let load =
            |label: &str, ns| Step::Disk { load: DiskLoad { label: label.into(), ns, disk: self.clone(), play: None } };
        let mut steps = vec![load(DiskLoad::FILM, self.play_ns), load(DiskLoad::ALONE, self.alone_ns)];
        steps.extend(self.open_loops.iter().map(|open| load(open.label(), self.open_ns)));
        steps.push(load(DiskLoad::DEATH, 3_000_000_000));
        let disk_rate = self.rate_known.then(|| self.rate_bytes());
        Ok(vec![Script { seed: scenario.seed, steps, disk_rate, ..Script::default() }])
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let get = |configuration: &str, name: &str| figure(cases, "", configuration, name);
        let mut verdicts = correct(scenario, &get);
        let has_dm = compares(scenario, &[DM]);
        if has_dm {
            let missed = verdict(
                "missed-frames-fovea-dm",
                "the player misses no frame after its first two seconds",
                "Aciom11, section 6.2: no degradation",
                get(DM, "missed_frames"),
                Bound::Equal(0.0),
            );
            verdicts.push(match compares(scenario, &["none"]) {
                true => missed.against("none", get("none", "missed_frames"), Bound::AtLeast(MISSED_MIN)),
                false => missed,
            });
            verdicts.push(verdict(
                "writer-stall-fovea-dm",
                "who saves a file of 1 MiB never stands still for longer than 4 s",
                "this project",
                get(DM, "longest_stall_ns"),
                Bound::AtMost(STALL_MAX_NS),
            ));
            verdicts.push(verdict(
                "bursty-is-told",
                "the daemon's word reaches dm-aciom: requests are dispatched as bursty",
                "this project",
                get(DM, "dispatched_bursty"),
                Bound::AtLeast(1.0),
            ));
        }
        let least =
            |names: &[&str], figure: &str| names.iter().filter_map(|name| get(name, figure)).min_by(f64::total_cmp);
        if has_dm && compares(scenario, &STOCK) {
            verdicts.push(verdict(
                "p99-read-best-stock",
                "p99 of a frame's read is at most half of the best scheduler's without weights set by hand",
                "Aciom11, section 6.2: 12 ms against 21 ms for 80 % of requests",
                ratio(get(DM, "p99_read_ns"), least(&STOCK, "p99_read_ns")),
                Bound::AtMost(0.5),
            ));
        }
        let others: Vec<&str> = STOCK.iter().chain(&BY_HAND).copied().collect();
        if has_dm && compares(scenario, &others) {
            let most = others.iter().filter_map(|name| get(name, "total_bytes_per_s")).max_by(f64::total_cmp);
            verdicts.push(verdict(
                "total-throughput",
                "all apps together get at least 95 % of the best other configuration",
                "this project",
                ratio(get(DM, "total_bytes_per_s"), most),
                Bound::AtLeast(0.95),
            ));
        }
        if compares(scenario, &["none", DM]) {
            verdicts.push(verdict(
                "bursty-alone",
                "without a time-sensitive app dperf gets at least 98 % of the bare disk",
                "this project",
                ratio(get(DM, "bursty_alone_bytes_per_s"), get("none", "bursty_alone_bytes_per_s")),
                Bound::AtLeast(0.98),
            ));
        }
        if has_dm {
            let stretches = [DiskLoad::FILM].into_iter().chain(self.open_loops.iter().map(|open| open.label()));
            let with_none = compares(scenario, &["none"]);
            verdicts.extend(stretches.flat_map(|label| nobody_waits(label, with_none, &get)));
        }
        verdicts
    }
}

/// The worst read of an app of no class, and the film, in a stretch of time.
fn nobody_waits(label: &str, with_none: bool, get: &dyn Fn(&str, &str) -> Option<f64>) -> Vec<Verdict> {
    let worst = worst_of(label);
    let mut verdicts = vec![verdict(
        &format!("plain-worst-{label}"),
        &format!("no read of an app of no class takes longer than half a second in the stretch {label}"),
        "this project",
        get(DM, &worst),
        Bound::AtMost(WORST_MAX_NS),
    )];
    if with_none {
        verdicts.push(verdict(
            &format!("plain-worst-bare-{label}"),
            &format!("nor longer than twice the worst on the bare disk in the stretch {label}"),
            "this project",
            ratio(get(DM, &worst), get("none", &worst)),
            Bound::AtMost(2.0),
        ));
    }
    if [OpenLoop::Sync, OpenLoop::Fsyncs, OpenLoop::Swap].iter().any(|open| open.label() == label) {
        verdicts.push(verdict(
            &format!("missed-frames-{label}"),
            &format!("the player misses no frame after its first two seconds in the stretch {label}"),
            "Aciom11, section 6.2: no degradation",
            get(DM, &missed_of(label)),
            Bound::Equal(0.0),
        ));
    }
    verdicts
}

/// Figures' names of a stretch.
fn worst_of(label: &str) -> String {
    format!("{}_plain_worst_read_ns", label.replace('-', "_"))
}

fn missed_of(label: &str) -> String {
    format!("{}_missed_frames", label.replace('-', "_"))
}

/// No block may come back wrong, and nothing may be left of a daemon that was killed.
fn correct(scenario: &Scenario, get: &dyn Fn(&str, &str) -> Option<f64>) -> Vec<Verdict> {
    let names = || scenario.configurations.iter().map(Configuration::name);
    let wrong = names().map(|name| {
        verdict(
            &format!("wrong-blocks-{name}"),
            &format!("no block comes back wrong under {name}"),
            "this project",
            get(name, "wrong_blocks"),
            Bound::Equal(0.0),
        )
    });
    let managed = scenario.configurations.iter().filter(|c| c.disk.is_some_and(DiskSetting::is_managed));
    let left = managed.map(|c| {
        verdict(
            &format!("left-after-kill-{}", c.name()),
            "after SIGKILL of the daemon and its supervisor `fovea restore` leaves no class and no limit",
            "this project",
            get(c.name(), "classes_left"),
            Bound::Equal(0.0),
        )
    });
    wrong.chain(left).collect()
}

fn percentile(read_ns: &[u64], percent: usize) -> Option<f64> {
    let mut sorted = read_ns.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? * percent / 100).map(|&ns| ns as f64)
}

fn rate(done: &DiskUse) -> f64 {
    done.bytes as f64 * 1e9 / done.elapsed_ns.max(1) as f64
}

fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let of = |label: &'static str, app: &'static str| {
        move |boot: &Folded| boot.disk.get(label).and_then(|stretch| stretch.apps.get(app)).cloned()
    };
    let film = |app: &'static str, value: fn(&DiskUse) -> Option<f64>| {
        mean(boots, |boot| value(&of(DiskLoad::FILM, app)(boot)?))
    };
    set(figures, "missed_frames", film("player", |done| Some(done.missed as f64)));
    set(figures, "missed_first_frames", film("player", |done| Some(done.missed_first as f64)));
    for (name, percent) in SHARES {
        let within = |boot: &Folded| percentile(&of(DiskLoad::FILM, "player")(boot)?.read_ns, percent.parse().ok()?);
        set(figures, name, mean(boots, within));
    }
    set(figures, "player_bytes_per_s", film("player", |done| Some(rate(done))));
    set(figures, "bursty_bytes_per_s", film("dperf", |done| Some(rate(done))));
    set(figures, "plain_p99_read_ns", film("plain", |done| percentile(&done.read_ns, 99)));
    for label in [DiskLoad::FILM].into_iter().chain(OpenLoop::ALL.map(OpenLoop::label)) {
        let worst = |boot: &Folded| percentile(&of(label, "plain")(boot)?.read_ns, 100);
        set(figures, &worst_of(label), mean(boots, worst));
    }
    for label in OpenLoop::ALL.map(OpenLoop::label) {
        let missed = |boot: &Folded| Some(of(label, "player")(boot)?.missed as f64);
        set(figures, &missed_of(label), mean(boots, missed));
    }
    set(figures, "writer_bytes_per_s", film("writer", |done| Some(rate(done))));
    set(figures, "longest_stall_ns", film("writer", |done| Some(done.longest_stall_ns as f64)));
    let total = |boot: &Folded| Some(boot.disk.get(DiskLoad::FILM)?.apps.values().map(rate).sum());
    set(figures, "total_bytes_per_s", mean(boots, total));
    set(figures, "bursty_alone_bytes_per_s", mean(boots, |boot| Some(rate(&of(DiskLoad::ALONE, "dperf")(boot)?))));
    let wrong = |boot: &Folded| {
        let all = boot.disk.values().flat_map(|stretch| stretch.apps.values());
        (!boot.disk.is_empty()).then(|| all.map(|done| done.wrong_blocks as f64).sum())
    };
    set(figures, "wrong_blocks", mean(boots, wrong));
    set(figures, "classes_left", mean(boots, |boot| boot.disk.get(DiskLoad::DEATH)?.classes_left.map(|n| n as f64)));
    for (name, counter) in [
        ("dispatched_time_sensitive", "time_sensitive"),
        ("dispatched_bursty", "bursty"),
        ("late_requests", "late"),
        ("longest_hold_ns", "longest_wait_ns"),
    ] {
        let value = |boot: &Folded| Some(*boot.disk.get(DiskLoad::FILM)?.volume.get(counter)? as f64);
        set(figures, name, mean(boots, value));
    }
    set(figures, "daemon_cpu_ns", mean(boots, |boot| Some(boot.end()?.daemon_cpu_ns)));
}
