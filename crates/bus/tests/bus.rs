// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The program on a message bus of its own (dbus-daemon), between a daemon that is played and clients that are real: gdbus, and GLib's
//! GMemoryMonitor.

#![allow(missing_docs)]

#[path = "bus/played.rs"]
mod played;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;

use fovea_client::news::{Killed, News};
use zbus::blocking::{connection::Builder, Connection, Proxy};
use zbus::zvariant::{OwnedValue, Value};

use played::*;

/// Plays polkit: who may what.
struct Polkit(&'static [&'static str]);

#[zbus::interface(name = "org.freedesktop.PolicyKit1.Authority")]
impl Polkit {
    fn check_authorization(
        &self,
        subject: (String, HashMap<String, OwnedValue>),
        action: &str,
        _details: HashMap<String, String>,
        _flags: u32,
        _cancel: &str,
    ) -> ((bool, bool, HashMap<String, String>),) {
        assert!(subject.0 == "system-bus-name" && subject.1.contains_key("name"));
        ((self.0.contains(&action), false, HashMap::new()),)
    }
}

fn polkit(bus: &Bus, allows: &'static [&'static str]) -> Connection {
    let builder = Builder::address(bus.address().as_str()).unwrap();
    let builder = builder.serve_at("/org/freedesktop/PolicyKit1/Authority", Polkit(allows)).unwrap();
    builder.name("org.freedesktop.PolicyKit1").unwrap().build().unwrap()
}

#[test]
fn it_says_of_itself_what_the_installed_description_says() {
    let Some(bus) = Bus::start() else { return };
    let address = bus.address();
    let args = ["introspect", "--xml", "--address", &address, "--dest", "org.fovea1", "--object-path", "/org/fovea1"];
    let Some(text) = bus.gdbus(&args, None) else { return };
    let interface = |text: &str| {
        let begin = text.find("<interface name=\"org.fovea1\">").expect("the interface");
        let end = begin + text[begin..].find("</interface>").unwrap();
        text[begin..end].split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let file = packaged("org.fovea1.xml");
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let text = text.unwrap();
    assert_eq!(interface(&text), interface(&written), "{}: take it from the program:\n{text}", file.display());
}

#[test]
fn a_user_sees_the_own_apps_and_all_only_by_polkit() {
    let Some(bus) = Bus::start() else { return };
    if !is_root() {
        println!("SKIPPED: not root, so there is one user only");
        return;
    }
    let call = |method: &str, args: &[&str], user| bus.call(method, args, Some(user)).expect("gdbus was there");
    let status = call("Status", &["false"], HERE).unwrap();
    assert!(status.contains("app-mail-7.scope") && !status.contains("game") && !status.contains("user-6"), "{status}");
    let story = call("Explain", &["", "50", "false"], HERE).unwrap();
    assert!(story.contains("mail") && !story.contains("game"), "nor what else it was decided on: {story}");
    let denied: [(&str, &[&str]); 4] =
        [("Status", &["true"]), ("Explain", &["", "9", "true"]), ("Rules", &[]), ("Subscribe", &["true"])];
    for (method, args) in denied {
        let error = call(method, args, HERE).unwrap_err();
        assert!(error.contains("AccessDenied"), "without polkit: {method}: {error}");
    }
    let authority = polkit(&bus, &["org.fovea1.see-all"]);
    let status = call("Status", &["true"], HERE).unwrap();
    assert!(status.contains("mail") && status.contains("game"), "{status}");
    assert!(call("Rules", &[], HERE).unwrap_err().contains("AccessDenied"), "that is another action");
    drop(authority);
    assert!(call("Status", &["true"], HERE).unwrap_err().contains("AccessDenied"));
    // Root needs nobody's leave.
    assert!(call("Rules", &[], 0).unwrap().contains("mail"));
    let error = call("Explain", &["..", "9", "false"], HERE).unwrap_err();
    assert!(error.contains("InvalidArgs"), "{error}");
    // Another user's name, or who asks too often.
    let refused = (0..400).find_map(|_| call("Status", &["false"], THERE).err()).expect("a bound");
    assert!(refused.contains("LimitsExceeded"), "{refused}");
    assert!(call("Status", &["false"], HERE).is_ok(), "another user's requests are not counted");
}

/// What the subscriber of one user is sent, in order.
#[test]
fn kills_are_told_to_those_whose_apps_they_were() {
    let Some(bus) = Bus::start() else { return };
    let link = bus.connect();
    let fovea = Proxy::new(&link, "org.fovea1", "/org/fovea1", "org.fovea1").unwrap();
    let signals = fovea.receive_all_signals().unwrap();
    assert_eq!(fovea.get_property::<u64>("Kills").unwrap(), 2);
    bus.happens(News::Killed(killed("app-before-1.scope", uid())));
    // News and requests come on different ways.
    while fovea.get_property::<u64>("Kills").unwrap() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    fovea.call::<_, _, ()>("Subscribe", &(false)).unwrap();
    bus.happens(News::Killed(killed("app-theirs-1.scope", uid() + 1)));
    bus.happens(News::AboutToKill(killed("app-mail-7.scope", uid())));
    let part = Killed { process: Some("Web Content".into()), ..killed("app-mail-7.scope", uid()) };
    bus.happens(News::Killed(part));
    let told: Vec<_> = signals
        .filter(|signal| {
            signal.header().member().is_some_and(|member| ["Killed", "AboutToKill"].contains(&member.as_str()))
        })
        .take(2)
        .map(|signal| {
            let (unit, process, reason, bytes): (String, String, String, u64) = signal.body().deserialize().unwrap();
            (signal.header().member().unwrap().to_string(), unit, process, reason, bytes)
        })
        .collect();
    let told: Vec<_> = told.iter().map(|t| (t.0.as_str(), t.1.as_str(), t.2.as_str(), t.3.as_str(), t.4)).collect();
    let bytes = 300 << 20;
    assert_eq!(
        told,
        [
            ("AboutToKill", "app-mail-7.scope", "", "swap-full", bytes),
            ("Killed", "app-mail-7.scope", "Web Content", "swap-full", bytes)
        ]
    );
}

#[test]
fn the_warning_is_a_property_and_a_signal_for_everybody() {
    let Some(bus) = Bus::start() else { return };
    let link = bus.connect();
    let fovea = Proxy::new(&link, "org.fovea1", "/org/fovea1", "org.fovea1").unwrap();
    assert_eq!(fovea.get_property::<u8>("Pressure").unwrap(), 0);
    let mut pressure = fovea.receive_signal("Pressure").unwrap();
    let mut changes = fovea.receive_property_changed::<u8>("Pressure");
    bus.happens(News::Warning { level: 100 });
    assert_eq!(pressure.next().unwrap().body().deserialize::<u8>().unwrap(), 100);
    let changed = std::iter::from_fn(|| changes.next()).map(|change| change.get().unwrap()).find(|&level| level > 0);
    assert_eq!(changed, Some(100));
    let properties = Proxy::new(&link, "org.fovea1", "/org/fovea1", "org.freedesktop.DBus.Properties").unwrap();
    let all: HashMap<String, OwnedValue> = properties.call("GetAll", &("org.fovea1")).unwrap();
    assert_eq!(*all["Pressure"], Value::U8(100));
    assert_eq!(*all["OnlyDecides"], Value::Bool(false));
    // A warning that is not repeated is over.
    assert_eq!(pressure.next().unwrap().body().deserialize::<u8>().unwrap(), 0);
}

/// The lines of a child.
fn lines(command: &mut Command) -> Option<(Running, std::io::Lines<BufReader<ChildStdout>>)> {
    let mut child = Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().ok()?);
    let lines = BufReader::new(child.0.stdout.take()?).lines();
    Some((child, lines))
}

/// GLib's own client, as GTK's programs and WebKit have it.
const MONITOR: &str = "
import gi, sys
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib
monitor = Gio.MemoryMonitor.dup_default()
loop = GLib.MainLoop()
def warned(_, level):
    print(int(level), flush=True)
    if level == 255: loop.quit()
monitor.connect('low-memory-warning', warned)
# Its own watch is answered before this one, which was asked for later; and what it then asks the bus for before this call.
link = Gio.bus_get_sync(Gio.BusType.SYSTEM)
def appeared(*_):
    driver = 'org.freedesktop.DBus'
    link.call_sync(driver, '/org/freedesktop/DBus', driver, 'GetId', None, None, 0, -1, None)
    print(type(monitor).__name__, flush=True)
start = Gio.BusNameWatcherFlags.AUTO_START
Gio.bus_watch_name_on_connection(link, 'org.freedesktop.LowMemoryMonitor', start, appeared, None)
GLib.timeout_add_seconds(100, sys.exit, 'nothing was heard')
loop.run()
";

#[test]
fn glibs_memory_monitor_hears_the_warnings_in_its_levels() {
    let Some(bus) = Bus::start() else { return };
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-u", "-c", MONITOR]).env("DBUS_SYSTEM_BUS_ADDRESS", bus.address());
    let mut there = Command::new("/usr/bin/python3");
    there.args(["-c", "from gi.repository import Gio; Gio.MemoryMonitor"]).stderr(Stdio::null());
    if !there.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: no GMemoryMonitor for Python here; install the package python3-gi");
        return;
    }
    let (_monitor, lines) = lines(&mut python).unwrap();
    let (to, heard) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| to.send(line)));
    let kind = heard.recv().unwrap();
    assert!(kind.contains("MemoryMonitor"), "{kind}");
    // GLib goes on asking the bus after it knows the name, and hears nothing until it has all answers.
    let mut first = None;
    while first.is_none() {
        bus.happens(News::Warning { level: 50 });
        first = heard.recv_timeout(std::time::Duration::from_millis(500)).ok();
    }
    assert_eq!(first.as_deref(), Some("50"));
    for level in [100, 255] {
        bus.happens(News::Warning { level });
        let next = heard.iter().find(|line| line != "50");
        assert_eq!(next, Some(level.to_string()));
    }
}

/// How often all threads of a process have been woken.
fn wakes(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        switches.trim().parse::<u64>().unwrap()
    };
    tasks.map(of).sum()
}

#[test]
fn it_is_nobody_and_sleeps_while_nothing_happens_and_ends_with_the_daemon() {
    let Some(mut bus) = Bus::start() else { return };
    let pid = bus.program.0.id();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    if is_root() {
        assert!(status.contains("Uid:\t65534\t65534\t65534\t65534\n"), "{status}");
        assert!(status.contains("CapPrm:\t0000000000000000\n") && status.contains("NoNewPrivs:\t1\n"), "{status}");
    }
    // After the last client's end, which the bus tells of nobody, nothing comes: the time measured is what is asked, not a wait for something.
    let window = std::time::Duration::from_secs(3);
    std::thread::sleep(window);
    let before = wakes(pid);
    std::thread::sleep(window);
    assert_eq!(wakes(pid) - before, 0, "wake-ups in {window:?}");
    let Bus { daemon, .. } = &bus;
    rustix::net::shutdown(daemon, rustix::net::Shutdown::Both).unwrap();
    assert_eq!(bus.program.0.wait().unwrap().code(), Some(1), "the unit starts it anew");
}
