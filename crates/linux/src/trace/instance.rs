// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A tracefs instance of our own (Documentation/trace/ftrace.rst, "Instances"): buffers and settings apart from everybody else's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::format::Format;
use super::ring::{Layout, Lost};
use super::{Decoder, Seen, Tracepoint};
use crate::file::{self, retry, Root};
use crate::page::PageSize;
use crate::{proc, Error};

/// Instances of ours are `fovea-record-PID-START-…`: their maker's PID and start time tell whether it still lives.
const PREFIX: &str = "fovea-record-";

/// Pages read of one CPU before the next one's turn, so that one busy CPU cannot make the others overflow.
const PAGES_AT_A_TIME: usize = 1024;

/// Where tracefs is mounted.
pub(super) fn mount(root: &Root) -> Result<PathBuf, Error> {
    let text = file::read(&root.join("proc/self/mountinfo"))?;
    let mount = proc::mount_point(&text, b"tracefs").map(|point| root.join(point));
    mount.ok_or_else(|| Error::Missing {
        what: "tracefs",
        mend: "mount it: mount -t tracefs none /sys/kernel/tracing (the kernel needs CONFIG_FTRACE)".into(),
    })
}

/// Start time of a process, which with its PID names it for ever.
fn start_of(root: &Root, pid: u32) -> Option<u64> {
    let text = file::read(&root.join(format!("proc/{pid}/stat"))).ok()?;
    // Field 22; the name before it may hold blanks and parentheses.
    let rest = &text[memchr::memrchr(b')', &text)? + 1..];
    proc::number(rest.split(|&b| b == b' ').nth(20)?)
}

/// Removes the instances of recorders that were killed; returns how many.
pub(super) fn sweep(root: &Root, tracefs: &Path) -> usize {
    let mut removed = 0;
    for entry in fs::read_dir(tracefs.join("instances")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| {
            let mut parts = rest.split('-');
            Some((parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u64>().ok()?))
        });
        if let Some((pid, start)) = maker {
            // EBUSY: somebody looks at it; then the next recorder gets it.
            removed += usize::from(start_of(root, pid) != Some(start) && fs::remove_dir(entry.path()).is_ok());
        }
    }
    removed
}

/// What the buffers lost and what could not be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Events lost, as the pages tell.
    pub lost: u64,
    /// Times that a page told of a loss without a number.
    pub unknown_losses: u64,
    /// Pages that broke off.
    pub bad_pages: u64,
}

/// An instance. Tracing stops and the instance goes when dropped.
#[derive(Debug)]
pub(super) struct Instance {
    folder: PathBuf,
    cpus: Vec<File>,
    layout: Layout,
    decoder: Decoder,
    page: Vec<u8>,
    pub damage: Damage,
}

impl Instance {
    /// Makes one that records nothing yet.
    pub fn create(root: &Root, tracefs: &Path, tag: &str, buffer_bytes: u64) -> Result<Instance, Error> {
        let pid = std::process::id();
        let start = start_of(root, pid).unwrap_or(0);
        let header = tracefs.join("events/header_page");
        let text = file::read(&header).map_err(needs_root)?;
        let layout = std::str::from_utf8(&text).ok().and_then(Layout::parse);
        let layout = layout.ok_or_else(|| Error::parse(header, &text))?;
        let folder = tracefs.join("instances").join(format!("{PREFIX}{pid}-{start}-{tag}"));
        fs::create_dir(&folder).map_err(|e| needs_root(Error::file("creating", &folder, e)))?;
        // From here on its end is its removal.
        let mut instance = Instance {
            page: vec![0; layout.page_bytes()],
            folder,
            cpus: Vec::new(),
            layout,
            decoder: Decoder::new(PageSize::of_system()),
            damage: Damage::default(),
        };
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &(buffer_bytes / 1024).max(64).to_string())?;
        // Says when poll returns; kernels before 4.21 have no such file and wake at every page.
        let _ = instance.set("buffer_percent", "25");
        instance.open_buffers()?;
        Ok(instance)
    }

    fn open_buffers(&mut self) -> Result<(), Error> {
        let folder = self.folder.join("per_cpu");
        let entries = fs::read_dir(&folder).map_err(|e| Error::file("reading", &folder, e))?;
        for entry in entries.flatten() {
            let path = entry.path().join("trace_pipe_raw");
            let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            self.cpus.push(opened.map_err(|e| Error::file("opening", &path, e))?);
        }
        Ok(())
    }

    /// Writes a setting.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        file::write_named(&self.folder.join(name), value)
    }

    /// Adds tasks to a list of them (`set_event_pid` and its like); those that have ended meanwhile do no harm.
    pub fn add_tasks(&self, list: &str, tasks: &[u32]) -> Result<(), Error> {
        let path = self.folder.join(list);
        let add = || -> io::Result<()> {
            // Opened without O_TRUNC, a write adds.
            let mut file = OpenOptions::new().append(true).open(&path)?;
            // The kernel takes what it can of a long write; the file then wants the rest in another.
            for some in tasks.chunks(256) {
                let text: Vec<String> = some.iter().map(u32::to_string).collect();
                file.write_all((text.join(" ") + "\n").as_bytes())?;
            }
            Ok(())
        };
        add().map_err(|e| Error::file("writing", &path, e))
    }

    /// Switches a tracepoint on; false if this kernel has none such, or not with what we need of it.
    pub fn enable(&mut self, tracepoint: Tracepoint) -> Result<bool, Error> {
        let path = self.folder.join("events").join(tracepoint.path());
        let text = match file::read(&path.join("format")) {
            Ok(text) => text,
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e),
        };
        let format = std::str::from_utf8(&text).ok().and_then(Format::parse);
        let Some(format) = format else { return Err(Error::parse(path.join("format"), &text)) };
        if !self.decoder.learn(tracepoint, &format) {
            return Ok(false);
        }
        file::write_named(&path.join("enable"), "1").map(|()| true)
    }

    /// Reads what the buffers hold. If some CPU had more than its turn, returns the time up to which all of them have been read.
    pub fn drain(&mut self, into: &mut Vec<Seen>) -> Result<Option<u64>, Error> {
        let mut read_to_ns = None;
        for cpu in &self.cpus {
            let mut pages = 0;
            loop {
                match retry(|| rustix::io::read(cpu, &mut self.page[..])) {
                    Ok(0) | Err(rustix::io::Errno::AGAIN) => break,
                    Ok(length) => take(&self.layout, &self.decoder, &self.page[..length], into, &mut self.damage),
                    Err(e) => return Err(Error::file("reading", self.folder.join("per_cpu"), e)),
                }
                pages += 1;
                if pages == PAGES_AT_A_TIME {
                    let last_ns = into.last().map_or(0, |seen| seen.time_ns);
                    read_to_ns = Some(read_to_ns.unwrap_or(u64::MAX).min(last_ns));
                    break;
                }
            }
        }
        Ok(read_to_ns)
    }

    /// The buffers, to poll: readable when a quarter full.
    pub fn buffers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.cpus.iter().map(AsFd::as_fd)
    }

    /// What the kernel counts as overwritten or refused so far.
    pub fn overruns(&self) -> u64 {
        let folders = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        let stats = folders.filter_map(|entry| file::read(&entry.path().join("stats")).ok());
        let of = |text: &[u8], key: &[u8]| proc::value(text, key).unwrap_or(0);
        stats.map(|text| of(&text, b"overrun: ") + of(&text, b"dropped events: ")).sum()
    }
}

/// Decodes a page.
fn take(layout: &Layout, decoder: &Decoder, page: &[u8], into: &mut Vec<Seen>, damage: &mut Damage) {
    let Some((lost, mut events)) = layout.open(page) else {
        damage.bad_pages += 1;
        return;
    };
    match lost {
        Lost::None => (),
        Lost::Some(count) => damage.lost = damage.lost.saturating_add(count),
        Lost::Unknown => damage.unknown_losses += 1,
    }
    into.extend(events.by_ref().filter_map(|(time_ns, event)| decoder.decode(time_ns, event)));
    damage.bad_pages += u64::from(events.damaged());
}

/// Only root gets into tracefs.
fn needs_root(error: Error) -> Error {
    match &error {
        Error::File { source, path, .. } if source.kind() == io::ErrorKind::PermissionDenied => Error::Missing {
            what: "the right to trace",
            mend: format!("run as root, outside of containers that mount it read-only ({})", path.display()),
        },
        _ => error,
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
        // An instance with open buffers is busy.
        self.cpus.clear();
        // Should it fail all the same, the next recorder tries again.
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_times_are_read_past_any_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("proc/7")).unwrap();
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 3 0 0 0 0 0 0 0 20 0 1 0 424242 1000 5\n";
        fs::write(folder.path().join("proc/7/stat"), stat).unwrap();
        let root = Root::at(folder.path());
        assert_eq!(start_of(&root, 7), Some(424_242));
        assert_eq!(start_of(&root, 8), None);
    }

    #[test]
    fn only_dead_recorders_instances_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at("/");
        let live = format!("{PREFIX}{}-{}-x", std::process::id(), start_of(&root, std::process::id()).unwrap());
        for name in [live.as_str(), "fovea-record-1-1-x", "somebody", "fovea-record-x"] {
            fs::create_dir_all(folder.path().join("instances").join(name)).unwrap();
        }
        assert_eq!(sweep(&root, folder.path()), 1);
        let mut left: Vec<_> =
            fs::read_dir(folder.path().join("instances")).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        let mut expected = [live.as_str(), "fovea-record-x", "somebody"];
        expected.sort_unstable();
        assert_eq!(left, expected);
    }
}
