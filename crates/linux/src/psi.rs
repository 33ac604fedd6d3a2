// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pressure stall information (accounting/psi): how long tasks waited for memory, and triggers that tell when they do.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::cgroup::Cgroups;
use crate::file::Root;
use crate::{proc, Error};

/// One line of a pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Share of the last 10 s, percent.
    pub avg10: f64,
    /// Since boot.
    pub total_us: u64,
}

/// A pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Some task waited.
    pub some: Option<Stall>,
    /// All tasks waited at once.
    pub full: Option<Stall>,
}

impl Pressure {
    /// Takes the lines that are there.
    pub fn parse(text: &[u8]) -> Pressure {
        Pressure { some: parse_line(text, b"some "), full: parse_line(text, b"full ") }
    }
}

fn parse_line(text: &[u8], key: &[u8]) -> Option<Stall> {
    let mut stall = Stall::default();
    let mut seen = 0;
    for word in proc::after_key(text, key)?.split(|&b| b == b' ') {
        if let Some(share) = word.strip_prefix(b"avg10=") {
            stall.avg10 = std::str::from_utf8(share).ok()?.parse().ok().filter(|share: &f64| share.is_finite())?;
            seen += 1;
        } else if let Some(total) = word.strip_prefix(b"total=") {
            stall.total_us = proc::number(total)?;
            seen += 1;
        }
    }
    (seen == 2).then_some(stall)
}

/// Which line of a pressure file a trigger watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Some task waits.
    Some,
    /// All wait at once.
    Full,
}

/// A trigger: its descriptor polls POLLPRI when tasks waited `stall_us` within `window_us`, at most once per window; POLLERR
/// once its cgroup is removed. Ends when dropped.
#[derive(Debug)]
pub struct Trigger {
    fd: OwnedFd,
}

impl Trigger {
    /// Watches the memory pressure of the whole system.
    pub fn system(root: &Root, kind: Kind, stall_us: u64, window_us: u64) -> Result<Trigger, Error> {
        Trigger::open(root.join("proc/pressure/memory"), kind, stall_us, window_us)
    }

    /// Watches the memory pressure of a cgroup.
    pub fn cgroup(
        cgroups: &Cgroups,
        cgroup: &str,
        kind: Kind,
        stall_us: u64,
        window_us: u64,
    ) -> Result<Trigger, Error> {
        Trigger::open(cgroups.path(cgroup)?.join("memory.pressure"), kind, stall_us, window_us)
    }

    fn open(path: PathBuf, kind: Kind, stall_us: u64, window_us: u64) -> Result<Trigger, Error> {
        let word = if kind == Kind::Some { "some" } else { "full" };
        let open = || -> io::Result<OwnedFd> {
            let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
            // The kernel cuts off the last byte, taking it for the end of a C string.
            file.write_all(format!("{word} {stall_us} {window_us}\0").as_bytes())?;
            Ok(file.into())
        };
        open().map(|fd| Trigger { fd }).map_err(|e| explain(e, &path, stall_us, window_us))
    }
}

impl AsFd for Trigger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Says which of the kernel's rules (kernel/sched/psi.c, psi_trigger_create) a trigger broke.
fn explain(error: io::Error, path: &Path, stall_us: u64, window_us: u64) -> Error {
    let missing = |mend: &str| Error::Missing { what: "PSI trigger", mend: format!("{mend} ({})", path.display()) };
    match error.raw_os_error() {
        Some(libc::ENOENT) => missing("needs CONFIG_PSI, and for a cgroup its memory.pressure"),
        Some(libc::EOPNOTSUPP) => missing("boot with psi=1"),
        Some(libc::EPERM | libc::EACCES) => {
            missing("run as root (CAP_SYS_RESOURCE); before Linux 6.4 there is no other way")
        }
        Some(libc::EINVAL) if !(500_000..=10_000_000).contains(&window_us) => Error::Refused {
            what: format!("PSI trigger with a window of {window_us} us on {}", path.display()),
            mend: "the kernel takes 500000 (since 6.4 less, too) to 10000000".into(),
        },
        Some(libc::EINVAL) if stall_us == 0 || stall_us > window_us => Error::Refused {
            what: format!("PSI trigger of {stall_us} us in {window_us} us on {}", path.display()),
            mend: "the stall must be more than nothing and fit the window".into(),
        },
        Some(libc::EINVAL) => Error::Refused {
            what: format!("PSI trigger with a window of {window_us} us on {}", path.display()),
            mend: "without CAP_SYS_RESOURCE the window must be a multiple of 2000000".into(),
        },
        _ => Error::file("setting a PSI trigger on", path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_lines_are_read() {
        let text =
            b"some avg10=1.25 avg60=0.00 avg300=0.00 total=12345\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=99\n";
        let pressure = Pressure::parse(text);
        assert_eq!(pressure.some, Some(Stall { avg10: 1.25, total_us: 12345 }));
        assert_eq!(pressure.full, Some(Stall { avg10: 0.5, total_us: 99 }));
        assert_eq!(Pressure::parse(b"some avg10=nan total=1\nfull avg10=1.0"), Pressure::default());
    }

    #[test]
    fn errors_name_the_rule_that_was_broken() {
        let einval = || io::Error::from_raw_os_error(libc::EINVAL);
        let path = Path::new("/proc/pressure/memory");
        assert!(explain(einval(), path, 1, 1).to_string().contains("to 10000000"));
        assert!(explain(einval(), path, 2_000_000, 1_000_000).to_string().contains("fit the window"));
        assert!(explain(einval(), path, 1, 1_000_000).to_string().contains("multiple of 2000000"));
        let root = Root::at(tempfile::tempdir().unwrap().path());
        let error = Trigger::system(&root, Kind::Some, 100_000, 1_000_000).unwrap_err();
        assert!(matches!(error, Error::Missing { what: "PSI trigger", .. }), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300), tail in "(some|full) (avg10=|total=)?[0-9.e+-]{0,30}( total=[0-9]{0,30})?") {
            let _ = (Pressure::parse(&text), Pressure::parse(tail.as_bytes()));
        }
    }
}
