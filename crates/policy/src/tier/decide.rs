// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which apps' pages are demoted, and which apps are kept out of fast memory (Hybrid15, section 3).
//! Promotion is the kernel's (`numa_balancing`), page by page as pages are touched: of an app that
//! comes to the foreground only pages in use move.

use fovea_apps::{Importance, Standing};

use super::{AppTier, TierConfig};
use crate::{Action, AppState, Decision, Reason, Snapshot};

/// Time between two steps of making room.
const STEP_NS: u64 = 20_000_000;

/// Apps wait for memory if PSI full was this high over the last ten seconds, in percent.
const WAITS_PERCENT: f64 = 5.0;

/// The reserve of free fast memory is one part in so many of what apps could have of it, and at
/// most what may move in a quarter of a second.
const RESERVE_SHARE: u64 = 128;

/// Free fast memory is read often for this long after a focus change, because most promotions come
/// then.
const SETTLING_NS: u64 = 3_000_000_000;
const RESERVE_PER_S: u64 = 4;

/// Keeping an app out moves all that it has in fast memory at once. An app with more batches than
/// this is left where it is.
const KEPT_OUT_BATCHES: u64 = 16;

/// The daemon leaves one part in so many of slow memory free, because an app that may use no other
/// memory would meet the OOM killer there. At half of that, apps that are kept out are let in.
const SLOW_SHARE: u64 = 8;

fn of(app: &AppState) -> AppTier {
    app.tier.unwrap_or_default()
}

pub(super) fn is_in_front(app: &AppState) -> bool {
    app.importance <= Importance::Visible || app.is_perceptible()
}

/// Whether the daemon may move the app's pages: it is not on the list `ignore`, and its
/// `cpuset.mems` is nobody else's.
fn may_move(app: &AppState) -> bool {
    app.standing != Standing::Ignore && app.tier.is_some_and(|tier| !tier.foreign)
}

/// Whether the focus changed a moment ago.
pub fn is_settling(snapshot: &Snapshot) -> bool {
    snapshot.focused_ns.is_some_and(|focused_ns| snapshot.now_ns < focused_ns.saturating_add(SETTLING_NS))
}

/// Fast memory to keep free. The kernel promotes nothing into full memory.
pub fn reserve_pages(snapshot: &Snapshot, config: &TierConfig) -> u64 {
    let held: u64 = snapshot.apps.iter().map(|app| of(app).fast_pages).fold(0, u64::saturating_add);
    (held.saturating_add(snapshot.tier.fast_free_pages) / RESERVE_SHARE).min(config.pages_per_s / RESERVE_PER_S).max(1)
}

/// Whether fast memory may be short, judged before it is read what apps hold of it.
pub fn may_be_short(snapshot: &Snapshot, config: &TierConfig) -> bool {
    let most = config.pages_per_s / RESERVE_PER_S;
    snapshot.tier.fast_pages > 0 && snapshot.tier.fast_free_pages < most.saturating_mul(2)
}

/// Lets apps into fast memory at once: those that come to the foreground, that are to be left
/// alone, or that would find no memory elsewhere.
pub fn let_in(snapshot: &Snapshot, config: &TierConfig) -> Decision {
    let mut decision = Decision::default();
    let state = &snapshot.tier;
    let slow_is_full = state.slow_free_pages < state.slow_pages / (2 * SLOW_SHARE);
    for app in snapshot.apps.iter().filter(|app| of(app).steered) {
        let reason = match () {
            () if is_in_front(app) => Reason::NeedsFast,
            () if state.fast_pages == 0 => Reason::TiersUnwanted,
            () if !config.enabled || !config.keep_out || app.standing == Standing::Ignore => Reason::TiersUnwanted,
            () if slow_is_full => Reason::SlowFull,
            () => continue,
        };
        decision.push(Action::LetIn { app: app.name.clone() }, reason);
    }
    decision
}

/// What is moved now, and who is kept out.
pub fn decide(snapshot: &Snapshot, config: &TierConfig) -> Decision {
    let mut decision = let_in(snapshot, config);
    let state = &snapshot.tier;
    // With the screen off nobody waits for a page.
    if !config.enabled || state.fast_pages == 0 || !snapshot.screen_on || !snapshot.focus_told {
        return decision;
    }
    decision.watch_by(state.look_ns);
    let reserve = reserve_pages(snapshot, config);
    let enough = reserve + reserve / 2;
    if decision.actions.is_empty() {
        let_settled_in(snapshot, config, enough, &mut decision);
    }
    if state.fast_free_pages < if state.demoting { enough } else { reserve } {
        make_room(snapshot, config, enough, &mut decision);
    }
    decision
}

/// Who was kept out is let in once it takes no new memory, or there is fast memory for it: what it has may come into fast memory if it is used
/// (Hybrid15, section 3, figure 1d). One at a time, the most important first, and of these who was in front last.
fn let_settled_in(snapshot: &Snapshot, config: &TierConfig, enough: u64, decision: &mut Decision) {
    let state = &snapshot.tier;
    let mut kept_out: Vec<&AppState> = snapshot.apps.iter().filter(|app| of(app).steered).collect();
    if kept_out.is_empty() {
        return;
    }
    if snapshot.now_ns < state.release_ns {
        decision.watch_by(state.release_ns);
        return;
    }
    kept_out.sort_by_key(|app| (app.importance, u64::MAX - app.focus_seq, &app.name));
    let is_free = state.fast_free_pages >= 2 * enough;
    let reason = |app: &&AppState| match () {
        () if of(app).grown_pages < config.batch_pages => Some(Reason::GrowsNoMore),
        () if is_free => Some(Reason::FastFree),
        () => None,
    };
    if let Some((app, reason)) = kept_out.iter().find_map(|app| Some((app, reason(app)?))) {
        decision.push(Action::LetIn { app: app.name.clone() }, reason);
    }
}

/// Cold pages first (Hybrid15, section 3): of the least important app, and of these of the one that was in the background longest; of whoever is in front
/// when nobody else has any. Who takes new memory in the background is kept out instead, if that is wanted, for new pages are not
/// cold.
fn make_room(snapshot: &Snapshot, config: &TierConfig, enough: u64, decision: &mut Decision) {
    let state = &snapshot.tier;
    let waits = snapshot.memory.psi_full_avg10 >= WAITS_PERCENT;
    if waits || state.slow_free_pages < (state.slow_pages / SLOW_SHARE).max(config.batch_pages) {
        return;
    }
    if snapshot.now_ns < state.rests_until_ns {
        decision.wake_by(state.rests_until_ns);
        return;
    }
    let mut from: Vec<&AppState> = snapshot.apps.iter().filter(|app| may_move(app) && of(app).fast_pages > 0).collect();
    from.sort_by_key(|app| (is_in_front(app), std::cmp::Reverse(app.importance), app.background_since_ns, &app.name));
    let wanted = enough.saturating_sub(state.fast_free_pages);
    for app in from {
        let tier = of(app);
        let grows = config.keep_out && !is_in_front(app) && tier.grown_pages >= config.batch_pages;
        if grows && !tier.steered && tier.fast_pages <= KEPT_OUT_BATCHES * config.batch_pages {
            // One write moves whatever of it is mapped: so only what is little.
            decision.push(Action::KeepOut { app: app.name.clone() }, Reason::Grows);
        } else if snapshot.now_ns >= tier.hot_until_ns {
            let pages = tier.fast_pages.min(wanted).min(config.batch_pages).min(state.budget_pages);
            if pages == 0 {
                // Until a quarter of a batch may move.
                decision.wake_by(snapshot.now_ns + config.batch_pages * 250_000_000 / config.pages_per_s + STEP_NS);
                return;
            }
            decision.push(Action::Demote { app: app.name.clone(), pages }, Reason::FastShort);
        } else {
            continue;
        }
        decision.wake_by(snapshot.now_ns + STEP_NS);
        return;
    }
}
