// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea launch`: a cgroup, and exec as the user who asked.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use fovea_apps::{scope_of_app, AppName, IoClass, Role, OWN_SLICE};
use fovea_client::protocol::Request;
use fovea_client::tell;
use fovea_linux::System;
use rustix::process::{Gid, Uid};

use crate::failure::Failure;

/// What to launch.
#[derive(Args)]
pub struct Launch {
    /// The app's name.
    name: AppName,
    /// What its I/O needs.
    #[arg(long, value_name = "CLASS")]
    class: Option<Class>,
    /// What it is when it is not on the screen.
    #[arg(long, value_name = "ROLE", default_value = "app")]
    role: RoleArgument,
    /// Bring it to the screen at once.
    #[arg(long)]
    focus: bool,
    /// Let the kernel merge its pages, and those of all that it starts, with equal pages of other apps. Such apps can find out which pages they
    /// share.
    #[arg(long)]
    merge: bool,
    /// Command and arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Class {
    TimeSensitive,
    Bursty,
    Plain,
    ForegroundDependent,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleArgument {
    App,
    Visible,
    Service,
    ContentProvider,
}

impl Class {
    fn io_class(self) -> IoClass {
        match self {
            Class::TimeSensitive => IoClass::TimeSensitive,
            Class::Bursty => IoClass::Bursty,
            Class::Plain => IoClass::Plain,
            Class::ForegroundDependent => IoClass::ForegroundDependent,
        }
    }
}

impl RoleArgument {
    fn role(self) -> Role {
        match self {
            RoleArgument::App => Role::App,
            RoleArgument::Visible => Role::Visible,
            RoleArgument::Service => Role::Service,
            RoleArgument::ContentProvider => Role::ContentProvider,
        }
    }
}

/// Becomes the command, as the user who asked, in a cgroup of the app's own: a scope of the user's systemd where there is one, where the
/// daemon finds it by its name; else one that root makes.
pub fn launch(run_folder: &Path, launch: Launch) -> Result<(), Failure> {
    let user = User::asking()?;
    if launch.merge {
        // Inherited by what this process becomes, and by what that forks.
        fovea_linux::register_for_merging().map_err(|e| Failure::Lacks(e.to_string()))?;
    }
    if user.has_manager() {
        return in_scope(&launch, &user);
    }
    in_own_slice(run_folder, &launch)?;
    let program = &launch.command[0];
    let mut command = Command::new(program);
    command.args(&launch.command[1..]);
    user.become_it(&mut command)?;
    let error = command.exec();
    Err(Failure::failed(format!("{}: {error}: name a program that can be run", program.to_string_lossy())))
}

fn in_scope(launch: &Launch, user: &User) -> Result<(), Failure> {
    let said = launch.focus || launch.class.is_some() || launch.role.role() != Role::App;
    if said {
        return Err(Failure::Usage(
            "--focus, --class and --role are for apps of a device without systemd: here the app is found by itself"
                .into(),
        ));
    }
    let mut command = scope_command(launch, std::process::id());
    command.env("XDG_RUNTIME_DIR", user.run_folder());
    user.become_it(&mut command)?;
    let error = command.exec();
    Err(Failure::Lacks(format!("systemd-run: {error}: install systemd, which this machine runs")))
}

fn scope_command(launch: &Launch, tag: u32) -> Command {
    let mut command = Command::new("systemd-run");
    command.args(["--user", "--scope", "--quiet", "--collect", "--slice=app.slice"]);
    command.arg(format!("--unit={}", scope_of_app(&launch.name, tag))).arg("--").args(&launch.command);
    command
}

/// Moves this very process into the app's cgroup, so that every page is charged there from the first, and tells the daemon.
fn in_own_slice(run_folder: &Path, launch: &Launch) -> Result<(), Failure> {
    let system = System::new().map_err(|e| Failure::Failed(e.to_string()))?;
    let mount = system.cgroup_mount().map_err(|e| Failure::Lacks(e.to_string()))?;
    // Before anything is made: a cgroup of an app that nobody knows would be left behind.
    fovea_client::request(run_folder, &Request::status())?;
    let cgroup = format!("{OWN_SLICE}/{}", launch.name);
    let folder = mount.join(&cgroup);
    let failed =
        |path: PathBuf| move |e: std::io::Error| Failure::failed(format!("{}: {e}: run as root", path.display()));

    fs::create_dir_all(&folder).map_err(failed(folder.clone()))?;
    let procs = folder.join("cgroup.procs");
    if !fs::read_to_string(&procs).map_err(failed(procs.clone()))?.trim().is_empty() {
        let name = &launch.name;
        return Err(Failure::failed(format!(
            "an app named {name} is already running: `fovea focus {name}` brings it to the screen"
        )));
    }
    for level in [mount.clone(), mount.join(OWN_SLICE)] {
        let control = level.join("cgroup.subtree_control");
        for controller in ["+memory", "+io"] {
            // A controller that is missing here is named by `fovea check`.
            let _ = fs::write(&control, controller);
        }
    }
    // A killed app that was frozen leaves its cgroup frozen.
    let freezer = folder.join("cgroup.freeze");
    fs::write(&freezer, "0").map_err(failed(freezer))?;
    fs::write(&procs, std::process::id().to_string()).map_err(failed(procs))?;
    let io_class = launch.class.map(Class::io_class);
    let app = launch.name.clone();
    tell(run_folder, &Request::Register { app: app.clone(), cgroup, role: launch.role.role(), io_class })?;
    if launch.focus {
        tell(run_folder, &Request::Focus { app })?;
    }
    Ok(())
}

/// Whose app it is: under sudo the user who called it, for whom the app's files and screen are.
#[derive(Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
    /// Whether this process is somebody else.
    other: bool,
}

impl User {
    fn asking() -> Result<User, Failure> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let said = |name: &str| std::env::var(name).ok();
        match (uid, said("SUDO_UID"), said("SUDO_GID")) {
            (0, Some(uid), Some(gid)) => match (uid.parse(), gid.parse()) {
                (Ok(uid), Ok(gid)) => Ok(User { uid, gid, other: uid != 0 }),
                _ => Err(Failure::failed(format!(
                    "SUDO_UID={uid} SUDO_GID={gid} name nobody: unset them to run as root"
                ))),
            },
            _ => Ok(User { uid, gid, other: false }),
        }
    }

    fn run_folder(&self) -> PathBuf {
        format!("/run/user/{}", self.uid).into()
    }

    /// Whether the user's systemd runs.
    fn has_manager(&self) -> bool {
        Path::new("/run/systemd/system").exists() && self.run_folder().join("systemd/private").exists()
    }

    fn become_it(&self, command: &mut Command) -> Result<(), Failure> {
        if !self.other {
            return Ok(());
        }
        // With the groups that give the sound card and the screen.
        let listed = Command::new("id").arg("-G").arg(self.uid.to_string()).output();
        let groups: Vec<Gid> = listed
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default()
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok().map(Gid::from_raw))
            .collect();
        let failed = |e: rustix::io::Errno| Failure::failed(format!("becoming user {}: {e}: run as root", self.uid));
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        rustix::thread::set_thread_groups(&groups).map_err(failed)?;
        rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(failed)?;
        rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(failed)?;
        for name in ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND"] {
            command.env_remove(name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        launch: Launch,
    }

    #[test]
    fn a_scope_is_asked_for_under_a_name_that_discovery_understands() {
        let line = Line::parse_from(["launch", "my-maps", "--", "gnome-maps", "--fullscreen"]);
        let command = scope_command(&line.launch, 77);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args[..5], ["--user", "--scope", "--quiet", "--collect", "--slice=app.slice"]);
        assert_eq!(args[5..], ["--unit=app-fovea-my\\x2dmaps-77.scope", "--", "gnome-maps", "--fullscreen"]);
    }
}
