// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! QEMU's command line.
//!
//! Exact mode has `microvm` without ACPI tables, which boots an uncompressed kernel by its PVH entry with almost no firmware and still
//! takes `isa-debugcon` and `isa-debug-exit`: 2.3 s of wall time to the first process, against 5.4 to 6.0 s for `pc`. Fast mode has
//! `q35`: it boots as fast as the others there (about 2.5 s with two CPUs), and unlike `microvm` it has an HPET. On a loaded host the
//! kernel cannot calibrate its clock against the PIT, and `microvm`, which offers nothing else, then hangs without a timer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use fovea_scenario::{HugePages, PhoneProfile, Reservation, Tiers};
use serde::{Deserialize, Serialize};

use crate::command;
use crate::error::{Error, Result};
use crate::hardware::Hardware;
use crate::platform::Platform;

mod arm;

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accel {
    /// Translation: works everywhere.
    Tcg,
    /// The host's CPU.
    Kvm,
}

/// Where the guest's console goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Console {
    /// To a file; events come from QEMU's standard output.
    File(PathBuf),
    /// To the terminal, with QEMU's monitor behind Ctrl-A C; there are no events.
    Terminal,
}

/// A machine to boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What kind of machine.
    pub platform: Platform,
    /// One instruction is one nanosecond, and every run is the same. Always TCG.
    pub exact: bool,
    /// CPUs in exact mode, which run by turns: time goes on with the instructions of all.
    pub exact_cpus: u32,
    /// What runs it in fast mode.
    pub accel: Accel,
    /// CPUs in fast mode.
    pub cpus: u32,
    /// In fast mode without KVM, the CPUs run by turns.
    pub by_turns: bool,
    /// The guest's memory.
    pub memory_bytes: u64,
    /// NUMA nodes that share the memory; the CPUs are all in the first. With 1 there are none.
    pub nodes: u32,
    /// Memory of two kinds, instead of such nodes.
    pub tiers: Option<Tiers>,
    /// The kernel, as [`Kernel::vmlinux`](crate::Kernel) is.
    pub kernel: PathBuf,
    /// The device tree, where QEMU's own will not do. On ARM only.
    pub device_tree: Option<PathBuf>,
    /// The guest's image; none for a probe.
    pub initrd: Option<PathBuf>,
    /// Transparent huge pages.
    pub huge_pages: HugePages,
    /// Kernel arguments beside the usual ones.
    pub kernel_args: Vec<String>,
    /// Raw images, which outlive the boot: namespaces 1, 2, … of one NVMe controller. In fast mode only; `microvm` has no PCI.
    pub disks: Vec<PathBuf>,
    /// Devices beside the usual ones.
    pub hardware: Hardware,
    /// Where the console goes.
    pub console: Console,
}

/// Memory to give to the guest: what the phone has for its system, and the flash's content, which null_blk keeps in pages of the
/// guest, with 2 % for its index. In whole MiB, rounded up. Reserved memory is part of it if the boot does something with it.
///
/// # Errors
/// The reservations leave nothing, or the sizes are beyond counting.
pub fn memory_bytes(phone: &PhoneProfile, reservation: Reservation) -> Result<u64> {
    let bad = |why: &str| Error::bad(format!("phone profile {}", phone.name), why);
    let too_large = || bad("sizes beyond 2^64; make them smaller");
    let reserved = phone.reserved_bytes.values().try_fold(0u64, |sum, &size| sum.checked_add(size));
    let less_reserved = phone
        .memory_bytes
        .checked_sub(reserved.ok_or_else(too_large)?)
        .filter(|&left| left > 0)
        .ok_or_else(|| bad("reserved_bytes leave nothing of memory_bytes; make them smaller"))?;
    let system = match reservation {
        Reservation::Absent => less_reserved,
        _ => phone.memory_bytes,
    };
    let flash = phone.flash.size_bytes;
    let sum = system.checked_add(flash).and_then(|sum| sum.checked_add(flash.div_ceil(50)));
    sum.and_then(|sum| sum.checked_next_multiple_of(1 << 20)).ok_or_else(too_large)
}

/// Room above a carve-out: what early boot allocates lies at the upper end of memory, and the section that the carve-out ends in
/// should hold ordinary memory, too, so that the kernel has a description of its pages in any case.
const ABOVE_CARVEOUT_BYTES: u64 = 64 << 20;

/// Boot-time allocations that lie in the uppermost memory, which ZONE_MOVABLE takes, and cannot be moved: the description of all pages,
/// hash tables, the image. As much more is made movable, so that the devices' regions can lie below them.
const EARLY_BYTES: u64 = 64 << 20;

/// Kernel arguments for what the boot does with reserved memory. On ARM the device tree says it.
///
/// # Errors
/// The phone has no reserved memory, or too little other memory for it.
pub fn reservation_args(phone: &PhoneProfile, reservation: Reservation, platform: Platform) -> Result<Vec<String>> {
    let bad = |why: &str| Error::bad(format!("phone profile {}", phone.name), why);
    let carveout = || {
        let carveout = phone.carveout().ok_or_else(|| bad("reserves no memory; add reserved_bytes"))?;
        match carveout.address.saturating_add(carveout.size_bytes).saturating_add(ABOVE_CARVEOUT_BYTES) {
            needed if needed <= phone.memory_bytes => Ok(carveout),
            _ => Err(bad("reserved_bytes do not fit above 256 MiB with 64 MiB to spare; give it more memory_bytes")),
        }
    };
    Ok(match reservation {
        Reservation::Absent | Reservation::Returned => Vec::new(),
        Reservation::Idle | Reservation::Ecache if platform.is_arm() => carveout().map(|_| Vec::new())?,
        // No shell sees the dollar sign.
        Reservation::Idle | Reservation::Ecache => {
            let carveout = carveout()?;
            vec![format!("memmap={}${:#x}", carveout.size_bytes, carveout.address)]
        }
        Reservation::Migrate => vec![format!("movablecore={}", carveout()?.size_bytes + EARLY_BYTES)],
    })
}

/// Fast memory that a kernel cannot do without: it boots in it, and what it keeps of every page of either kind lies there.
const FAST_LEAST_BYTES: u64 = 64 << 20;

/// The phone's kinds of memory, if it has two.
///
/// # Errors
/// They make no sense.
pub fn checked_tiers(phone: &PhoneProfile) -> Result<Option<Tiers>> {
    let Some(tiers) = phone.tiers else { return Ok(None) };
    let bad = |why: &str| Err(Error::bad(format!("phone profile {}", phone.name), why));
    if tiers.slow_bytes == 0 || tiers.slow_bytes % (1 << 20) != 0 {
        return bad("slow_bytes is no whole number of MiB above 0");
    }
    if phone.memory_bytes.checked_sub(tiers.slow_bytes).is_none_or(|fast_bytes| fast_bytes < FAST_LEAST_BYTES) {
        return bad("slow_bytes leave less than 64 MiB of memory_bytes; make them smaller");
    }
    if tiers.slow.latency_ns <= tiers.fast.latency_ns {
        return bad("its slow memory must be slower than its fast memory; exchange them");
    }
    Ok(Some(tiers))
}

impl Machine {
    /// The kernel's command line.
    pub fn kernel_command_line(&self) -> String {
        let mut line = format!("console={}", self.platform.console());
        // No randomness in addresses, none from the CPU.
        line += " nokaslr norandmaps random.trust_cpu=off";
        if !self.platform.is_arm() {
            // Checks of timer and clock fail by chance on a loaded host.
            line += " no_timer_check tsc=reliable";
        }
        // The kernel's checks of its ciphers take a fifth of a boot's instructions, and nothing here enciphers.
        line += " cryptomgr.notests";
        line += &format!(" transparent_hugepage={} psi=1", self.huge_pages.name());
        // A panic resets the machine at once, on a PC by a triple fault, and -no-reboot makes that QEMU's end.
        line += if self.platform.is_arm() { " panic=-1" } else { " panic=-1 reboot=t" };
        // Console output costs guest time; what goes wrong is printed all the same.
        line += " quiet";
        for arg in &self.kernel_args {
            line.push(' ');
            line += arg;
        }
        line
    }

    /// QEMU's arguments.
    pub fn args(&self) -> Vec<OsString> {
        let cpus = if self.exact { self.exact_cpus } else { self.cpus }.max(1);
        if self.platform.is_arm() {
            return self.arm_args(cpus);
        }
        let mut args = Args::default();
        // Of the speed of memory only ACPI tells, which microvm has not.
        let hmat = if self.tiers.is_some() { ",hmat=on" } else { "" };
        args.pair(
            "-machine",
            // Nor of other CPUs.
            match self.exact && cpus == 1 && self.hardware.is_none() && self.tiers.is_none() {
                true => "microvm,acpi=off,auto-kernel-cmdline=off,x-option-roms=off".to_owned(),
                false => format!("{}{hmat}", self.hardware.machine()),
            },
        );
        args.list(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        // cx16=off: QEMU 7.2's TCG loses flags after cmpxchg16b, and SLUB then crashes at random.
        // rr=record, for its lock only (the recording goes nowhere): without it QEMU's main loop, if something wakes it after the guest's HLT
        // but before the instructions up to there are counted, takes the clock that much too far. It needs a loaded host, or a test. QEMU has
        // no such lock for several CPUs: a test that has them compares what it counted in the same boot.
        let lock = if cpus == 1 { ",rr=record,rrfile=/dev/null" } else { "" };
        match (self.exact, self.accel) {
            (true, _) => {
                args.pair("-accel", "tcg,thread=single");
                args.pair("-icount", format!("shift=0,sleep=off{lock}"));
                args.pair("-rtc", "base=2026-01-01,clock=vm");
                args.pair("-cpu", "max,cx16=off,-rdrand,-rdseed");
            }
            (false, Accel::Tcg) => {
                args.pair("-accel", if self.by_turns { "tcg,thread=single" } else { "tcg,thread=multi" });
                args.pair("-cpu", "max,cx16=off");
            }
            (false, Accel::Kvm) => args.list(&["-accel", "kvm", "-cpu", "host"]),
        }
        args.pair("-smp", cpus.to_string());
        let memory_mib = self.memory_bytes.div_ceil(1 << 20);
        args.pair("-m", format!("size={memory_mib}M"));
        match &self.tiers {
            Some(tiers) => args.tiers(tiers, memory_mib, cpus),
            None => args.nodes(self.nodes, memory_mib),
        }
        args.path("-kernel", &self.kernel);
        if let Some(initrd) = &self.initrd {
            args.path("-initrd", initrd);
        }
        args.pair("-append", self.kernel_command_line());
        self.hardware.block_devices.iter().for_each(|disk| args.pair("-blockdev", disk));
        self.hardware.arguments().for_each(|device| args.pair("-device", device));
        args.disks(&self.disks);
        match &self.console {
            Console::File(path) => {
                args.pair("-chardev", format!("file,id=console,path={}", list_item(path)));
                args.pair("-serial", "chardev:console");
                // Our end of the pipe is read while the guest runs.
                args.pair("-chardev", "stdio,id=events,signal=off");
                args.pair("-device", "isa-debugcon,iobase=0xe9,chardev=events");
            }
            Console::Terminal => args.pair("-serial", "mon:stdio"),
        }
        args.pair("-device", "isa-debug-exit,iobase=0xf4,iosize=4");
        args.0
    }

    /// The command to start, which ends when the thread that started it does.
    pub(crate) fn command(&self) -> Command {
        // A death signal can be set only between fork and exec; setpriv (util-linux, part of every Debian) does it for us.
        const SETPRIV: &str = "/usr/bin/setpriv";
        let mut command;
        if Path::new(SETPRIV).exists() {
            command = Command::new(SETPRIV);
            command.args(["--pdeathsig", "KILL", "--", self.platform.qemu()]);
        } else {
            command = Command::new(self.platform.qemu());
        }
        command.args(self.args());
        command
    }
}

#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn list(&mut self, args: &[&str]) {
        self.0.extend(args.iter().map(OsString::from));
    }

    fn pair(&mut self, option: &str, value: impl Into<OsString>) {
        self.0.push(option.into());
        self.0.push(value.into());
    }

    /// Raw images as namespaces of one NVMe controller.
    fn disks(&mut self, disks: &[PathBuf]) {
        if !disks.is_empty() {
            self.pair("-device", "nvme,id=storage,serial=fovea");
        }
        for (number, disk) in (1..).zip(disks) {
            self.pair("-drive", format!("if=none,format=raw,id=disk{number},file={}", list_item(disk)));
            self.pair("-device", format!("nvme-ns,bus=storage,nsid={number},drive=disk{number}"));
        }
    }

    /// Memory in nodes of the same size; the last has what does not divide, since QEMU wants the sizes to add up.
    fn nodes(&mut self, count: u32, memory_mib: u64) {
        let last = u64::from(count.max(1)) - 1;
        for node in (0..=last).filter(|_| last > 0) {
            let share = memory_mib / (last + 1) + if node == last { memory_mib % (last + 1) } else { 0 };
            self.pair("-object", format!("memory-backend-ram,id=node{node},size={share}M"));
            self.pair("-numa", format!("node,nodeid={node},memdev=node{node}"));
        }
    }

    /// The kinds of memory: a node each, and what one CPU's access to either takes.
    fn tiers(&mut self, tiers: &Tiers, memory_mib: u64, cpus: u32) {
        let slow_mib = tiers.slow_bytes >> 20;
        // Said, since QEMU wants to know of CPUs before it believes that they access anything.
        let cpus = format!(",cpus=0-{}", cpus - 1);
        let fast_mib = memory_mib.saturating_sub(slow_mib);
        let nodes = [(fast_mib, &cpus[..], tiers.fast), (slow_mib, ",initiator=0", tiers.slow)];
        for (node, (size_mib, cpus, _)) in nodes.iter().enumerate() {
            self.pair("-object", format!("memory-backend-ram,id=node{node},size={size_mib}M"));
            self.pair("-numa", format!("node,nodeid={node},memdev=node{node}{cpus}"));
        }
        for (node, (_, _, speed)) in nodes.iter().enumerate() {
            let table = format!("hmat-lb,initiator=0,target={node},hierarchy=memory,data-type=access");
            self.pair("-numa", format!("{table}-latency,latency={}", speed.latency_ns));
            self.pair("-numa", format!("{table}-bandwidth,bandwidth={}M", speed.bandwidth_mib_per_s));
        }
    }

    fn path(&mut self, option: &str, path: &Path) {
        self.pair(option, path.as_os_str());
    }
}

/// A path in a list of options: there a comma is written twice.
fn list_item(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// QEMU's version, e.g. "7.2.22".
///
/// # Errors
/// QEMU is not installed.
pub fn version(platform: Platform) -> Result<String> {
    let program = platform.qemu();
    let text = command::stdout(Command::new(program).arg("--version"), &platform.qemu_mend())?;
    parse_version(&text).ok_or_else(|| Error::Command { program: program.into(), detail: "told no version".into() })
}

fn parse_version(text: &str) -> Option<String> {
    Some(text.lines().next()?.split("version ").nth(1)?.split_whitespace().next()?.to_owned())
}

#[cfg(test)]
#[path = "qemu_tests.rs"]
mod tests;
