// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A phone ready to be booted as often as wanted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fovea_scenario::{Carveout, Plan, Reservation, Swap};

use crate::cache::Cache;
use crate::device_tree;
use crate::error::{Error, Result};
use crate::guard::{self, Guard};
use crate::hardware::Hardware;
use crate::initramfs::{self, GuestFile, Programs};
use crate::kernel::Kernel;
use crate::kmod::BuiltModules;
use crate::kvm;
use crate::modules::{Module, ModuleTree};
use crate::progress::Progress;
use crate::qemu::{self, Accel, Console, Machine};

/// A kernel, the part of the image that all boots share, and what this host can run them with.
#[derive(Debug)]
pub struct Phone {
    pub(crate) cache: Cache,
    kernel: Kernel,
    base: Vec<u8>,
    accel: Accel,
    by_turns: bool,
    exact_cpus: u32,
    nodes: u32,
    disks: Vec<PathBuf>,
    hardware: Hardware,
    /// A desktop's system, below plan and first process in the image.
    system: Vec<u8>,
    /// Programs that end apps, for plans of phones that have one.
    guards: BTreeMap<String, Guard>,
    qemu: String,
}

impl Phone {
    /// Builds the image and finds out what works on this host.
    ///
    /// `modules` are names ("zram", "dm-ecache"), of the kernel's or of `own`, whose word goes before the kernel's; what they depend on
    /// comes along, of either.
    ///
    /// # Errors
    /// QEMU, a program for the guest or a module is missing.
    pub fn prepare(
        cache: &Cache,
        kernel: Kernel,
        programs: &Programs,
        modules: &[&str],
        own: Option<&BuiltModules>,
        progress: &Progress,
    ) -> Result<Phone> {
        let platform = kernel.platform;
        let qemu = qemu::version(platform)?;
        let stage = progress.stage("image", 0);
        let base = initramfs::base(programs, platform, &load_order(&kernel, modules, own)?)?;
        stage.message("does KVM work?");
        let accel = kvm::best(cache, &kernel, &qemu)?;
        drop(stage);
        Ok(Phone {
            cache: cache.clone(),
            kernel,
            base,
            accel,
            by_turns: false,
            exact_cpus: 1,
            nodes: 1,
            disks: Vec::new(),
            hardware: Hardware::default(),
            system: Vec::new(),
            guards: BTreeMap::new(),
            qemu,
        })
    }

    /// With further files in the guest.
    ///
    /// # Errors
    /// One cannot be read, or its place is no absolute path.
    pub fn with_files(mut self, files: &[GuestFile]) -> Result<Phone> {
        // Archives may follow each other.
        self.base.extend(initramfs::files(files)?);
        Ok(self)
    }

    /// With a desktop's system, for plans that are a desktop's; `root` is what [`desktop::fetch`](crate::desktop::fetch) returned.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn with_desktop(mut self, root: &Path) -> Result<Phone> {
        self.system = crate::desktop::archive(root)?;
        Ok(self)
    }

    /// With a program that ends apps, for plans of phones that have it; `root` is what [`guard::fetch`](crate::guard::fetch) returned.
    ///
    /// # Errors
    /// Nobody knows the program, or the folder cannot be read.
    pub fn with_guard(mut self, name: &str, root: &Path) -> Result<Phone> {
        self.guards.insert(name.to_owned(), guard::guard(name, root)?);
        Ok(self)
    }

    /// With CPUs that run by turns, on one thread of QEMU: for a guest that changes its kernel's code much, by enabling tracepoints, which
    /// QEMU before 8.1 does not always survive with several ([`FailureReason::StaleBreakpoint`](crate::FailureReason::StaleBreakpoint)).
    pub fn by_turns(mut self) -> Phone {
        self.by_turns = true;
        self
    }

    /// With so many CPUs in exact mode, where there is one otherwise. They run by turns, and time goes on with the instructions of all of
    /// them, those of waiting for a lock included.
    pub fn with_exact_cpus(mut self, cpus: u32) -> Phone {
        self.exact_cpus = cpus;
        self
    }

    /// With memory in so many NUMA nodes, between which pages can be moved on request. In fast mode only.
    pub fn with_nodes(mut self, nodes: u32) -> Phone {
        self.nodes = nodes;
        self
    }

    /// With disks: raw image files of the caller's, which every boot in fast mode finds as the boot before left them. In the guest the
    /// first is the one with 1 in /sys/block/nvme0n*/nsid, and so on; the kernel names them in the order in which it finds them.
    pub fn with_disks(mut self, images: &[PathBuf]) -> Phone {
        self.disks = images.to_vec();
        self
    }

    /// With devices beside the usual ones.
    pub fn with_hardware(mut self, hardware: Hardware) -> Phone {
        self.hardware = hardware;
        self
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// QEMU's version.
    pub fn qemu_version(&self) -> &str {
        &self.qemu
    }

    /// What runs fast mode here.
    pub fn accel(&self) -> Accel {
        self.accel
    }

    /// The machine of a plan, its image apart.
    pub(crate) fn machine(&self, plan: &Plan, initrd: PathBuf, console: Console) -> Result<Machine> {
        if plan.exact && !self.disks.is_empty() {
            // Their requests end when the host has done them, which no run repeats.
            return Err(Error::bad(format!("plan {}", plan.scenario), "has disks, which exact mode cannot have"));
        }
        self.check_platform(plan)?;
        let reservation = plan.configuration.reservation;
        // What the phone lacks has the last word.
        let mut kernel_args = qemu::reservation_args(&plan.phone, reservation, self.kernel.platform)?;
        kernel_args.extend(plan.importers.iter().flat_map(|i| i.kernel_args()).map(ToString::to_string));
        kernel_args.extend(plan.lacks.kernel_args.iter().cloned());
        let reserved = matches!(reservation, Reservation::Idle | Reservation::Ecache);
        let carveout = plan.phone.carveout().filter(|_| reserved && self.kernel.platform.is_arm());
        let machine = Machine {
            platform: self.kernel.platform,
            exact: plan.exact,
            accel: self.accel,
            cpus: plan.phone.cpus,
            // With importers tracepoints are switched.
            by_turns: self.by_turns || plan.importers.is_some(),
            exact_cpus: self.exact_cpus,
            memory_bytes: qemu::memory_bytes(&plan.phone, reservation)? + self.beside_bytes(plan),
            nodes: if plan.exact { 1 } else { self.nodes },
            tiers: qemu::checked_tiers(&plan.phone)?,
            kernel: self.kernel.vmlinux.clone(),
            device_tree: None,
            initrd: Some(initrd),
            huge_pages: plan.phone.huge_pages,
            kernel_args,
            disks: self.disks.clone(),
            hardware: plan.importers.map_or_else(|| self.hardware.clone(), Hardware::importers),
            console,
        };
        match carveout {
            None => Ok(machine),
            Some(carveout) => with_device_tree(machine, carveout),
        }
    }

    /// What a machine of ARM cannot play yet is refused before it boots.
    fn check_platform(&self, plan: &Plan) -> Result<()> {
        let platform = self.kernel.platform;
        if !platform.is_arm() {
            return Ok(());
        }
        let lacking = [
            (plan.desktop.is_some(), "a desktop"),
            (plan.phone.tiers.is_some(), "two kinds of memory"),
            (plan.importers.is_some(), "devices that import buffers"),
            (self.guard(plan).is_some(), "another system's memory killer"),
        ];
        match lacking.iter().find(|(wanted, _)| *wanted) {
            None => Ok(()),
            Some((_, what)) => Err(Error::missing(
                format!("machine {platform} has no {}", what.trim_start_matches("a ")),
                "leave --machine out",
            )),
        }
    }

    /// What there is beside the phone's memory: what stands for its disk, which is its system's files and a desktop's swap partition. The latter
    /// is null_blk's, with 2 % for its index.
    fn beside_bytes(&self, plan: &Plan) -> u64 {
        let swap_bytes = match plan.desktop {
            None | Some(Swap::Zram | Swap::None | Swap::Owned) => 0,
            Some(Swap::Disk) => Swap::Disk.size_bytes(plan.phone.memory_bytes),
        };
        let files_bytes = self.guard(plan).map_or(self.system(plan).len() as u64, |guard| guard.bytes);
        (files_bytes + swap_bytes + swap_bytes.div_ceil(50)).next_multiple_of(1 << 20)
    }

    /// What is in the image for some plans only.
    fn system(&self, plan: &Plan) -> &[u8] {
        match plan.desktop {
            Some(_) => &self.system,
            None => self.guard(plan).map_or(&[], |guard| &guard.archive),
        }
    }

    /// The program that ends apps; a desktop's lies in its system.
    fn guard(&self, plan: &Plan) -> Option<&Guard> {
        match plan.desktop {
            Some(_) => None,
            None => self.guards.get(plan.configuration.guard.as_deref()?),
        }
    }

    /// The image of a plan, in a folder that disappears when dropped.
    pub(crate) fn write_image(&self, plan: &Plan) -> Result<(tempfile::TempDir, PathBuf)> {
        let scratch = self.cache.scratch_dir()?;
        let path = scratch.path().join("initrd");
        // The system first: what both have, the phone has in its own way.
        let image = [self.system(plan), &initramfs::with_plan(&self.base, plan)?].concat();
        std::fs::write(&path, image).map_err(Error::io("write", &path))?;
        Ok((scratch, path))
    }
}

/// With a device tree beside the image, which has the carve-out.
fn with_device_tree(mut machine: Machine, carveout: Carveout) -> Result<Machine> {
    let path = machine.initrd.as_deref().unwrap_or(Path::new("initrd")).with_extension("dtb");
    device_tree::write(&machine, carveout, &path)?;
    machine.device_tree = Some(path);
    Ok(machine)
}

fn load_order(kernel: &Kernel, modules: &[&str], own: Option<&BuiltModules>) -> Result<Vec<Module>> {
    if modules.is_empty() {
        return Ok(Vec::new());
    }
    let mut tree = match &kernel.modules {
        Some(dir) => ModuleTree::open(dir)?,
        None => {
            return Err(Error::missing("the kernel was named without its modules", "name them with --modules DIR"));
        }
    };
    for ko in own.map_or(Ok(Vec::new()), BuiltModules::files)? {
        tree.add(&ko)?;
    }
    let mut wanted = modules.to_vec();
    if wanted.contains(&"zram") {
        wanted.extend(tree.zram_codecs()?);
    }
    tree.load_order(&wanted)
}
