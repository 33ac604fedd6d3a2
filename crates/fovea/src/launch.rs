// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea launch`: a cgroup, a word to the daemon, and exec.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fovea_apps::{AppName, IoClass, Role};
use fovea_daemon::protocol::Request;
use fovea_linux::System;

use crate::failure::Failure;
use crate::signals::tell;

/// Slice of the apps launched by this command.
const SLICE: &str = "fovea.slice";

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

/// Moves this very process into the app's cgroup, so that every page is charged there from the first, and becomes the command.
pub fn launch(run_folder: &Path, launch: Launch) -> Result<(), Failure> {
    let system = System::new().map_err(|e| Failure::Failed(e.to_string()))?;
    let mount = system.cgroup_mount().map_err(|e| Failure::Lacks(e.to_string()))?;
    // Before anything is made: a cgroup of an app that nobody knows would be left behind.
    fovea_daemon::request(run_folder, &Request::Status {})?;
    let cgroup = format!("{SLICE}/{}", launch.name);
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
    for level in [mount.clone(), mount.join(SLICE)] {
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
    let program = &launch.command[0];
    let error = std::process::Command::new(program).args(&launch.command[1..]).exec();
    Err(Failure::failed(format!("{}: {error}: name a program that can be run", program.to_string_lossy())))
}
