// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the disk is told.

use fovea_apps::{ClassBy, Classified, DiskControl, Importance, IoClass, Standing};
use fovea_policy::disk::{budget, decide, DiskConfig, DiskState};
use fovea_policy::{Action, AppState, Reason, Snapshot};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const CLASSES: [IoClass; 3] = [IoClass::TimeSensitive, IoClass::Bursty, IoClass::Plain];

fn app(name: &str, class: IoClass) -> AppState {
    let io_class = Classified { class, by: ClassBy::NothingKnown, by_place: true };
    AppState { io_class, ..AppState::new(name.parse().unwrap(), Importance::Hidden) }
}

fn snapshot(control: DiskControl, apps: Vec<AppState>) -> Snapshot {
    let disk = DiskState { control, ..DiskState::default() };
    Snapshot { now_ns: 10_000 * MS, disk, apps, ..Snapshot::default() }
}

fn told(snapshot: &Snapshot, config: &DiskConfig) -> Vec<(String, Option<IoClass>)> {
    let actions = decide(snapshot, config).actions.into_iter();
    let told = actions.filter_map(|(action, _)| match action {
        Action::DiskClass { app, class } => Some((app.to_string(), Some(class))),
        Action::DiskForget { app } => Some((app.to_string(), None)),
        _ => None,
    });
    told.collect()
}

#[test]
fn each_app_is_told_once_and_again_when_it_changes() {
    let config = DiskConfig::default();
    let fresh = snapshot(DiskControl::Volumes, vec![app("film", IoClass::TimeSensitive), app("copy", IoClass::Bursty)]);
    assert_eq!(
        told(&fresh, &config),
        [("film".to_owned(), Some(IoClass::TimeSensitive)), ("copy".to_owned(), Some(IoClass::Bursty))]
    );
    let mut known = fresh;
    known.apps.iter_mut().for_each(|app| app.disk_class = Some(app.io_class.class));
    assert_eq!(decide(&known, &config), Default::default(), "nothing to do, and no time to look again");
    known.apps[1].io_class.class = IoClass::TimeSensitive;
    known.apps[1].io_class_since_ns = known.now_ns;
    assert_eq!(told(&known, &config), [("copy".to_owned(), Some(IoClass::TimeSensitive))]);
}

#[test]
fn what_is_not_time_sensitive_any_more_is_told_when_it_has_settled() {
    let config = DiskConfig::default();
    let mut left = snapshot(DiskControl::Volumes, vec![app("film", IoClass::Bursty)]);
    left.apps[0].disk_class = Some(IoClass::TimeSensitive);
    left.apps[0].io_class_since_ns = left.now_ns - 999 * MS;
    let decision = decide(&left, &config);
    assert_eq!((decision.actions.len(), decision.wake_at_ns), (0, Some(left.now_ns + MS)));
    left.now_ns += MS;
    assert_eq!(told(&left, &config), [("film".to_owned(), Some(IoClass::Bursty))]);
}

#[test]
fn whom_nobody_manages_is_forgotten() {
    let mut apps = vec![app("film", IoClass::TimeSensitive), app("mine", IoClass::Bursty)];
    apps.iter_mut().for_each(|app| app.disk_class = Some(app.io_class.class));
    apps[1].standing = Standing::Ignore;
    let one = snapshot(DiskControl::Volumes, apps);
    assert_eq!(told(&one, &DiskConfig::default()), [("mine".to_owned(), None)]);
    let off = DiskConfig { enabled: false, ..DiskConfig::default() };
    assert_eq!(told(&one, &off).len(), 2);
    let without = Snapshot { disk: DiskState::default(), ..one };
    assert_eq!(told(&without, &DiskConfig::default()).len(), 2, "the volume is gone");
}

fn limits(snapshot: &Snapshot, config: &DiskConfig) -> Vec<(String, Option<u64>, Reason)> {
    let actions = decide(snapshot, config).actions.into_iter();
    let limits = actions.filter_map(|(action, reason)| match action {
        Action::DiskLimit { app, bytes_per_s } => Some((app.to_string(), bytes_per_s, reason)),
        _ => None,
    });
    limits.collect()
}

#[test]
fn bursty_apps_are_limited_while_a_time_sensitive_one_uses_the_disk_and_then_no_longer() {
    let config = DiskConfig { cmax_bytes_per_s: 10_000_000, ..DiskConfig::default() };
    let apps = vec![app("film", IoClass::TimeSensitive), app("a", IoClass::Bursty), app("b", IoClass::Bursty)];
    let mut now = snapshot(DiskControl::Limits, [apps, vec![app("c", IoClass::Plain)]].concat());
    now.disk.looked_ns = now.now_ns;
    assert_eq!(limits(&now, &config), [], "nobody uses it");
    now.disk.is_used = true;
    now.disk.sensitive_bytes_per_s = 2_000_000;
    let each = Some(3_500_000);
    assert_eq!(limits(&now, &config), [("a".to_owned(), each, Reason::Budget), ("b".to_owned(), each, Reason::Budget)]);
    assert_eq!(decide(&now, &config).watch_at_ns, Some(now.now_ns + 500 * MS));
    now.apps.iter_mut().filter(|app| app.io_class.class == IoClass::Bursty).for_each(|app| app.disk_limit = each);
    now.disk.sensitive_bytes_per_s = 2_500_000;
    assert_eq!(limits(&now, &config), [], "close enough");
    now.disk.is_used = false;
    assert_eq!(limits(&now, &config).iter().map(|l| (l.1, l.2)).collect::<Vec<_>>(), [(None, Reason::NobodyWaits); 2]);
    now.disk.idle_looks = 9;
    assert_eq!(decide(&now, &config).watch_at_ns, Some(now.now_ns + 8000 * MS), "less often");
    now.apps.remove(0);
    now.apps.iter_mut().for_each(|app| app.disk_limit = None);
    assert_eq!(decide(&now, &config).watch_at_ns, None, "nobody is time-sensitive: nobody looks");
}

#[test]
fn who_becomes_time_sensitive_or_is_unknown_to_limits_has_none() {
    let config = DiskConfig { cmax_bytes_per_s: 10_000_000, ..DiskConfig::default() };
    let mut now = snapshot(DiskControl::Limits, vec![app("film", IoClass::TimeSensitive), app("a", IoClass::Bursty)]);
    now.disk.is_used = true;
    now.apps[0].disk_limit = Some(1 << 20);
    let released = ("film".to_owned(), None, Reason::NobodyWaits);
    assert!(limits(&now, &config).contains(&released));
    let unknown = DiskConfig::default();
    assert_eq!(limits(&now, &unknown), [released], "what the disk can do is not known");
}

proptest! {
    /// An app that changes its class every few milliseconds, for whatever time.
    #[test]
    fn messages_are_bounded(changes in prop::collection::vec((0usize..3, 1u64..20), 1..800)) {
        let config = DiskConfig::default();
        let mut now = snapshot(DiskControl::Volumes, vec![app("mad", IoClass::Plain)]);
        let (begin_ns, mut messages) = (now.now_ns, 0);
        for (class, ms) in changes {
            now.now_ns += ms * MS;
            if now.apps[0].io_class.class != CLASSES[class] {
                now.apps[0].io_class.class = CLASSES[class];
                now.apps[0].io_class_since_ns = now.now_ns;
            }
            for (_, class) in told(&now, &config) {
                now.apps[0].disk_class = class;
                messages += 1;
            }
        }
        let settled = (now.now_ns - begin_ns) / (config.settle_ms * MS);
        prop_assert!(messages <= 2 + 2 * settled, "{messages} in {} ms", (now.now_ns - begin_ns) / MS);
    }

    #[test]
    fn what_is_left_over_is_given_and_nobody_starves(cmax in 65_536u64..1 << 40, sensitive in 0u64..1 << 41, bursty in 0u64..600) {
        let each = budget(cmax, sensitive, bursty);
        prop_assert!(each >= 16 << 10);
        if each > 16 << 10 && sensitive < cmax / 2 {
            prop_assert!(each * bursty + sensitive + cmax / 10 <= cmax + bursty);
        }
    }
}
