// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where a unit comes from: who started it, and what whoever made it says of killing it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fovea_apps::{Preference, Standing};
use rustix::fs::getxattr;
use rustix::io::Errno;

use crate::file::{read_into, Root};
use crate::probe::watched;
use crate::process::Process;
use crate::{cgroup, Error};

/// Processes looked at for the oldest one.
const PROCESSES_MAX: usize = 256;

/// What systemd writes for `ManagedOOMPreference=` (systemd.resource-control(5)), the more careful first.
const PREFERENCES: [(&str, Standing); 2] =
    [("user.oomd_omit", Standing::Protect), ("user.oomd_avoid", Standing::Avoid)];

/// The unit whose process started the oldest process of a cgroup; `None` if that one has ended, or is of the same unit.
pub(crate) fn started_by(root: &Root, cgroup: &str, pids: &[u32]) -> Result<Option<String>, Error> {
    let (mut text, mut oldest) = (Vec::new(), None);
    for &pid in pids.iter().take(PROCESSES_MAX) {
        if !watched::touch(pid) {
            continue;
        }
        let Some(process) = Process::open_in(root, cgroup, pid)? else { continue };
        let Ok(Some(stat)) = process.stat(&mut text) else { continue };
        oldest = oldest.into_iter().chain([(stat.start_ticks, stat.pid, stat.parent)]).min();
    }
    let Some((_, _, parent)) = oldest.filter(|(_, _, parent)| *parent > 1) else { return Ok(None) };
    if read_into(&root.join(format!("proc/{parent}/cgroup")), &mut text).is_err() {
        return Ok(None);
    }
    let of_parent = cgroup::parse_membership(&text);
    let unit = of_parent.map(|path| fovea_apps::place_of_cgroup(&path).unit.to_owned());
    Ok(unit.filter(|unit| unit != cgroup && !unit.is_empty()))
}

/// What a cgroup's attributes say of killing it. Whoever owns the folder may write them: root, or the user whose systemd it is.
pub(crate) fn preference(folder: &Path) -> Result<Option<Preference>, Error> {
    for (name, standing) in PREFERENCES {
        let mut value = [0; 8];
        match getxattr(folder, name, &mut value[..]) {
            Ok(length) if is_true(&value[..length]) => {
                let uid = std::fs::metadata(folder).map_err(|e| Error::file("reading", folder, e))?.uid();
                return Ok(Some(Preference { standing, attribute: name.to_owned(), uid }));
            }
            // None there, none on this file system, the cgroup has gone, or a text that is no truth value.
            Ok(_) | Err(Errno::NODATA | Errno::NOTSUP | Errno::NOENT | Errno::RANGE) => {}
            Err(e) => return Err(Error::file("reading the attributes of", folder, e)),
        }
    }
    Ok(None)
}

/// systemd's parse_boolean().
fn is_true(value: &[u8]) -> bool {
    let value = value.strip_suffix(b"\0").unwrap_or(value);
    ["1", "yes", "y", "true", "t", "on"].iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_process_tells_who_started_it() {
        let root = tempfile::tempdir().unwrap();
        let apps = "user.slice/user-1000.slice/user@1000.service/app.slice";
        let (terminal, tab) = (
            format!("{apps}/app-org.gnome.Terminal.slice/gnome-terminal-server.service"),
            format!("{apps}/vte-spawn-1.scope"),
        );
        let mut children = [(); 2].map(|()| std::process::Command::new("sleep").arg("60").spawn().unwrap());
        let own = std::process::id();
        let write = |pid: u32, cgroup: &str, ticks: u64, parent: u32| {
            let folder = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cgroup"), format!("0::/{cgroup}\n")).unwrap();
            let stat = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0 0");
            std::fs::write(folder.join("stat"), stat).unwrap();
        };
        let [shell, job] = [children[0].id(), children[1].id()];
        write(shell, &tab, 5, own);
        write(job, &tab, 9, shell);
        write(own, &format!("{terminal}/below"), 1, 1);
        let found = started_by(&Root::at(root.path()), &tab, &[job, shell]).unwrap();
        // Moved by whoever started it, as a shell would be: it started itself.
        write(own, &tab, 1, 1);
        let same = started_by(&Root::at(root.path()), &tab, &[job, shell]).unwrap();
        children.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
        assert_eq!(found.as_deref(), Some(terminal.as_str()));
        assert_eq!(same, None);
    }

    #[test]
    fn what_a_units_maker_prefers_is_read_with_whose_word_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let set = |name: &str, value: &[u8]| {
            rustix::fs::setxattr(folder.path(), name, value, rustix::fs::XattrFlags::empty())
        };
        assert_eq!(preference(folder.path()).unwrap(), None);
        if let Err(e) = set("user.oomd_avoid", b"0") {
            println!("skipped: no attributes here: {e}");
            return;
        }
        assert_eq!(preference(folder.path()).unwrap(), None);
        let uid = rustix::process::getuid().as_raw();
        let of = |standing, name: &str| Some(Preference { standing, attribute: name.to_owned(), uid });
        set("user.oomd_avoid", b"1").unwrap();
        assert_eq!(preference(folder.path()).unwrap(), of(Standing::Avoid, "user.oomd_avoid"));
        set("user.oomd_omit", b"true").unwrap();
        assert_eq!(preference(folder.path()).unwrap(), of(Standing::Protect, "user.oomd_omit"));
        assert_eq!(preference(&folder.path().join("gone")).unwrap(), None);
    }
}
