// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real daemon beside apps that play, film or hold an inhibitor: devices of sound and video are files here, the login manager is played.

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::app::App;
use common::{fovea, run, until, Client, Daemon};
use nix::sys::socket::UnixAddr;
use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::connection::Timeout;
use rustbus::params::{Array, Base, Container, Param};
use rustbus::{standard_messages, MessageType, RpcConn};

/// Ends a process whatever becomes of the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A daemon that freezes what is hidden at once, with sound and video devices below its folder's `media`.
fn daemon() -> Daemon {
    Daemon::start_with(|command, folder| {
        let media = folder.join("media");
        fs::create_dir_all(media.join("dev/snd")).unwrap();
        fs::create_dir_all(media.join("proc/asound/card0/pcm0p/sub0")).unwrap();
        for file in ["dev/snd/pcmC0D0p", "dev/snd/controlC0", "dev/video0"] {
            fs::write(media.join(file), "").unwrap();
        }
        fs::write(media.join("proc/asound/card0/pcm0p/sub0/status"), "closed\n").unwrap();
        let config = format!(
            "[zram]\nenabled = false\n[daemon]\ndiscover = false\nmedia_root = {media:?}\n\
             [freeze]\nclasses = [\"hidden\"]\ndebounce_ms = 1\n"
        );
        fs::write(folder.join("fovea.toml"), config).unwrap();
        command.stderr(File::create(folder.join("stderr")).unwrap());
    })
}

fn register(client: &Client, name: &str, app: &App) {
    let cgroup = &app.cgroup;
    client.say(&format!(r#"{{"request":"register","app":"{name}","cgroup":"{cgroup}"}}"#));
}

fn show_and_leave(client: &Client, name: &str) {
    client.say(&format!(r#"{{"request":"focus","app":"{name}"}}"#));
    client.say(r#"{"request":"home"}"#);
}

/// Why an app is perceptible, once that is the case or no more. Each status looks again: on a loaded machine the probe is late now and then,
/// and what was known then stays.
fn until_perceptible(daemon: &Daemon, name: &str, wanted: Option<&str>) {
    let is_so = || {
        let status = daemon.status();
        let app = status["apps"].as_array().unwrap().iter().find(|app| app["name"] == name).unwrap();
        app.get("perceptible").and_then(|by| by.as_str()) == wanted
    };
    until(&|| format!("{name} is never {wanted:?}: {}", daemon.status()), is_so);
}

fn story(daemon: &Daemon, name: &str) -> String {
    String::from_utf8(run(&daemon.run_folder(), &["explain", name]).stdout).unwrap()
}

#[test]
fn who_plays_is_left_alone_until_he_stops_and_the_story_says_so() {
    let (Some(music), Some(game)) = (App::new("music"), App::new("game")) else { return };
    let daemon = daemon();
    let media = daemon.folder.path().join("media");
    let status = media.join("proc/asound/card0/pcm0p/sub0/status");
    let stream = media.join("dev/snd/pcmC0D0p");
    let playing = format!("state: RUNNING\nowner_pid   : {}\n", music.process.id());
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"attend","name":"test"}"#);
    register(&client, "music", &music);
    register(&client, "game", &game);
    // As a player does: the kernel has written down who it is by the time that the device has been opened.
    fs::write(&status, playing).unwrap();
    let open = File::open(&stream).unwrap();
    // What cannot be read in time stays as it was known: so it must be known.
    until_perceptible(&daemon, "music", Some("plays-sound"));
    show_and_leave(&client, "music");
    show_and_leave(&client, "game");
    game.until_frozen(&daemon);
    assert!(!music.is_frozen(), "{}{}", story(&daemon, "music"), daemon.stderr());
    assert!(story(&daemon, "music").contains("it plays sound, and is left alone"));
    fs::write(&status, "closed\n").unwrap();
    drop(open);
    // Nobody asks the daemon anything: closing the device is what wakes it.
    music.until_frozen_unasked();
    assert!(story(&daemon, "music").contains("not any more"));
    daemon.stop();
}

#[test]
fn who_opens_a_camera_is_noticed_and_left_alone() {
    let Some(camera) = App::new("camera") else { return };
    let daemon = daemon();
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"attend","name":"test"}"#);
    register(&client, "camera", &camera);
    until_perceptible(&daemon, "camera", None);
    let mut child = Ends(camera.opens(&daemon.folder.path().join("media/dev/video0")));
    until_perceptible(&daemon, "camera", Some("uses-video"));
    show_and_leave(&client, "camera");
    until_perceptible(&daemon, "camera", Some("uses-video"));
    assert!(!camera.is_frozen());
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    camera.until_frozen(&daemon);
    daemon.stop();
}

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy></busconfig>"#;

/// Nothing here depends on this time: a test that would hang fails instead.
const HANGS: Timeout = Timeout::Duration(std::time::Duration::from_secs(120));

/// A login manager that knows one inhibitor, and answers until its thread's bus is gone.
fn play_logind(socket: &Path, pid: u32) -> RpcConn {
    let mut bus = RpcConn::connect_to_path(UnixAddr::new(socket).unwrap(), HANGS).unwrap();
    let mut name = standard_messages::request_name("org.freedesktop.login1", 0);
    let serial = bus.send_message(&mut name).unwrap().write_all().map_err(force_finish_on_error).unwrap();
    bus.wait_response(serial, HANGS).unwrap();
    let text = |text: &str| Param::Base(Base::String(text.to_owned()));
    let number = |number| Param::Base(Base::Uint32(number));
    let fields = vec![text("sleep"), text("backup"), text("copying"), text("block"), number(0), number(pid)];
    let element_sig = rustbus::signature::Type::parse_description("(ssssuu)").unwrap().remove(0);
    let list = Param::Container(Container::Array(Array {
        element_sig,
        values: vec![Param::Container(Container::Struct(fields))],
    }));
    // The seat, which nobody is logged in at, and then the list.
    loop {
        let call = bus.wait_call(HANGS).unwrap();
        assert_eq!(call.typ, MessageType::Call);
        let is_list = call.dynheader.member.as_deref() == Some("ListInhibitors");
        let mut reply = match is_list {
            true => call.dynheader.make_response(),
            false => standard_messages::unknown_method(&call.dynheader),
        };
        if is_list {
            reply.body.push_old_param(&list).unwrap();
        }
        bus.send_message(&mut reply).unwrap().write_all().map_err(force_finish_on_error).unwrap();
        if is_list {
            return bus;
        }
    }
}

#[test]
fn who_holds_an_inhibitor_is_left_alone_for_as_long_as_somebody_tells() {
    let Some(backup) = App::new("backup") else { return };
    let daemon = daemon();
    let folder = daemon.folder.path();
    let (socket, file) = (folder.join("bus"), folder.join("bus.conf"));
    fs::write(&file, BUS.replace("SOCKET", socket.to_str().unwrap())).unwrap();
    let bus = Command::new("dbus-daemon")
        .args(["--nofork", "--nopidfile", "--print-address=1", "--config-file"])
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(bus) = bus else {
        println!("skipped: no dbus-daemon here; install the package dbus-daemon");
        return;
    };
    let mut bus = Ends(bus);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(bus.0.stdout.take().unwrap()), &mut line).unwrap();
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"attend","name":"test"}"#);
    register(&client, "backup", &backup);
    let address = format!("unix:path={}", socket.display());
    let watching = fovea(&daemon.run_folder()).args(["source", "--wait", "logind", "--bus", &address]).spawn().unwrap();
    let watching = Ends(watching);
    let _logind = play_logind(&socket, backup.process.id());
    until_perceptible(&daemon, "backup", Some("inhibits"));
    show_and_leave(&client, "backup");
    until_perceptible(&daemon, "backup", Some("inhibits"));
    assert!(!backup.is_frozen());
    assert!(story(&daemon, "backup").contains("it holds an inhibitor"));
    drop(watching);
    until_perceptible(&daemon, "backup", None);
    backup.until_frozen(&daemon);
    daemon.stop();
}
