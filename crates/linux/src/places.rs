// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is on this machine, by the map of all cgroups: whether there is any app to work on.

use std::collections::BTreeMap;
use std::path::Path;

use fovea_apps::{holds_units, place_of_cgroup, Kind, Place};

use crate::cgroup::Cgroups;
use crate::check::{missing, Finding};
use crate::file::read_into;

/// Units looked at.
const UNITS_MAX: usize = 8192;

#[derive(Default)]
struct Census {
    units: BTreeMap<Place, usize>,
    /// Logins' own scopes.
    logins: Vec<String>,
    looked: usize,
}

/// Counts the units that have a process, by their places.
pub(crate) fn look(cgroups: Option<&Cgroups>) -> Finding {
    let Some(cgroups) = cgroups else { return missing("no cgroup v2", "mount cgroup v2") };
    let mut census = Census::default();
    count(cgroups.mount(), "", &mut census);
    let words: Vec<_> = census.units.iter().map(|(place, count)| format!("{count} {}", place.name())).collect();
    let found = if words.is_empty() { "no unit of systemd's or of a login".to_owned() } else { words.join(", ") };
    match (census.units.contains_key(&Place::App), census.logins.first()) {
        (true, _) => Finding::Present(found),
        (false, Some(login)) => missing(
            format!("{found}; {login} runs its programs in the login's own scope, as desktops do that leave units out"),
            "have a window source make apps of them (fovea-source(1)), or start them with `fovea launch`",
        ),
        (false, None) => missing(
            format!("{found}; nobody has logged in, or there is no systemd and no elogind"),
            "log in, or start apps with `fovea launch`",
        ),
    }
}

fn count(mount: &Path, above: &str, census: &mut Census) {
    let mut text = Vec::new();
    for entry in std::fs::read_dir(mount.join(above)).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || census.looked >= UNITS_MAX {
            continue;
        }
        census.looked += 1;
        let cgroup = if above.is_empty() { name } else { format!("{above}/{name}") };
        if holds_units(&cgroup) {
            count(mount, &cgroup, census);
            continue;
        }
        let events = read_into(&entry.path().join("cgroup.events"), &mut text);
        if events.is_err() || !text.split(|&b| b == b'\n').any(|line| line == b"populated 1") {
            continue;
        }
        let placed = place_of_cgroup(&cgroup);
        *census.units.entry(placed.place).or_default() += 1;
        if placed.kind() == Some(Kind::Login) {
            census.logins.push(cgroup.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Root;

    fn machine(units: &[&str]) -> Finding {
        let root = tempfile::tempdir().unwrap();
        let mount = root.path().join("sys/fs/cgroup");
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let mountinfo = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        for unit in units {
            std::fs::create_dir_all(mount.join(unit)).unwrap();
            std::fs::write(mount.join(unit).join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        }
        std::fs::create_dir_all(mount.join("system.slice/ended.service")).unwrap();
        std::fs::write(mount.join("system.slice/ended.service/cgroup.events"), "populated 0\nfrozen 0\n").unwrap();
        look(Cgroups::find(&Root::at(root.path())).ok().as_ref())
    }

    #[test]
    fn a_machine_without_an_app_is_told_why() {
        let user = "user.slice/user-1000.slice";
        let (login, service) = (format!("{user}/session-4.scope"), "system.slice/cups.service");
        let app = format!("{user}/user@1000.service/app.slice/app-gnome-x-1.scope");
        let Finding::Present(found) = machine(&[service, &login, &app]) else { panic!("no app") };
        assert_eq!(found, "1 system, 1 app, 1 job");
        let Finding::Missing { found, mend } = machine(&[service, &login]) else { panic!("an app") };
        assert!(found.contains("1 job; user.slice/user-1000.slice/session-4.scope runs"), "{found}");
        assert!(mend.contains("fovea-source(1)"));
        let Finding::Missing { found, .. } = machine(&[service]) else { panic!("an app") };
        assert!(found.starts_with("1 system; nobody"), "{found}");
        let Finding::Missing { found, .. } = machine(&[]) else { panic!("an app") };
        assert!(found.starts_with("no unit"), "{found}");
    }
}
