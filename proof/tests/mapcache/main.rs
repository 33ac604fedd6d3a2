// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The mapping cache of fovea-heap with real importers: QEMU's `edu` devices, whose driver is `kmod/test/edu`. First process of a virtual
//! phone that has two of them.
//!
//! Words on the kernel's command line, `fovea.mapcache.KEY=VALUE`:
//!
//! ```text
//! iommu        intel, virtio or none                  strict      1: addresses are given back at once
//! bounces      1: devices work on copies              exact       1: an instruction is a nanosecond; measures, and nothing else
//! importers    1: the kernel's own are measured, in place of all else
//! operations   of the soak                            seed        of everything
//! only         phases, separated by commas
//! ```

mod bench;
mod calls;
mod camera;
mod charge;
mod display;
mod ends;
mod exporters;
mod measure;
mod odd;
mod pipeline;
mod pool;
mod probe;
mod queues;
mod refusals;
mod resize;
mod soak;
mod uses;
mod wrapped;

use std::path::Path;
use std::time::Instant;

use fovea_contract::{heap_mapcache_statistics as statistics, ECACHE_MODULE, EDU_MODULE, SYSTEM_MODULE};
use fovea_linux::{module, Root};
use fovea_tests::audit::Watch;
use fovea_tests::init;
use fovea_tests::kernel::{at, load_module, Outcome};
use fovea_tests::report::Report;
use fovea_tests::words::Words;
use rustix::mount::{mount, MountFlags};

use crate::bench::{total, Bench, VIDEO, VIDEO_BYTES};

/// What the command line asks for.
#[derive(Debug)]
#[allow(missing_docs, reason = "the words above")]
pub struct Options {
    pub iommu: String,
    pub strict: bool,
    pub bounces: bool,
    pub exact: bool,
    pub importers: bool,
    pub operations: u64,
    pub seed: u64,
    pub only: Option<String>,
}

impl Options {
    fn read(words: &Words) -> Options {
        Options {
            iommu: words.text("iommu").unwrap_or("none").to_owned(),
            strict: words.flag("strict", false),
            bounces: words.flag("bounces", false),
            exact: words.flag("exact", false),
            importers: words.flag("importers", false),
            operations: words.number("operations", 5_000),
            seed: words.number("seed", 1),
            only: words.text("only").map(str::to_owned),
        }
    }

    /// Whether devices have addresses of their own.
    pub fn translates(&self) -> bool {
        self.iommu != "none"
    }

    /// Whether it is Intel's that sees to that.
    pub fn intel(&self) -> bool {
        self.iommu == "intel"
    }

    /// Whether there is time for what takes minutes.
    pub fn is_long(&self) -> bool {
        self.operations >= 100_000
    }

    /// Whether devices are given copies.
    pub fn bounces(&self) -> bool {
        self.bounces
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some("child"), Some(fd)) => std::process::exit(uses::child(&fd).map_or_else(
            |e| {
                println!("child: {e}");
                1
            },
            |()| 0,
        )),
        (Some("stranger"), _) => std::process::exit(refusals::stranger()),
        (Some("charge"), Some(cgroup)) => std::process::exit(charge::child(&cgroup)),
        _ => {}
    }
    init::live("mapcache", |words, report| {
        let options = Options::read(words);
        println!("mapcache: {options:?}");
        run(&options, report)
    })
}

fn prepare(options: &Options) -> Outcome<()> {
    for (kind, place) in [("debugfs", "/sys/kernel/debug"), ("tracefs", "/sys/kernel/tracing")] {
        at(place, mount(kind, place, kind, MountFlags::empty(), None))?;
    }
    // Names of tasks are recorded by trace points of the scheduler, which has its hottest code patched.
    let _ = std::fs::write("/sys/kernel/tracing/options/record-cmd", "0");
    if options.iommu == "virtio" {
        load_module("virtio_iommu")?;
    }
    load_module("dm_mod")?;
    // Of a PC's kernel.
    if options.importers {
        load_module("cirrus")?;
    }
    load_module(SYSTEM_MODULE)?;
    let parameters = format!("carveouts=contig:8M devices={VIDEO}:{VIDEO_BYTES}");
    at(ECACHE_MODULE, module::load_with(&Root::at("/"), ECACHE_MODULE, &parameters))?;
    load_module(EDU_MODULE)?;
    let group = Path::new("/sys/bus/pci/devices/0000:00:04.0/iommu_group");
    (group.exists() == options.translates())
        .then_some(())
        .ok_or_else(|| format!("an IOMMU: {}, and the command line says {}", group.exists(), options.iommu))
}

fn run(options: &Options, report: &Report) -> Outcome<()> {
    let mut watch = at("/dev/kmsg", Watch::new(""))?;
    prepare(options)?;
    // That the modules are not the kernel's own, it says.
    watch.look(report, true);
    if options.exact {
        let bench = Bench::open(options, report)?;
        if options.importers {
            display::all(&bench)?;
            camera::all(&bench)?;
            queues::all(&bench)?;
        } else {
            measure::all(&bench)?;
        }
    } else {
        phases(options, report, &mut watch)?;
    }
    unload(report)?;
    watch.look(report, false);
    Ok(())
}

fn phases(options: &Options, report: &Report, watch: &mut Watch) -> Outcome<()> {
    let bench = Bench::open(options, report)?;
    let phases: [(&str, &dyn Fn() -> Outcome<()>); 23] = [
        ("refusals", &|| refusals::all(&bench)),
        ("content", &|| uses::content(&bench)),
        ("syncs", &|| uses::syncs(&bench)),
        ("hits", &|| uses::hits(&bench)),
        ("at_once", &|| uses::at_once(&bench)),
        ("processes", &|| uses::processes(&bench)),
        ("limits", &|| uses::limits(&bench)),
        ("off", &|| uses::off(&bench)),
        ("pipeline", &|| pipeline::all(&bench)),
        ("resize", &|| resize::all(&bench)),
        ("wrapped", &|| wrapped::all(&bench)),
        ("exporters", &|| exporters::all(&bench)),
        ("probe", &|| probe::all(&bench)),
        ("charge", &|| charge::all(&bench)),
        ("pool", &|| pool::all(&bench)),
        ("release", &|| ends::release(&bench)),
        ("shrink", &|| ends::shrink(&bench)),
        ("cap", &|| ends::cap(&bench)),
        ("driver", &|| ends::driver(&bench)),
        ("unplug", &|| ends::unplug(&bench)),
        ("group_type", &|| ends::group_type(&bench)),
        ("exhaustion", &|| ends::exhaustion(&bench)),
        ("soak", &|| soak::run(&bench, options.operations)),
    ];
    for (name, phase) in phases {
        if options.only.as_ref().is_some_and(|only| only.split(',').all(|only| only != name)) {
            continue;
        }
        // Of copies nothing is kept, so nothing ends.
        if options.bounces() && ["release", "shrink", "cap", "driver", "unplug", "group_type"].contains(&name) {
            continue;
        }
        let began = Instant::now();
        if let Err(e) = phase() {
            report.fail(format_args!("phase {name}: {e}"));
        }
        watch.look(report, false);
        let left = (total(statistics::MAPPINGS)?, total(statistics::IDLE)?, total(statistics::MAPPED_BYTES)?);
        let took = began.elapsed();
        report.check(
            format_args!("phase {name} leaves nothing"),
            left == (0, 0, 0),
            format_args!("{left:?}, {took:.1?}"),
        );
    }
    Ok(())
}

/// All can be unloaded, the importer first or last.
fn unload(report: &Report) -> Outcome<()> {
    for name in [ECACHE_MODULE, SYSTEM_MODULE, fovea_contract::HEAP_MODULE, EDU_MODULE] {
        let done = module::remove(name);
        report.check(format_args!("unloading {name}"), done.is_ok(), format_args!("{done:?}"));
    }
    Ok(())
}
