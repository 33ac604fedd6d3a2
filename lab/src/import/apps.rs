// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Names of apps in place of a trace's threads: `NAME=PATTERN`, for formats that know a thread's name and number and no more, so that
//! one game is hundreds of them.

use std::{fmt, str::FromStr};

use fovea_apps::Pattern;

use crate::Error;

/// An app, and what its threads are called in the trace.
#[derive(Clone, Debug)]
pub struct AppRule {
    app: String,
    threads: Pattern,
}

impl AppRule {
    /// The app that the first rule names which fits; the name itself if none does.
    pub(super) fn app_of<'a>(rules: &'a [AppRule], name: &'a str) -> &'a str {
        rules.iter().find(|rule| rule.threads.fits(name)).map_or(name, |rule| &rule.app)
    }
}

impl FromStr for AppRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Usage(format!("app {text:?}: {what}; write NAME=PATTERN, as game='Unity*'"));
        let (app, threads) = text.split_once('=').ok_or_else(|| wrong("no pattern"))?;
        if app.trim().is_empty() || app.contains(char::is_control) {
            return Err(wrong("no name"));
        }
        Ok(AppRule { app: app.to_owned(), threads: threads.parse().map_err(|e| wrong(&format!("{e}")))? })
    }
}

impl fmt::Display for AppRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.app, self.threads)
    }
}
