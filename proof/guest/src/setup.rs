// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a first process does before anything else: mounts, modules, cgroups.

use std::fs::File;
use std::path::{Path, PathBuf};

use fovea_contract::WRAP_MODULE;
use fovea_linux::module;
use fovea_scenario::Plan;
use rustix::mount::{mount, MountFlags};

use crate::outcome::{read_file, write_file, At, Outcome};
use crate::readings::list;
use crate::reserved;

/// Where cgroup v2 is mounted.
pub const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// Cgroup of all apps.
pub const APPS: &str = "apps";

/// Cgroup of what the phone itself needs.
const SYSTEM: &str = "system";

/// Cgroup of what is no app, by systemd's layout: the daemon looks there.
pub const UNITS: &str = "system.slice";

/// Cgroup of the zygote.
pub const ZYGOTE: &str = "system/zygote";

/// Cgroup of the daemon.
pub const DAEMON: &str = "system/fovead";

/// What only boots with a slow disk load.
const DISK_MODULES: [&str; 4] = ["mq_deadline", "kyber_iosched", "bfq", "dm_aciom"];

/// Folder of a cgroup.
pub fn cgroup_path(cgroup: &str) -> PathBuf {
    Path::new(CGROUP_ROOT).join(cgroup)
}

/// Mounts the kernel's file systems and two of memory.
pub fn mounts() -> Outcome<()> {
    for (kind, at) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("cgroup2", CGROUP_ROOT),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        std::fs::create_dir_all(at).at(|| format!("making {at}"))?;
        match mount(kind, at, kind, MountFlags::empty(), None) {
            // The kernel may have mounted /dev itself (CONFIG_DEVTMPFS_MOUNT).
            Ok(()) | Err(rustix::io::Errno::BUSY) => {}
            Err(error) => return Err(format!("mounting {kind} on {at}: {error}")),
        }
    }
    Ok(())
}

/// As systemd mounts it on every machine.
pub fn debugfs() -> Outcome<()> {
    mount("debugfs", "/sys/kernel/debug", "debugfs", MountFlags::empty(), None).at(|| "mounting debugfs".into())
}

/// Keeps the kernel's per-CPU lists of free pages short. By default they grow with the rate of freeing to an eighth of a zone, and
/// MemFree and MemAvailable do not count what they hold: on a phone of 256 MB the same state read up to 25 MB apart. Set before
/// anything is measured, alike in every configuration.
pub fn short_page_lists() -> Outcome<()> {
    write_file("/proc/sys/vm/percpu_pagelist_high_fraction", "1024")
}

/// The kernel's command line.
pub fn command_line() -> Outcome<String> {
    read_file("/proc/cmdline")
}

/// Takes modules out of the image, so that nobody can load them.
pub fn lack_modules(lacking: &[String]) -> Outcome<()> {
    for wanted in lacking {
        let files = list("/modules")?;
        let file = files.iter().find(|file| module_name(file).as_ref() == Some(wanted));
        let file = file.ok_or_else(|| format!("lacks.modules: no module {wanted} in the image: correct the name"))?;
        let path = Path::new("/modules").join(file);
        std::fs::remove_file(&path).at(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

/// Loads `/modules/NN-*.ko` in the order of their names, but those that the plan does without; then mounts configfs, which may be one of them.
pub fn modules(plan: &Plan) -> Outcome<()> {
    let files: Vec<(String, PathBuf)> = list("/modules")?
        .iter()
        .filter_map(|file| Some((module_name(file)?, Path::new("/modules").join(file))))
        .collect();
    let needs = |wanted: &str| match files.iter().find(|(name, _)| name == wanted) {
        Some((_, path)) => File::open(path).and_then(module::dependencies).at(|| format!("reading {}", path.display())),
        None => Ok(Vec::new()),
    };
    let image = files.iter().map(|(name, _)| name.clone()).collect();
    let unwanted = reserved::unwanted(plan.configuration.reservation, &image, needs)?;
    for (name, path) in &files {
        let parameters = match name.as_str() {
            "zram" if !plan.configuration.zram => continue,
            // Schedulers and what orders requests, in an image for boots that differ in them.
            _ if plan.configuration.disk.is_none() && DISK_MODULES.contains(&name.as_str()) => continue,
            // It takes what others export from then on: a boot compares with it and without it.
            WRAP_MODULE => continue,
            _ if unwanted.contains(name) => continue,
            // No device of the module's own: who wants a zram makes it, and the flash is made through configfs.
            "zram" => c"num_devices=0".to_owned(),
            "null_blk" => c"nr_devices=0".to_owned(),
            _ => reserved::module_parameters(plan, name)?,
        };
        let file = File::open(path).at(|| format!("opening {}", path.display()))?;
        match rustix::system::finit_module(&file, &parameters, 0) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(format!("loading {}: {error}: is it of this kernel?", path.display())),
        }
    }
    match mount("configfs", "/sys/kernel/config", "configfs", MountFlags::empty(), None) {
        Ok(()) | Err(rustix::io::Errno::BUSY) => Ok(()),
        Err(error) => Err(format!("mounting configfs: {error}: the module configfs must be in /modules")),
    }
}

/// "zram" of "07-zram.ko", with underscores for dashes as the kernel has it.
fn module_name(file: &str) -> Option<String> {
    let stem = file.strip_suffix(".ko")?;
    let (number, name) = stem.split_once('-')?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| name.replace('-', "_"))
}

/// Makes the cgroups that apps, zygote and daemon live in.
pub fn cgroups() -> Outcome<()> {
    enable_controllers(Path::new(CGROUP_ROOT))?;
    [APPS, SYSTEM, UNITS, ZYGOTE, DAEMON].into_iter().try_for_each(make_cgroup)
}

/// Makes a cgroup; those at the top have others in them.
pub fn make_cgroup(cgroup: &str) -> Outcome<()> {
    let path = cgroup_path(cgroup);
    std::fs::create_dir(&path).at(|| format!("making {}", path.display()))?;
    match cgroup.contains('/') {
        true => Ok(()),
        false => enable_controllers(&path),
    }
}

fn enable_controllers(cgroup: &Path) -> Outcome<()> {
    let there = read_file(cgroup.join("cgroup.controllers"))?;
    for wanted in ["memory", "cpu", "io", "pids"] {
        if there.split_ascii_whitespace().any(|name| name == wanted) {
            write_file(cgroup.join("cgroup.subtree_control"), &format!("+{wanted}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_names_come_from_numbered_files_only() {
        assert_eq!(module_name("07-null-blk.ko").as_deref(), Some("null_blk"));
        assert_eq!(module_name("10-zram.ko").as_deref(), Some("zram"));
        assert_eq!(module_name("zram.ko"), None);
        assert_eq!(module_name("README"), None);
        assert_eq!(module_name("x-y.ko"), None);
    }
}
