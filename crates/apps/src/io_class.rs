// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! I/O class of an app (Aciom11, figure 2), and what it is by.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Importance, Perceived, Service};

/// What an app's I/O needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoClass {
    /// Misses a deadline that the user notices (video, audio, camera).
    TimeSensitive,
    /// Takes all it can get and can wait (download, backup, indexing).
    Bursty,
    /// Neither.
    Plain,
    /// Time-sensitive in the foreground, bursty in the background.
    ForegroundDependent,
}

impl IoClass {
    /// Its name, which is the kernel's as well.
    pub fn name(self) -> &'static str {
        match self {
            IoClass::TimeSensitive => "time-sensitive",
            IoClass::Bursty => "bursty",
            IoClass::Plain => "plain",
            IoClass::ForegroundDependent => "foreground-dependent",
        }
    }
}

impl fmt::Display for IoClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an app's class is by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassBy {
    /// Its owner wants nothing done to it.
    Ignored,
    /// Its user said so.
    Said,
    /// It is heard or records.
    Heard(Perceived),
    /// It uses a service of that name.
    Service(String),
    /// It uses no service that is known.
    NothingKnown,
}

impl fmt::Display for ClassBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassBy::Ignored => f.write_str("it is on the list ignore"),
            ClassBy::Said => f.write_str("its user said so"),
            ClassBy::Heard(perceived) => write!(f, "it {perceived}"),
            ClassBy::Service(name) => write!(f, "it uses {name}"),
            ClassBy::NothingKnown => f.write_str("it uses no service that is known"),
        }
    }
}

/// The class that an app has now: time-sensitive, bursty or plain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classified {
    /// The class, never [`IoClass::ForegroundDependent`].
    pub class: IoClass,
    /// What it is by.
    pub by: ClassBy,
    /// It would be another one if the app were in front, or were not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_place: bool,
}

impl Classified {
    fn new(class: IoClass, by: ClassBy, importance: Importance) -> Classified {
        let by_place = class == IoClass::ForegroundDependent;
        let seen = importance <= Importance::Visible;
        let class = match class {
            IoClass::ForegroundDependent if seen => IoClass::TimeSensitive,
            IoClass::ForegroundDependent => IoClass::Bursty,
            class => class,
        };
        Classified { class, by, by_place }
    }
}

impl Default for Classified {
    /// As of an app of which nothing is known, not even where it is.
    fn default() -> Self {
        Classified { class: IoClass::Plain, by: ClassBy::NothingKnown, by_place: false }
    }
}

impl fmt::Display for Classified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match (self.by_place, self.class) {
            (false, _) => "",
            (true, IoClass::TimeSensitive) => " and is seen",
            (true, _) => " and is not seen",
        };
        write!(f, "{}: {}{place}", self.class, self.by)
    }
}

/// What is known of an app that its class depends on.
#[derive(Clone, Copy, Debug)]
pub struct Traits<'a> {
    /// What its user said.
    pub said: Option<IoClass>,
    /// By which sound or camera it is heard or records. An inhibitor alone says that what it does is not to be broken off, a backup say, and
    /// nothing of deadlines.
    pub heard: Option<Perceived>,
    /// The services that it uses.
    pub services: &'a [&'a Service],
    /// Whether it is seen.
    pub importance: Importance,
}

/// The class of an app (Aciom11, section 3): what its user says, else the service it uses whose needs are the greatest, else whether it is seen.
pub fn classify(app: &Traits) -> Classified {
    let classified = |class, by| Classified::new(class, by, app.importance);
    if let Some(class) = app.said {
        return classified(class, ClassBy::Said);
    }
    if let Some(perceived) = app.heard.filter(|&perceived| perceived != Perceived::Inhibits) {
        return classified(IoClass::TimeSensitive, ClassBy::Heard(perceived));
    }
    // Who plays and downloads must not miss a frame for the download's sake. A service that does no I/O of note says least.
    const ORDER: [IoClass; 4] = [IoClass::TimeSensitive, IoClass::Bursty, IoClass::ForegroundDependent, IoClass::Plain];
    let place = |service: &&Service| ORDER.iter().position(|&class| class == service.class);
    match app.services.iter().copied().min_by_key(place) {
        Some(service) => classified(service.class, ClassBy::Service(service.name.clone())),
        None => classified(IoClass::ForegroundDependent, ClassBy::NothingKnown),
    }
}

#[cfg(test)]
#[path = "io_class_tests.rs"]
mod tests;
