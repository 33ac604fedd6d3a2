// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Boots the programs of this package as first processes of the virtual phone, with the modules under test.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use fovea_phone::kmod::{build, Sources};
use fovea_phone::{
    debug_kernel, fetch, with_libraries, Cache, Error, FailureReason, GuestFile, Kernel, Phone, Programs, Progress,
    Result, RunOptions,
};
use fovea_scenario::Plan;

/// Phones that run side by side, whatever the host has: their memory adds up.
const PHONES_MAX: usize = 2;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Held as long as a test has its phone: most of the time one CPU of it works, so there may be as many as the host has CPUs.
pub struct Turn(());

impl Turn {
    pub fn wait() -> Turn {
        let may = available_parallelism().map_or(1, |n| n.get().min(PHONES_MAX));
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        *ENDED.wait_while(running, |running| *running >= may).unwrap_or_else(PoisonError::into_inner) += 1;
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// What a guest consists of.
pub struct Guest<'a> {
    /// Its first process: `env!("CARGO_BIN_EXE_NAME")`.
    pub program: &'a str,
    /// The kernel's modules.
    pub modules: &'a [&'a str],
    /// Ours; what either need comes along.
    pub own_modules: &'a [&'a str],
    /// A safety that is left out of ours.
    pub broken: Option<&'a str>,
    /// Programs of the host's, and the package of each.
    pub tools: &'a [(&'a str, &'a str)],
}

/// For the file system that most tests use.
pub const EXT4_TOOLS: [(&str, &str); 2] = [("mkfs.ext4", "e2fsprogs"), ("e2fsck", "e2fsprogs")];

impl Guest<'_> {
    /// A phone with it, or what is missing for one.
    pub fn phone(&self, cache: &Cache, kernel: Kernel) -> Result<Phone> {
        let mut own = None;
        if !self.own_modules.is_empty() {
            let sources = Sources::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
            own = Some(build(cache, &kernel, &sources, self.broken, &Progress::quiet())?);
        }
        let modules = [self.modules, self.own_modules].concat();
        // None of these programs runs another of the project's; the image wants three.
        let busybox = fetch::busybox(cache, &Progress::quiet())?;
        let programs = Programs { init: self.program.into(), fovea: busybox.clone(), busybox };
        let phone = Phone::prepare(cache, kernel, &programs, &modules, own.as_ref(), &Progress::quiet())?;
        let mut files = Vec::new();
        for (tool, package) in self.tools {
            files.extend(with_libraries(tool, &format!("apt-get install {package}"))?);
        }
        // What no program is linked with: the C library loads it when a thread ends.
        let libc = files.iter().find(|file| file.from.ends_with("libc.so.6"));
        let libgcc = libc.map(|libc| libc.from.with_file_name("libgcc_s.so.1")).filter(|path| path.is_file());
        files.extend(libgcc.map(|path| GuestFile { to: path.clone(), from: path }));
        phone.with_files(&files)
    }
}

/// Which kernel a test boots.
pub enum Which {
    /// The one that `make fetch` gets.
    Stock,
    /// The oldest that the module is for.
    Oldest,
    /// The newest that Debian has: a release later than the stock one's.
    Newest,
    /// That of PCs, not the cloud's: the same release with more drivers and file systems.
    Pc,
    /// The one with all checkers.
    Debug,
}

/// The one that `FOVEA_TEST_KERNEL` names.
pub fn chosen_kernel() -> Which {
    let name = std::env::var("FOVEA_TEST_KERNEL").unwrap_or_default();
    Which::named(if name.is_empty() { "stock" } else { &name })
        .unwrap_or_else(|| panic!("FOVEA_TEST_KERNEL={name}: say `stock`, `6.1`, `newest`, `pc`, `debug`, or nothing"))
}

impl Which {
    fn named(name: &str) -> Option<Which> {
        match name {
            "stock" => Some(Which::Stock),
            "6.1" => Some(Which::Oldest),
            "newest" => Some(Which::Newest),
            "pc" => Some(Which::Pc),
            "debug" => Some(Which::Debug),
            _ => None,
        }
    }

    /// Those that `kmod/kernels.txt` has a line of, in its order: the oldest first.
    pub fn all_of(table: &str) -> Vec<Which> {
        let rows = table.lines().filter(|line| !line.starts_with('#')).filter_map(|row| row.split_whitespace().nth(1));
        rows.map(|name| Which::named(name).unwrap_or_else(|| panic!("kmod/kernels.txt: no kernel is called {name}")))
            .collect()
    }

    /// It, from the cache; the oldest, the newest and that of PCs, which nobody has unless he asks for it, are fetched.
    pub fn find(&self, cache: &Cache) -> Result<Kernel> {
        match self {
            Which::Stock => {
                fetch::cached(cache)?.ok_or_else(|| missing("no kernel in the cache", "`make fetch` gets one"))
            }
            Which::Oldest => fetch::kernel_of(cache, fetch::Line::Linux6_1, false, &Progress::quiet()),
            Which::Newest => fetch::kernel_of(cache, fetch::Line::Newest, false, &Progress::quiet()),
            Which::Pc => fetch::kernel_of(cache, fetch::Line::Linux6_12Pc, false, &Progress::quiet()),
            Which::Debug => debug_kernel::cached(cache)?
                .ok_or_else(|| missing("no debug kernel in the cache", "`make torture-debug` builds one")),
        }
    }

    pub fn is_oldest(&self) -> bool {
        matches!(self, Which::Oldest)
    }

    pub fn is_newest(&self) -> bool {
        matches!(self, Which::Newest)
    }

    pub fn is_pc(&self) -> bool {
        matches!(self, Which::Pc)
    }

    pub fn is_debug(&self) -> bool {
        matches!(self, Which::Debug)
    }

    /// How many times longer than with the stock kernel a test may take.
    pub fn slowness(&self) -> u64 {
        if self.is_debug() {
            8
        } else {
            1
        }
    }
}

fn missing(what: &str, mend: &str) -> Error {
    Error::Missing { what: what.into(), mend: mend.into() }
}

/// Takes what this machine can make; `None`, with a word, where it lacks something ([`fovea_phone::skip`]).
pub fn unless_missing<T>(made: Result<T>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(e) if e.is_missing() => {
            fovea_phone::skip(e);
            None
        }
        Err(e) => panic!("{e}\n{}", e.details().join("\n")),
    }
}

/// Where a test's boots leave their logs: in a folder of its own, since others boot beside it, below the one that a variable names; or in
/// one that goes with the test.
pub fn logs(variable: &str, otherwise: &Path) -> PathBuf {
    let test = std::thread::current().name().unwrap_or("test").to_owned();
    std::env::var_os(variable).map_or_else(|| otherwise.join("results"), |folder| PathBuf::from(folder).join(test))
}

/// What a boot left behind.
pub struct Ended {
    pub reason: Option<FailureReason>,
    pub console: String,
}

impl Ended {
    /// Boots a phone and waits for its end.
    pub fn of(phone: &Phone, plan: &Plan, results: &Path, timeout: Duration) -> Ended {
        let options = RunOptions { timeout, results: results.to_owned() };
        let (reason, logs) = match phone.run(plan, &options, &Progress::quiet(), |_| ()) {
            Ok(outcome) => (None, outcome.logs),
            Err(Error::Boot(failure)) => (Some(failure.reason.clone()), failure.logs.clone()),
            Err(e) => panic!("{e}"),
        };
        let console = std::fs::read_to_string(logs.join("console.log")).unwrap();
        Ended { reason, console }
    }

    /// Lines of the console that begin so.
    pub fn lines(&self, mark: &str) -> Vec<&str> {
        self.console.lines().filter(|line| line.starts_with(mark)).collect()
    }

    /// The program came to its end, found nothing wrong and did not leave checks out.
    pub fn passes(&self, checks: usize) {
        let failures = self.lines("FAIL");
        assert!(self.reason.is_none() && failures.is_empty(), "{:?}\n{failures:#?}\n{}", self.reason, self.console);
        assert!(self.lines("ok ").len() >= checks, "{} checks only:\n{}", self.lines("ok ").len(), self.console);
    }

    /// It failed, and by wrong content.
    pub fn fails(&self, without: &str) {
        let wrong = self.lines("FAIL wrong content");
        assert!(
            matches!(self.reason, Some(FailureReason::Plan(_))) && !wrong.is_empty(),
            "without {without} the module survives: {:?}\n{:#?}\n{}",
            self.reason,
            self.lines("FAIL"),
            self.console
        );
        println!("without {without}: {}", wrong[0]);
    }
}
