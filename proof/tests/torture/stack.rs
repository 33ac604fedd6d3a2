// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The devices under test, each a target over null_blk:
//!
//! ```text
//! a    ext4, mounted with `discard`    ecache -> null_blk, sectors of 512 bytes, discards
//! b    ext4                            ecache -> linear and, under one file, flakey -> null_blk, sectors of 4096 bytes
//! c    raw                             ecache -> delay (6 ms for writes) -> null_blk, sectors of 512 bytes, discards
//! ```

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use fovea_contract::ECACHE_MODULE;
use fovea_linux::dm::{device_number, DeviceMapper, Suspend, Target};
use fovea_linux::{module, Root};
use fovea_tests::audit::Sides;
use fovea_tests::kernel::{at, make_disk, run, target, SECTOR};
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};

pub use fovea_tests::kernel::{open_direct, read_number, write_file, Outcome};

pub const A: usize = 0;
pub const B: usize = 1;
pub const C: usize = 2;

/// A null_blk: name, MiB, bytes of a sector, whether it discards, how requests end (1 softirq, 2 timer of 100 us).
const DISKS: [(&str, u64, u64, u64, u64); 3] = [("n0", 64, 512, 1, 2), ("n1", 64, 4096, 0, 1), ("n2", 8, 512, 1, 1)];
/// The delay of writes to c: long against everything that must happen in between.
const WRITE_DELAY_MS: u64 = 6;

/// A mapped device.
pub struct Volume {
    /// Its name for device-mapper.
    pub name: &'static str,
    /// Its node.
    pub node: PathBuf,
    /// The disk at the bottom, where each block is at the same place.
    pub disk: PathBuf,
    /// Where it is mounted, if it is.
    pub mount: Option<PathBuf>,
    /// Size of what it maps.
    pub size_bytes: u64,
    table: Vec<Target>,
}

/// All of them.
pub struct Stack {
    pub mapper: DeviceMapper,
    pub volumes: Vec<Volume>,
    /// The device between b and its disk.
    lower_b: Volume,
    lower_c: Volume,
}

impl Volume {
    /// For comparing the one with the other.
    pub fn sides(&self) -> Sides<'_> {
        Sides { name: self.name, node: &self.node, disk: &self.disk, size_bytes: self.size_bytes }
    }

    /// One of another making, to be compared with its disk.
    pub fn of_disk(name: &'static str, node: PathBuf, disk: PathBuf, size_bytes: u64) -> Volume {
        Volume { name, node, disk, mount: None, size_bytes, table: Vec::new() }
    }
}

fn make_volume(mapper: &DeviceMapper, name: &'static str, disk: &Path, table: Vec<Target>) -> Outcome<Volume> {
    let size = table.iter().map(|target| target.size_sectors).sum::<u64>() * SECTOR;
    at(name, mapper.create(name))?;
    at(name, mapper.load(name, &table))?;
    let info = at(name, mapper.resume(name))?;
    Ok(Volume { name, node: info.node(), disk: disk.to_owned(), mount: None, size_bytes: size, table })
}

impl Stack {
    /// Makes everything; the targets under test are of type `kind`.
    pub fn build(kind: &str) -> Outcome<Stack> {
        let root = Root::at("/");
        for name in ["dm_mod", "dm_delay", "dm_flakey", "null_blk"] {
            // Without parameters null_blk makes a disk of its own, which is in nobody's way.
            at(name, module::load(&root, name))?;
        }
        let _ = fs::create_dir_all("/sys/kernel/config");
        let _ = mount("configfs", "/sys/kernel/config", "configfs", MountFlags::empty(), None);
        let mapper = at("device-mapper", DeviceMapper::open(&root))?;
        let mut disks = Vec::new();
        for (name, mib, sector, discard, irqmode) in DISKS {
            let disk = make_disk(name, mib, sector, discard, irqmode)?;
            let number = at(disk.display(), device_number(&disk))?;
            disks.push((disk, number, (mib << 20) / SECTOR));
        }
        let [(disk_a, number_a, size_a), (disk_b, number_b, size_b), (disk_c, number_c, size_c)] =
            <[_; 3]>::try_from(disks).map_err(|_| "three disks")?;
        let plain = vec![target("linear", 0, size_b, format!("{number_b} 0"))];
        let lower_b = make_volume(&mapper, "lower-b", &disk_b, plain)?;
        let slow = format!("{number_c} 0 0 {number_c} 0 {WRITE_DELAY_MS}");
        let lower_c = make_volume(&mapper, "lower-c", &disk_c, vec![target("delay", 0, size_c, slow)])?;
        let on = |node: &Path, size| -> Outcome<Vec<Target>> {
            let number = at(node.display(), device_number(node))?;
            Ok(vec![target(kind, 0, size, format!("{number} 0"))])
        };
        let volumes = vec![
            make_volume(&mapper, "a", &disk_a, vec![target(kind, 0, size_a, format!("{number_a} 0"))])?,
            make_volume(&mapper, "b", &disk_b, on(&lower_b.node, size_b)?)?,
            make_volume(&mapper, "c", &disk_c, on(&lower_c.node, size_c)?)?,
        ];
        let mut stack = Stack { mapper, volumes, lower_b, lower_c };
        for (volume, options) in [(A, "discard"), (B, "")] {
            stack.make_file_system(volume, options)?;
        }
        Ok(stack)
    }

    fn make_file_system(&mut self, index: usize, options: &str) -> Outcome<()> {
        let volume = &mut self.volumes[index];
        // Written once: null_blk takes a block's memory at its first write, and the memory left should not shrink during the test.
        let mut disk = at(volume.node.display(), OpenOptions::new().write(true).open(&volume.node))?;
        let chunk = vec![0xa5u8; 1 << 20];
        for _ in 0..volume.size_bytes >> 20 {
            at(volume.node.display(), std::io::Write::write_all(&mut disk, &chunk))?;
        }
        at(volume.node.display(), disk.sync_all())?;
        drop(disk);
        let node = volume.node.to_string_lossy().into_owned();
        let extended = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        run("/bin/mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", "-E", extended, &node])?;
        let mount_point = PathBuf::from(format!("/mnt/{}", volume.name));
        at(mount_point.display(), fs::create_dir_all(&mount_point))?;
        let data = std::ffi::CString::new(options).map_err(|e| e.to_string())?;
        let mounted = mount(&volume.node, &mount_point, "ext4", MountFlags::NOATIME, Some(data.as_c_str()));
        at(format_args!("mounting {node}"), mounted)?;
        volume.mount = Some(mount_point);
        Ok(())
    }

    /// Stops a volume and lets it go on, with a table given anew before (`Some(true)`), while it stands (`Some(false)`), or not.
    pub fn reload(&self, index: usize, how: Suspend, table: Option<bool>) -> Outcome<()> {
        let volume = &self.volumes[index];
        let load = |when| match table == Some(when) {
            true => self.mapper.load(volume.name, &volume.table),
            false => Ok(()),
        };
        at("load before suspend", load(true))?;
        at(format_args!("suspend {how:?}"), self.mapper.suspend(volume.name, how))?;
        let loaded = at("load while suspended", load(false));
        // Whatever went wrong: nothing must stay suspended, or the whole test hangs.
        at("resume", self.mapper.resume(volume.name))?;
        loaded
    }

    /// A word to a volume's target.
    pub fn message(&self, index: usize, text: &str) -> Outcome<()> {
        at(text, self.mapper.message(self.volumes[index].name, 0, text)).map(drop)
    }

    /// Makes blocks of b fail or work again: `blocks` (ascending) are served by a flakey target with this feature, or by linear.
    pub fn flaky(&self, blocks: &[u32], feature: Option<&str>) -> Outcome<()> {
        let lower = &self.lower_b;
        let number = at(lower.disk.display(), device_number(&lower.disk))?;
        let end = lower.size_bytes / SECTOR;
        let mut table = Vec::new();
        let mut from = 0;
        let linear = |table: &mut Vec<Target>, from: u64, to: u64| {
            if to > from {
                table.push(target("linear", from, to - from, format!("{number} {from}")));
            }
        };
        for run in feature.iter().flat_map(|_| blocks.chunk_by(|a, b| a + 1 == *b)) {
            let (start, size) = (u64::from(run[0]) * 8, run.len() as u64 * 8);
            linear(&mut table, from, start);
            // Up for no second, down for a minute: always down.
            let arguments = format!("{number} {start} 0 60 {}", feature.unwrap_or_default());
            table.push(target("flakey", start, size, arguments.trim_end().to_owned()));
            from = start + size;
        }
        linear(&mut table, from, end);
        at("lower-b: load", self.mapper.load(lower.name, &table))?;
        at("lower-b: suspend", self.mapper.suspend(lower.name, Suspend::Flush))?;
        at("lower-b: resume", self.mapper.resume(lower.name)).map(drop)
    }

    /// What a volume's target tells of itself: pairs of name and value.
    pub fn status(&self, index: usize) -> Outcome<String> {
        let lines = at("status", self.mapper.status(self.volumes[index].name))?;
        Ok(lines.into_iter().map(|target| target.parameters).collect())
    }

    /// Unmounts, and has the file systems checked.
    pub fn unmount(&mut self) -> Outcome<()> {
        for volume in &mut self.volumes {
            if let Some(mount_point) = volume.mount.take() {
                let gone = unmount(&mount_point, UnmountFlags::empty());
                at(format_args!("unmounting {}", mount_point.display()), gone)?;
                run("/bin/e2fsck", &["-f", "-n", &volume.node.to_string_lossy()])?;
            }
        }
        Ok(())
    }

    /// Takes the targets away, and with them what they hold.
    pub fn remove(&self) -> Outcome<()> {
        let names = self.volumes.iter().map(|volume| volume.name);
        for name in names.chain([self.lower_b.name, self.lower_c.name]) {
            at(name, self.mapper.remove(name))?;
        }
        Ok(())
    }
}

/// A file of the eCache's module, or a folder of it.
pub fn module_file(name: &str) -> PathBuf {
    Path::new("/sys/module").join(ECACHE_MODULE).join(name)
}

/// One of the eCache's statistics.
pub fn statistic(name: &str) -> Outcome<u64> {
    read_number(module_file("pool").join(name))
}
