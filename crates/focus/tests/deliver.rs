// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Delivery to a daemon that is played here: what it is told, and what it is told after a restart.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use fovea_client::protocol::{BusName, Reply, Request, SOCKET_NAME};
use fovea_client::socket::{listen_at, receive, reply, Received};
use fovea_focus::{deliver, Event, Mailbox, SourceError, Undelivered, Windows};
use rustix::net::accept;

struct Daemon {
    _listener: OwnedFd,
    client: OwnedFd,
}

fn front(pid: u32) -> Event {
    Event::Windows(Windows::new(Some(pid), [9]))
}

fn windows(pid: u32) -> Request {
    Request::Windows { front: Some(pid), visible: vec![pid, 9] }
}

fn listener(folder: &Path) -> OwnedFd {
    listen_at(&folder.join(SOCKET_NAME), 0o600).unwrap()
}

impl Daemon {
    fn accept(listener: OwnedFd) -> Daemon {
        let client = accept(&listener).unwrap();
        let daemon = Daemon { _listener: listener, client };
        daemon.done(Request::Attend { name: "sway".parse().unwrap(), uid: None });
        daemon
    }

    fn expect(&self, expected: Request, answer: Reply) {
        assert_eq!(receive(&self.client), Received::Request(expected));
        assert!(reply(&self.client, &answer));
    }

    fn done(&self, expected: Request) {
        self.expect(expected, Reply::Done {});
    }
}

#[test]
fn the_daemon_is_told_changes_and_everything_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mailbox = Arc::new(Mailbox::new().unwrap());
    // Nobody is listening yet.
    mailbox.put(front(1));
    mailbox.put(front(2));
    let (theirs, run_folder) = (Arc::clone(&mailbox), folder.path().to_owned());
    let (said, lines) = std::sync::mpsc::channel::<String>();
    let delivering = std::thread::spawn(move || {
        deliver(&run_folder, &"sway".parse().unwrap(), None, &theirs, false, &mut |line| {
            said.send(line.to_owned()).unwrap()
        })
    });
    let line = lines.recv().unwrap();
    assert!(line.contains("fovea run") && line.ends_with("waiting for it"), "{line}");

    let daemon = Daemon::accept(listener(folder.path()));
    daemon.done(windows(2));
    assert_eq!(lines.recv().unwrap(), "the daemon is there again");
    mailbox.put(Event::Windows(Windows::default()));
    daemon.done(Request::Windows { front: None, visible: vec![] });
    mailbox.put(Event::Screen { on: false });
    daemon.done(Request::Screen { on: false });
    mailbox.put(Event::Inhibitors(vec![4, 5]));
    daemon.done(Request::Inhibitors { pids: vec![4, 5] });
    mailbox.put(Event::Playing(vec![6]));
    daemon.done(Request::Playing { pids: vec![6] });
    let names = vec![BusName { pid: 7, name: "org.example.Name".into() }];
    mailbox.put(Event::Names(names.clone()));
    daemon.done(Request::Names { names: names.clone() });
    mailbox.put(front(3));
    daemon.expect(windows(3), Reply::Error { error: "no".into() });
    assert_eq!(lines.recv().unwrap(), "the daemon refused: no");

    // A restart, at a time when nothing changes.
    let listener = listener(folder.path());
    drop(daemon);
    let daemon = Daemon::accept(listener);
    daemon.done(Request::Screen { on: false });
    daemon.done(Request::Inhibitors { pids: vec![4, 5] });
    daemon.done(Request::Playing { pids: vec![6] });
    daemon.done(Request::Names { names });
    daemon.done(windows(3));

    // The source goes, and with it all that it said: the connection is the lease.
    mailbox.source_lost();
    let Daemon { _listener: listener, client } = daemon;
    assert_eq!(receive(&client), Received::Gone, "it hangs up");
    mailbox.put(Event::Screen { on: true });
    let daemon = Daemon::accept(listener);
    daemon.done(Request::Screen { on: true });

    mailbox.end(SourceError::Absent("gone".into()));
    assert!(matches!(delivering.join().unwrap(), Undelivered::Source(SourceError::Absent(line)) if line == "gone"));
}
