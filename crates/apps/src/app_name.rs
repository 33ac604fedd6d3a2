// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Names of apps.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An app's name: 1 to 64 characters of `[A-Za-z0-9._@+-]`, not starting with a dot or a dash, so that it can stand in a cgroup's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AppName(String);

/// A text that is no app name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "app name {0:?} is not 1 to 64 characters of A-Z a-z 0-9 . _ @ + - (no leading dot or dash): choose another name"
)]
pub struct BadName(pub String);

impl AppName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// A name for any text, always the same for the same text.
    pub fn of_label(label: &str) -> AppName {
        crate::place::name_of_label(label)
    }

    /// A name that was made to fit.
    pub(crate) fn known_good(text: String) -> AppName {
        debug_assert!(Self::try_from(text.clone()).is_ok(), "{text:?}");
        Self(text)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AppName {
    type Error = BadName;
    fn try_from(text: String) -> Result<Self, BadName> {
        let fits = (1..=Self::MAX_BYTES).contains(&text.len())
            && !text.starts_with(['.', '-'])
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@+-".contains(&b));
        if fits {
            Ok(Self(text))
        } else {
            // A hostile name must not flood the log.
            Err(BadName(text.chars().take(Self::MAX_BYTES).collect()))
        }
    }
}

impl std::str::FromStr for AppName {
    type Err = BadName;
    fn from_str(text: &str) -> Result<Self, BadName> {
        Self::try_from(text.to_owned())
    }
}

impl From<AppName> for String {
    fn from(name: AppName) -> String {
        name.0
    }
}

impl fmt::Display for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
