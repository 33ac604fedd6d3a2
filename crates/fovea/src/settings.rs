// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which configuration is in force, and which run folder by it: every command that speaks to the daemon or undoes what it did must agree with it.

use std::path::{Path, PathBuf};

use fovea_client::protocol::RUN_FOLDER;
use fovea_daemon::{Config, Loaded};

use crate::failure::Failure;

/// The distribution's configuration, and the owner's, which are read when no file is named. A later one's keys go before an earlier one's.
const VENDOR_FOLDER: &str = "/usr/lib/fovea";
const OWNERS_FILE: &str = "/etc/fovea.toml";

/// What the command line says of them.
pub struct Settings {
    config: Option<PathBuf>,
    run_folder: Option<PathBuf>,
}

impl Settings {
    pub fn new(config: Option<PathBuf>, run_folder: Option<PathBuf>) -> Self {
        Self { config, run_folder }
    }

    /// The files that there are, looked for each time, for they may come while the daemon runs. Beside one that the command line names the
    /// vendor's are not read.
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.config {
            Some(named) => fovea_daemon::config_files(None, named),
            None => fovea_daemon::config_files(Some(Path::new(VENDOR_FOLDER)), Path::new(OWNERS_FILE)),
        }
    }

    /// The configuration, and the keys in it that nobody knows.
    pub fn read(&self) -> Result<Loaded, Failure> {
        let loaded = Loaded::read(&self.files()).map_err(|e| Failure::failed(e.to_string()))?;
        Ok(self.at_home(loaded))
    }

    /// The configuration.
    pub fn load(&self) -> Result<Config, Failure> {
        self.read().map(|loaded| loaded.config)
    }

    /// The configuration that the daemon starts with, whatever is wrong with the file. The copy of the last good one is in the folder that the
    /// service manager gives for what lasts (systemd.exec(5), StateDirectory=), else in the run folder.
    pub fn guarded(&self) -> Loaded {
        let state = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
        let folder = state.or_else(|| self.run_folder.clone()).unwrap_or_else(|| RUN_FOLDER.into());
        let mut loaded = Loaded::guarded(&self.files(), &folder.join("last-good"));
        let configured = &loaded.config.daemon.run_folder;
        if self.run_folder.is_none() {
            if let Err(e) = std::fs::create_dir_all(configured) {
                let folder = configured.display();
                loaded.problems.push(format!("daemon.run_folder: {folder}: {e}: it is {RUN_FOLDER} instead"));
                loaded.config.daemon.run_folder = RUN_FOLDER.into();
            }
        }
        self.at_home(loaded)
    }

    /// The configuration again, for a daemon that runs: one that cannot be used is an error; one that can is kept.
    pub fn read_again(&self) -> Result<Loaded, String> {
        self.read().map_err(Failure::line)?;
        Ok(self.guarded())
    }

    /// With the run folder that the command line names.
    fn at_home(&self, mut loaded: Loaded) -> Loaded {
        if let Some(folder) = &self.run_folder {
            loaded.config.daemon.run_folder.clone_from(folder);
        }
        loaded
    }

    /// The configuration that was named, if one was.
    #[cfg(feature = "lab")]
    pub fn named(&self) -> Result<Option<Config>, Failure> {
        self.config.is_some().then(|| self.load()).transpose()
    }

    /// The run folder alone, for those who need no more: a file that is broken or not theirs to read does not keep them from the usual one, and
    /// neither does a folder that cannot be: the daemon is not there then either.
    pub fn run_folder(&self) -> PathBuf {
        let configured =
            || Some(Loaded::read(&self.files()).ok()?.config.daemon.run_folder).filter(|folder| folder.is_dir());
        self.run_folder.clone().or_else(configured).unwrap_or_else(|| RUN_FOLDER.into())
    }
}
