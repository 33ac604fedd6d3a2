// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What came of the cases, and what is claimed of it.

use fovea_report::verdict::{verdict, Bound};

use super::cases::{Manner, OneCase, Wanted};
use crate::figures::fold::{geomean, mean, set, Folded};
use crate::figures::{compares, correctness, figure, id, Figures};
use crate::outsider::Leaks;
use crate::scenario::Scenario;
use crate::{Case, Place, Verdict};

/// How much later than under the best of the others the leaker may end.
const LATER_NS: f64 = 2e9;

/// CPU time that the daemon may take in a boot. It takes 2 to 5 s; one that was woken without end took 54.
const DAEMON_CPU_NS: f64 = 15e9;

const KERNEL: &str = "kernel";
const FOVEA: &str = "fovea";

/// The figures of a case's boots.
pub(super) fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    let outside = |f: &Folded| f.desktop.outside;
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("wrong_kills", &wrong_kills);
    put("kills", &|f| Some(f.desktop.killed.len() as f64));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("kept_apps", &|f| Some(f.desktop.never_killed() as f64));
    put("leaker_ended", &|f| Some(f64::from(u8::from(outside(f)?.leaker_ended))));
    // One that lives is counted with all the time that it was watched.
    put("leaker_end_ns", &|f| outside(f).and_then(|o| f.desktop.leak_ns.or(Some(o.watched_ns))));
    put("siblings_lost", &|f| Some(outside(f)?.siblings_lost));
    put("scores_changed", &|f| Some(outside(f)?.scores_changed));
    put("scores_below", &|f| Some(outside(f)?.scores_below));
    put("zram_lost", &|f| f.desktop.zram_lost);
    put("psi_full_ns", &|f| Some(f.desktop.interactions.iter().map(|i| i.1).sum()));
    put("longest_stall_ns", &|f| f.desktop.interactions.iter().map(|i| i.1).reduce(f64::max));
    put("longest_step_ns", &|f| f.desktop.interactions.iter().map(|i| i.0).reduce(f64::max));
    put("launch_geomean_ns", &|f| geomean(f.launches.iter().map(|l| l.elapsed_ns)));
    put("read_bytes", &|f| Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
}

fn wrong_kills(f: &Folded) -> Option<f64> {
    let case = OneCase::find(&f.case)?;
    let killed = f.desktop.killed.iter().zip(&f.desktop.killed_in_front);
    Some(killed.filter(|((app, _), &in_front)| case.is_wrong(app, in_front)).count() as f64)
}

/// What is claimed of a case.
pub(super) fn of_case(case: OneCase, scenario: &Scenario, cases: &[Case]) -> Vec<Verdict> {
    let mut verdicts = correctness(scenario, cases, case.name);
    if !compares(scenario, &[FOVEA]) {
        return verdicts;
    }
    let ours = |name: &str| figure(cases, case.name, FOVEA, name);
    let control = control(case, cases);
    let has_control = compares(scenario, &[KERNEL]);
    let oom_kills = figure(cases, case.name, KERNEL, "oom_kills");
    let mut push = |name: &str, claim: &str, figure: Option<f64>, bound: Bound| {
        let claim = format!("{claim}; {control}");
        let found = verdict(&id(name, case.name), &claim, "this project", figure, bound);
        let needs_control = ["wrong-kills", "leaker-end"].contains(&name) && has_control;
        verdicts.push(match (needs_control, case.wanted) {
            (false, _) => found,
            // That nobody has to die is what it shows.
            (true, Wanted::Nobody) => found.against(KERNEL, oom_kills, Bound::Equal(0.0)),
            (true, _) => found.against(KERNEL, oom_kills, Bound::Above(0.0)),
        });
    };
    let nobody_wrong = match case.wanted {
        Wanted::Leaker => "nobody dies but the leaker",
        Wanted::Nobody => "nobody dies",
        Wanted::Background => "neither the session nor the app in front dies",
    };
    push("wrong-kills", nobody_wrong, ours("wrong_kills"), Bound::Equal(0.0));
    // The kernel is left to end a service of the system's, and systemd then stops its unit.
    let kernels_siblings =
        figure(cases, case.name, KERNEL, "siblings_lost").filter(|_| case.place == Place::SystemService);
    match (case.leaks, kernels_siblings) {
        (Leaks::Anew, _) => {}
        (_, Some(lost)) => {
            let claim = "no more of the leaker's siblings die than under the kernel alone";
            push("siblings", claim, ours("siblings_lost"), Bound::AtMost(lost));
        }
        (_, None) => {
            push("siblings", "the leaker's siblings in its unit live", ours("siblings_lost"), Bound::Equal(0.0))
        }
    }
    push("scores", "no oom_score_adj is left changed", ours("scores_changed"), Bound::Equal(0.0));
    push("scores-below", "no oom_score_adj was below its old value", ours("scores_below"), Bound::Equal(0.0));
    let rests = "the daemon sleeps when it has nothing to do (CPU time, ns)";
    push("daemon-cpu", rests, ours("daemon_cpu_ns"), Bound::AtMost(DAEMON_CPU_NS));
    if case.manner == Manner::Owner {
        push(
            "zram",
            "whoever owns a zram finds it as he left it (times he did not)",
            ours("zram_lost"),
            Bound::Equal(0.0),
        );
    }
    if case.wanted == Wanted::Leaker {
        push("leaker-ends", "the leaker dies", ours("leaker_ended"), Bound::Equal(1.0));
        if let Some(best) = best_end(case, scenario, cases) {
            let later = ours("leaker_end_ns").map(|ours| ours - best);
            let claim = "it dies at most 2 s later than under the best of the others (ns, less the best's)";
            push("leaker-end", claim, later, Bound::AtMost(LATER_NS));
        }
    }
    verdicts
}

/// When the leaker ends under the best of those under which it does.
fn best_end(case: OneCase, scenario: &Scenario, cases: &[Case]) -> Option<f64> {
    let others = scenario.configurations.iter().map(|c| c.name()).filter(|name| !name.starts_with(FOVEA));
    let ended = others.filter(|name| figure(cases, case.name, name, "leaker_ended") == Some(1.0));
    ended.filter_map(|name| figure(cases, case.name, name, "leaker_end_ns")).reduce(f64::min)
}

/// What the kernel alone does.
fn control(case: OneCase, cases: &[Case]) -> String {
    let of = |name: &str| figure(cases, case.name, KERNEL, name);
    let [Some(wrong), Some(siblings), Some(oom), Some(end_ns), Some(ended)] =
        ["wrong_kills", "siblings_lost", "oom_kills", "leaker_end_ns", "leaker_ended"].map(of)
    else {
        return "no proof of need: the kernel alone was not run".into();
    };
    let leaker = match ended == 1.0 {
        true => format!("the leaker dead after {:.1} s", end_ns / 1e9),
        false => "the leaker alive".into(),
    };
    format!("the kernel alone: {wrong} wrong, {siblings} siblings, {oom} by its OOM killer, {leaker}")
}
