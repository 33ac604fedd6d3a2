// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Device-mapper: block devices made of other block devices by a table of targets, through `/dev/mapper/control`
//! (admin-guide/device-mapper, linux/dm-ioctl.h). No libdevmapper: a phone has none, and udev is not waited for. The node of a
//! device is `/dev/dm-MINOR`, which the kernel makes by itself in devtmpfs.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::file::Root;
use crate::{sys, Error};

mod wire;

const CONTROL: &str = "dev/mapper/control";

/// Room for a first answer; a longer one is asked for again with more.
const ANSWER_BYTES: usize = 16 << 10;

/// The longest answer taken.
const ANSWER_MAX_BYTES: usize = 4 << 20;

/// The door to device-mapper.
#[derive(Debug)]
pub struct DeviceMapper {
    control: File,
    path: PathBuf,
}

/// One target of a table: a range of the device and what serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it begins, in sectors of 512 bytes.
    pub start_sectors: u64,
    /// How long it is.
    pub size_sectors: u64,
    /// Its type, e.g. "linear".
    pub kind: String,
    /// In a table its arguments, in a status what it tells of itself.
    pub parameters: String,
}

/// What device-mapper says of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Major and minor number.
    pub number: (u32, u32),
    /// How often it is open.
    pub open_count: u32,
    /// No request passes.
    pub is_suspended: bool,
    /// It has a table that serves requests.
    pub has_table: bool,
    /// It has a table that the next [`DeviceMapper::resume`] puts in place.
    pub has_new_table: bool,
}

impl Info {
    /// The device's node.
    pub fn node(&self) -> PathBuf {
        PathBuf::from(format!("/dev/dm-{}", self.number.1))
    }
}

/// How a device is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspend {
    /// The file system on it is frozen first, and requests under way come to their end (what `dmsetup suspend` does).
    Freeze,
    /// Requests under way come to their end; the file system is not told (`--nolockfs`).
    Flush,
    /// Requests under way that the targets can give back wait for the resume (`--nolockfs --noflush`).
    Hold,
}

impl DeviceMapper {
    /// Opens the door.
    ///
    /// # Errors
    /// The kernel has no device-mapper, its version is not 4, or we may not use it.
    pub fn open(root: &Root) -> Result<DeviceMapper, Error> {
        let path = root.join(CONTROL);
        let control = File::options().read(true).write(true).open(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::Missing {
                what: "device-mapper",
                mend: format!("no {}: load the module dm-mod (CONFIG_BLK_DEV_DM)", path.display()),
            },
            io::ErrorKind::PermissionDenied => {
                Error::Missing { what: "the right to use device-mapper", mend: "run as root".into() }
            }
            _ => Error::file("opening", &path, e),
        })?;
        let mapper = DeviceMapper { control, path };
        match mapper.version()? {
            (wire::MAJOR_VERSION, ..) => Ok(mapper),
            (major, ..) => Err(Error::Missing {
                what: "device-mapper's interface 4",
                mend: format!("this kernel speaks version {major}: use a newer kernel"),
            }),
        }
    }

    /// The kernel's version of the interface.
    ///
    /// # Errors
    /// The call fails.
    pub fn version(&self) -> Result<(u32, u32, u32), Error> {
        let answer = self.call(wire::VERSION, wire::Message::new())?;
        Ok(wire::version(&answer))
    }

    /// Makes a device without a table.
    ///
    /// # Errors
    /// The name cannot be one, or is taken.
    pub fn create(&self, name: &str) -> Result<Info, Error> {
        self.call_named(wire::DEV_CREATE, name, 0).map(|answer| wire::info(&answer))
    }

    /// Gives a device a new table, which the next [`DeviceMapper::resume`] puts in place.
    ///
    /// # Errors
    /// There is no such device, or a target refuses its arguments: the kernel log says why.
    pub fn load(&self, name: &str, table: &[Target]) -> Result<(), Error> {
        let message = named(name)?.table(table).map_err(|mend| refused(name, mend))?;
        self.call_on(wire::TABLE_LOAD, name, message).map(drop)
    }

    /// Takes back what [`DeviceMapper::load`] gave and no resume has put in place.
    ///
    /// # Errors
    /// There is no such device.
    pub fn clear(&self, name: &str) -> Result<(), Error> {
        self.call_named(wire::TABLE_CLEAR, name, 0).map(drop)
    }

    /// Stops requests; with a mounted file system and [`Suspend::Freeze`] also the writers.
    ///
    /// # Errors
    /// There is no such device, or what is on it cannot be stopped.
    pub fn suspend(&self, name: &str, how: Suspend) -> Result<(), Error> {
        let flags = wire::SUSPEND_FLAG
            | match how {
                Suspend::Freeze => 0,
                Suspend::Flush => wire::SKIP_LOCKFS_FLAG,
                Suspend::Hold => wire::SKIP_LOCKFS_FLAG | wire::NOFLUSH_FLAG,
            };
        self.call_named(wire::DEV_SUSPEND, name, flags).map(drop)
    }

    /// Puts a loaded table in place, suspending the device for that if nobody has, and lets requests pass.
    ///
    /// # Errors
    /// There is no such device, or the new table cannot be used.
    pub fn resume(&self, name: &str) -> Result<Info, Error> {
        self.call_named(wire::DEV_SUSPEND, name, 0).map(|answer| wire::info(&answer))
    }

    /// What the device is doing.
    ///
    /// # Errors
    /// There is no such device.
    pub fn info(&self, name: &str) -> Result<Info, Error> {
        self.call_named(wire::DEV_STATUS, name, 0).map(|answer| wire::info(&answer))
    }

    /// The targets with what each tells of itself.
    ///
    /// # Errors
    /// There is no such device.
    pub fn status(&self, name: &str) -> Result<Vec<Target>, Error> {
        self.targets(name, 0)
    }

    /// The targets with their arguments.
    ///
    /// # Errors
    /// There is no such device.
    pub fn table(&self, name: &str) -> Result<Vec<Target>, Error> {
        self.targets(name, wire::STATUS_TABLE_FLAG)
    }

    /// Sends words to the target that serves a sector, and returns its answer, if it gives one.
    ///
    /// # Errors
    /// There is no such device, or the target does not take the message.
    pub fn message(&self, name: &str, sector: u64, text: &str) -> Result<Option<String>, Error> {
        let message = named(name)?.text(sector, text).map_err(|mend| refused(name, mend))?;
        let answer = self.call_on(wire::TARGET_MSG, name, message)?;
        Ok(wire::text(&answer))
    }

    /// The names of all devices.
    ///
    /// # Errors
    /// The call fails.
    pub fn list(&self) -> Result<Vec<String>, Error> {
        let answer = self.call(wire::LIST_DEVICES, wire::Message::new())?;
        wire::names(&answer).ok_or_else(|| Error::parse(&self.path, &answer[sys::DM_HEAD_BYTES..]))
    }

    /// Takes a device away.
    ///
    /// # Errors
    /// There is no such device, or it is in use.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.call_named(wire::DEV_REMOVE, name, 0).map(drop)
    }

    fn targets(&self, name: &str, flags: u32) -> Result<Vec<Target>, Error> {
        let answer = self.call_named(wire::TABLE_STATUS, name, flags)?;
        wire::targets(&answer).ok_or_else(|| Error::parse(&self.path, &answer[sys::DM_HEAD_BYTES..]))
    }

    fn call_named(&self, command: u8, name: &str, flags: u32) -> Result<Vec<u8>, Error> {
        self.call_on(command, name, named(name)?.flags(flags))
    }

    fn call_on(&self, command: u8, name: &str, message: wire::Message) -> Result<Vec<u8>, Error> {
        self.ask(command, message).map_err(|e| Error::call(wire::call_name(command), name, e))
    }

    fn call(&self, command: u8, message: wire::Message) -> Result<Vec<u8>, Error> {
        self.ask(command, message).map_err(|e| Error::call(wire::call_name(command), self.path.display(), e))
    }

    /// Asks, with more room as long as the kernel says that its answer was cut.
    fn ask(&self, command: u8, message: wire::Message) -> io::Result<Vec<u8>> {
        let mut room = ANSWER_BYTES;
        loop {
            let mut argument = message.bytes(room);
            sys::dm_ioctl(self.control.as_fd(), command, &mut argument)?;
            if !wire::was_cut(&argument) {
                return Ok(argument);
            }
            // Only questions are asked again: TABLE_STATUS and the like, which change nothing. A message's answer may be cut, too,
            // but the target has taken the message.
            if command == wire::TARGET_MSG || room >= ANSWER_MAX_BYTES {
                return Err(io::Error::other("the answer is too long"));
            }
            room = (room * 4).min(ANSWER_MAX_BYTES);
        }
    }
}

fn named(name: &str) -> Result<wire::Message, Error> {
    wire::Message::new().name(name).map_err(|mend| refused(name, mend))
}

fn refused(name: &str, mend: String) -> Error {
    Error::Refused { what: format!("device-mapper device {name:?}"), mend }
}

/// How a table's line names a block device: major:minor.
///
/// # Errors
/// The node cannot be looked at, or is no block device.
pub fn device_number(node: &Path) -> Result<String, Error> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let found = std::fs::metadata(node).map_err(|e| Error::file("looking at", node, e))?;
    if !found.file_type().is_block_device() {
        return Err(Error::Refused {
            what: format!("{} as a block device", node.display()),
            mend: "it is none: name a block device's node".into(),
        });
    }
    let number = found.rdev();
    Ok(format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_device_mapper_is_told_what_to_load() {
        let folder = tempfile::tempdir().unwrap();
        let error = DeviceMapper::open(&Root::at(folder.path())).unwrap_err();
        assert!(matches!(error, Error::Missing { what: "device-mapper", .. }), "{error}");
        assert!(error.to_string().contains("dm-mod"));
    }

    #[test]
    fn a_door_that_is_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("dev/mapper")).unwrap();
        std::fs::write(folder.path().join(CONTROL), "").unwrap();
        let error = DeviceMapper::open(&Root::at(folder.path())).unwrap_err();
        assert!(matches!(error, Error::Call { call: "DM_VERSION", .. }), "{error}");
    }

    #[test]
    fn only_block_devices_have_a_number_for_tables() {
        assert!(device_number(Path::new("/dev/null")).unwrap_err().to_string().contains("name a block device"));
        assert!(device_number(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn the_node_is_named_after_the_minor_number() {
        let info = Info { number: (253, 7), open_count: 0, is_suspended: false, has_table: true, has_new_table: false };
        assert_eq!(info.node(), Path::new("/dev/dm-7"));
    }
}
