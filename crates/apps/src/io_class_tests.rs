// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Classes of apps.

use proptest::prelude::*;

use super::*;
use Importance::{Foreground, Hidden, Service as ServiceRank, Visible};
use IoClass::{Bursty, ForegroundDependent, Plain, TimeSensitive};

fn service(class: IoClass) -> Service {
    Service { name: class.name().into(), class, peers: Vec::new(), devices: Vec::new(), names: Vec::new() }
}

fn class(said: Option<IoClass>, heard: Option<Perceived>, used: &[IoClass], importance: Importance) -> IoClass {
    let services: Vec<_> = used.iter().map(|&class| service(class)).collect();
    let services: Vec<_> = services.iter().collect();
    classify(&Traits { said, heard, services: &services, importance: Some(importance) }).class
}

#[test]
fn the_papers_figure_2() {
    for importance in [Foreground, Hidden] {
        assert_eq!(class(None, None, &[TimeSensitive], importance), TimeSensitive);
        assert_eq!(class(None, None, &[Bursty], importance), Bursty);
        assert_eq!(class(None, None, &[Plain], importance), Plain);
    }
    assert_eq!(class(None, None, &[ForegroundDependent], Foreground), TimeSensitive);
    assert_eq!(class(None, None, &[ForegroundDependent], Hidden), Bursty);
}

#[test]
fn of_whom_nothing_is_known_his_place_decides() {
    let by_place = [Foreground, Visible, ServiceRank, Hidden].map(|importance| class(None, None, &[], importance));
    assert_eq!(by_place, [TimeSensitive, TimeSensitive, Bursty, Bursty]);
}

#[test]
fn where_nobody_tells_who_is_seen_nobody_waits_for_not_being_seen() {
    let unknown = |services: &[&Service]| classify(&Traits { said: None, heard: None, services, importance: None });
    assert_eq!(unknown(&[]).to_string(), "plain: it uses no service that is known, and nobody tells who is seen");
    assert_eq!(unknown(&[&service(Bursty)]).class, Bursty);
    assert_eq!(unknown(&[&service(TimeSensitive)]).class, TimeSensitive);
}

#[test]
fn who_is_heard_is_time_sensitive_and_who_only_holds_an_inhibitor_is_not() {
    assert_eq!(class(None, Some(Perceived::UsesServer), &[Bursty], Hidden), TimeSensitive);
    assert_eq!(class(None, Some(Perceived::RecordsSound), &[], Hidden), TimeSensitive);
    assert_eq!(class(None, Some(Perceived::Inhibits), &[], Hidden), Bursty, "a backup that may not be broken off");
}

#[test]
fn what_the_user_says_goes_before_all() {
    assert_eq!(class(Some(Bursty), Some(Perceived::PlaysSound), &[TimeSensitive], Foreground), Bursty);
    assert_eq!(class(Some(Plain), None, &[], Foreground), Plain);
    assert_eq!(class(Some(ForegroundDependent), Some(Perceived::PlaysSound), &[], Hidden), Bursty);
}

#[test]
fn it_is_said_in_words() {
    let said = |heard, importance| {
        classify(&Traits { said: None, heard, services: &[], importance: Some(importance) }).to_string()
    };
    assert_eq!(said(None, Hidden), "bursty: it uses no service that is known and is not seen");
    assert_eq!(said(None, Foreground), "time-sensitive: it uses no service that is known and is seen");
    assert_eq!(said(Some(Perceived::PlaysSound), Hidden), "time-sensitive: it plays sound");
    let database = service(ForegroundDependent);
    let services = [&database];
    let used = classify(&Traits { said: None, heard: None, services: &services, importance: Some(Hidden) });
    assert_eq!(used.to_string(), "bursty: it uses foreground-dependent and is not seen");
    let back: Classified = serde_json::from_value(serde_json::to_value(&used).unwrap()).unwrap();
    assert_eq!(back, used);
}

fn any_class() -> impl Strategy<Value = IoClass> {
    prop_oneof![Just(TimeSensitive), Just(Bursty), Just(Plain), Just(ForegroundDependent)]
}

proptest! {
    #[test]
    fn a_class_is_one_that_the_kernel_knows_and_order_does_not_matter(
        said in prop::option::of(any_class()),
        used in prop::collection::vec(any_class(), 0..6),
        importance in prop::sample::select(Importance::ALL.to_vec()),
    ) {
        let found = class(said, None, &used, importance);
        prop_assert!(found != ForegroundDependent);
        let reversed: Vec<_> = used.iter().rev().copied().collect();
        prop_assert_eq!(found, class(said, None, &reversed, importance));
        if said.is_none() && used.contains(&TimeSensitive) {
            prop_assert_eq!(found, TimeSensitive);
        }
    }

    /// Coming to the front never costs an app its deadline.
    #[test]
    fn who_is_seen_is_not_served_worse(used in prop::collection::vec(any_class(), 0..6)) {
        if class(None, None, &used, Hidden) == TimeSensitive {
            prop_assert_eq!(class(None, None, &used, Foreground), TimeSensitive);
        }
    }
}
