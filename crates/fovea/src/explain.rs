// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea explain`: the journal in words.

use std::path::Path;

use fovea_apps::AppName;
use fovea_client::protocol::{Reply, Request};
use fovea_client::words::sentence;
use fovea_client::ClientError;

use crate::failure::Failure;
use crate::output::{print_json_line, print_line};

/// Prints an app's story, oldest entry first.
pub fn explain(run_folder: &Path, app: Option<AppName>, limit: usize, json: bool) -> Result<(), Failure> {
    let request = Request::Explain { app: app.clone(), limit: Some(limit), uid: None };
    let entries = match fovea_client::request(run_folder, &request)? {
        Reply::Story { entries } => entries,
        other => return Err(ClientError::from(other).into()),
    };
    if entries.is_empty() {
        let whom = app.map_or("anything".into(), |a| format!("{a}"));
        return Err(Failure::failed(format!("the journal says nothing of {whom}: see `fovea status` for the names")));
    }
    for entry in &entries {
        match json {
            true => print_json_line(entry)?,
            false => print_line(sentence(entry))?,
        }
    }
    Ok(())
}
