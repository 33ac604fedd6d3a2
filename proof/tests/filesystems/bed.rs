// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a case stands on: disks, devices over them, mounts; and its taking down, in reverse.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use fovea_contract::ecache_status;
use fovea_linux::dm::{device_number, DeviceMapper, Target};
use fovea_tests::audit::Sides;
use fovea_tests::kernel::{at, load_module, make_disk, target, Outcome, SECTOR};
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};

use crate::calls::{loop_attach, loop_detach};

/// A device under test, and the device below it in which each block is at the same place.
pub struct Volume {
    pub name: String,
    pub node: PathBuf,
    pub disk: PathBuf,
    pub size_bytes: u64,
}

impl Volume {
    /// For comparing the one with the other.
    pub fn sides(&self) -> Sides<'_> {
        Sides { name: &self.name, node: &self.node, disk: &self.disk, size_bytes: self.size_bytes }
    }
}

/// What a target counts, in pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub reads: u64,
    pub hits: u64,
    pub puts: u64,
    pub invalidated: u64,
}

enum Made {
    Disk(PathBuf),
    Mapped(String),
    Mounted(PathBuf),
    Loop(i64),
}

/// Things made for a case, by names that no other case has.
pub struct Bed<'a> {
    mapper: &'a DeviceMapper,
    /// Type of the targets under test.
    kind: &'a str,
    case: usize,
    made: Vec<Made>,
    watched: Vec<String>,
    gone: Counts,
}

pub fn size_bytes(node: &Path) -> Outcome<u64> {
    let mut device = at(node.display(), fs::File::open(node))?;
    at(node.display(), std::io::Seek::seek(&mut device, std::io::SeekFrom::End(0)))
}

impl<'a> Bed<'a> {
    pub fn new(mapper: &'a DeviceMapper, kind: &'a str, case: usize) -> Bed<'a> {
        Bed { mapper, kind, case, made: Vec::new(), watched: Vec::new(), gone: Counts::default() }
    }

    /// A disk in memory, with discards. Small sectors cost: its memory is looked up for each.
    pub fn disk(&mut self, mib: u64, sector_bytes: u64) -> Outcome<PathBuf> {
        let name = format!("n{}-{}", self.case, self.made.len());
        self.made.push(Made::Disk(Path::new("/sys/kernel/config/nullb").join(&name)));
        make_disk(&name, mib, sector_bytes, 1, 1)
    }

    /// A device of one target that takes all of the device below; `arguments` stand around that one's number, if need be.
    pub fn map(&mut self, kind: &str, below: &Path, arguments: impl Fn(&str) -> String) -> Outcome<PathBuf> {
        self.named(kind, below, arguments).map(|(_, node)| node)
    }

    /// What device-mapper calls a device.
    pub fn number(&self, node: &Path) -> Outcome<String> {
        at(node.display(), device_number(node))
    }

    /// One device after the other, as one.
    pub fn join(&mut self, parts: &[PathBuf]) -> Outcome<PathBuf> {
        let name = format!("joined{}-{}", self.case, self.made.len());
        let (mut table, mut start) = (Vec::new(), 0);
        for part in parts {
            let sectors = size_bytes(part)? / SECTOR;
            table.push(target("linear", start, sectors, format!("{} 0", self.number(part)?)));
            start += sectors;
        }
        self.made_of(&name, &table)
    }

    fn made_of(&mut self, name: &str, table: &[Target]) -> Outcome<PathBuf> {
        at(name, self.mapper.create(name))?;
        self.made.push(Made::Mapped(name.to_owned()));
        at(format_args!("{name}: {}", table[0].parameters), self.mapper.load(name, table))?;
        Ok(at(name, self.mapper.resume(name))?.node())
    }

    /// The same, and its name.
    pub fn named(
        &mut self,
        kind: &str,
        below: &Path,
        arguments: impl Fn(&str) -> String,
    ) -> Outcome<(String, PathBuf)> {
        let name = format!("{kind}{}-{}", self.case, self.made.len());
        let table = target(kind, 0, size_bytes(below)? / SECTOR, arguments(&self.number(below)?));
        let node = self.made_of(&name, &[table])?;
        Ok((name, node))
    }

    pub fn mapper(&self) -> &'a DeviceMapper {
        self.mapper
    }

    /// A device under test.
    pub fn volume(&mut self, below: &Path) -> Outcome<Volume> {
        let kind = self.kind;
        let (name, node) = self.named(kind, below, |number| format!("{number} 0"))?;
        self.watched.push(name.clone());
        Ok(Volume { name, size_bytes: size_bytes(&node)?, node, disk: below.to_owned() })
    }

    /// A disk whose writes are written down on another; and its name, for messages.
    pub fn log_writes(&mut self, below: &Path, log: &Path) -> Outcome<(String, PathBuf)> {
        load_module("dm_log_writes")?;
        let log = at(log.display(), device_number(log))?;
        self.named("log-writes", below, |number| format!("{number} {log}"))
    }

    pub fn message(&self, name: &str, text: &str) -> Outcome<()> {
        at(format_args!("{name}: {text}"), self.mapper.message(name, 0, text)).map(drop)
    }

    /// How many things are made so far: what [`Bed::take_down`] is given.
    pub fn made(&self) -> usize {
        self.made.len()
    }

    /// Encrypted, by a key nobody needs to guess.
    pub fn crypt(&mut self, below: &Path) -> Outcome<PathBuf> {
        self.map("crypt", below, |number| format!("aes-cbc-plain64 {} 0 {number} 0", "5a".repeat(32)))
    }

    pub fn loop_device(&mut self, file: &Path) -> Outcome<PathBuf> {
        let file = at(file.display(), fs::File::options().read(true).write(true).open(file))?;
        let number = at("loop", loop_attach(&file))?;
        self.made.push(Made::Loop(number));
        Ok(PathBuf::from(format!("/dev/loop{number}")))
    }

    pub fn mount(&mut self, node: &Path, kind: &str, flags: MountFlags, options: &str) -> Outcome<PathBuf> {
        let mount_point = PathBuf::from(format!("/mnt/{}-{}", self.case, self.made.len()));
        at(mount_point.display(), fs::create_dir_all(&mount_point))?;
        let data = CString::new(options).map_err(|e| e.to_string())?;
        at(
            format_args!("mounting {} as {kind} ({options})", node.display()),
            mount(node, &mount_point, kind, flags, Some(data.as_c_str())),
        )?;
        self.made.push(Made::Mounted(mount_point.clone()));
        Ok(mount_point)
    }

    /// What was made last goes, which must be this mount.
    pub fn unmount(&mut self, mount_point: &Path) -> Outcome<()> {
        match self.made.pop() {
            Some(Made::Mounted(last)) if last == mount_point => {
                at(format_args!("unmounting {}", last.display()), unmount(&last, UnmountFlags::empty()))
            }
            other => {
                self.made.extend(other);
                Err(format!("{} is not what was made last", mount_point.display()))
            }
        }
    }

    /// What the case's targets have counted, those included that are gone.
    pub fn counts(&self) -> Counts {
        let now = self.watched.iter().filter_map(|name| self.count_of(name));
        now.fold(self.gone, Counts::plus)
    }

    fn count_of(&self, name: &str) -> Option<Counts> {
        let status = self.mapper.status(name).ok()?;
        let words: Vec<&str> = status.iter().flat_map(|t| t.parameters.split_ascii_whitespace()).collect();
        let number = |key: &str| {
            let pair = words.windows(2).find(|pair| pair[0] == key);
            pair.and_then(|pair| pair[1].parse().ok()).unwrap_or(0)
        };
        Some(Counts {
            reads: number(ecache_status::READS),
            hits: number(ecache_status::HITS),
            puts: number(ecache_status::PUTS),
            invalidated: number(ecache_status::INVALIDATED),
        })
    }

    /// Takes all down.
    pub fn clear(&mut self) -> Outcome<()> {
        self.take_down(0)
    }

    /// Takes down what was made since there were so many things; goes on whatever cannot be, and says it.
    pub fn take_down(&mut self, left: usize) -> Outcome<()> {
        let mut wrong = Vec::new();
        while self.made.len() > left {
            let Some(made) = self.made.pop() else { break };
            if let Made::Mapped(name) = &made {
                if let Some(number) = self.watched.iter().position(|watched| watched == name) {
                    self.gone = self.gone.plus(self.count_of(name).unwrap_or_default());
                    self.watched.swap_remove(number);
                }
            }
            let done = match made {
                Made::Disk(folder) => at(folder.display(), fs::remove_dir(&folder)),
                Made::Mapped(name) => at(&name, self.mapper.remove(&name)),
                // Detached, so that a case which ended in the middle leaves nothing in the way of the next.
                Made::Mounted(path) => at(path.display(), unmount(&path, UnmountFlags::DETACH)),
                Made::Loop(number) => at(format_args!("loop{number}"), loop_detach(number)),
            };
            wrong.extend(done.err());
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("left behind: {}", wrong.join("; "))),
        }
    }
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            reads: self.reads + other.reads,
            hits: self.hits + other.hits,
            puts: self.puts + other.puts,
            invalidated: self.invalidated + other.invalidated,
        }
    }
}
