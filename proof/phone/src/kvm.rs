// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whether KVM works here, found out by booting: `/dev/kvm` can be there and hang every guest.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use fovea_scenario::HugePages;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::child::{Next, Running};
use crate::console::ConsoleTail;
use crate::error::{Error, FailureReason, Result};
use crate::hardware::Hardware;
use crate::kernel::Kernel;
use crate::qemu::{Accel, Console, Machine};

/// A kernel without a root file system panics after 1 s under KVM; translated code takes 3 s.
const LIMIT: Duration = Duration::from_secs(10);
const RECORD: &str = "kvm-probe.json";

/// What a probe found, and for which boot of the host.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Probe {
    boot_id: String,
    qemu: String,
    works: bool,
}

/// The faster of what works here. The probe's result is kept until the host boots again or QEMU changes.
pub(crate) fn best(cache: &Cache, kernel: &Kernel, qemu: &str) -> Result<Accel> {
    // A PC's is what the probe knows.
    if kernel.platform.is_arm() || File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Accel::Tcg);
    }
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut probe = Probe { boot_id, qemu: qemu.to_owned(), works: false };
    match remembered(cache, &probe) {
        Some(works) => probe.works = works,
        None => {
            probe.works = boots(cache, kernel, Accel::Kvm, LIMIT)?;
            let text = serde_json::to_vec(&probe).map_err(|e| Error::bad(RECORD, e.to_string()))?;
            cache.write_file(RECORD, &text)?;
        }
    }
    Ok(if probe.works { Accel::Kvm } else { Accel::Tcg })
}

fn remembered(cache: &Cache, now: &Probe) -> Option<bool> {
    let probe: Probe = serde_json::from_slice(&fs::read(cache.path(RECORD)).ok()?).ok()?;
    (probe.boot_id == now.boot_id && probe.qemu == now.qemu).then_some(probe.works)
}

/// Whether the kernel gets as far as looking for its first process: without an image it then panics, which ends QEMU.
pub(crate) fn boots(cache: &Cache, kernel: &Kernel, accel: Accel, limit: Duration) -> Result<bool> {
    let scratch = cache.scratch_dir()?;
    let log = scratch.path().join("console.log");
    let machine = Machine {
        platform: kernel.platform,
        exact: false,
        accel,
        // Two, because a KVM that does one CPU may still fail at starting others.
        cpus: 2,
        by_turns: false,
        exact_cpus: 1,
        memory_bytes: 256 << 20,
        nodes: 1,
        tiers: None,
        kernel: kernel.vmlinux.clone(),
        device_tree: None,
        initrd: None,
        huge_pages: HugePages::Never,
        kernel_args: Vec::new(),
        disks: Vec::new(),
        hardware: Hardware::default(),
        console: Console::File(log.clone()),
    };
    let mut qemu = Running::start(&machine, &scratch.path().join("qemu.log"))?;
    let end = Instant::now() + limit;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        if let Next::Ended = qemu.next(left) {
            let mut console = ConsoleTail::new(log);
            console.poll();
            return Ok(matches!(console.breakdown(), Some(FailureReason::Panic(why)) if why.contains("root fs")));
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_counts_for_one_boot_and_one_qemu() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path()).unwrap();
        let probe = |boot: &str, qemu: &str| Probe { boot_id: boot.into(), qemu: qemu.into(), works: true };
        assert_eq!(remembered(&cache, &probe("a", "7.2")), None);
        cache.write_file(RECORD, &serde_json::to_vec(&probe("a", "7.2")).unwrap()).unwrap();
        assert_eq!(remembered(&cache, &probe("a", "7.2")), Some(true));
        assert_eq!(remembered(&cache, &probe("b", "7.2")), None);
        assert_eq!(remembered(&cache, &probe("a", "10.0")), None);
    }
}
