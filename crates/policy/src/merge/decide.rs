// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When the kernel begins to look for pages that are alike, how fast, and when it stops.

use fovea_apps::{AppName, Importance, Kinship, PAGE_BYTES};

use super::{KinBy, MergeConfig, MergeState, Window};
use crate::{Action, AppState, Decision, Reason, Snapshot};

/// What a pass over newcomers will look at, at least: most of what an app is charged for are pages that can be merged.
pub fn expected_pages(snapshot: &Snapshot) -> u64 {
    let fresh = snapshot.apps.iter().filter_map(|app| app.merge).filter(|merge| merge.fresh);
    let fresh_pages: u64 = fresh.map(|merge| merge.charged_bytes / PAGE_BYTES).sum();
    snapshot.merge.known_pages + fresh_pages * 3 / 4
}

/// How long the kernel's thread sleeps between two batches.
pub(super) const SLEEP_NS: u64 = 20_000_000;

/// What looking at a page is taken to cost before that was measured.
const PAGE_CPU_NS: u64 = 5_000;

/// Batches are never larger: ksmd does not look at the time between two pages.
const PAGES_MOST: u64 = 4_096;

/// Passes of which none is worth another are not made, whatever the numbers say.
pub(super) const PASSES_MOST: u32 = 8;

/// A window is over by then, whatever happens: somebody else may have stopped the kernel's thread.
pub(super) const WINDOW_MOST_NS: u64 = 600_000_000_000;

/// The kernel is looked at so often while it looks, at least and at most.
const LOOK_NS: [u64; 2] = [SLEEP_NS, 1_000_000_000];

/// So often at least where it may be enough in the middle of a pass.
const PARTED_LOOK_NS: u64 = 200_000_000;

/// If something stands against it, it is thought of again after so long.
const RETRY_NS: u64 = 10_000_000_000;

/// Fewer new pages than that are not worth a look, of which most will be like no other;
const FRESH_LEAST_PAGES: u64 = 256;

/// nor fewer that were merged and are not any more, of which most will be again.
const PARTED_LEAST_PAGES: u64 = 32;

/// Of those so many are enough, in percent: the kernel need not go on through all the rest for the last of them.
const REGAINED_PERCENT: u64 = 90;

/// Newcomers are not waited for longer than so many times `burst_ms` from the first of them.
const BURSTS_MOST: u64 = 12;

/// What it may take in so long a time it may take at once;
const CREDIT_NS: u64 = 1_440_000_000_000;

/// and it does not begin before it may take what comes in so long.
const LEAST_NS: u64 = 60_000_000_000;

fn is_background(app: &AppState) -> bool {
    app.importance > Importance::Service
}

fn are_kin(a: &Kinship, b: &Kinship, config: &MergeConfig) -> bool {
    let alike = match config.kin {
        KinBy::Forked => a.executable == b.executable && a.layout == b.layout,
        KinBy::Executable => a.executable == b.executable,
        KinBy::Any => true,
    };
    alike && (config.across_users || a.user == b.user)
}

/// Members of groups of two or more in the background.
fn members<'a>(snapshot: &'a Snapshot, config: &'a MergeConfig) -> impl Iterator<Item = &'a AppState> {
    let kin_of = |app: &AppState| app.merge.filter(|_| is_background(app)).map(|merge| merge.kin);
    snapshot.apps.iter().filter(move |app| {
        let Some(kin) = kin_of(app) else { return false };
        let like = |other: &&AppState| kin_of(other).is_some_and(|of| are_kin(&kin, &of, config));
        snapshot.apps.iter().filter(like).nth(1).is_some()
    })
}

/// When the kernel should begin to look, for whom; `None` if there is nothing new.
fn due<'a>(snapshot: &'a Snapshot, config: &'a MergeConfig) -> Option<(&'a AppName, Reason, u64)> {
    let state = &snapshot.merge;
    if !config.enabled || !state.ours || state.window.is_some() {
        return None;
    }
    let members: Vec<&AppState> = members(snapshot, config).collect();
    let latest = members.iter().max_by_key(|app| (app.background_since_ns, &app.name))?;
    let after = |since_ns: u64, ms: u64| since_ns.saturating_add(ms.saturating_mul(1_000_000));
    let settled_ns = |app: &AppState| after(app.background_since_ns, config.settle_ms).max(state.rests_until_ns);
    let fresh = || members.iter().filter(|app| app.merge.is_some_and(|merge| merge.fresh));
    let fresh_pages: u64 = fresh().filter_map(|app| app.merge).map(|merge| merge.charged_bytes / PAGE_BYTES).sum();
    let enough = |pages: u64, of: u64, percent: u64| pages * 100 >= of * percent;
    let newest = fresh().max_by_key(|app| (app.background_since_ns, &app.name));
    if let Some(newest) = newest
        .filter(|_| fresh_pages >= FRESH_LEAST_PAGES && enough(fresh_pages, state.known_pages, config.fresh_percent))
    {
        let first_ns = fresh().map(|app| app.background_since_ns).min().unwrap_or_default();
        let together_ns = after(newest.background_since_ns, config.burst_ms)
            .min(after(first_ns, config.burst_ms.saturating_mul(BURSTS_MOST)));
        // Where memory is short what the first of them have in common is wanted at once.
        let from_ns = if state.memory_short { 0 } else { together_ns };
        return Some((&newest.name, Reason::Newcomers, settled_ns(newest).max(from_ns)));
    }
    let parted = state.parted_pages >= PARTED_LEAST_PAGES
        && enough(state.parted_pages, state.sharing_pages, config.parted_percent);
    parted.then(|| (&latest.name, Reason::Parted, settled_ns(latest)))
}

/// By when what the kernel's thread has taken is paid for, if it was paid by `before_ns` and it has taken `cpu_ns` since.
pub fn paid_ns(before_ns: u64, now_ns: u64, cpu_ns: u64, config: &MergeConfig) -> u64 {
    let ns = u128::from(cpu_ns) * 1_000_000 / u128::from(config.average_ppm.max(1));
    before_ns.max(now_ns).saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Until when it rests then.
pub fn rests_until_ns(paid_ns: u64) -> u64 {
    paid_ns.saturating_sub(CREDIT_NS - LEAST_NS)
}

/// Whether it has taken all that it may.
fn is_spent(now_ns: u64, state: &MergeState, window: &Window, config: &MergeConfig) -> bool {
    paid_ns(state.paid_ns, now_ns, window.cpu_ns, config) > now_ns.saturating_add(CREDIT_NS)
}

/// When the kernel should begin to look; `None` if there is nothing new.
pub fn due_ns(snapshot: &Snapshot, config: &MergeConfig) -> Option<u64> {
    due(snapshot, config).map(|(_, _, due_ns)| due_ns)
}

/// Whether something stands against it for now.
fn is_deferred(snapshot: &Snapshot, config: &MergeConfig) -> bool {
    let state = &snapshot.merge;
    state.cpu_wait_percent > config.busy_percent as f64
        || state.battery_percent.is_some_and(|left| left < config.battery_percent)
        || is_mostly_in_front(snapshot, config)
}

/// The kernel looks at all that is registered, what is in front too: its pages change, so that looking at them gives nothing.
fn is_mostly_in_front(snapshot: &Snapshot, config: &MergeConfig) -> bool {
    let charged = |front: bool| -> u64 {
        let of = snapshot.apps.iter().filter(|app| is_background(app) != front);
        of.filter_map(|app| app.merge).map(|merge| merge.charged_bytes).sum()
    };
    let (front, back) = (charged(true), charged(false));
    u128::from(front) * 100 > u128::from(front + back) * u128::from(config.foreground_percent)
}

/// Pages between two sleeps, so that the kernel's thread keeps to its share of the CPU.
fn pages(state: &MergeState, config: &MergeConfig) -> u64 {
    let page_cpu_ns = if state.page_cpu_ns == 0 { PAGE_CPU_NS } else { state.page_cpu_ns };
    // It sleeps as long again as it would, whatever it did before: of a share s of all time it works s / (1 - s) of what it sleeps.
    let share = config.cpu_percent.min(90);
    (SLEEP_NS * share / (100 - share) / page_cpu_ns).clamp(1, PAGES_MOST)
}

/// Why the kernel is to look no longer.
pub fn end(now_ns: u64, state: &MergeState, window: &Window, config: &MergeConfig) -> Option<Reason> {
    // Parted pages find their like, which is merged already, the next time they are looked at, in whatever order; so once round is enough. What
    // `pages_volatile` says is no reason to go on: the kernel counts what it passes over unseen as volatile, too. The next window goes on where
    // this one ends, so it may end anywhere.
    if !window.newcomers {
        let regained = window.regained_pages * 100 >= window.parted_pages * REGAINED_PERCENT;
        return match () {
            () if regained || is_round(state, window) => Some(Reason::NothingAlike),
            () if is_spent(now_ns, state, window, config) => Some(Reason::Spent),
            () => None,
        };
    }
    if !window.passed || (state.mid_pass && window.passes < 2) {
        return None;
    }
    if window.passes >= PASSES_MOST {
        return Some(Reason::NothingAlike);
    }
    let worth = |pages: u64| pages * 1000 >= state.known_pages.max(1) * config.yield_permille && pages > 0;
    // What was looked at twice and stood still has found its like, or has none. Of the others as many are taken to find one.
    let alike = state.known_pages.saturating_sub(window.volatile_pages + window.unshared_pages);
    let judged = alike + window.unshared_pages;
    let expected = match judged {
        0 => window.volatile_pages,
        _ => (u128::from(window.volatile_pages) * u128::from(alike) / u128::from(judged)) as u64,
    };
    // A second pass is the first that can merge what is new; of a third one, what the second gave tells.
    let gains = window.passes < 3 || worth(window.gained_pages);
    (!(worth(expected) && gains)).then_some(Reason::NothingAlike)
}

/// Whether the kernel has come to where the window opened.
fn is_round(state: &MergeState, window: &Window) -> bool {
    window.looked_pages >= state.known_pages.max(1) || window.passes > u32::from(state.mid_pass)
}

/// When to look at the kernel next while it looks: when its pass may end, and now and then.
pub fn next_look_ns(snapshot: &Snapshot, window: &Window) -> u64 {
    let left = snapshot.merge.known_pages.max(window.expected_pages).saturating_sub(window.scanned_pages);
    let batch_ns = SLEEP_NS + window.pages * snapshot.merge.page_cpu_ns / 2;
    let pass_ns = left.div_ceil(window.pages.max(1)).saturating_mul(batch_ns);
    let most_ns = if window.newcomers { LOOK_NS[1] } else { PARTED_LOOK_NS };
    snapshot.now_ns + pass_ns.clamp(LOOK_NS[0], most_ns)
}

/// What stops the kernel at once, on what is known.
pub fn stop(snapshot: &Snapshot, config: &MergeConfig) -> Decision {
    let mut decision = Decision::default();
    let Some(window) = &snapshot.merge.window else { return decision };
    let too_long = snapshot.now_ns.saturating_sub(window.since_ns) >= WINDOW_MOST_NS;
    let reason = match () {
        () if !config.enabled => Reason::MergingUnwanted,
        () if members(snapshot, config).next().is_none() => Reason::NoKin,
        () if too_long => Reason::NothingAlike,
        () => return decision,
    };
    decision.push(Action::StopMerging { app: window.app.clone() }, reason);
    decision
}

/// Whether the kernel begins to look, goes on at another speed, or stops.
pub fn decide(snapshot: &Snapshot, config: &MergeConfig) -> Decision {
    let mut decision = stop(snapshot, config);
    if !decision.actions.is_empty() {
        return decision;
    }
    let state = &snapshot.merge;
    let pages = pages(state, config);
    if let Some(window) = &state.window {
        let stop = |reason| (Action::StopMerging { app: window.app.clone() }, reason);
        if let Some(reason) = end(snapshot.now_ns, state, window, config) {
            decision.actions.push(stop(reason));
        } else if is_deferred(snapshot, config) {
            decision.actions.push(stop(Reason::Deferred));
        } else {
            // A quarter more or less is not worth writing.
            if pages.abs_diff(window.pages) > window.pages / 4 {
                decision.push(Action::Merge { app: window.app.clone(), pages }, Reason::ScanRate);
            }
            decision.wake_by(next_look_ns(snapshot, window));
        }
        return decision;
    }
    match due(snapshot, config) {
        Some((_, _, due_ns)) if due_ns > snapshot.now_ns => decision.watch_by(due_ns),
        Some(_) if is_deferred(snapshot, config) => decision.watch_by(snapshot.now_ns + RETRY_NS),
        Some((app, reason, _)) => {
            decision.push(Action::Merge { app: app.clone(), pages }, reason);
            decision.wake_by(snapshot.now_ns + LOOK_NS[0]);
        }
        None => {}
    }
    decision
}
