// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The sway source against a server made here, and its parsers on text that sway sent (shortened) and on garbage.

use std::os::unix::net::UnixListener;
use std::sync::mpsc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::sway_wire::{Message, BINDING_EVENT, WINDOW_EVENT, WORKSPACE_EVENT};
use crate::Windows;

/// sway 1.7, `swaymsg -t get_tree`: an output with two workspaces, a split container, a floating window; fields we do not use left out
/// but for some.
fn tree(focused: i64) -> Vec<u8> {
    let window = |id: i64, pid: i64| {
        // The second workspace is shown instead of the first when it has the focus.
        json!({"id": id, "type": "con", "name": "w", "focused": id == focused, "visible": focused != 11 && id != 31,
               "urgent": false, "pid": pid, "focus": [], "nodes": [],
               "floating_nodes": [], "rect": {"x": 0, "y": 0, "width": 960, "height": 1080}, "shell": "xdg_shell"})
    };
    let con = |id: i64, kind: &str, focus: &[i64], nodes: serde_json::Value, floating: serde_json::Value| {
        json!({"id": id, "type": kind, "name": null, "focused": id == focused, "focus": focus, "nodes": nodes,
               "floating_nodes": floating})
    };
    let split = con(20, "con", &[22, 21], json!([window(21, 321), window(22, 322)]), json!([]));
    let one = con(10, "workspace", &[20, 30], json!([split]), json!([window(30, 330)]));
    let tabs = con(40, "con", &[31], json!([window(31, 331)]), json!([]));
    let two = con(11, "workspace", &[], json!([]), json!([]));
    let three = con(12, "workspace", &[40], json!([tabs]), json!([]));
    let output = con(3, "output", &[10, 11, 12], json!([one, two, three]), json!([]));
    con(1, "root", &[3], json!([output]), json!([])).to_string().into_bytes()
}

fn seen(front: u32) -> Event {
    Event::Windows(Windows::new(Some(front), [321, 322, 330]))
}

#[test]
fn the_focused_window_of_a_tree_is_found_and_all_that_can_be_seen() {
    let pid = |id| windows(&tree(id)).unwrap().front;
    assert_eq!((pid(21), pid(22), pid(30)), (Some(321), Some(322), Some(330)));
    assert_eq!(pid(20), Some(322), "a focused container stands for the window in it that had the focus last");
    assert_eq!(pid(10), Some(322));
    assert_eq!(pid(11), None, "an empty workspace");
    assert_eq!(pid(99), None);
    assert_eq!(windows(&tree(21)).unwrap().visible, [321, 322, 330], "three tiled or floating, not one behind a tab");
    assert_eq!(windows(&tree(11)).unwrap(), Windows::default());
    let urgent = String::from_utf8(tree(11)).unwrap().replacen("\"urgent\":false", "\"urgent\":true", 1);
    assert_eq!(windows(urgent.as_bytes()).unwrap().visible.len(), 1, "it asks for attention");
    assert!(windows(b"[]").is_err() && windows(b"").is_err());
}

#[test]
fn events_are_told_apart() {
    let news = |kind, payload: &str| is_news(&Message { kind, payload: payload.into() });
    for change in ["new", "close", "focus", "fullscreen_mode", "move", "floating", "urgent"] {
        assert!(news(WINDOW_EVENT, &format!(r#"{{"change":"{change}","container":{{"pid":1}}}}"#)), "{change}");
    }
    assert!(!news(WINDOW_EVENT, r#"{"change":"title","container":{"pid":1}}"#));
    assert!(news(WORKSPACE_EVENT, r#"{"change":"focus","old":null,"current":{"nodes":[]}}"#));
    assert!(!news(WORKSPACE_EVENT, r#"{"change":"init"}"#));
    assert!(news(BINDING_EVENT, r#"{"change":"run","binding":{"command":"layout default"}}"#));
    assert!(!news(0x8000_0014, r#"{"change":"focus"}"#));
    assert!(news(WINDOW_EVENT, "nonsense"));
}

#[test]
fn a_message_on_the_wire_is_what_the_manual_shows() {
    let mut wire = Vec::new();
    send(&mut wire, 0, b"exit").unwrap();
    // sway-ipc(7), "Message and Reply Format": `exit` on a little-endian machine.
    let manual =
        [0x69, 0x33, 0x2d, 0x69, 0x70, 0x63, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x65, 0x78, 0x69, 0x74];
    #[cfg(target_endian = "little")]
    assert_eq!(wire, manual);
    assert_eq!(receive(&mut &wire[..]).unwrap(), Message { kind: 0, payload: b"exit".to_vec() });
    for cut in 0..wire.len() {
        assert_eq!(receive(&mut &wire[..cut]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
    let mut huge = manual;
    huge[6..10].copy_from_slice(&u32::MAX.to_ne_bytes());
    assert_eq!(receive(&mut &huge[..]).unwrap_err().kind(), ErrorKind::InvalidData);
}

/// A sway for one client; what is sent to it comes by the channel.
struct FakeSway {
    stream: UnixStream,
}

impl FakeSway {
    fn accept(listener: &UnixListener) -> Self {
        let mut sway = Self { stream: listener.accept().unwrap().0 };
        assert_eq!(sway.expect(SUBSCRIBE), SUBSCRIPTION);
        sway
    }

    fn expect(&mut self, kind: u32) -> Vec<u8> {
        let message = receive(&mut self.stream).unwrap();
        assert_eq!(message.kind, kind);
        message.payload
    }

    fn send(&mut self, kind: u32, payload: &[u8]) {
        send(&mut self.stream, kind, payload).unwrap();
    }

    fn answer_tree(&mut self, focused: i64) {
        self.expect(GET_TREE);
        self.send(GET_TREE, &tree(focused));
    }
}

fn watch(mut sway: Sway) -> (mpsc::Receiver<Event>, std::thread::JoinHandle<SourceError>) {
    let (to, events) = mpsc::channel();
    (events, std::thread::spawn(move || sway.watch(&mut |event| to.send(event).unwrap())))
}

#[test]
fn focus_is_followed_through_windows_workspaces_and_a_new_compositor() {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().join(rustix::process::geteuid().as_raw().to_string());
    std::fs::create_dir(&user).unwrap();
    let sway = || Sway { socket: None, run_user: folder.path().into() };

    // A dead one's socket is passed over.
    drop(UnixListener::bind(user.join("sway-ipc.1000.1.sock")).unwrap());
    assert!(matches!(sway().watch(&mut |_| {}), SourceError::Absent(_)));

    for pid in [2, 3] {
        let path = user.join(format!("sway-ipc.1000.{pid}.sock"));
        let listener = UnixListener::bind(&path).unwrap();
        let (events, watching) = watch(sway());
        let mut fake = FakeSway::accept(&listener);
        fake.send(SUBSCRIBE, br#"{"success":true}"#);
        fake.answer_tree(21);
        assert_eq!(events.recv().unwrap(), seen(321), "how things stood");
        fake.send(WINDOW_EVENT, br#"{"change":"focus","container":{"id":30,"pid":330}}"#);
        fake.answer_tree(30);
        assert_eq!(events.recv().unwrap(), seen(330));
        fake.send(WINDOW_EVENT, br#"{"change":"title","container":{"id":30,"pid":330}}"#);
        fake.send(WORKSPACE_EVENT, br#"{"change":"focus","current":{"id":11}}"#);
        fake.expect(GET_TREE);
        // While the tree is under way more happens; it may or may not know, so one more is asked for, and not one for each.
        for _ in 0..5 {
            fake.send(WINDOW_EVENT, br#"{"change":"new","container":{"id":22,"pid":322}}"#);
        }
        fake.send(GET_TREE, &tree(11));
        fake.answer_tree(20);
        assert_eq!(events.recv().unwrap(), Event::Windows(Windows::default()));
        assert_eq!(events.recv().unwrap(), seen(322));
        drop(fake);
        assert!(matches!(watching.join().unwrap(), SourceError::Lost(_)));
        assert_eq!(events.try_recv(), Err(mpsc::TryRecvError::Disconnected));
        drop(listener);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn of_several_users_nobody_is_believed_for_having_the_latest_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = |uid: &str| {
        std::fs::create_dir(folder.path().join(uid)).unwrap();
        UnixListener::bind(folder.path().join(uid).join("sway-ipc.x.sock")).unwrap()
    };
    let sway = Sway { socket: None, run_user: folder.path().into() };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_one, other) = (socket("1000"), socket("1001"));
    let Err(SourceError::Refused(line)) = sway.connect() else { panic!("believed") };
    assert!(line.contains("1000/") && line.contains("1001/") && line.contains("--socket"), "{line}");
    drop(other);
    assert!(sway.connect().unwrap().1.ends_with("1000/sway-ipc.x.sock"), "the other's has ended");
}

#[test]
fn a_compositor_that_grants_no_events_or_talks_nonsense_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let sway = || Sway { socket: Some(path.clone()), run_user: "/nowhere".into() };

    let (_events, watching) = watch(sway());
    let mut fake = FakeSway::accept(&listener);
    fake.send(SUBSCRIBE, br#"{"success":false}"#);
    assert!(matches!(watching.join().unwrap(), SourceError::Refused(line) if line.contains("sway 1.0")));

    let (_events, watching) = watch(sway());
    let mut fake = FakeSway::accept(&listener);
    io::Write::write_all(&mut fake.stream, b"HTTP/1.1 400 Bad Request\r\n").unwrap();
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Lost(line) if line.contains("i3 IPC") && !line.contains('\n')), "{error}");
}

#[test]
fn a_named_socket_that_is_not_there_is_a_lack() {
    let error = Sway::new(Some("/nowhere/sway.sock".into())).watch(&mut |_| {});
    assert!(matches!(&error, SourceError::Absent(line) if line.contains("/nowhere/sway.sock")), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in any::<u32>()) {
        let _ = receive(&mut &bytes[..]);
        let mut framed = Vec::new();
        send(&mut framed, kind, &bytes).unwrap();
        let message = receive(&mut &framed[..]).unwrap();
        prop_assert_eq!(&message, &Message { kind, payload: bytes.clone() });
        for kind in [kind, WINDOW_EVENT, WORKSPACE_EVENT] {
            let _ = is_news(&Message { kind, payload: bytes.clone() });
        }
        let _ = (windows(&bytes), granted(&bytes));
    }

    /// A tree with bytes changed is still mostly JSON, and gets further in.
    #[test]
    fn a_spoilt_tree_is_read_without_panic(at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = tree(20);
        for (index, byte) in at {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        let _ = windows(&bytes);
    }
}

/// Each of these made a node of a hundred bytes and more: 150 MB of 4 MiB.
#[test]
fn a_tree_of_more_parts_than_a_session_has_is_refused_before_it_is_read() {
    let many = |part: &str, count: usize| format!("{{\"nodes\":[{}]}}", vec![part; count].join(",")).into_bytes();
    let refused = |tree: &[u8]| crate::sway_wire::windows(tree).unwrap_err().to_string();
    assert!(refused(&many("{}", 1 << 17)).contains("more parts"));
    let numbers = format!("{{\"focus\":[{}]}}", vec!["1"; 1 << 20].join(","));
    assert!(refused(numbers.as_bytes()).contains("more parts"));
    // A title may have any letters.
    let title = json!({ "id": 1, "name": "{,\\\"".repeat(1 << 18), "pid": 7, "focused": true });
    assert_eq!(crate::sway_wire::windows(title.to_string().as_bytes()).unwrap(), Windows::new(Some(7), []));
    assert!(crate::sway_wire::windows(&many("{}", 1 << 15)).is_ok());
}
