// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tries the kernel interfaces on a real kernel: as root on a machine with cgroup v2, or as the first process of a virtual one.
//! Prints a line per check and ends with status 1 if one failed. `measure` as argument (or `fovea.measure` on the kernel's
//! command line) tells what each operation costs instead; under QEMU's `-icount shift=0` a nanosecond there is an instruction.

mod child;
mod compress;
mod lifecycle;
mod mapper;
mod measure;
mod swap;

use std::cell::Cell;
use std::path::PathBuf;

use fovea_linux::cgroup::Cgroups;
use fovea_linux::System;
use fovea_tests::init;

/// Where the checks' apps live.
const TOP: &str = "fovea-selftest";

/// Values of `oom_score_adj` that only the selftest gives.
#[derive(Default)]
pub struct Table(pub fovea_apps::Marks);

impl fovea_linux::MarkTable for Table {
    fn marks(&self) -> &fovea_apps::Marks {
        &self.0
    }

    fn mark(&mut self, base: i32, wanted: i32) -> Option<i32> {
        self.0.find(base, wanted).or_else(|| {
            let mark = self.0.propose(base, wanted)?;
            self.0.insert(mark, base, wanted);
            Some(mark)
        })
    }
}

/// What every check needs.
pub struct Bench {
    /// The crate that has the kernel interfaces.
    pub system: System,
    /// The hierarchy the apps are in.
    pub cgroups: Cgroups,
    failures: Cell<u32>,
    made: Cell<u32>,
}

impl Bench {
    /// Says how a check went.
    pub fn check(&self, what: &str, holds: bool, found: impl std::fmt::Display) {
        println!("{} {what}: {found}", if holds { "ok  " } else { "FAIL" });
        self.failures.set(self.failures.get() + u32::from(!holds));
    }

    /// A fresh cgroup: its name and folder.
    pub fn cgroup(&self) -> (String, PathBuf) {
        self.made.set(self.made.get() + 1);
        let name = format!("{TOP}/app{}", self.made.get());
        let folder = self.cgroups.create(&name).expect("making a cgroup");
        if let Err(e) = self.cgroups.enable(&name, &["memory"]) {
            self.check("memory controller", false, e);
        }
        (name, folder)
    }
}

fn main() {
    if init::is_init() {
        init::mount_all();
    }
    let measure = std::env::args().any(|arg| arg == "measure")
        || std::fs::read_to_string("/proc/cmdline").is_ok_and(|line| line.contains("fovea.measure"));
    let system = System::new().expect("/proc");
    let cgroups = system.cgroups().expect("cgroup v2").clone();
    let mut bench = Bench { system, cgroups, failures: Cell::new(0), made: Cell::new(0) };

    swap::without_swap(&mut bench);
    let zram = swap::set_up(&mut bench);
    if !measure {
        compress::run(&mut bench);
        lifecycle::run(&mut bench);
        if init::is_init() {
            mapper::run(&mut bench);
        }
    }
    if measure {
        measure::run(&mut bench);
    }
    swap::take_down(&mut bench, zram);
    let removed = bench.cgroups.remove(TOP);
    bench.check("cgroups removed", removed.is_ok(), format!("{removed:?}"));
    init::end(bench.failures.get());
}
