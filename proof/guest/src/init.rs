// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The first process: brings the phone up, follows the plan (or gives a shell), and switches the machine off.

use std::process::Command;

use fovea_apps::AppName;
use fovea_scenario::{EventBody, Plan};

use crate::channel::Channel;
use crate::daemon::JOURNAL;
use crate::outcome::{read_file, At, Outcome};
use crate::phone::Phone;
use crate::readings::{cgroup_cpu_ns, cpu_times, now_ns, psi_full_ns, Memory};
use crate::restore::Baseline;
use crate::setup::{cgroup_path, DAEMON};
use crate::{desktop, flash, guard, merging, prefetch, reserved, setup, sound};

/// Word on the kernel's command line that asks for a shell instead of the plan's steps.
const SHELL_WORD: &str = "fovea.shell";

/// Runs; does not return, since a kernel panics without its first process.
pub fn run() -> ! {
    let channel = match Channel::open() {
        Ok(channel) => channel,
        Err(error) => {
            eprintln!("fovea-guest: {error}");
            std::process::exit(1);
        }
    };
    // A defect in here must end the machine with a word, not as a kernel panic.
    end(&channel, std::panic::catch_unwind(up_and_down))
}

/// Reports a failure, and switches the machine off.
pub fn end(channel: &Channel, result: std::thread::Result<Outcome<()>>) -> ! {
    let result = result.unwrap_or_else(|_| Err("the guest's program panicked: see the console".into()));
    if let Err(error) = &result {
        eprintln!("fovea-guest: failed: {error}");
        // The channel cannot fail for a plain event; the exit status tells in any case.
        let _ = channel.emit(EventBody::Failed { error: error.clone() });
    }
    channel.exit(result.is_ok());
}

/// The plan that came with the image.
pub fn plan() -> Outcome<Plan> {
    let plan: Plan = serde_json::from_str(&read_file("/plan.json")?).at(|| "/plan.json".into())?;
    for app in &plan.apps {
        app.name.parse::<AppName>().at(|| "/plan.json".into())?;
    }
    Ok(plan)
}

fn up_and_down() -> Outcome<()> {
    setup::mounts()?;
    setup::short_page_lists()?;
    let plan = plan()?;
    setup::lack_modules(&plan.lacks.modules)?;
    setup::modules(&plan)?;
    if let Some(swap) = plan.desktop {
        return desktop::boot::run(&plan, swap);
    }
    setup::cgroups()?;
    let began = now_ns();
    flash::set_up(&plan)?;
    reserved::begin(&plan)?;
    merging::begin(&plan)?;
    guard::keep_recent(&plan)?;
    guard::install(&plan)?;
    if plan.configuration.tiering.is_some() {
        setup::debugfs()?;
    }
    println!(
        "fovea-guest: flash filled in {} ms, read-ahead {} KiB",
        (now_ns() - began) / 1_000_000,
        flash::read_ahead_kib()?
    );
    let shell = setup::command_line()?.split_ascii_whitespace().any(|word| word == SHELL_WORD);
    let before = Baseline::take()?;
    let mut phone = Phone::new(Channel::open()?, plan)?;
    ready(&phone)?;
    if phone.plan.sound {
        sound::start()?;
    }
    phone.start_daemon()?;
    phone.start_zygote()?;
    phone.start_guard()?;
    prefetch::begin(&phone.plan)?;
    if shell {
        return run_shell();
    }
    phone.baseline = Some(before);
    fovea_scenario::follow::follow(&mut phone)?;
    finish(&mut phone)
}

/// Reports that the guest is up.
pub fn ready(phone: &Phone) -> Outcome<()> {
    let memory = Memory::read()?;
    phone.channel.emit(EventBody::Ready {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        memory_total_bytes: memory.total,
        user_memory_bytes: memory.available,
    })
}

/// Reports what the daemon wrote and did.
fn finish(phone: &mut Phone) -> Outcome<()> {
    let (mut kills, mut daemon_cpu_ns) = (journal(phone)?, cgroup_cpu_ns(&cgroup_path(DAEMON))?);
    if let Some(guard) = &phone.guard {
        kills += guard.kills;
        daemon_cpu_ns += guard.cpu_ns()?;
    }
    if let Some(full_ns) = psi_full_ns() {
        phone.channel.emit(EventBody::Stalled { full_ns })?;
    }
    prefetch::report(phone)?;
    phone.channel.emit(EventBody::Worked(cpu_times()?))?;
    phone.channel.emit(EventBody::Done { oom_kills: phone.oom_kills()?, kills, daemon_cpu_ns })
}

/// Forwards the daemon's journal; returns how often it killed.
pub fn journal(phone: &Phone) -> Outcome<u64> {
    let mut kills = 0;
    // A daemon that had nothing to do may have written nothing.
    for line in std::fs::read_to_string(JOURNAL).unwrap_or_default().lines() {
        // The last line may be torn by a violent death; it is forwarded as it stands.
        let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| line.into());
        kills += u64::from(is_kill(&entry));
        phone.channel.emit(EventBody::Journal { entry })?;
    }
    Ok(kills)
}

fn is_kill(entry: &serde_json::Value) -> bool {
    entry.get("action").and_then(|action| action.as_str()) == Some("kill")
}

fn run_shell() -> Outcome<()> {
    println!("fovea-guest: a shell of the virtual phone; `exit` switches it off");
    // A session of its own with the console as its terminal, so that Ctrl-C reaches what runs in it.
    let status = Command::new("/bin/busybox")
        .args(["setsid", "-c", "/bin/busybox", "sh", "-l"])
        .env("PATH", "/bin:/sbin:/usr/bin:/usr/sbin")
        .env("HOME", "/tmp")
        .env("TERM", "linux")
        .stdin(console()?)
        .stdout(console()?)
        .stderr(console()?)
        .status()
        .at(|| "running /bin/busybox sh".into())?;
    println!("fovea-guest: the shell ended with {status}");
    Ok(())
}

/// The serial console as a terminal; /dev/console cannot be a controlling one.
fn console() -> Outcome<std::fs::File> {
    let path = if cfg!(target_arch = "x86_64") { "/dev/ttyS0" } else { "/dev/ttyAMA0" };
    std::fs::OpenOptions::new().read(true).write(true).open(path).at(|| format!("opening {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fovea_scenario::Step;
    use serde_json::json;

    #[test]
    fn only_kill_entries_count() {
        assert!(is_kill(&json!({"action": "kill", "app": "x"})));
        assert!(!is_kill(&json!({"action": "compress"})));
        assert!(!is_kill(&json!({"note": "kill"})));
        assert!(!is_kill(&json!("torn {\"action\":\"kill\"")));
    }

    #[test]
    fn every_step_is_read_as_plans_write_it() {
        let steps: Vec<Step> = serde_json::from_value(json!([
            {"do": "open", "app": "mail"}, {"do": "start", "app": "phone"}, {"do": "home"}, {"do": "close", "app": "mail"},
            {"do": "screen", "on": false}, {"do": "wait", "ns": 5}, {"do": "settle", "limit_ns": 7},
            {"do": "fill", "app": "mail", "available_bytes": 9}, {"do": "sample", "label": "x"},
            {"do": "idle-check", "ns": 3}, {"do": "kill-daemon"}, {"do": "check-frozen"}
        ]))
        .unwrap();
        assert_eq!(steps.len(), 12);
        assert_eq!(steps[7], Step::Fill { app: "mail".into(), available_bytes: 9 });
        assert!(serde_json::from_value::<Step>(json!({"do": "open", "ap": "mail"})).is_err());
        assert!(serde_json::from_value::<Step>(json!({"do": "dance"})).is_err());
    }
}
