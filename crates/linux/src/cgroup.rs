// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! cgroup v2: apps are subtrees of it. A cgroup is named by its path below the mount, without a leading slash.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use fovea_apps::limits;
use serde::{Deserialize, Serialize};

use crate::error::is_gone;
use crate::file::{read_into, write_named, Root};
use crate::sys::cgroup_number;
use crate::walk::{remove_below, walk};
use crate::{proc, Error};

const PROCESSES: &str = "cgroup.procs";

/// What a threaded cgroup lists instead.
const THREADS: &str = "cgroup.threads";

/// A path with its end is no longer (PATH_MAX less what two slashes may take).
const PATH_MAX_BYTES: usize = 4094;

/// A controller that the daemon may have cgroups pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Controller {
    /// Disk requests.
    Io,
    /// CPUs and nodes of memory.
    Cpuset,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Controller::Io => "io",
            Controller::Cpuset => "cpuset",
        }
    }
}

/// Whether a file of a cgroup that lists controllers has one.
pub(crate) fn has_controller(folder: &Path, file: &str, controller: Controller) -> bool {
    let name = controller.name().as_bytes();
    crate::file::read(&folder.join(file)).is_ok_and(|text| text.split(u8::is_ascii_whitespace).any(|word| word == name))
}

/// What /sys/fs/cgroup/…/cgroup.events says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Some process lives in the subtree.
    pub populated: bool,
    /// Every process of it stands still.
    pub frozen: bool,
}

/// The cgroup v2 hierarchy.
#[derive(Clone, Debug)]
pub struct Cgroups {
    mount: PathBuf,
    /// Where processes are.
    proc: PathBuf,
}

impl Cgroups {
    /// Finds where cgroup v2 is mounted, wherever that is: `/sys/fs/cgroup`, or `/sys/fs/cgroup/unified` on hybrid systems.
    pub fn find(root: &Root) -> Result<Cgroups, Error> {
        let path = root.join("proc/self/mountinfo");
        let text = crate::file::read(&path)?;
        let mount = proc::mount_point(&text, b"cgroup2").ok_or_else(|| Error::Missing {
            what: "cgroup v2",
            mend: "mount it: mount -t cgroup2 none /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1"
                .into(),
        })?;
        Ok(Cgroups { mount: root.join(mount), proc: root.join("proc") })
    }

    /// Where it is mounted.
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    /// The folder of a cgroup. Names that lead out of the hierarchy, and the root itself (which holds every process), are refused.
    pub fn path(&self, cgroup: &str) -> Result<PathBuf, Error> {
        let relative = Path::new(cgroup);
        let plain = relative.components().all(|c| matches!(c, Component::Normal(_)));
        if cgroup.is_empty() || !plain || cgroup.contains(['\0', '\n']) {
            return Err(Error::Refused {
                what: format!("cgroup {cgroup:?}"),
                mend: "name it by its path below the cgroup v2 mount, without a leading slash or dots".into(),
            });
        }
        Ok(self.mount.join(relative))
    }

    /// Makes a cgroup and those above it.
    pub fn create(&self, cgroup: &str) -> Result<PathBuf, Error> {
        let path = self.path(cgroup)?;
        fs::create_dir_all(&path).map_err(|e| Error::file("creating", &path, e))?;
        Ok(path)
    }

    /// Removes a cgroup and those below it; EBUSY while processes live there.
    pub fn remove(&self, cgroup: &str) -> Result<(), Error> {
        let path = self.path(cgroup)?;
        let removed = remove_below(&path).and_then(|()| fs::remove_dir(&path));
        match removed {
            Err(e) if !is_gone(&e) => Err(Error::file("removing", path, e)),
            _ => Ok(()),
        }
    }

    /// Gives a cgroup controllers, by enabling them in every cgroup above it.
    pub fn enable(&self, cgroup: &str, controllers: &[&'static str]) -> Result<(), Error> {
        let path = self.path(cgroup)?;
        let mut above: Vec<&Path> = path.ancestors().skip(1).take_while(|p| p.starts_with(&self.mount)).collect();
        above.reverse();
        let mut text = Vec::new();
        for folder in above {
            let available = folder.join("cgroup.controllers");
            read_into(&available, &mut text).map_err(|e| Error::file("reading", &available, e))?;
            let has = |name: &str| text.split(u8::is_ascii_whitespace).any(|word| word == name.as_bytes());
            if let Some(missing) = controllers.iter().find(|name| !has(name)) {
                return Err(Error::Missing {
                    what: missing,
                    mend: format!(
                        "controller not in {}: take it from cgroup v1 (systemd.unified_cgroup_hierarchy=1, or cgroup_no_v1={missing})",
                        available.display()
                    ),
                });
            }
            // One at a time: the kernel refuses a whole line for one controller that cannot be had.
            for name in controllers {
                write_named(&folder.join("cgroup.subtree_control"), &format!("+{name}"))?;
            }
        }
        Ok(())
    }

    /// The cgroups above one, the uppermost first (`""` is the root), that do not pass a controller on.
    pub(crate) fn without(&self, cgroup: &str, controller: Controller) -> Result<Vec<String>, Error> {
        self.path(cgroup)?;
        let above = Path::new(cgroup).ancestors().skip(1).collect::<Vec<_>>().into_iter().rev();
        let lacks = |above: &&Path| !has_controller(&self.mount.join(above), "cgroup.subtree_control", controller);
        Ok(above.filter(lacks).map(|above| above.to_string_lossy().into_owned()).collect())
    }

    /// Has a cgroup pass a controller on, or not; nothing happens if it is gone.
    pub(crate) fn pass_on(&self, cgroup: &str, controller: Controller, on: bool) -> Result<(), Error> {
        let folder = if cgroup.is_empty() { self.mount.clone() } else { self.path(cgroup)? };
        if !folder.exists() {
            return Ok(());
        }
        let sign = if on { '+' } else { '-' };
        write_named(&folder.join("cgroup.subtree_control"), &format!("{sign}{}", controller.name()))
    }

    /// Appends the processes of a subtree to `pids`, ascending and each once; none once it is gone. A user can make cgroups
    /// without end below an app's own, so only [`limits::CGROUPS_OF_APP_MAX`] are read.
    pub fn processes(&self, cgroup: &str, pids: &mut Vec<u32>) -> Result<(), Error> {
        self.processes_within(cgroup, limits::CGROUPS_OF_APP_MAX, pids)
    }

    /// The same of at most so many cgroups below it, however deep: all in one before those below them.
    pub fn processes_within(&self, cgroup: &str, most: usize, pids: &mut Vec<u32>) -> Result<(), Error> {
        let path = self.path(cgroup)?;
        let mut text = Vec::new();
        let mut failure = None;
        let top = read_into(&path.join(PROCESSES), &mut text);
        // Whoever owns a cgroup can make it threaded. Its processes are then listed by the domain above it, among others'.
        let is_threaded = top.as_ref().is_err_and(is_unsupported);
        let file = if is_threaded { THREADS } else { PROCESSES };
        let top = if is_threaded { read_into(&path.join(file), &mut text) } else { top };
        let mut listed = Vec::new();
        let mut take = |read: io::Result<()>, text: &[u8]| match read {
            Ok(()) => parse_processes(text, &mut listed),
            // A threaded one below: the domain above it lists them all.
            Err(e) if is_gone(&e) || is_unsupported(&e) => (),
            Err(e) => failure = Some(e),
        };
        take(top, &text);
        let walked = walk(&path, most, &mut |seen| {
            take(seen.read_into(file, &mut text), &text);
            true
        });
        if is_threaded {
            listed.retain(|&thread| self.is_process(thread));
        }
        pids.append(&mut listed);
        pids.sort_unstable();
        pids.dedup();
        // Named by the unit: what lies below it is named by its user, at any length.
        walked.err().or(failure).map_or(Ok(()), |e| Err(Error::file("listing the processes of", path, e)))
    }

    /// Whether a thread is its process's first, whose number is the PID.
    fn is_process(&self, thread: u32) -> bool {
        let mut text = Vec::new();
        let read = read_into(&self.proc.join(format!("{thread}/status")), &mut text);
        read.is_ok() && proc::value(&text, b"Tgid:") == Some(thread.into())
    }

    /// The numbers of the cgroups of a subtree, at most so many; none once it is gone.
    pub fn numbers(&self, cgroup: &str, most: usize) -> Result<Vec<u64>, Error> {
        let path = self.path(cgroup)?;
        let Ok(top) = number(&path) else { return Ok(Vec::new()) };
        let mut numbers = vec![top];
        let walked = walk(&path, most.saturating_sub(1), &mut |seen| {
            numbers.push(seen.number);
            true
        });
        walked.map(|_| numbers).map_err(|e| Error::file("reading", path, e))
    }

    /// Freezes or thaws a subtree; nothing happens if it is gone. The kernel answers before every process stands still:
    /// see [`Cgroups::events`].
    pub fn set_frozen(&self, cgroup: &str, frozen: bool) -> Result<(), Error> {
        let path = self.path(cgroup)?.join("cgroup.freeze");
        match crate::file::write(&path, if frozen { "1" } else { "0" }) {
            Err(e) if is_gone(&e) && !path.parent().is_some_and(Path::exists) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::Missing { what: "cgroup freezer", mend: "Linux 5.2 or newer has it".into() })
            }
            result => result.map_err(|e| Error::file("writing", path, e)),
        }
    }

    /// State of a subtree; neither populated nor frozen once it is gone.
    pub fn events(&self, cgroup: &str) -> Result<Events, Error> {
        let path = self.path(cgroup)?.join("cgroup.events");
        let mut text = Vec::new();
        match read_into(&path, &mut text) {
            Err(e) if is_gone(&e) => Ok(Events::default()),
            Err(e) => Err(Error::file("reading", path, e)),
            Ok(()) => Ok(Events {
                populated: proc::value(&text, b"populated ") == Some(1),
                frozen: proc::value(&text, b"frozen ") == Some(1),
            }),
        }
    }

    /// An open cgroup.events: polls POLLPRI when what it says changes.
    pub fn watch(&self, cgroup: &str) -> Result<File, Error> {
        let path = self.path(cgroup)?.join("cgroup.events");
        File::open(&path).map_err(|e| Error::file("opening", path, e))
    }

    /// The cgroups below `prefix`, and itself, that someone asked to freeze, by name. `""` stands for the whole hierarchy.
    pub fn frozen(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let top = if prefix.is_empty() { self.mount.clone() } else { self.path(prefix)? };
        let mut frozen = Vec::new();
        let mut text = Vec::new();
        let is_one = |text: &[u8]| proc::number(text) == Some(1);
        let mut note = |below: &Path| {
            let name = Path::new(prefix).join(below);
            frozen.push(name.to_string_lossy().trim_end_matches('/').to_owned());
        };
        if read_into(&top.join("cgroup.freeze"), &mut text).is_ok() && is_one(&text) {
            note(Path::new(""));
        }
        let walked = walk(&top, usize::MAX, &mut |seen| {
            if seen.read_into("cgroup.freeze", &mut text).is_ok() && is_one(&text) {
                let below = seen.path();
                // One deeper than a path can say was frozen by its user.
                if top.as_os_str().len() + below.as_os_str().len() + "/cgroup.freeze".len() < PATH_MAX_BYTES {
                    note(&below);
                }
            }
            true
        });
        walked.map_err(|e| Error::file("reading", top, e))?;
        Ok(frozen)
    }

    /// Thaws everything below `prefix`; returns what was thawed. Goes on after a failure, and reports the first.
    pub fn thaw_all(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let frozen = self.frozen(prefix)?;
        let failures: Vec<Error> = frozen.iter().filter_map(|cgroup| self.set_frozen(cgroup, false).err()).collect();
        failures.into_iter().next().map_or(Ok(frozen), Err)
    }

    /// A number from a file of a cgroup (memory.current and its like); `None` if the cgroup is gone, or the file is not there or
    /// says "max".
    pub fn number(&self, cgroup: &str, file: &str, buffer: &mut Vec<u8>) -> Result<Option<u64>, Error> {
        Ok(self.text(cgroup, file, buffer)?.then(|| proc::number(buffer)).flatten())
    }

    /// Reads a file of a cgroup; false if the cgroup or the file is not there.
    pub fn text(&self, cgroup: &str, file: &str, buffer: &mut Vec<u8>) -> Result<bool, Error> {
        let path = self.path(cgroup)?.join(file);
        match read_into(&path, buffer) {
            Err(e) if is_gone(&e) => Ok(false),
            Err(e) => Err(Error::file("reading", path, e)),
            Ok(()) => Ok(true),
        }
    }
}

/// What the kernel answers in a threaded cgroup to all that is for whole processes: their list, and killing them.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOPNOTSUPP)
}

/// The cgroup v2 path in a /proc/PID/cgroup, without the leading slash; `None` without a v2 line.
pub fn parse_membership(text: &[u8]) -> Option<String> {
    let path = proc::after_key(text, b"0::/")?;
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    String::from_utf8(path.to_vec()).ok()
}

/// Whether a /proc/PID/cgroup tells of a process in the cgroup or below it, whatever its user calls what is below.
pub(crate) fn is_member(text: &[u8], cgroup: &str) -> bool {
    let path = proc::after_key(text, b"0::/").unwrap_or_default();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    path.strip_prefix(cgroup.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// Appends the PIDs that a `cgroup.procs` lists; 0 stands for a process that this PID namespace cannot see, and is left out.
pub fn parse_processes(text: &[u8], pids: &mut Vec<u32>) {
    let lines = text.split(|&b| b == b'\n');
    pids.extend(lines.filter_map(|l| u32::try_from(proc::number(l)?).ok()).filter(|&pid| pid != 0));
}

/// Whether the cgroup `member` is `cgroup` or below it.
pub fn is_within(member: &str, cgroup: &str) -> bool {
    member.strip_prefix(cgroup).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The number that the kernel knows a cgroup by, of its folder.
pub fn number(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let folder = fs::File::open(folder)?;
    Ok(cgroup_number(folder.as_fd(), c"", folder.metadata()?.ino()))
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
