// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The volume under test, and the cgroups of who uses it:
//!
//! ```text
//! v    aciom -> flakey (up, or down while errors are wanted) -> null_blk, in memory, as fast as wanted
//! ```

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;

use fovea_contract::{ACIOM_FORGET, ACIOM_SET_CLASS, ACIOM_TARGET};
use fovea_linux::dm::{device_number, DeviceMapper, Suspend, Target};
use fovea_linux::Root;
use fovea_tests::kernel::{at, load_module, target, write_file, Outcome, SECTOR};
use rustix::mount::{mount, MountFlags};

use crate::child;

/// What orders requests below the volume. `none` but in tests of just that: another would order anew what was ordered.
static SCHEDULER: OnceLock<String> = OnceLock::new();

const CGROUPS: &str = "/sys/fs/cgroup";

/// A disk to be made.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    pub name: &'static str,
    pub mib: u64,
    /// MB a second, as null_blk has them: 2^20, in twentieths of a second.
    pub mbps: u64,
}

impl Disk {
    pub fn make(&self) -> Outcome<PathBuf> {
        self.make_with(&[])
    }

    /// With some attributes of null_blk's given.
    pub fn make_with(&self, given: &[(&str, u64)]) -> Outcome<PathBuf> {
        let folder = Path::new("/sys/kernel/config/nullb").join(self.name);
        at(format_args!("making {}", folder.display()), fs::create_dir(&folder))?;
        let usual = [
            ("size", self.mib),
            ("blocksize", 512),
            ("memory_backed", 1),
            ("discard", 1),
            ("irqmode", 2),
            ("completion_nsec", 100_000),
            ("submit_queues", 1),
            ("mbps", self.mbps),
        ];
        for (key, value) in usual.iter().chain(given).chain(&[("power", 1)]) {
            write_file(folder.join(key), &value.to_string())?;
        }
        let (path, scheduler) =
            (format!("/sys/block/{}/queue/scheduler", self.name), SCHEDULER.get().map_or("none", String::as_str));
        write_file(&path, scheduler)?;
        let is = at(&path, fs::read_to_string(&path))?;
        if !is.contains(&format!("[{scheduler}]")) {
            return Err(format!("{path}: {is} in place of {scheduler}"));
        }
        Ok(Path::new("/dev").join(self.name))
    }

    /// Its memory is free again.
    pub fn remove(&self) -> Outcome<()> {
        let folder = Path::new("/sys/kernel/config/nullb").join(self.name);
        at(folder.display(), fs::remove_dir(&folder))
    }
}

/// Modules, folders, and the controller that tells whose a request is.
pub fn prepare(scheduler: &str) -> Outcome<()> {
    // Some kernels have it built in. Where it lacks, no disk can be made with it.
    if scheduler == "mq-deadline" {
        let _ = load_module("mq_deadline");
    }
    let _ = SCHEDULER.set(scheduler.to_owned());
    for name in ["dm_mod", "dm_flakey", "dm_log_writes", "null_blk", "dm_aciom"] {
        load_module(name)?;
    }
    let _ = fs::create_dir_all("/sys/kernel/config");
    let _ = mount("configfs", "/sys/kernel/config", "configfs", MountFlags::empty(), None);
    write_file(Path::new(CGROUPS).join("cgroup.subtree_control"), "+io +memory")
}

/// An app: a cgroup.
#[derive(Clone, Debug)]
pub struct App {
    pub path: PathBuf,
    pub id: u64,
}

impl App {
    /// Below the root, or below another's cgroup, which then passes its controllers on.
    pub fn make(name: &str) -> Outcome<App> {
        let path = Path::new(CGROUPS).join(name);
        let _ = fs::create_dir(&path);
        let id = at(path.display(), fs::metadata(&path))?.ino();
        Ok(App { path, id })
    }

    /// This program in the cgroup, doing a job (`child`).
    pub fn start(&self, job: &[&str]) -> Outcome<Child> {
        self.start_as(child::WORD, job)
    }

    /// The same, for a job that is to fail.
    pub fn start_to_fail(&self, job: &[&str]) -> Outcome<Child> {
        self.start_as(child::FAILING, job)
    }

    fn start_as(&self, word: &str, job: &[&str]) -> Outcome<Child> {
        let child = Command::new("/proc/self/exe").arg(word).arg(&self.path).args(job).spawn();
        at(format_args!("starting {job:?}"), child)
    }
}

pub struct Volume {
    pub mapper: DeviceMapper,
    pub name: &'static str,
    pub node: PathBuf,
    pub size_bytes: u64,
    pub table: Vec<Target>,
    /// None: it is on the disk itself.
    lower: Option<String>,
    lower_table: Vec<Target>,
}

impl Volume {
    pub fn build(name: &'static str, disk: Disk) -> Outcome<Volume> {
        let node = disk.make()?;
        let number = at(node.display(), device_number(&node))?;
        let size = (disk.mib << 20) / SECTOR;
        // Up for a minute, down for no second: always up.
        let lower_table = vec![target("flakey", 0, size, format!("{number} 0 60 0"))];
        Volume::on(name, lower_table, &format!("cmax={}", disk.mbps << 20))
    }

    /// With a device of another making below.
    pub fn on(name: &'static str, lower_table: Vec<Target>, options: &str) -> Outcome<Volume> {
        let mapper = at("device-mapper", DeviceMapper::open(&Root::at("/")))?;
        let lower = format!("lower-{name}");
        at(&lower, mapper.create(&lower))?;
        at(&lower, mapper.load(&lower, &lower_table))?;
        let below = at(&lower, mapper.resume(&lower))?.node();
        let size = lower_table.iter().map(|part| part.size_sectors).sum::<u64>();
        let volume = Volume::direct(name, &below, size, options)?;
        Ok(Volume { lower: Some(lower), lower_table, ..volume })
    }

    /// With nothing in between: the disk's tags are known.
    pub fn direct(name: &'static str, disk: &Path, size: u64, options: &str) -> Outcome<Volume> {
        let mapper = at("device-mapper", DeviceMapper::open(&Root::at("/")))?;
        let number = at(disk.display(), device_number(disk))?;
        let table = vec![target(ACIOM_TARGET, 0, size, format!("{number} {options}"))];
        at(name, mapper.create(name))?;
        at(name, mapper.load(name, &table))?;
        let node = at(name, mapper.resume(name))?.node();
        Ok(Volume { mapper, name, node, size_bytes: size * SECTOR, table, lower: None, lower_table: Vec::new() })
    }

    /// One that somebody else has made.
    pub fn made(name: &'static str) -> Outcome<Volume> {
        let mapper = at("device-mapper", DeviceMapper::open(&Root::at("/")))?;
        let table = at(name, mapper.table(name))?;
        let node = at(name, fs::canonicalize(Path::new("/dev/mapper").join(name)))?;
        let size = table.iter().map(|part| part.size_sectors).sum::<u64>();
        Ok(Volume { mapper, name, node, size_bytes: size * SECTOR, table, lower: None, lower_table: Vec::new() })
    }

    pub fn message(&self, text: &str) -> Outcome<()> {
        at(text, self.mapper.message(self.name, 0, text)).map(drop)
    }

    pub fn class(&self, app: &App, class: &str) -> Outcome<()> {
        self.message(&format!("{ACIOM_SET_CLASS} {} {class}", app.id))
    }

    pub fn forget(&self, app: &App) -> Outcome<()> {
        self.message(&format!("{ACIOM_FORGET} {}", app.id))
    }

    /// Stops it and lets it go on, with the same table given anew or not.
    pub fn reload(&self, how: Suspend, table: bool) -> Outcome<()> {
        if table {
            at("load", self.mapper.load(self.name, &self.table))?;
        }
        at(format_args!("suspend {how:?}"), self.mapper.suspend(self.name, how))?;
        at("resume", self.mapper.resume(self.name)).map(drop)
    }

    /// Has every request below fail, or none.
    pub fn fail(&self, fails: bool) -> Outcome<()> {
        let mut table = self.lower_table.clone();
        if fails {
            table[0].parameters = table[0].parameters.replace(" 0 60 0", " 0 0 60");
        }
        let lower = self.lower.as_deref().ok_or("a volume on the disk itself has nothing below that fails")?;
        at("lower: load", self.mapper.load(lower, &table))?;
        at("lower: suspend", self.mapper.suspend(lower, Suspend::Flush))?;
        at("lower: resume", self.mapper.resume(lower)).map(drop)
    }

    /// One of the numbers of its status.
    pub fn count(&self, name: &str) -> Outcome<u64> {
        let lines = at("status", self.mapper.status(self.name))?;
        let text: String = lines.into_iter().map(|line| line.parameters).collect();
        let mut words = text.split_ascii_whitespace().skip_while(|word| *word != name);
        let number = words.nth(1).and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("no {name} in the status: {text}"))
    }

    /// Since it was made, whatever its tables were.
    pub fn written_pages(&self) -> Outcome<u64> {
        let path = Path::new("/sys/class/block").join(self.node.file_name().unwrap_or_default()).join("stat");
        let text = at(path.display(), fs::read_to_string(&path))?;
        let sectors: Option<u64> = text.split_ascii_whitespace().nth(6).and_then(|word| word.parse().ok());
        sectors.map(|sectors| sectors * SECTOR / 4096).ok_or_else(|| format!("{}: {text}", path.display()))
    }

    pub fn remove(&self) -> Outcome<()> {
        at(self.name, self.mapper.remove(self.name))?;
        match &self.lower {
            Some(lower) => at(lower, self.mapper.remove(lower)),
            None => Ok(()),
        }
    }
}
