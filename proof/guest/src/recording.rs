// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often the kernel does something: one of its trace events, in a buffer of our own (trace/ftrace, "Instances").

use crate::outcome::{read_file, write_file, At, Outcome};
use crate::readings::{field, list};

/// Where tracefs is.
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Mounts tracefs, if it is not there.
pub fn mount_tracefs() -> Outcome<()> {
    match rustix::mount::mount("tracefs", TRACEFS, "tracefs", rustix::mount::MountFlags::empty(), None) {
        Ok(()) | Err(rustix::io::Errno::BUSY) => Ok(()),
        Err(error) => Err(format!("mounting tracefs on {TRACEFS}: {error}")),
    }
}

/// An event that is being recorded until this is dropped.
pub struct Recording {
    instance: String,
}

impl Recording {
    /// Records `event` (`group/name`) where `filter` holds, if one is given. `name` is its own among recordings.
    pub fn start(name: &str, event: &str, filter: Option<&str>) -> Outcome<Self> {
        mount_tracefs()?;
        let instance = format!("{TRACEFS}/instances/{name}");
        std::fs::create_dir(&instance).at(|| format!("making {instance}"))?;
        let recording = Self { instance };
        let folder = format!("{}/events/{event}", recording.instance);
        if let Some(filter) = filter {
            write_file(format!("{folder}/filter"), filter)?;
        }
        write_file(format!("{folder}/enable"), "1")?;
        Ok(recording)
    }

    /// Events since the start, those included that there was no room to keep.
    pub fn count(&self) -> Outcome<u64> {
        let folder = format!("{}/per_cpu", self.instance);
        let mut sum = 0;
        for cpu in list(&folder)? {
            let path = format!("{folder}/{cpu}/stats");
            sum += sum_of(&read_file(&path)?).ok_or_else(|| format!("{path}: makes no sense"))?;
        }
        Ok(sum)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Removing an instance ends what it records; one that cannot be removed disturbs nobody but the next of its name.
        if let Err(error) = std::fs::remove_dir(&self.instance) {
            println!("fovea-guest: removing {}: {error}", self.instance);
        }
    }
}

fn sum_of(stats: &str) -> Option<u64> {
    let of = |name: &str| field(stats, name);
    Some(of("entries:")? + of("overrun:")? + of("dropped events:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_were_overwritten_count() {
        let stats = "entries: 12\noverrun: 30\ncommit overrun: 5\nbytes: 700\ndropped events: 1\nread events: 0\n";
        assert_eq!(sum_of(stats), Some(43));
        assert_eq!(sum_of("entries: 12\n"), None);
    }
}
