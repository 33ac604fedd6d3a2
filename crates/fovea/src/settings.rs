// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which configuration is in force, and which run folder by it: every command that speaks to the daemon or undoes what it did must agree with it.

use std::path::PathBuf;

use fovea_client::protocol::RUN_FOLDER;
use fovea_daemon::Config;

use crate::failure::Failure;

/// The configuration file that is read when none is named.
const DEFAULT_CONFIG: &str = "/etc/fovea.toml";

/// What the command line says of them.
pub struct Settings {
    config: Option<PathBuf>,
    /// Somebody named it.
    named: bool,
    run_folder: Option<PathBuf>,
}

impl Settings {
    pub fn new(config: Option<PathBuf>, run_folder: Option<PathBuf>) -> Self {
        let default = PathBuf::from(DEFAULT_CONFIG);
        Self { named: config.is_some(), config: config.or_else(|| default.exists().then_some(default)), run_folder }
    }

    /// The configuration.
    pub fn load(&self) -> Result<Config, Failure> {
        let mut config = match &self.config {
            Some(path) => Config::load(path).map_err(|e| Failure::failed(e.to_string()))?,
            None => Config::default(),
        };
        if let Some(folder) = &self.run_folder {
            config.daemon.run_folder.clone_from(folder);
        }
        Ok(config)
    }

    /// The configuration that was named, if one was.
    pub fn named(&self) -> Result<Option<Config>, Failure> {
        self.named.then(|| self.load()).transpose()
    }

    /// Whether a configuration that was named makes sense.
    pub fn check(&self) -> Result<(), Failure> {
        self.named().map(drop)
    }

    /// The run folder alone, for those who need no more: a file that is broken or not theirs to read does not keep them from the usual one.
    pub fn run_folder(&self) -> PathBuf {
        let configured = || self.config.as_ref().and_then(|path| Config::load(path).ok()).map(|c| c.daemon.run_folder);
        self.run_folder.clone().or_else(configured).unwrap_or_else(|| RUN_FOLDER.into())
    }
}
