// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What people install against a shortage of memory, where a phone is compared with it: a program that ends apps, and a setting of MGLRU.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use fovea_apps::Importance;
use fovea_linux::top_app::oom_score_adj;
use fovea_linux::Root;
use fovea_scenario::{Daemon, Plan};
use rustix::fs::{removexattr, setxattr, XattrFlags};
use rustix::io::Errno;

use crate::managed_oom::Desk;
use crate::outcome::{write_file, At, Outcome};
use crate::phone::Phone;
use crate::readings::cgroup_cpu_ns;
use crate::setup::cgroup_path;
use crate::spawn::{self, Setting};

const CGROUP: &str = "system/guard";
const MIN_TTL: &str = "/sys/kernel/mm/lru_gen/min_ttl_ms";

/// How a program that ends apps is started.
#[derive(Debug)]
struct Program {
    name: &'static str,
    path: &'static str,
    /// Those of its unit and its file in Debian's /etc/default.
    args: &'static [&'static str],
    /// With these it looks at its configuration and ends. Python compiles what it imports, as it does when a package is installed.
    trial: Option<&'static [&'static str]>,
    /// It goes by cgroups and their attributes, and not by what the kernel is told of processes.
    by_cgroup: bool,
}

/// It asks systemd what to watch, which is not there.
const SYSTEMD_OOMD: &str = "systemd-oomd";

const PROGRAMS: [Program; 4] = [
    Program { name: "earlyoom", path: "/usr/bin/earlyoom", args: &["-r", "3600"], trial: None, by_cgroup: false },
    Program {
        name: "nohang",
        path: "/usr/sbin/nohang",
        args: &["--monitor", "--config", "/etc/nohang/nohang.conf"],
        trial: Some(&["--check", "--config", "/etc/nohang/nohang.conf"]),
        by_cgroup: false,
    },
    Program {
        name: "oomd",
        path: "/usr/bin/oomd",
        args: &["--interval", "1", "--config", "/etc/oomd/oomd.json"],
        trial: None,
        by_cgroup: true,
    },
    Program { name: SYSTEMD_OOMD, path: "/usr/lib/systemd/systemd-oomd", args: &[], trial: None, by_cgroup: true },
];

/// What oomd and systemd-oomd read at an app's cgroup: it is the first to go (which systemd-oomd does not know), or the last.
const PREFER: &str = "user.oomd_prefer";
const AVOID: &str = "user.oomd_avoid";

/// A program that ends apps.
#[derive(Debug)]
pub struct Guard {
    program: &'static Program,
    /// Its process.
    pub pid: u32,
    /// Apps that ended by a signal which the kernel's OOM killer did not send.
    pub kills: u64,
    /// What systemd-oomd asked over.
    _asked: Option<UnixStream>,
}

impl Guard {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.program.name
    }

    /// CPU time it has taken.
    pub fn cpu_ns(&self) -> Outcome<u64> {
        cgroup_cpu_ns(&cgroup_path(CGROUP))
    }
}

impl Phone {
    /// Starts the program that the configuration names, if it does.
    pub fn start_guard(&mut self) -> Outcome<()> {
        let Some(program) = program(&self.plan)? else { return Ok(()) };
        let path = cgroup_path(CGROUP);
        std::fs::create_dir(&path).at(|| format!("making {}", path.display()))?;
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let args: Vec<&str> = std::iter::once(program.name).chain(program.args.iter().copied()).collect();
        let desk = if program.name == SYSTEMD_OOMD { Some(Desk::open()?) } else { None };
        let pid = spawn::exec_into(&cgroup, Path::new(program.path), &args, Setting::default())?;
        let asked = desk.map(Desk::answer).transpose()?;
        self.guard = Some(Guard { program, pid, kills: 0, _asked: asked });
        Ok(())
    }

    /// Tells a program that goes by cgroups who matters, which the daemon has just told the kernel, if it does.
    pub fn tell_guard(&self) -> Outcome<()> {
        let by_cgroup = self.guard.as_ref().is_some_and(|guard| guard.program.by_cgroup);
        if !by_cgroup || self.plan.configuration.daemon != Daemon::Ranks {
            return Ok(());
        }
        let root = Root::at("/");
        for app in self.apps.values() {
            // One that has just ended needs nothing.
            let Some(adj) = oom_score_adj(&root, app.pid) else { continue };
            let (prefer, avoid) = preference(adj);
            let path = cgroup_path(&app.cgroup);
            for (name, wanted) in [(PREFER, prefer), (AVOID, avoid)] {
                let done = match wanted {
                    true => setxattr(&path, name, b"1", XattrFlags::empty()),
                    false => removexattr(&path, name),
                };
                match done {
                    Ok(()) | Err(Errno::NODATA | Errno::NOENT) => {}
                    Err(error) => return Err(format!("{name} of {}: {error}", path.display())),
                }
            }
        }
        Ok(())
    }
}

/// Whether an app of such a rank is to be preferred or avoided: nobody misses what was closed, and nobody wants to lose what he sees, hears, or is served by.
fn preference(adj: i32) -> (bool, bool) {
    let before = |importance: Importance| adj < importance.oom_score_adj();
    (!before(Importance::ContentProvider), before(Importance::Hidden))
}

/// The program that the configuration names.
fn program(plan: &Plan) -> Outcome<Option<&'static Program>> {
    let Some(wanted) = plan.configuration.guard.as_deref() else { return Ok(None) };
    let known = PROGRAMS.iter().find(|program| program.name == wanted);
    known.map(Some).ok_or_else(|| format!("nobody knows how {wanted} is started here"))
}

/// Has the program come to be as it is once it is installed.
pub fn install(plan: &Plan) -> Outcome<()> {
    let Some((program, trial)) = program(plan)?.and_then(|program| Some((program, program.trial?))) else {
        return Ok(());
    };
    let trial = Command::new(program.path).args(trial).stdout(Stdio::null()).status();
    match trial.at(|| format!("starting {}", program.path))? {
        status if status.success() => Ok(()),
        status => Err(format!("{} ended with {status}: see the console", program.path)),
    }
}

/// Has MGLRU keep for so long what was used, if the configuration says so.
pub fn keep_recent(plan: &Plan) -> Outcome<()> {
    match plan.configuration.min_ttl_ms {
        Some(ms) => write_file(MIN_TTL, &ms.to_string()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_apps_are_preferred_and_what_a_person_notices_is_avoided() {
        let of = |importance: Importance| preference(importance.oom_score_adj());
        let (prefer, neither, avoid) = ((true, false), (false, false), (false, true));
        let all = Importance::ALL.map(of);
        assert_eq!(all, [avoid, avoid, avoid, neither, prefer, prefer]);
        assert_eq!(preference(-1000), avoid);
    }
}
