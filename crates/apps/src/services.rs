// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The table of services (Aciom11, figure 2): how it shows that an app uses one, and what its I/O needs then.

use serde::{Deserialize, Serialize};

use crate::{IoClass, Pattern};

/// The table's own rows.
const BUILT_IN: &str = include_str!("services.toml");

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Its name, as `fovea explain` prints it.
    pub name: String,
    /// What the I/O of those who use it needs.
    pub class: IoClass,
    /// Programs, as the kernel names them (15 bytes at most): who is connected to one by a unix socket uses the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Pattern>,
    /// Device nodes: who has one open uses the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Pattern>,
    /// Names on the session's message bus: who has one uses the service, or is it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Pattern>,
}

impl Service {
    /// Whether a program of that name serves it.
    pub fn is_peer(&self, program: &str) -> bool {
        self.peers.iter().any(|pattern| pattern.fits(program))
    }

    /// Whether a name on a message bus is one of its own.
    pub fn is_name(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| pattern.fits(name))
    }

    /// Whether that device node is one of its own.
    pub fn is_device(&self, node: &str) -> bool {
        self.devices.iter().any(|pattern| pattern.fits(node))
    }
}

/// The section `[services]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Services {
    /// Whether the built-in rows count.
    pub built_in: bool,
    /// Rows of the device's owner; one of a built-in row's name takes its place.
    pub row: Vec<Service>,
}

impl Default for Services {
    fn default() -> Self {
        Self { built_in: true, row: Vec::new() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    row: Vec<Service>,
}

impl Services {
    /// The rows that come with Fovea.
    pub fn built_in_rows() -> Vec<Service> {
        // A test reads it.
        toml_edit::de::from_str::<Rows>(BUILT_IN).map(|rows| rows.row).unwrap_or_default()
    }

    /// All rows that count.
    pub fn rows(&self) -> Vec<Service> {
        let built_in = if self.built_in { Self::built_in_rows() } else { Vec::new() };
        let kept = built_in.into_iter().filter(|row| self.row.iter().all(|own| own.name != row.name));
        kept.chain(self.row.iter().cloned()).collect()
    }

    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        /// What is looked for at each look, so not without bound.
        const ROWS_MAX: usize = 64;
        let is_named = |row: &Service| (1..=64).contains(&row.name.len()) && !row.name.contains(char::is_control);
        match () {
            () if self.row.len() > ROWS_MAX => Err(("row", "may be given 64 times at most")),
            () if !self.row.iter().all(is_named) => Err(("row.name", "must be 1 to 64 printable characters")),
            () if self.row.iter().any(|row| row.devices.iter().any(|node| !node.as_str().starts_with("/dev/"))) => {
                Err(("row.devices", "must begin with /dev/"))
            }
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rows_are_read_and_make_sense() {
        let rows = toml_edit::de::from_str::<Rows>(BUILT_IN).unwrap().row;
        assert!(!rows.is_empty());
        assert_eq!(Services { built_in: false, row: rows.clone() }.check(), Ok(()));
        for row in &rows {
            let is_used = !row.peers.is_empty() || !row.devices.is_empty() || !row.names.is_empty();
            assert!(is_used, "{}: nobody could use it", row.name);
            assert!(row.peers.iter().all(|peer| peer.as_str().len() <= 15), "{}: the kernel cuts names", row.name);
        }
        let names: std::collections::BTreeSet<_> = rows.iter().map(|row| &row.name).collect();
        assert_eq!(names.len(), rows.len(), "a row is replaced by its name");
    }

    #[test]
    fn an_owners_row_takes_the_place_of_the_one_of_its_name() {
        let own = |name: &str, class| Service {
            name: name.into(),
            class,
            peers: vec!["mine*".parse().unwrap()],
            devices: Vec::new(),
            names: Vec::new(),
        };
        let first = Services::built_in_rows().remove(0).name;
        let services =
            Services { built_in: true, row: vec![own(&first, IoClass::Plain), own("mine", IoClass::Bursty)] };
        let rows = services.rows();
        assert_eq!(rows.len(), Services::built_in_rows().len() + 1);
        assert_eq!(rows.iter().filter(|row| row.name == first).count(), 1);
        assert!(rows.iter().any(|row| row.name == first && row.class == IoClass::Plain && row.is_peer("mine2")));
        assert_eq!(Services { built_in: false, ..services }.rows().len(), 2);
    }

    #[test]
    fn rows_that_make_no_sense_are_refused() {
        let of = |name: &str, device: &str| Services {
            built_in: true,
            row: vec![Service {
                name: name.into(),
                class: IoClass::Plain,
                peers: Vec::new(),
                devices: vec![device.parse().unwrap()],
                names: Vec::new(),
            }],
        };
        assert_eq!(of("a", "/dev/snd/pcm*").check(), Ok(()));
        assert_eq!(of("a", "/etc/passwd").check().unwrap_err().0, "row.devices");
        assert_eq!(of("", "/dev/x").check().unwrap_err().0, "row.name");
        let many = Services { built_in: true, row: vec![of("a", "/dev/x").row.remove(0); 65] };
        assert_eq!(many.check().unwrap_err().0, "row");
    }
}
