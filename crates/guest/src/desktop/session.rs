// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who plays the user and the user's shell: a service of the system's that starts apps in scopes of the user's, and tells who is in front.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use fovea_client::protocol::Request;
use fovea_scenario::{AppProfile, Daemon, EventBody, Load, Plan};

use crate::channel::Channel;
use crate::init;
use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::readings::{cgroup_cpu_ns, field_after};
use crate::setup::{cgroup_path, short_page_lists};
use crate::spawn::{self, Setting, User};
use crate::wire;

/// The user's systemd, with all that it starts.
const MANAGER: &str = "user.slice/user-1000.slice/user@1000.service";

/// The user. A shell that the user's systemd started has 200 (100 of its own, and 100 for services), and hands that on to apps.
const USER: User<'static> = User { id: 1000, environment: &ENVIRONMENT, oom_score_adj: 200 };
const ENVIRONMENT: [&CStr; 2] =
    [c"XDG_RUNTIME_DIR=/run/user/1000", c"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus"];

/// What the shell keeps.
#[derive(Debug, Default)]
pub struct Session {
    /// Apps started: each unit has a name of its own.
    started: u32,
    /// What the app in front has waited for memory until its last interaction, by its cgroup's account.
    pub stalled_ns: u64,
    /// Apps and builds that ended otherwise than by the kernel's OOM killer.
    pub kills: u64,
}

impl Session {
    /// Starts an app's process as a desktop's shell does: by the user's systemd, in a scope. Its PID, its socket, its cgroup.
    pub fn spawn(&mut self, profile: &AppProfile) -> Outcome<(u32, OwnedFd, String)> {
        self.started += 1;
        let (slice, unit) = match profile.load {
            Some(Load::Build { .. }) => ("background.slice", format!("{}-{}.scope", profile.name, self.started)),
            _ => ("app.slice", format!("app-{}-{}.scope", profile.name, self.started)),
        };
        // A process of the user's systemd's own, which it may move.
        let path = cgroup_path(MANAGER).join("init.scope");
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let (socket, theirs) = wire::pair()?;
        let (slice_arg, unit_arg) = (format!("--slice={slice}"), format!("--unit={unit}"));
        let args = ["systemd-run", "--user", "--scope", "--quiet", "--collect", &slice_arg, &unit_arg, "/init", "app"];
        let setting = Setting { socket: Some(&theirs), user: Some(USER), ..Setting::default() };
        let pid = spawn::exec_into(&cgroup, Path::new("/usr/bin/systemd-run"), &args, setting)?;
        Ok((pid, socket, format!("{MANAGER}/{slice}/{unit}")))
    }
}

/// An app's window comes to the front; all that a new one's cgroup has waited for memory was the user's waiting.
pub fn show(phone: &mut Phone, name: &str, new: bool) -> Outcome<()> {
    let Some(app) = phone.apps.get(name) else { return Ok(()) };
    let (pid, stalled_ns) = (app.pid, stalled_ns(&app.cgroup));
    if let Some(session) = &mut phone.desktop {
        session.stalled_ns = if new { 0 } else { stalled_ns };
    }
    if phone.plan.configuration.daemon == Daemon::Absent {
        return Ok(());
    }
    phone.daemon.insist(&Request::Windows { front: Some(pid), visible: vec![pid] })
}

/// How long every process of a cgroup has waited for memory at once; nothing if it is gone.
pub fn stalled_ns(cgroup: &str) -> u64 {
    let text = std::fs::read_to_string(cgroup_path(cgroup).join("memory.pressure")).unwrap_or_default();
    field_after(&text, "full ", "total=").unwrap_or(0) * 1000
}

/// Runs as a service of the system's; ends the machine.
pub fn run() -> ! {
    let channel = match Channel::open() {
        Ok(channel) => channel,
        Err(error) => {
            eprintln!("fovea-guest: {error}");
            std::process::exit(1);
        }
    };
    init::end(&channel, std::panic::catch_unwind(follow))
}

fn follow() -> Outcome<()> {
    // SAFETY: takes no pointer. What plays the user must not wait for memory itself.
    if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } != 0 {
        return Err(format!("mlockall: {}", std::io::Error::last_os_error()));
    }
    short_page_lists()?;
    let plan = init::plan()?;
    let mut phone = Phone::new(Channel::open()?, plan)?;
    init::ready(&phone)?;
    if phone.plan.configuration.daemon != Daemon::Absent && !phone.daemon.connect()? {
        return Err("the daemon does not answer: see the console".into());
    }
    must_run(&phone.plan)?;
    let followed = fovea_scenario::follow::follow(&mut phone);
    show_logs(&phone.plan);
    followed?;
    must_run(&phone.plan)?;
    finish(&mut phone)
}

/// A program that does not run would be compared as the kernel alone.
fn must_run(plan: &Plan) -> Outcome<()> {
    plan.configuration.guards().try_for_each(|unit| {
        let output =
            Command::new("/usr/bin/systemctl").args(["is-active", unit]).output().at(|| "running systemctl".into())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{unit} is {}: see the console", String::from_utf8_lossy(&output.stdout).trim())),
        }
    })
}

/// What systemd's journal has of the program that is compared, on the console.
fn show_logs(plan: &Plan) {
    let none = plan.configuration.guard.is_none().then_some("fovea-session.service");
    for unit in plan.configuration.guards().chain(none) {
        let status =
            Command::new("/usr/bin/journalctl").args(["--no-pager", "--output=short-monotonic", "-u", unit]).status();
        if let Err(error) = status {
            println!("fovea-guest: no journal of {unit}: {error}");
        }
    }
}

fn finish(phone: &mut Phone) -> Outcome<()> {
    if phone.plan.configuration.daemon != Daemon::Absent {
        init::journal(phone)?;
    }
    let daemon_cpu_ns = match phone.plan.configuration.guards().next() {
        Some(unit) => cgroup_cpu_ns(&cgroup_path("system.slice").join(unit))?,
        None => 0,
    };
    let kills = phone.desktop.as_ref().map_or(0, |session| session.kills);
    phone.channel.emit(EventBody::Done { oom_kills: phone.oom_kills()?, kills, daemon_cpu_ns })
}
