// SPDX-License-Identifier: GPL-2.0-only OR MIT
use fovea_apps::{Classified, Importance, IoClass};
use proptest::prelude::*;

use super::{decide, has_sensitive_traffic, look_ns, udp_bytes_per_s, window_bytes, AppNet, NetConfig, NetState};
use crate::{Action, AppState, Reason, Snapshot};

const CLASSES: [IoClass; 3] = [IoClass::TimeSensitive, IoClass::Bursty, IoClass::Plain];

fn app(name: &str, class: IoClass, net: AppNet) -> AppState {
    let io_class = Classified { class, ..Classified::default() };
    AppState { io_class, net: Some(net), ..AppState::new(name.parse().unwrap(), Importance::Hidden) }
}

fn receiving(received_bytes_per_s: u64, flows: u32) -> AppNet {
    AppNet {
        received_bytes_per_s,
        flows,
        active_flows: flows,
        unheld_flows: flows,
        rtt_us: 30_000,
        ..AppNet::default()
    }
}

/// A call and a download on the paper's link.
fn device() -> Snapshot {
    let net = NetState {
        looked_ns: Some(0),
        period_ns: 500_000_000,
        received_bytes_per_s: 300_000,
        peak_bytes_per_s: 300_000,
        sensitive_ns: Some(0),
        ..NetState::default()
    };
    let apps = vec![
        app("call", IoClass::TimeSensitive, receiving(20_000, 1)),
        app("download", IoClass::Bursty, receiving(270_000, 1)),
        app("mail", IoClass::Plain, receiving(10_000, 1)),
    ];
    Snapshot { net, apps, screen_on: true, ..Snapshot::default() }
}

fn actions(snapshot: &Snapshot) -> Vec<(Action, Reason)> {
    decide(snapshot, &NetConfig::default()).actions
}

#[test]
fn the_bursty_app_alone_is_held_to_what_all_else_leaves() {
    // (300,000 - 30,000 - 20,000 - 10,000) bytes/s, 30 ms.
    let hold = Action::HoldWindow { app: "download".parse().unwrap(), window_bytes: 7200 };
    assert_eq!(actions(&device()), [(hold, Reason::ReceivesInTime)]);
    assert_eq!(decide(&device(), &NetConfig::default()).watch_at_ns, Some(500_000_000));
}

#[test]
fn it_is_let_go_when_nobody_receives_in_time_or_it_is_needed_itself() {
    let mut snapshot = device();
    snapshot.apps[1].net.as_mut().unwrap().window_bytes = 7200;
    (snapshot.net.window_bytes, snapshot.net.period_ns) = (7200, 0);
    assert_eq!(actions(&snapshot), [], "nothing new is known");
    let release = |snapshot: &Snapshot| match &actions(snapshot)[..] {
        [(Action::ReleaseWindow { app }, reason)] if app.as_str() == "download" => *reason,
        other => panic!("{other:?}"),
    };
    for (class, reason) in [(IoClass::TimeSensitive, Reason::NotBursty), (IoClass::Plain, Reason::NotBursty)] {
        let mut snapshot = snapshot.clone();
        snapshot.apps[1].io_class.class = class;
        assert_eq!(release(&snapshot), reason);
    }
    let mut gone = snapshot.clone();
    gone.apps.remove(0);
    assert_eq!(release(&gone), Reason::NobodyReceives);
    assert_eq!(
        (window_bytes(&gone, &NetConfig::default()), decide(&gone, &NetConfig::default()).watch_at_ns),
        (0, None)
    );
    let mut off = snapshot.clone();
    (off.screen_on, off.apps[0].io_class.by_place) = (false, true);
    assert_eq!(release(&off), Reason::NobodyReceives);
    snapshot.now_ns = 2_999_999_999;
    assert_eq!(actions(&snapshot), []);
    snapshot.now_ns = 3_000_000_000;
    assert_eq!(release(&snapshot), Reason::NobodyReceives);
}

#[test]
fn while_nothing_comes_looks_are_ever_rarer() {
    let config = NetConfig::default();
    let at = |idle_looks| look_ns(&NetState { looked_ns: Some(0), idle_looks, ..NetState::default() }, &config);
    assert_eq!([0, 1, 2, 4, 5, 99].map(at), [500, 1000, 2000, 8000, 8000, 8000].map(|ms: u64| ms * 1_000_000));
    let held = NetState { looked_ns: Some(0), idle_looks: 5, window_bytes: 1, ..NetState::default() };
    assert_eq!(look_ns(&held, &config), 500_000_000);
}

#[test]
fn a_call_over_udp_counts_as_received_where_more_comes_than_tcp_explains() {
    let mut snapshot = device();
    *snapshot.apps[0].net.as_mut().unwrap() = AppNet { udp_sockets: 2, ..AppNet::default() };
    snapshot.net.received_bytes_per_s = 280_000 + 1_999;
    assert!(!has_sensitive_traffic(&snapshot));
    snapshot.net.received_bytes_per_s = 280_000 + 40_000;
    assert!(has_sensitive_traffic(&snapshot));
}

#[test]
fn who_is_starved_is_not_forgotten_while_others_are_held_for_it() {
    let mut snapshot = device();
    snapshot.apps[0].net = Some(receiving(100, 1));
    assert!(!has_sensitive_traffic(&snapshot), "a connection that is kept alive");
    snapshot.net.window_bytes = 1460;
    assert!(has_sensitive_traffic(&snapshot));
}

/// The download beside one that comes by UDP.
fn with_udp() -> (Snapshot, NetConfig) {
    let mut snapshot = device();
    snapshot.apps.push(app("torrent", IoClass::Bursty, AppNet { unconnected_udp_sockets: 1, ..AppNet::default() }));
    snapshot.apps.push(app("voice", IoClass::Plain, AppNet { udp_sockets: 1, ..AppNet::default() }));
    (snapshot, NetConfig { limit_udp: true, ..NetConfig::default() })
}

#[test]
fn udp_of_bursty_apps_alone_is_limited_and_only_if_that_is_wanted() {
    let (mut snapshot, config) = with_udp();
    let limits = |snapshot: &Snapshot, config: &NetConfig| -> Vec<(String, u64)> {
        let limit = |(action, _)| match action {
            Action::LimitUdp { app, rate_bytes_per_s } => Some((app.to_string(), rate_bytes_per_s)),
            _ => None,
        };
        decide(snapshot, config).actions.into_iter().filter_map(limit).collect()
    };
    // Nobody has counted it: half of 240,000 is its part, though the download has all there is now.
    assert_eq!(limits(&snapshot, &config), [("torrent".to_owned(), 120_000)]);
    assert_eq!(limits(&snapshot, &NetConfig::default()), []);
    snapshot.net.udp_refused = true;
    assert_eq!(limits(&snapshot, &config), []);
    snapshot.net.udp_refused = false;
    // It comes. The network is full, and the rate there is asks for 130,000.
    snapshot.apps[1].net = Some(receiving(130_000, 1));
    snapshot.apps[3].net.as_mut().unwrap().udp_arrived_bytes_per_s = 140_000;
    (snapshot.net.window_bytes, snapshot.net.udp_bytes_per_s) = (3600, 130_000);
    assert_eq!(udp_bytes_per_s(&snapshot, &config), 130_000 - (140_000 - 120_000) / 2);
    assert_eq!(window_bytes(&snapshot, &config), 3600 - (130_000 - 120_000) * 30 / 1000 / 2);
    assert_eq!(limits(&snapshot, &config), [("torrent".to_owned(), 120_000)]);
    // The download uses less: the rest is to be had.
    snapshot.apps[1].net = Some(receiving(40_000, 1));
    snapshot.net.received_bytes_per_s = 210_000;
    assert_eq!(udp_bytes_per_s(&snapshot, &config), 130_000 + (200_000 - 140_000) / 2);
}

#[test]
fn a_limit_of_udp_ends_with_its_reason() {
    let (mut snapshot, config) = with_udp();
    snapshot.apps[3].net.as_mut().unwrap().udp_limit_bytes_per_s = 100_000;
    snapshot.net.period_ns = 0;
    let released = |snapshot: &Snapshot, config: &NetConfig| decide(snapshot, config).actions;
    assert_eq!(released(&snapshot, &config), []);
    let release = Action::ReleaseUdp { app: "torrent".parse().unwrap() };
    assert_eq!(released(&snapshot, &NetConfig::default()), [(release.clone(), Reason::UdpUnwanted)]);
    let off = NetConfig { enabled: false, ..config.clone() };
    assert_eq!(released(&snapshot, &off), [(release.clone(), Reason::NobodyReceives)]);
    let mut plain = snapshot.clone();
    plain.apps[3].io_class.class = IoClass::Plain;
    assert_eq!(released(&plain, &config), [(release.clone(), Reason::NotBursty)]);
    snapshot.apps.remove(0);
    assert_eq!(released(&snapshot, &config), [(release, Reason::NobodyReceives)]);
}

#[test]
fn what_comes_for_bursty_apps_by_udp_is_not_taken_for_a_call() {
    let (mut snapshot, _) = with_udp();
    *snapshot.apps[0].net.as_mut().unwrap() = AppNet { udp_sockets: 1, ..AppNet::default() };
    (snapshot.net.received_bytes_per_s, snapshot.apps[1].net) = (300_000, None);
    assert!(has_sensitive_traffic(&snapshot));
    snapshot.apps[3].net.as_mut().unwrap().udp_arrived_bytes_per_s = 290_000;
    assert!(!has_sensitive_traffic(&snapshot));
}

fn any_app() -> impl Strategy<Value = (usize, AppNet, bool)> {
    let net = (0u64..1 << 40, 0u32..600, 0u32..600, 0u32..2_000_000, 0u64..1 << 30).prop_map(
        |(received_bytes_per_s, flows, unheld_flows, rtt_us, window_bytes)| AppNet {
            received_bytes_per_s,
            flows,
            active_flows: flows / 2,
            unheld_flows,
            rtt_us,
            segment_bytes: rtt_us,
            udp_sockets: flows,
            unconnected_udp_sockets: flows / 3,
            udp_arrived_bytes_per_s: received_bytes_per_s / 2,
            udp_limit_bytes_per_s: window_bytes / 3,
            window_bytes,
        },
    );
    (0usize..3, net, any::<bool>())
}

proptest! {
    #[test]
    fn only_bursty_apps_are_held_never_below_a_segment_and_all_are_let_go_in_the_end(
        apps in prop::collection::vec(any_app(), 0..8),
        now_ns in 0u64..1 << 50, sensitive_ns in prop::option::of(0u64..1 << 50),
        received_bytes_per_s in any::<u64>(), peak_bytes_per_s in any::<u64>(), window in any::<u64>(),
        period_ns in 0u64..2, screen_on in any::<bool>(), limit_udp in any::<bool>(), udp_refused in any::<bool>(),
    ) {
        let apps: Vec<_> = apps.into_iter().enumerate().map(|(nth, (class, net, by_place))| {
            let mut app = app(&format!("a{nth}"), CLASSES[class], net);
            app.io_class.by_place = by_place;
            app
        }).collect();
        let net = NetState {
            looked_ns: Some(0), idle_looks: 0, period_ns, received_bytes_per_s, peak_bytes_per_s, window_bytes: window,
            udp_bytes_per_s: window / 2, udp_refused, sensitive_ns: sensitive_ns.map(|ns| ns.min(now_ns)), none: false,
        };
        let mut snapshot = Snapshot { now_ns, net, apps, screen_on, ..Snapshot::default() };
        let config = NetConfig { limit_udp, ..NetConfig::default() };
        for (action, _) in decide(&snapshot, &config).actions {
            let class = snapshot.apps.iter().find(|app| app.name == *action.app()).unwrap().io_class.class;
            match action {
                Action::HoldWindow { window_bytes, .. } => prop_assert!(class == IoClass::Bursty && window_bytes >= 1460),
                Action::LimitUdp { rate_bytes_per_s, .. } => {
                    prop_assert!(class == IoClass::Bursty && rate_bytes_per_s >= 1460 && limit_udp && !udp_refused);
                }
                Action::ReleaseWindow { .. } | Action::ReleaseUdp { .. } => (),
                other => prop_assert!(false, "{:?}", other),
            }
        }
        // Nobody is time-sensitive any more.
        snapshot.apps.iter_mut().filter(|app| app.io_class.class == IoClass::TimeSensitive).for_each(|app| app.io_class.class = IoClass::Plain);
        let held = snapshot.apps.iter().filter(|app| app.net.unwrap().window_bytes > 0).count();
        let limited = snapshot.apps.iter().filter(|app| app.net.unwrap().udp_limit_bytes_per_s > 0).count();
        let released = decide(&snapshot, &config).actions;
        prop_assert_eq!(released.len(), held + limited);
        let all_released = released.iter().all(|(action, _)| matches!(action, Action::ReleaseWindow { .. } | Action::ReleaseUdp { .. }));
        prop_assert!(all_released);
    }
}
