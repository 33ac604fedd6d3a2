// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sources that come, tell and go: unknown means leave alone.

use crate::engine_tests::{bench, bench_with, focus, in_front, Bench, SECOND_NS};
use fovea_client::protocol::{Reply, Request};
use fovea_client::Status;

const SWAY: Option<u64> = Some(20);
const X11: Option<u64> = Some(21);

impl Bench {
    pub fn status(&mut self) -> Status {
        match self.engine.handle_from(None, Request::status(), 0) {
            Reply::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    fn is_frozen(&self, name: &str) -> bool {
        self.device.0.borrow().apps[&format!("apps/{name}")].frozen
    }

    fn attend(&mut self, source: Option<u64>, name: &str) {
        self.engine.attends(source.unwrap(), name, 0);
    }

    fn say(&mut self, source: Option<u64>, request: Request, at_s: u64) {
        assert_eq!(self.engine.handle_from(source, request, at_s * SECOND_NS), Reply::Done {});
        self.run(at_s * SECOND_NS, at_s * SECOND_NS);
    }
}

/// Two apps with a process each, 10 and 11.
fn desktop() -> Bench {
    let b = bench(&[("mail", 10), ("game", 10)]);
    b.device.0.borrow_mut().pids.extend([(10, "apps/mail".to_owned()), (11, "apps/game/x".to_owned())]);
    b
}

#[test]
fn when_the_last_source_goes_everything_is_thawed() {
    let mut b = desktop();
    b.attend(SWAY, "sway");
    b.say(SWAY, in_front(10), 1);
    b.say(SWAY, in_front(11), 2);
    b.run(2 * SECOND_NS, 30 * SECOND_NS);
    assert!(b.is_frozen("mail") && !b.is_frozen("game"));
    let status = b.status();
    assert!(status.focus_told && status.sources == ["sway"]);
    b.engine.left(20, 31 * SECOND_NS);
    b.run(31 * SECOND_NS, 90 * SECOND_NS);
    assert!(!b.is_frozen("mail"));
    let status = b.status();
    assert_eq!((status.focus_told, status.sources.len(), status.busy), (false, 0, false));
    assert_eq!(status.foreground.map(String::from).as_deref(), Some("game"), "a guess");
    assert!(b.actions().contains(&"source-gone".to_owned()));
}

#[test]
fn while_another_source_lives_only_what_the_one_showed_is_left() {
    let mut b = desktop();
    b.attend(SWAY, "sway");
    b.attend(X11, "x11");
    b.say(SWAY, in_front(10), 1);
    b.say(X11, in_front(11), 1);
    b.run(SECOND_NS, 30 * SECOND_NS);
    assert!(!b.is_frozen("mail") && !b.is_frozen("game"), "each is in front on its screen");
    b.engine.left(20, 31 * SECOND_NS);
    b.run(31 * SECOND_NS, 60 * SECOND_NS);
    assert!(b.is_frozen("mail") && !b.is_frozen("game"));
}

#[test]
fn a_command_tells_of_a_focus_and_holds_nothing() {
    let mut b = desktop();
    b.say(None, focus("mail"), 1);
    b.say(None, focus("game"), 2);
    b.run(2 * SECOND_NS, 60 * SECOND_NS);
    assert!(!b.is_frozen("mail"));
    b.attend(SWAY, "sway");
    b.say(SWAY, in_front(11), 60);
    b.run(60 * SECOND_NS, 90 * SECOND_NS);
    assert!(b.is_frozen("mail"));
    // Somebody is about to raise it: it runs before the answer, and has the debounce's time to come to the front.
    b.say(None, focus("mail"), 91);
    assert!(!b.is_frozen("mail"));
    b.run(91 * SECOND_NS, 100 * SECOND_NS);
    assert!(!b.is_frozen("mail"));
    b.run(100 * SECOND_NS, 110 * SECOND_NS);
    assert!(b.is_frozen("mail"));
}

#[test]
fn what_can_be_seen_is_never_frozen_and_thaws_at_once() {
    let mut b = desktop();
    b.attend(SWAY, "sway");
    b.say(SWAY, Request::Windows { front: Some(10), visible: vec![10, 11] }, 1);
    b.run(SECOND_NS, 60 * SECOND_NS);
    assert!(!b.is_frozen("game"));
    b.say(SWAY, Request::Windows { front: Some(10), visible: vec![10] }, 60);
    b.run(60 * SECOND_NS, 90 * SECOND_NS);
    assert!(b.is_frozen("game"));
    let shown = Request::Windows { front: Some(10), visible: vec![10, 11] };
    assert_eq!(b.engine.handle_from(SWAY, shown, 91 * SECOND_NS), Reply::Done {});
    assert!(!b.is_frozen("game"), "before the answer");
}

#[test]
fn an_app_that_was_never_seen_and_one_of_no_class_are_not_frozen() {
    let mut b = bench(&[("mail", 10), ("helper", 10)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(Request::Home {}, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    assert!(b.is_frozen("mail") && !b.is_frozen("helper"));
    let mut b = bench_with(&[("mail", 10)], crate::config::Config::default());
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(Request::Home {}, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    assert!(!b.is_frozen("mail"), "off by default");
}

#[test]
fn a_screen_that_nobody_can_say_is_off_counts_as_on() {
    let mut b = desktop();
    b.attend(SWAY, "logind");
    b.attend(X11, "x11");
    b.say(SWAY, Request::Screen { on: false }, 1);
    assert!(!b.status().screen_on);
    b.say(X11, Request::Screen { on: true }, 2);
    assert!(b.status().screen_on, "one seat's screen is on");
    b.say(X11, Request::Screen { on: false }, 3);
    assert!(!b.status().screen_on);
    b.engine.left(20, 4 * SECOND_NS);
    assert!(!b.status().screen_on, "the other still says so");
    b.engine.left(21, 5 * SECOND_NS);
    assert!(b.status().screen_on);
    assert!(!b.status().focus_told, "neither said who is in front");
    b.say(None, Request::Screen { on: false }, 6);
    assert!(!b.status().screen_on, "a command's word holds");
}

#[test]
fn with_the_screen_off_and_no_source_nothing_is_compressed() {
    let mut b = desktop();
    b.say(None, focus("mail"), 1);
    b.say(None, Request::Close { app: "mail".parse().unwrap() }, 2);
    b.say(None, Request::Screen { on: false }, 3);
    b.run(3 * SECOND_NS, 60 * SECOND_NS);
    assert!(!b.done("compress apps/mail"));
    b.attend(SWAY, "sway");
    b.say(SWAY, Request::Home {}, 61);
    b.run(61 * SECOND_NS, 90 * SECOND_NS);
    assert!(b.done("compress apps/mail"));
}
