// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Commands that only tell the daemon something.

use std::path::Path;

use clap::ValueEnum;
use fovea_apps::AppName;
use fovea_client::protocol::{Reply, Request};

use crate::failure::Failure;

/// State of the screen.
#[derive(Clone, Copy, ValueEnum)]
pub enum ScreenState {
    /// On.
    On,
    /// Off.
    Off,
}

/// Sends a request that is answered with "done".
pub fn tell(run_folder: &Path, request: &Request) -> Result<(), Failure> {
    match fovea_client::request(run_folder, request)? {
        Reply::Done {} => Ok(()),
        Reply::Error { error } => Err(Failure::Failed(error)),
        other => Err(Failure::failed(format!("unexpected answer {other:?}: is the daemon of another version?"))),
    }
}

pub fn focus(run_folder: &Path, app: AppName) -> Result<(), Failure> {
    tell(run_folder, &Request::Focus { app })
}

pub fn home(run_folder: &Path) -> Result<(), Failure> {
    tell(run_folder, &Request::Home {})
}

pub fn close(run_folder: &Path, app: AppName) -> Result<(), Failure> {
    tell(run_folder, &Request::Close { app })
}

pub fn screen(run_folder: &Path, state: ScreenState) -> Result<(), Failure> {
    tell(run_folder, &Request::Screen { on: matches!(state, ScreenState::On) })
}

/// For systemd's ExecStopPost and for people: works without a daemon, and only without one.
pub fn restore(run_folder: &Path, wait: bool) -> Result<(), Failure> {
    let complaints = fovea_daemon::restore_alone(run_folder, wait).map_err(Failure::Failed)?;
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(complaints.join("; "))),
    }
}
