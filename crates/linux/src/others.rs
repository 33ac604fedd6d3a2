// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What services and sessions occupy that are no apps.

use std::io;
use std::path::Path;

use crate::file::read_into;
use crate::{proc, Error};

/// Cgroups read, at most.
const MOST: usize = 256;

/// Slices within slices that are looked into.
const DEPTH_MAX: usize = 8;

/// Every unit below the mount, where slices and users' managers lead to units: but what lies in `app.slice` and `fovea.slice` is apps.
pub(crate) fn others(mount: &Path) -> Result<Vec<(String, u64)>, Error> {
    let mut found = Vec::new();
    descend(mount, "", DEPTH_MAX, &mut found).map_err(|e| Error::file("reading", mount, e))?;
    Ok(found)
}

fn descend(mount: &Path, above: &str, depth: usize, found: &mut Vec<(String, u64)>) -> io::Result<()> {
    let mut text = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(mount.join(above))?.flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (Ok(kind), Some(name)) = (entry.file_type(), entry.file_name().to_str().map(str::to_owned)) else {
            continue;
        };
        if !kind.is_dir() || matches!(name.as_str(), "app.slice" | "fovea.slice") {
            continue;
        }
        let cgroup = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        if name.ends_with(".slice") || name.starts_with("user@") {
            if depth > 0 {
                // Gone in between.
                let _ = descend(mount, &cgroup, depth - 1, found);
            }
            continue;
        }
        if found.len() >= MOST {
            break;
        }
        // Without the memory controller nothing is known of it.
        if read_into(&entry.path().join("memory.stat"), &mut text).is_err() {
            continue;
        }
        let anon_bytes = proc::value(&text, b"anon ").unwrap_or(0);
        let swapped = read_into(&entry.path().join("memory.swap.current"), &mut text).ok();
        let swap_bytes = swapped.and_then(|()| proc::number(&text)).unwrap_or(0);
        found.push((cgroup, anon_bytes.saturating_add(swap_bytes)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_sessions_are_read_and_apps_are_not() {
        let mount = tempfile::tempdir().unwrap();
        let make = |cgroup: &str, anon: u64, swap: Option<u64>| {
            let folder = mount.path().join(cgroup);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("memory.stat"), format!("anon {anon}\nfile 4096\n")).unwrap();
            if let Some(swap) = swap {
                std::fs::write(folder.join("memory.swap.current"), format!("{swap}\n")).unwrap();
            }
        };
        let manager = "user.slice/user-1000.slice/user@1000.service";
        make("init.scope", 1, None);
        make("system.slice/cups.service", 2, Some(40));
        make("system.slice/system-getty.slice/getty@tty1.service", 3, None);
        make("user.slice/user-1000.slice/session-2.scope", 4, None);
        make(&format!("{manager}/session.slice/pipewire.service"), 5, None);
        make(&format!("{manager}/app.slice/app-mail-1.scope"), 6, None);
        make("fovea.slice/maps", 7, None);
        std::fs::create_dir_all(mount.path().join("system.slice/without.service")).unwrap();
        std::fs::write(mount.path().join("cgroup.procs"), "").unwrap();
        let found = others(mount.path()).unwrap();
        let names: Vec<_> = found.iter().map(|(cgroup, bytes)| (cgroup.rsplit('/').next().unwrap(), *bytes)).collect();
        let expected = [
            ("init.scope", 1),
            ("cups.service", 42),
            ("getty@tty1.service", 3),
            ("session-2.scope", 4),
            ("pipewire.service", 5),
        ];
        assert_eq!(names, expected);
        for n in 0..300 {
            make(&format!("system.slice/n{n}.service"), 1, None);
        }
        assert_eq!(others(mount.path()).unwrap().len(), MOST);
        assert!(others(&mount.path().join("nowhere")).is_err());
    }
}
