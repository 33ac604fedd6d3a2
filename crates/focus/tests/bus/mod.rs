// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A message bus (dbus-daemon) of a test's own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use fovea_focus::{Event, Source, SourceError};
use nix::sys::socket::UnixAddr;
use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::connection::Timeout;
use rustbus::message_builder::MarshalledMessage;
use rustbus::{standard_messages, RpcConn};

/// Nothing here depends on this time: a test that would hang fails instead.
pub const HANGS: Duration = Duration::from_secs(120);

const CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy></busconfig>"#;

/// Ends its bus whatever becomes of the test.
pub struct Bus(Child, PathBuf);

impl Bus {
    /// `None` if dbus-daemon is not installed.
    pub fn start(folder: &Path) -> Option<Bus> {
        Self::start_with(folder, "")
    }

    /// One on which nobody may hear the others.
    #[allow(dead_code)]
    pub fn start_without_monitors(folder: &Path) -> Option<Bus> {
        Self::start_with(folder, r#"<deny send_interface="org.freedesktop.DBus.Monitoring"/>"#)
    }

    fn start_with(folder: &Path, rule: &str) -> Option<Bus> {
        let (socket, file) = (folder.join("bus"), folder.join("bus.conf"));
        let text =
            CONFIGURATION.replace("SOCKET", socket.to_str().unwrap()).replace("</policy>", &format!("{rule}</policy>"));
        std::fs::write(&file, text).unwrap();
        let child = Command::new("dbus-daemon")
            .args(["--nofork", "--nopidfile", "--print-address=1", "--config-file"])
            .arg(file)
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("SKIPPED: no dbus-daemon here; install the package dbus-daemon");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("unix:"), "{line}");
        Some(Bus(child, socket))
    }

    pub fn address(&self) -> String {
        format!("unix:path={}", self.1.display())
    }

    pub fn connect(&self) -> RpcConn {
        let address = UnixAddr::new(&self.1).unwrap();
        RpcConn::connect_to_path(address, Timeout::Duration(HANGS)).unwrap()
    }

    /// A connection that has a name.
    #[allow(dead_code)]
    pub fn connect_as(&self, name: &str) -> RpcConn {
        let mut link = self.connect();
        let serial = send(&mut link, &mut standard_messages::request_name(name, 0));
        link.wait_response(serial, Timeout::Duration(HANGS)).unwrap();
        link
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn send(link: &mut RpcConn, message: &mut MarshalledMessage) -> u32 {
    link.send_message(message).unwrap().write_all().map_err(force_finish_on_error).unwrap()
}

/// What a source tells, and why it ended.
#[allow(dead_code)]
pub fn watch(mut source: impl Source + 'static) -> (mpsc::Receiver<Event>, std::thread::JoinHandle<SourceError>) {
    let (to, events) = mpsc::channel();
    (events, std::thread::spawn(move || source.watch(&mut |event| to.send(event).unwrap())))
}
