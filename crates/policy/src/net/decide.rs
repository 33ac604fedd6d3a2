// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whose windows are held, and to what.

use fovea_apps::{Classified, IoClass};

use super::control::{flow_window, found_capacity, next_rate, next_window, Load};
use super::{AppNet, NetConfig, NetState};
use crate::{Action, AppState, Decision, Reason, Snapshot};

/// How long after the last byte for a time-sensitive app windows stay held: who plays from a buffer fetches again. All the while the bursty apps
/// have what is left, which is nearly all.
const LINGER_NS: u64 = 3_000_000_000;

/// The longest time between two looks while nothing comes for time-sensitive apps.
const IDLE_MS: u64 = 8_000;

/// What is worth holding others for: a call has twice as much, a connection that is kept alive far less.
const LEAST_BYTES_PER_S: u64 = 2_000;

fn is_sensitive(app: &Classified, screen_on: bool) -> bool {
    // Who is sensitive because it is seen is not while nothing can be.
    app.class == IoClass::TimeSensitive && (screen_on || !app.by_place)
}

fn is_bursty(app: &AppState) -> bool {
    app.io_class.class == IoClass::Bursty
}

/// Whether there is a reason to look: somebody to protect, and somebody from whom. Asked at every turn, so of the apps' classes alone.
pub fn is_wanted<'a>(
    mut classes: impl Iterator<Item = &'a Classified> + Clone,
    screen_on: bool,
    config: &NetConfig,
) -> bool {
    config.enabled
        && classes.clone().any(|app| is_sensitive(app, screen_on))
        && classes.any(|app| app.class == IoClass::Bursty)
}

fn matters(snapshot: &Snapshot, config: &NetConfig) -> bool {
    is_wanted(snapshot.apps.iter().map(|app| &app.io_class), snapshot.screen_on, config)
}

/// When to look next, if it is wanted.
pub fn look_ns(net: &NetState, config: &NetConfig) -> u64 {
    let Some(looked_ns) = net.looked_ns else { return 0 };
    let ms = match net.window_bytes {
        // Half a second, a second, two, …: while nothing comes, somebody who begins to receive can wait for that.
        0 => (config.period_ms << net.idle_looks.min(8)).min(IDLE_MS.max(config.period_ms)),
        _ => config.period_ms,
    };
    looked_ns + ms * 1_000_000
}

/// Whether something came for a time-sensitive app at this look. Of UDP nobody knows for whom it came: if there is any, for whoever has it.
pub fn has_sensitive_traffic(snapshot: &Snapshot) -> bool {
    let tcp: u64 = snapshot.apps.iter().filter_map(|app| app.net).map(|net| net.received_bytes_per_s).sum();
    // Of those that are limited it is counted.
    let counted: u64 = snapshot.apps.iter().filter_map(|app| app.net).map(|net| net.udp_arrived_bytes_per_s).sum();
    let udp = snapshot.net.received_bytes_per_s.saturating_sub(tcp).saturating_sub(counted);
    // While others are held anything counts: an app that gets next to nothing is not to lose what little is done for it.
    let least = if snapshot.net.window_bytes > 0 { 1 } else { LEAST_BYTES_PER_S };
    let receives = |app: &AppState| {
        app.net.is_some_and(|net| net.received_bytes_per_s >= least || (net.udp_sockets > 0 && udp >= least))
    };
    snapshot.apps.iter().any(|app| is_sensitive(&app.io_class, snapshot.screen_on) && receives(app))
}

fn is_served(snapshot: &Snapshot, config: &NetConfig) -> bool {
    let lately = |then_ns: u64| snapshot.now_ns.saturating_sub(then_ns) < LINGER_NS;
    matters(snapshot, config) && snapshot.net.sensitive_ns.is_some_and(lately)
}

/// The window of all bursty connections together for the next period; 0 if none is to be held. As it was, without a look since.
pub fn window_bytes(snapshot: &Snapshot, config: &NetConfig) -> u64 {
    let net = &snapshot.net;
    match is_served(snapshot, config) {
        false => 0,
        true if net.period_ns == 0 => net.window_bytes,
        true => next_window(net.window_bytes, &loads(snapshot, config).0, config),
    }
}

fn limits_udp(snapshot: &Snapshot, config: &NetConfig) -> bool {
    config.limit_udp && !snapshot.net.udp_refused && is_served(snapshot, config)
}

/// The rate at which UDP may arrive for all bursty apps together in the next period; 0 if that is not limited. As it was, without a look since.
pub fn udp_bytes_per_s(snapshot: &Snapshot, config: &NetConfig) -> u64 {
    let net = &snapshot.net;
    match limits_udp(snapshot, config) {
        false => 0,
        true if net.period_ns == 0 => net.udp_bytes_per_s,
        true => next_rate(net.udp_bytes_per_s, &loads(snapshot, config).1, config),
    }
}

fn has_udp(net: &AppNet) -> bool {
    net.udp_limit_bytes_per_s > 0 || net.udp_sockets > 0 || net.unconnected_udp_sockets > 0
}

/// What their TCP is controlled by, and what their UDP. Each bursty app for which something comes has an equal part, half of it by each if
/// something comes by both. One part is UDP's while none comes by it: else who begins would find next to nothing left, and nobody knows what came
/// before it was counted.
fn loads(snapshot: &Snapshot, config: &NetConfig) -> (Load, Load) {
    let mut tcp = Load {
        capacity_bytes_per_s: match config.capacity_bytes_per_s {
            0 => found_capacity(snapshot.net.peak_bytes_per_s, snapshot.now_ns, config),
            given => given,
        },
        received_bytes_per_s: snapshot.net.received_bytes_per_s,
        ..Load::default()
    };
    let (mut udp, mut all, mut active, mut tcp_halves, mut has_any_udp) = (tcp, 0, 0, 0, false);
    for app in &snapshot.apps {
        let Some(net) = app.net else { continue };
        all += net.received_bytes_per_s;
        if !is_bursty(app) {
            continue;
        }
        all += net.udp_arrived_bytes_per_s;
        let (by_tcp, by_udp) = (net.active_flows > 0, net.udp_arrived_bytes_per_s > 0);
        active += u64::from(by_tcp || by_udp);
        tcp_halves += u64::from(by_tcp) * if by_udp { 1 } else { 2 };
        has_any_udp |= has_udp(&net);
        udp.bursty_bytes_per_s += net.udp_arrived_bytes_per_s;
        udp.apps += u64::from(by_udp);
        tcp.bursty_bytes_per_s += net.received_bytes_per_s;
        tcp.flows += u64::from(net.active_flows);
        tcp.apps += u64::from(by_tcp);
        tcp.segment_bytes = tcp.segment_bytes.max(net.segment_bytes.into());
        let rtt_us = u64::from(net.rtt_us);
        if rtt_us > 0 && (tcp.rtt_us == 0 || rtt_us < tcp.rtt_us) {
            tcp.rtt_us = rtt_us;
        }
    }
    (tcp.received_bytes_per_s, udp.received_bytes_per_s) =
        (tcp.received_bytes_per_s.max(all), udp.received_bytes_per_s.max(all));
    udp.flows = udp.apps;
    if limits_udp(snapshot, config) {
        active += u64::from(udp.apps == 0 && has_any_udp);
        let tcp_permille = (tcp_halves * 500).checked_div(active).unwrap_or(0);
        (tcp.other_bytes_per_s, tcp.other_permille) = (udp.bursty_bytes_per_s, 1000 - tcp_permille);
        (udp.other_bytes_per_s, udp.other_permille) = (tcp.bursty_bytes_per_s, tcp_permille);
    }
    (tcp, udp)
}

/// Who is let go, on what is known: it can be done before anything is read.
pub fn release(snapshot: &Snapshot, config: &NetConfig) -> Decision {
    let mut decision = Decision::default();
    let (is_served, limits_udp) = (is_served(snapshot, config), limits_udp(snapshot, config));
    for app in &snapshot.apps {
        let is_held = app.net.is_some_and(|net| net.window_bytes > 0);
        if is_held && !(is_served && is_bursty(app)) {
            let reason = if is_bursty(app) { Reason::NobodyReceives } else { Reason::NotBursty };
            decision.push(Action::ReleaseWindow { app: app.name.clone() }, reason);
        }
        let is_limited = app.net.is_some_and(|net| net.udp_limit_bytes_per_s > 0);
        if is_limited && !(limits_udp && is_bursty(app)) {
            let reason = match is_served {
                _ if !is_bursty(app) => Reason::NotBursty,
                true => Reason::UdpUnwanted,
                false => Reason::NobodyReceives,
            };
            decision.push(Action::ReleaseUdp { app: app.name.clone() }, reason);
        }
    }
    decision
}

/// Who is let go, and who is held, after a look.
pub fn decide(snapshot: &Snapshot, config: &NetConfig) -> Decision {
    let mut decision = release(snapshot, config);
    if matters(snapshot, config) && !snapshot.net.none {
        decision.watch_by(look_ns(&snapshot.net, config).max(snapshot.now_ns));
    }
    let window_bytes = window_bytes(snapshot, config);
    if window_bytes == 0 || snapshot.net.period_ns == 0 {
        return decision;
    }
    let (tcp, udp) = loads(snapshot, config);
    limit(snapshot, udp_bytes_per_s(snapshot, config), udp.apps, &mut decision);
    for app in snapshot.apps.iter().filter(|app| is_bursty(app)) {
        let Some(net) = app.net.filter(|net| net.flows > 0) else { continue };
        let each = flow_window(window_bytes, tcp.apps, net.active_flows.into(), net.segment_bytes.into());
        // What changes nothing that could be measured is left as it is.
        if net.unheld_flows > 0 || each.abs_diff(net.window_bytes) > net.window_bytes / 16 {
            let hold = Action::HoldWindow { app: app.name.clone(), window_bytes: each };
            decision.push(hold, Reason::ReceivesInTime);
        }
    }
    decision
}

/// Those that could receive by UDP have equal parts, for whichever of them something comes.
fn limit(snapshot: &Snapshot, rate_bytes_per_s: u64, apps: u64, decision: &mut Decision) {
    if rate_bytes_per_s == 0 {
        return;
    }
    let each = flow_window(rate_bytes_per_s, apps, 1, 0);
    for app in snapshot.apps.iter().filter(|app| is_bursty(app)) {
        let Some(net) = app.net else { continue };
        let before = net.udp_limit_bytes_per_s;
        if has_udp(&net) && (before == 0 || each.abs_diff(before) > before / 16) {
            let limit = Action::LimitUdp { app: app.name.clone(), rate_bytes_per_s: each };
            decision.push(limit, Reason::ReceivesInTime);
        }
    }
}
