// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What this machine can do, and why not: the rows of `fovea check`.

use std::io;

use serde::{Deserialize, Serialize};

use crate::cgroup::Cgroups;
use crate::file::{read, read_into, Root};
use crate::page::PageSize;
use crate::proc::{self, Status};
use crate::psi::Pressure;
use crate::sample::Codec;
use crate::swap::{self, parse_swaps};
use crate::{disk, module, neighbours, sys, tiers, zram};

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is.
    Present,
    /// It is not, or not enough of it.
    Missing,
    /// It could not be found out.
    Unknown,
}

/// One thing looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name; stable.
    pub name: String,
    /// Whether it is there.
    pub state: State,
    /// What Fovea does with it.
    pub gives: String,
    /// What was found.
    pub found: String,
    /// The mechanisms that use it; none for what the whole stands on.
    pub used_by: Vec<String>,
    /// What to do about it; empty if nothing need be done.
    pub mend: String,
}

/// Everything looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Kernel release; empty if it cannot be read.
    pub kernel: String,
    /// What was looked for, the most fundamental first.
    pub rows: Vec<Row>,
}

impl Report {
    /// A row by its name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Says that a mechanism uses what a row is about, and what it gives.
    pub fn used(&mut self, row: &str, mechanism: &str, gives: &str) {
        if let Some(row) = self.rows.iter_mut().find(|r| r.name == row) {
            row.used_by.push(mechanism.to_owned());
            let and = if row.gives.is_empty() { "" } else { "; " };
            row.gives += &format!("{and}{gives}");
        }
    }

    /// Names of what is missing.
    pub fn missing(&self) -> Vec<String> {
        self.rows.iter().filter(|row| row.state == State::Missing).map(|row| row.name.clone()).collect()
    }
}

/// What a probe found.
pub(crate) enum Finding {
    Present(String),
    Missing { found: String, mend: String },
    Unknown(String),
}

use Finding::{Present, Unknown};

pub(crate) fn missing(found: impl Into<String>, mend: impl Into<String>) -> Finding {
    Finding::Missing { found: found.into(), mend: mend.into() }
}

/// Looks at the machine. Changes nothing.
pub(crate) fn check(root: &Root) -> Report {
    let kernel = read(&root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    let kernel = String::from_utf8_lossy(kernel.trim_ascii()).into_owned();
    let cgroups = Cgroups::find(root);
    // What the whole stands on says so here; what a mechanism uses is for the mechanism to say (`Report::used`).
    let rows = [
        ("kernel", "the interfaces below", release(&kernel)),
        ("root", "working on other users' apps", privileges(root)),
        (
            "cgroup2",
            "apps as groups of processes",
            cgroups.as_ref().map_or_else(
                |e| missing("not mounted", e.to_string()),
                |c| Present(format!("mounted on {}", c.mount().display())),
            ),
        ),
        ("apps", "something to work on", crate::places::look(cgroups.as_ref().ok())),
        ("memory-controller", "", memory_controller(cgroups.as_ref().ok())),
        ("freezer", "", freezer(cgroups.as_ref().ok())),
        ("psi", "waking up when memory gets short, instead of looking", pressure(root)),
        ("process_madvise", "", call(root, "5.10", sys::probe_process_madvise)),
        ("pidfd", "never touching a process that was given an old PID", call(root, "5.3", probe_pidfd)),
        ("process_mrelease", "", call(root, "5.15", sys::probe_process_mrelease)),
        ("zram", "", zram_device(root)),
        ("swap-codec", "", codec(root)),
        ("swap", "", swap(root)),
        ("ecache", "", ecache(root)),
        ("buffers", "device buffers that stay mapped between uses", crate::heap_module::look(root)),
        ("disk", "", disk::look(root, cgroups.as_ref().ok())),
        ("ksm", "", crate::merging::look(root)),
        ("sock-diag", "", connections(root)),
        ("udp-limit", "", udp_limit(root)),
        ("tiers", "", tiers::look(root, cgroups.as_ref().ok())),
        ("locked-memory", "the daemon staying in memory itself", locked_memory(root)),
        (
            "alone",
            "one policy: nobody else who kills apps, freezes or ranks them, or sets swap up",
            neighbours::look(root),
        ),
        ("page-size", "pages counted and swap laid out as this kernel has them", page_size(root)),
    ];
    let rows = rows.into_iter().map(|(name, gives, finding)| row(name, gives, finding)).collect();
    Report { kernel, rows }
}

fn row(name: &str, gives: &str, finding: Finding) -> Row {
    let (state, found, mend) = match finding {
        Present(found) => (State::Present, found, String::new()),
        Finding::Missing { found, mend } => (State::Missing, found, mend),
        Unknown(found) => (State::Unknown, found, String::new()),
    };
    Row { name: name.into(), state, gives: gives.into(), found, used_by: Vec::new(), mend }
}

fn release(kernel: &str) -> Finding {
    let mut numbers = kernel.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= (5, 15) => Present(kernel.into()),
        (Some(_), Some(_)) => {
            missing(kernel, "Linux 5.15 or newer has everything; this one lacks what the rows below name")
        }
        _ => Unknown(format!("cannot make sense of release {kernel:?}")),
    }
}

/// CAP_KILL 5, CAP_SYS_MODULE 16, CAP_SYS_PTRACE 19, CAP_SYS_ADMIN 21, CAP_SYS_NICE 23, CAP_SYS_RESOURCE 24.
fn privileges(root: &Root) -> Finding {
    const NEEDED: [(u32, &str); 6] = [
        (5, "CAP_KILL"),
        (16, "CAP_SYS_MODULE"),
        (19, "CAP_SYS_PTRACE"),
        (21, "CAP_SYS_ADMIN"),
        (23, "CAP_SYS_NICE"),
        (24, "CAP_SYS_RESOURCE"),
    ];
    let Some(held) = read(&root.join("proc/self/status")).ok().and_then(|text| Status::parse(&text).capabilities)
    else {
        return Unknown("/proc/self/status does not say".into());
    };
    let lacking: Vec<&str> = NEEDED.iter().filter(|(bit, _)| held >> bit & 1 == 0).map(|&(_, name)| name).collect();
    match lacking.is_empty() {
        true => Present("all capabilities needed".into()),
        false => {
            missing(format!("without {}", lacking.join(", ")), "run as root, outside of containers that drop them")
        }
    }
}

fn memory_controller(cgroups: Option<&Cgroups>) -> Finding {
    let Some(cgroups) = cgroups else { return missing("no cgroup v2", "mount cgroup v2") };
    match read(&cgroups.mount().join("cgroup.controllers")) {
        Err(e) => Unknown(e.to_string()),
        Ok(text) if text.split(u8::is_ascii_whitespace).any(|word| word == b"memory") => {
            Present(String::from_utf8_lossy(text.trim_ascii()).into_owned())
        }
        Ok(text) => missing(
            format!("controllers: {}", String::from_utf8_lossy(text.trim_ascii())),
            "boot with cgroup_no_v1=memory (or systemd.unified_cgroup_hierarchy=1), and without cgroup_disable=memory",
        ),
    }
}

fn freezer(cgroups: Option<&Cgroups>) -> Finding {
    let Some(cgroups) = cgroups else { return missing("no cgroup v2", "mount cgroup v2") };
    // The root has no such file; any cgroup below it has, or none.
    let below = std::fs::read_dir(cgroups.mount()).into_iter().flatten().flatten().map(|entry| entry.path());
    match below.filter(|path| path.is_dir()).map(|path| path.join("cgroup.freeze").exists()).next() {
        Some(true) => Present("cgroup.freeze".into()),
        Some(false) => missing("no cgroup.freeze", "Linux 5.2 or newer has it"),
        None => Unknown("no cgroup to look into".into()),
    }
}

fn pressure(root: &Root) -> Finding {
    let path = root.join("proc/pressure/memory");
    let mut text = Vec::new();
    match read_into(&path, &mut text) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            missing("no /proc/pressure/memory", "boot with psi=1; if that does not help the kernel lacks CONFIG_PSI")
        }
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => missing("switched off", "boot with psi=1"),
        Err(e) => Unknown(e.to_string()),
        Ok(()) => match Pressure::parse(&text).some {
            Some(stall) => Present(format!("some avg10={:.2}", stall.avg10)),
            None => Unknown("/proc/pressure/memory makes no sense".into()),
        },
    }
}

/// Runs a probe that cannot succeed: any error but ENOSYS says that the kernel has the call.
fn call(root: &Root, since: &str, probe: fn() -> io::Result<()>) -> Finding {
    if !root.is_live() {
        return Unknown("captured files do not tell".into());
    }
    match probe().map_err(|e| e.raw_os_error()) {
        Err(Some(libc::ENOSYS)) => missing("no such call", format!("Linux {since} or newer has it")),
        Err(Some(libc::EPERM | libc::EACCES)) => {
            missing("forbidden", "a container or seccomp filter forbids the call: run outside of it")
        }
        _ => Present("callable".into()),
    }
}

fn probe_pidfd() -> io::Result<()> {
    let own = rustix::process::getpid();
    Ok(rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty()).map(drop)?)
}

fn zram_device(root: &Root) -> Finding {
    let devices = zram::devices(root);
    let algorithms = devices.first().and_then(|n| read(&root.join(format!("sys/block/zram{n}/comp_algorithm"))).ok());
    if let Some(text) = algorithms {
        return Present(format!("{} devices, {}", devices.len(), zram::parse_algorithms(&text).0.join(" ")));
    }
    if root.join("sys/class/zram-control/hot_add").exists() {
        return Present("loaded; codecs show with the first device".into());
    }
    match module::is_available(root, "zram") {
        true => Present("module, not loaded; codecs show once it is".into()),
        false => missing("no device and no module", "install the kernel's module package, or build with CONFIG_ZRAM"),
    }
}

fn codec(root: &Root) -> Finding {
    let areas = swap::areas(root);
    let first = areas.iter().max_by_key(|area| area.priority);
    let Some(number) = first.and_then(|area| area.zram_number()) else {
        return Unknown("no zram swap in use yet".into());
    };
    match zram::algorithm_in_use(root, number) {
        Err(e) => Unknown(e.to_string()),
        Ok(name) => match Codec::for_algorithm(&name) {
            (_, true) => Present(name),
            (codec, false) => {
                let codec = format!("{codec:?}").to_lowercase();
                missing(format!("{name}, judged by {codec}"), "use lz4 or zstd for exact judgement")
            }
        },
    }
}

fn swap(root: &Root) -> Finding {
    let Ok(text) = read(&root.join("proc/swaps")) else {
        return missing("no /proc/swaps", "the kernel lacks CONFIG_SWAP");
    };
    let areas = parse_swaps(&text);
    if areas.is_empty() {
        return missing("no area in use", "the daemon makes a zram swap if its configuration says so");
    }
    let names =
        areas.iter().map(|a| format!("{} {} MiB of {} MiB", a.path.display(), a.used_bytes >> 20, a.size_bytes >> 20));
    Present(names.collect::<Vec<_>>().join(", "))
}

fn ecache(root: &Root) -> Finding {
    match crate::ecache::pool(root) {
        Err(e) => Unknown(e.to_string()),
        Ok(Some(_)) if crate::ecache::moves_are_unseen(root) => missing(
            "pages move in memory and the module is not told: they are lost to the cache",
            "dmesg says why function tracing stopped; reboot, or load the module anew",
        ),
        Ok(Some(pool)) => {
            let names = crate::ecache::reservations(root).unwrap_or_default();
            let names: Vec<_> = names.iter().map(|r| format!("{} {} MiB", r.name, r.size_bytes >> 20)).collect();
            let lost = if crate::ecache::follows_moves(root) { "" } else { "; moved pages are lost to it" };
            Present(format!("{} MiB, {} cached; {}{lost}", pool.size_bytes() >> 20, pool.cached, names.join(", ")))
        }
        Ok(None) if module::is_available(root, "dm-ecache") || module::is_available(root, crate::ecache::MODULE) => {
            missing("module, not loaded", "modprobe dm-ecache with carveouts= and devices=: fovea-ecache(4)")
        }
        Ok(None) => missing("no module dm-ecache", "install it: dkms, or make modules: fovea-ecache(4)"),
    }
}

fn connections(root: &Root) -> Finding {
    if !root.is_live() {
        return Unknown("captured files do not tell".into());
    }
    if !crate::net::has_network(root).unwrap_or(true) {
        return Unknown("no network interface but the loopback".into());
    }
    match crate::net::probe(root) {
        Ok(true) => Present("connections, and whose they are".into()),
        Ok(false) => missing("connections, but not whose they are", "Linux 5.8 with CONFIG_SOCK_CGROUP_DATA says so"),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            missing(e.to_string(), "modprobe tcp_diag, or build with CONFIG_INET_TCP_DIAG; mount /proc")
        }
        Err(e) => missing(e.to_string(), "a container or seccomp filter forbids sock_diag: run outside of it"),
    }
}

/// Never missing: who has not asked for it lacks nothing.
fn udp_limit(root: &Root) -> Finding {
    const FOR: &str = "only [net] limit_udp needs it";
    if !root.is_live() {
        return Unknown("captured files do not tell".into());
    }
    // Asking would load a module that is not.
    let text = |path: &str| String::from_utf8(read(&root.join(path)).unwrap_or_default()).unwrap_or_default();
    let built_in = text(&format!("lib/modules/{}/modules.builtin", text("proc/sys/kernel/osrelease").trim()));
    if !root.join("sys/module/nf_tables").exists() && !built_in.contains("/nf_tables.ko") {
        return Unknown(format!("nf_tables is not loaded, or not known to be there; {FOR}"));
    }
    match crate::nftables::probe() {
        Ok(()) => Present("nf_tables, by the cgroup of the socket that a packet is for".into()),
        Err(e) => {
            let (wrong, mend) = crate::nftables::why(&e);
            Unknown(format!("{wrong}; {FOR}; {mend}"))
        }
    }
}

fn locked_memory(root: &Root) -> Finding {
    /// What the daemon may come to occupy.
    const NEEDED_BYTES: u64 = 64 << 20;
    let Ok(text) = read(&root.join("proc/self/limits")) else { return Unknown("no /proc/self/limits".into()) };
    let Some(limit) = proc::after_key(&text, b"Max locked memory") else {
        return Unknown("/proc/self/limits does not say".into());
    };
    let capabilities = read(&root.join("proc/self/status")).ok().and_then(|text| Status::parse(&text).capabilities);
    match proc::number(limit) {
        _ if capabilities.is_some_and(|held| held >> 14 & 1 == 1) => Present("CAP_IPC_LOCK".into()),
        None if limit.trim_ascii_start().starts_with(b"unlimited") => Present("unlimited".into()),
        Some(bytes) if bytes >= NEEDED_BYTES => Present(format!("{} MiB", bytes >> 20)),
        Some(bytes) => missing(format!("{} KiB", bytes >> 10), "run as root, or LimitMEMLOCK=64M in the unit"),
        None => Unknown("/proc/self/limits makes no sense".into()),
    }
}

/// Which sizes the kernel's modules know is theirs to say: they refuse to load where it is not this one.
fn page_size(root: &Root) -> Finding {
    match root.page_size() {
        PageSize::SMALLEST => Present("4 KiB".into()),
        page => Present(format!(
            "{} KiB; pages in the configuration and the journal are of 4 KiB here too",
            page.bytes() >> 10
        )),
    }
}
