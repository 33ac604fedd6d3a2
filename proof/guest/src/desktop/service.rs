// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who plays the user and the user's shell: a service of the system's that follows the plan, and tells who is in front.

use std::process::Command;

use fovea_client::protocol::Request;
use fovea_scenario::{Daemon, EventBody, Plan};

use super::session::stalled_ns;
use crate::channel::Channel;
use crate::init;
use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::readings::cgroup_cpu_ns;
use crate::setup::{cgroup_path, short_page_lists};

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
    let daemon_cpu_ns = match phone.plan.configuration.guards().next() {
        Some(unit) => cgroup_cpu_ns(&cgroup_path("system.slice").join(unit))?,
        None => 0,
    };
    super::outside::finish(phone)?;
    if phone.plan.configuration.daemon != Daemon::Absent {
        init::journal(phone)?;
    }
    let kills = phone.desktop.as_ref().map_or(0, |session| session.kills);
    phone.channel.emit(EventBody::Done { oom_kills: phone.oom_kills()?, kills, daemon_cpu_ns })
}
