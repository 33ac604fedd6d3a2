// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The slow disk: null_blk in memory, a scheduler or dm-aciom, a file system, and the apps' files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use fovea_contract::{aciom_options, ACIOM_TARGET};
use fovea_linux::dm::{device_number, DeviceMapper, Target};
use fovea_linux::Root;
use fovea_scenario::{DiskLoad, DiskSetting};
use rustix::mount::MountFlags;

use super::apps;
use crate::outcome::{read_file, write_file, At, Outcome};

/// The device.
const DEVICE: &str = "slow";

/// The volume on it.
pub const NAME: &str = "ordered";

/// Where the files are.
pub const ROOT: &str = "/tmp/disk";

fn node() -> PathBuf {
    Path::new("/dev").join(DEVICE)
}

/// Its number, as the kernel's files have it.
pub fn number() -> Outcome<String> {
    device_number(&node()).at(|| format!("/dev/{DEVICE}"))
}

/// Makes all of it, once; nothing where the flash is the disk.
pub fn set_up(load: &DiskLoad, setting: DiskSetting) -> Outcome<()> {
    if Path::new(ROOT).exists() {
        return Ok(());
    }
    make_device(load)?;
    let rate = if load.disk.rate_known { load.disk.rate_bytes() } else { 0 };
    let node = ordered(&node(), DiskLoad::SIZE_MIB << 20, rate, setting)?;
    let device = node.display().to_string();
    let output = Command::new("/bin/busybox").args(["mke2fs", "-F", "-b", "4096", "-m", "0", &device]).output();
    let output = output.at(|| "running /bin/busybox mke2fs".into())?;
    if !output.status.success() {
        return Err(format!("mke2fs on {device}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    std::fs::create_dir_all(ROOT).at(|| format!("making {ROOT}"))?;
    rustix::mount::mount(device.as_str(), ROOT, "ext2", MountFlags::NOATIME, None)
        .at(|| format!("mounting {device} on {ROOT}"))?;
    apps::fill(Path::new(ROOT))?;
    rustix::fs::sync();
    write_file("/proc/sys/vm/drop_caches", "3")
}

fn make_device(load: &DiskLoad) -> Outcome<()> {
    let folder = Path::new("/sys/kernel/config/nullb").join(DEVICE);
    std::fs::create_dir(&folder).at(|| format!("making {}", folder.display()))?;
    for (name, value) in [
        ("size", DiskLoad::SIZE_MIB),
        ("blocksize", 4096),
        ("memory_backed", 1),
        ("irqmode", 2),
        ("completion_nsec", load.disk.command_ns),
        ("max_sectors", load.disk.command_bytes / 512),
        ("submit_queues", 1),
        ("hw_queue_depth", load.disk.queue_depth),
        ("power", 1),
    ] {
        write_file(folder.join(name), &value.to_string())?;
    }
    Ok(())
}

/// A device whose requests are ordered: by its scheduler, or by dm-aciom on it. `rate` is what it does in a second, 0 if that is not told.
pub fn ordered(device: &Path, size_bytes: u64, rate: u64, setting: DiskSetting) -> Outcome<PathBuf> {
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    let scheduler = format!("/sys/block/{name}/queue/scheduler");
    write_file(&scheduler, setting.scheduler())?;
    let chosen = read_file(&scheduler)?;
    if !chosen.contains(&format!("[{}]", setting.scheduler())) {
        return Err(format!("{scheduler} says {:?}, not {}", chosen.trim(), setting.scheduler()));
    }
    if setting != DiskSetting::FoveaDm {
        return Ok(device.to_owned());
    }
    let mapper = DeviceMapper::open(&Root::at("/")).at(|| "device-mapper".into())?;
    let number = device_number(device).at(|| device.display().to_string())?;
    let table = Target {
        start_sectors: 0,
        size_sectors: size_bytes / 512,
        kind: ACIOM_TARGET.into(),
        parameters: format!("{number} {}={rate}", aciom_options::CMAX),
    };
    mapper.create(NAME).at(|| NAME.into())?;
    mapper.load(NAME, &[table]).at(|| NAME.into())?;
    Ok(mapper.resume(NAME).at(|| NAME.into())?.node())
}

/// The apps' files on the flash, in the place where they look for them.
pub fn fill_flash(flash_root: &Path) -> Outcome<()> {
    let folder = flash_root.join("disk");
    std::fs::create_dir_all(&folder).at(|| format!("making {}", folder.display()))?;
    apps::fill(&folder)?;
    std::os::unix::fs::symlink(&folder, ROOT).at(|| format!("making {ROOT}"))
}

/// What the volume says of itself: pairs of name and number.
pub fn status(setting: DiskSetting) -> Outcome<BTreeMap<String, u64>> {
    if setting != DiskSetting::FoveaDm {
        return Ok(BTreeMap::new());
    }
    let mapper = DeviceMapper::open(&Root::at("/")).at(|| "device-mapper".into())?;
    let lines = mapper.status(NAME).at(|| NAME.into())?;
    let text: String = lines.into_iter().map(|line| line.parameters).collect();
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let pairs = words.chunks_exact(2).filter_map(|pair| Some((pair[0].to_owned(), pair[1].parse().ok()?)));
    Ok(pairs.collect())
}
