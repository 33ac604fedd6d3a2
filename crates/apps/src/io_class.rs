// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The I/O class of an app (Aciom11, figure 2), and the reason for it.

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
    /// Its name, in the configuration and in messages to dm-aciom alike.
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

/// Why an app has its class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassBy {
    /// It is on the list `ignore`.
    Ignored,
    /// Its user chose the class.
    Said,
    /// It plays or records sound, or uses a camera.
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
    /// Why it has that class.
    pub by: ClassBy,
    /// The class depends on whether the app is seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_place: bool,
}

impl Classified {
    fn new(class: IoClass, by: ClassBy, importance: Option<Importance>) -> Classified {
        let by_place = class == IoClass::ForegroundDependent;
        let class = match (class, importance) {
            // Nobody tells which app is in the foreground: it might be this one, so its requests are not held.
            (IoClass::ForegroundDependent, None) => IoClass::Plain,
            (IoClass::ForegroundDependent, Some(Importance::Foreground | Importance::Visible)) => {
                IoClass::TimeSensitive
            }
            (IoClass::ForegroundDependent, Some(_)) => IoClass::Bursty,
            (class, _) => class,
        };
        Classified { class, by, by_place }
    }
}

impl Default for Classified {
    /// Of an app about which nothing is known.
    fn default() -> Self {
        Classified { class: IoClass::Plain, by: ClassBy::NothingKnown, by_place: false }
    }
}

impl fmt::Display for Classified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match (self.by_place, self.class) {
            (false, _) => "",
            (true, IoClass::TimeSensitive) => " and is seen",
            (true, IoClass::Plain) => ", and nobody tells who is seen",
            (true, _) => " and is not seen",
        };
        write!(f, "{}: {}{place}", self.class, self.by)
    }
}

/// All that an app's class depends on.
#[derive(Clone, Copy, Debug)]
pub struct Traits<'a> {
    /// The class that its user chose.
    pub said: Option<IoClass>,
    /// Why it is perceptible, if it is. An inhibitor alone says that its work must not be interrupted (a backup); it says
    /// nothing about deadlines.
    pub heard: Option<Perceived>,
    /// The services that it uses.
    pub services: &'a [&'a Service],
    /// How much it matters; none if no focus source tells which apps are seen.
    pub importance: Option<Importance>,
}

/// The class of an app (Aciom11, section 3). The first of these that holds: what its user chose; sound or a camera; the most
/// demanding service that it uses; whether it is seen.
pub fn classify(app: &Traits) -> Classified {
    let classified = |class, by| Classified::new(class, by, app.importance);
    if let Some(class) = app.said {
        return classified(class, ClassBy::Said);
    }
    if let Some(perceived) = app.heard.filter(|&perceived| perceived != Perceived::Inhibits) {
        return classified(IoClass::TimeSensitive, ClassBy::Heard(perceived));
    }
    // An app that plays and downloads must not miss a frame because of the download.
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
