// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the device's owner says of single apps: spare this one, take that one first. Which apps are meant is decided here, what it means for
//! them in `policy`.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Importance;

/// An app's standing with the owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// On no list: its importance decides.
    #[default]
    Plain,
    /// Killed before others of its importance.
    Prefer,
    /// Killed only when nothing else gives memory.
    Avoid,
    /// Never killed, never frozen.
    Protect,
    /// Left alone in every respect.
    Ignore,
}

impl Standing {
    /// The lists, the one that counts most first: an app that is on several is treated with the most care.
    pub const LISTS: [Standing; 4] = [Standing::Ignore, Standing::Protect, Standing::Avoid, Standing::Prefer];

    /// The list's name.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Plain => "plain",
            Standing::Prefer => "prefer",
            Standing::Avoid => "avoid",
            Standing::Protect => "protect",
            Standing::Ignore => "ignore",
        }
    }

    /// Whether its owner wants it neither killed nor frozen.
    pub fn is_spared(self) -> bool {
        matches!(self, Standing::Protect | Standing::Ignore)
    }

    /// The `oom_score_adj` of an app of that importance: the kernel's OOM killer is to choose as the daemon would.
    pub fn oom_score_adj(self, importance: Importance) -> i32 {
        /// Less than the distance between any two classes.
        const PREFERRED: i32 = 25;
        match self {
            Standing::Plain => importance.oom_score_adj(),
            Standing::Prefer => importance.oom_score_adj() + PREFERRED,
            Standing::Avoid | Standing::Protect | Standing::Ignore => 0,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A shell-style pattern (`*`, `?`, `[a-z]`, `[!a-z]`) for an app's name, its systemd unit or a program. One with a slash is compared with
/// programs' whole paths, any other also with their base names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(glob::Pattern);

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadPattern {
    /// It would match nothing, or cannot be shown.
    #[error("pattern {0:?} is not 1 to 256 printable characters: name an app, a unit or a program")]
    Unprintable(String),
    /// It is no glob.
    #[error("pattern {text:?}, character {at}: {what}: write [*], [?] or [[] for the character itself")]
    Broken {
        /// The text.
        text: String,
        /// Which character of it, from 1.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

impl Pattern {
    /// The longest pattern, in bytes.
    pub const MAX_BYTES: usize = 256;

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it means a text, all of it.
    pub fn fits(&self, text: &str) -> bool {
        self.0.matches(text)
    }

    fn is_path(&self) -> bool {
        self.as_str().contains('/')
    }
}

impl TryFrom<String> for Pattern {
    type Error = BadPattern;
    fn try_from(text: String) -> Result<Self, BadPattern> {
        if !(1..=Self::MAX_BYTES).contains(&text.len()) || text.trim().is_empty() || text.contains(char::is_control) {
            return Err(BadPattern::Unprintable(text.chars().take(64).collect()));
        }
        match glob::Pattern::new(&text) {
            Ok(pattern) => Ok(Self(pattern)),
            Err(e) => Err(BadPattern::Broken { text, at: e.pos + 1, what: e.msg }),
        }
    }
}

impl std::str::FromStr for Pattern {
    type Err = BadPattern;
    fn from_str(text: &str) -> Result<Self, BadPattern> {
        Self::try_from(text.to_owned())
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.0.as_str().to_owned()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The four lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lists {
    /// Never killed, never frozen.
    pub protect: Vec<Pattern>,
    /// Killed only when nothing else gives memory.
    pub avoid: Vec<Pattern>,
    /// Killed before others of their importance.
    pub prefer: Vec<Pattern>,
    /// No app of ours.
    pub ignore: Vec<Pattern>,
}

/// What an app is known by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name that its unit gives it, which another app may have come to first.
    pub label: Option<&'a str>,
    /// Its cgroup.
    pub cgroup: &'a str,
    /// The programs of its processes, the oldest process first.
    pub programs: &'a [String],
}

/// What whoever made a unit says of killing it: systemd's `ManagedOOMPreference=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// [`Standing::Avoid`] or [`Standing::Protect`].
    pub standing: Standing,
    /// The attribute that says so.
    pub attribute: String,
    /// Whose word it is: the owner of the cgroup.
    pub uid: u32,
}

impl Preference {
    /// It as an entry of a list. Root's word holds for everybody. A user's own holds only among his own units: no other
    /// user's app is to die because he spares his.
    pub fn entry(self, is_among_own: bool) -> Option<Listed> {
        let list = self.standing;
        let pattern = self.attribute.parse().ok()?;
        (self.uid == 0 || is_among_own).then_some(Listed { list, pattern })
    }
}

/// Which entry of which list an app is meant by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The list.
    pub list: Standing,
    /// The entry.
    pub pattern: Pattern,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.list, self.pattern)
    }
}

impl Lists {
    /// The patterns of a list; none of [`Standing::Plain`], which is no list.
    pub fn of(&self, list: Standing) -> &[Pattern] {
        match list {
            Standing::Plain => &[],
            Standing::Prefer => &self.prefer,
            Standing::Avoid => &self.avoid,
            Standing::Protect => &self.protect,
            Standing::Ignore => &self.ignore,
        }
    }

    /// The same to be changed.
    pub fn of_mut(&mut self, list: Standing) -> Option<&mut Vec<Pattern>> {
        match list {
            Standing::Plain => None,
            Standing::Prefer => Some(&mut self.prefer),
            Standing::Avoid => Some(&mut self.avoid),
            Standing::Protect => Some(&mut self.protect),
            Standing::Ignore => Some(&mut self.ignore),
        }
    }

    /// Whether nothing is on them.
    pub fn is_empty(&self) -> bool {
        Standing::LISTS.iter().all(|&list| self.of(list).is_empty())
    }

    /// The entry that an app is meant by: of several, that of the most careful list.
    ///
    /// A program counts wherever it runs in the app, for whatever is done to the app is done to it. Only to be preferred an app must have been
    /// started as that program: a terminal is no compiler because one runs in it. Flatpak starts every app as its sandbox, and most by a
    /// script: there any program counts.
    pub fn entry(&self, app: &Identity) -> Option<Listed> {
        Standing::LISTS.into_iter().find_map(|list| {
            let programs = match list {
                Standing::Prefer if !is_sandboxed(app.programs) => &app.programs[..app.programs.len().min(1)],
                _ => app.programs,
            };
            let pattern = self.of(list).iter().find(|pattern| means(pattern, app, programs))?;
            Some(Listed { list, pattern: pattern.clone() })
        })
    }
}

/// Whether the oldest process is Flatpak's sandbox (as distributions have it, or Flatpak's own copy).
fn is_sandboxed(programs: &[String]) -> bool {
    let base = programs.first().and_then(|path| path.rsplit('/').next());
    matches!(base, Some("bwrap" | "flatpak-bwrap"))
}

fn means(pattern: &Pattern, app: &Identity, programs: &[String]) -> bool {
    let is = |text: &str| pattern.0.matches(text);
    if pattern.is_path() {
        return programs.iter().any(|path| is(path));
    }
    let unit = app.cgroup.rsplit('/').next().unwrap_or_default();
    let base = |path: &String| is(path.rsplit('/').next().unwrap_or_default());
    is(app.name) || app.label.is_some_and(is) || is(unit) || programs.iter().any(base)
}

#[cfg(test)]
#[path = "lists_tests.rs"]
mod tests;
