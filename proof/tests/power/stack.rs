// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The devices: swap, and a disk with ext4 on the target under test.

use std::fs;
use std::path::{Path, PathBuf};

use fovea_linux::dm::{DeviceMapper, Suspend, Target};
use fovea_linux::{module, Root};
use fovea_tests::audit::Sides;
use fovea_tests::kernel::SECTOR;
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};

use crate::Options;
pub use fovea_tests::kernel::{at, open_direct, run, write_file, Outcome};

/// The disks, by their numbers on the controller: their names come in the order in which the kernel finds them.
#[derive(Clone, Copy)]
pub enum Disk {
    Swap = 1,
    Data = 2,
}

impl Disk {
    /// Its folder in sysfs.
    fn entry(self) -> Outcome<PathBuf> {
        let number = (self as u8).to_string();
        let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten().map(|entry| entry.path());
        let found = entries.into_iter().find(|path| read_text(path.join("nsid")).is_ok_and(|nsid| nsid == number));
        found.ok_or_else(|| format!("no disk with number {number}"))
    }

    pub fn node(self) -> Outcome<PathBuf> {
        let entry = self.entry()?;
        Ok(Path::new("/dev").join(entry.file_name().unwrap_or_default()))
    }

    /// A number of it, or its device number as text.
    pub fn says(self, file: &str) -> Outcome<String> {
        read_text(self.entry()?.join(file))
    }
}

pub const MODULE: &str = fovea_contract::ECACHE_MODULE;
pub const MOUNT: &str = "/mnt/a";
const NAME: &str = "a";
/// Not on any target's way: a device of its own, which can be stopped.
const STOPPED: &str = "stopped";
/// One device, and its reservation.
pub const DEVICE: (&str, u64) = ("camera", 8 << 20);

/// The target under test.
pub struct Volume {
    pub name: &'static str,
    pub node: PathBuf,
    /// The disk at the bottom, where each block is at the same place.
    pub disk: PathBuf,
    pub size_bytes: u64,
}

impl Volume {
    /// For comparing the one with the other.
    pub fn sides(&self) -> Sides<'_> {
        Sides { name: self.name, node: &self.node, disk: &self.disk, size_bytes: self.size_bytes }
    }
}

pub struct Stack {
    pub volume: Volume,
    mapper: DeviceMapper,
}

pub fn read_text(path: impl AsRef<Path>) -> Outcome<String> {
    let path = path.as_ref();
    at(path.display(), fs::read_to_string(path)).map(|text| text.trim().to_owned())
}

/// Empties the page cache of what is clean; what is dirty is written first.
pub fn drop_caches() -> Outcome<()> {
    rustix::fs::sync();
    write_file("/proc/sys/vm/drop_caches", "3")
}

/// A number of the module's pool; 0 without the module.
pub fn pool(name: &str) -> u64 {
    let text = fs::read_to_string(Path::new("/sys/module").join(MODULE).join("pool").join(name));
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

pub fn load_module(options: &Options) -> Outcome<()> {
    let root = Root::at("/");
    at("dm-mod", module::load(&root, "dm_mod"))?;
    if !options.has_module() {
        return Ok(());
    }
    let parameters = format!("carveouts={} devices={}:{}", options.carveouts, DEVICE.0, DEVICE.1);
    at(MODULE, module::load_with(&root, MODULE, &parameters))
}

impl Stack {
    /// The target over the disk, whatever is on it.
    pub fn build(options: &Options) -> Outcome<Stack> {
        let mapper = at("device-mapper", DeviceMapper::open(&Root::at("/")))?;
        let disk = Disk::Data.node()?;
        let sectors: u64 = at(disk.display(), Disk::Data.says("size")?.parse())?;
        let parameters = format!("{} 0", Disk::Data.says("dev")?);
        let target = Target { start_sectors: 0, size_sectors: sectors, kind: options.kind.clone(), parameters };
        at(NAME, mapper.create(NAME))?;
        at(NAME, mapper.load(NAME, &[target]))?;
        let node = at(NAME, mapper.resume(NAME))?.node();
        Ok(Stack { volume: Volume { name: NAME, node, disk, size_bytes: sectors * SECTOR }, mapper })
    }

    pub fn make_file_system(&self) -> Outcome<()> {
        let node = self.volume.node.to_string_lossy();
        run("/bin/mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", &node])?;
        self.mount()
    }

    pub fn mount(&self) -> Outcome<()> {
        at(MOUNT, fs::create_dir_all(MOUNT))?;
        at("mounting", mount(&self.volume.node, MOUNT, "ext4", MountFlags::NOATIME, None))
    }

    /// Unmounts, has the file system checked, and takes target and module away.
    pub fn take_away(self, options: &Options) -> Outcome<()> {
        at("unmounting", unmount(MOUNT, UnmountFlags::empty()))?;
        run("/bin/e2fsck", &["-f", "-n", &self.volume.node.to_string_lossy()])?;
        self.remove(options)
    }

    pub fn remove(self, options: &Options) -> Outcome<()> {
        at(NAME, self.mapper.remove(NAME))?;
        match options.has_module() {
            true => at("unloading", module::remove(MODULE)),
            false => Ok(()),
        }
    }

    /// A further device on which requests do not end until [`Stack::let_go`].
    pub fn stopped(&self) -> Outcome<PathBuf> {
        let parameters = format!("{} 0", Disk::Data.says("dev")?);
        let target = Target { start_sectors: 0, size_sectors: 8, kind: "linear".into(), parameters };
        at(STOPPED, self.mapper.create(STOPPED))?;
        at(STOPPED, self.mapper.load(STOPPED, &[target]))?;
        let node = at(STOPPED, self.mapper.resume(STOPPED))?.node();
        at(STOPPED, self.mapper.suspend(STOPPED, Suspend::Flush))?;
        Ok(node)
    }

    /// Lets requests to the stopped device end.
    pub fn let_go(&self) -> Outcome<()> {
        at(STOPPED, self.mapper.resume(STOPPED)).map(drop)
    }

    pub fn remove_stopped(&self) -> Outcome<()> {
        at(STOPPED, self.mapper.remove(STOPPED))
    }
}

/// Swap on its disk, for an image to go to.
pub fn swap_on() -> Outcome<()> {
    let node = Disk::Swap.node()?.to_string_lossy().into_owned();
    run("/bin/busybox", &["mkswap", &node])?;
    run("/bin/busybox", &["swapon", &node])
}

pub fn swap_off() -> Outcome<()> {
    run("/bin/busybox", &["swapoff", &Disk::Swap.node()?.to_string_lossy()])
}
