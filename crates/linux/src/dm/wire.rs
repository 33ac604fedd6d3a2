// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Arguments and answers of device-mapper's calls as bytes (linux/dm-ioctl.h, interface 4). Plain encoding, no system call.

use super::{Info, Target};
use crate::sys::DM_HEAD_BYTES;

pub const VERSION: u8 = 0;
pub const LIST_DEVICES: u8 = 2;
pub const DEV_CREATE: u8 = 3;
pub const DEV_REMOVE: u8 = 4;
pub const DEV_SUSPEND: u8 = 6;
pub const DEV_STATUS: u8 = 7;
pub const TABLE_LOAD: u8 = 9;
pub const TABLE_CLEAR: u8 = 10;
pub const TABLE_STATUS: u8 = 12;
pub const TARGET_MSG: u8 = 14;

pub const SUSPEND_FLAG: u32 = 1 << 1;
pub const STATUS_TABLE_FLAG: u32 = 1 << 4;
const ACTIVE_PRESENT_FLAG: u32 = 1 << 5;
const INACTIVE_PRESENT_FLAG: u32 = 1 << 6;
const BUFFER_FULL_FLAG: u32 = 1 << 8;
pub const SKIP_LOCKFS_FLAG: u32 = 1 << 10;
pub const NOFLUSH_FLAG: u32 = 1 << 11;
const DATA_OUT_FLAG: u32 = 1 << 16;

/// The interface spoken here; the kernel refuses another major number.
pub const MAJOR_VERSION: u32 = 4;

// Where the fields of `struct dm_ioctl` are.
const DATA_START: usize = 16;
const TARGET_COUNT: usize = 20;
const OPEN_COUNT: usize = 24;
const FLAGS: usize = 28;
const DEVICE: usize = 40;
const NAME: usize = 48;
const NAME_BYTES: usize = 128;

// And those of `struct dm_target_spec`, which a target's parameters follow as a string.
const SPEC_BYTES: usize = 40;
const SPEC_SIZE: usize = 8;
const SPEC_NEXT: usize = 20;
const SPEC_KIND: usize = 24;
const KIND_BYTES: usize = 16;

/// The call's name for errors.
pub fn call_name(command: u8) -> &'static str {
    match command {
        VERSION => "DM_VERSION",
        LIST_DEVICES => "DM_LIST_DEVICES",
        DEV_CREATE => "DM_DEV_CREATE",
        DEV_REMOVE => "DM_DEV_REMOVE",
        DEV_SUSPEND => "DM_DEV_SUSPEND",
        DEV_STATUS => "DM_DEV_STATUS",
        TABLE_LOAD => "DM_TABLE_LOAD",
        TABLE_CLEAR => "DM_TABLE_CLEAR",
        TABLE_STATUS => "DM_TABLE_STATUS",
        TARGET_MSG => "DM_TARGET_MSG",
        _ => "device-mapper",
    }
}

/// A call's argument while it is put together.
#[derive(Clone, Debug)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// An empty head.
    pub fn new() -> Message {
        let mut message = Message { bytes: vec![0; DM_HEAD_BYTES] };
        message.put(0, MAJOR_VERSION);
        message.put(DATA_START, DM_HEAD_BYTES as u32);
        message
    }

    fn put(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    /// For this device. The error is the mend.
    pub fn name(mut self, name: &str) -> Result<Message, String> {
        // The kernel allows all but '/'; a control character would only make a mess of /sys and of logs.
        if name.is_empty() || name.len() >= NAME_BYTES || name.chars().any(|c| c == '/' || c.is_control()) {
            return Err(format!("a name has 1 to {} bytes, no / and no control character", NAME_BYTES - 1));
        }
        self.bytes[NAME..NAME + name.len()].copy_from_slice(name.as_bytes());
        Ok(self)
    }

    /// With these flags.
    pub fn flags(mut self, flags: u32) -> Message {
        self.put(FLAGS, flags);
        self
    }

    /// With a table behind the head. The error is the mend.
    pub fn table(mut self, table: &[Target]) -> Result<Message, String> {
        if table.is_empty() {
            return Err("a table needs a target".into());
        }
        let mut end_sectors = 0u64;
        for target in table {
            if target.start_sectors != end_sectors || target.size_sectors == 0 {
                return Err(format!("its targets must follow each other: one begins at {}", target.start_sectors));
            }
            end_sectors = end_sectors.checked_add(target.size_sectors).ok_or("its targets are beyond 2^64 sectors")?;
            if target.kind.is_empty() || target.kind.len() >= KIND_BYTES || target.kind.contains('\0') {
                return Err(format!("a target's type has 1 to {} bytes, not {:?}", KIND_BYTES - 1, target.kind));
            }
            if target.parameters.contains('\0') {
                return Err("a target's arguments hold a NUL byte".into());
            }
            let next = (SPEC_BYTES + target.parameters.len() + 1).next_multiple_of(8);
            let mut spec = vec![0u8; next];
            spec[..8].copy_from_slice(&target.start_sectors.to_ne_bytes());
            spec[SPEC_SIZE..SPEC_SIZE + 8].copy_from_slice(&target.size_sectors.to_ne_bytes());
            // In what the kernel reads it counts from this target's beginning.
            let next = u32::try_from(next).map_err(|_| "a target's arguments are beyond 4 GiB")?;
            spec[SPEC_NEXT..SPEC_NEXT + 4].copy_from_slice(&next.to_ne_bytes());
            spec[SPEC_KIND..SPEC_KIND + target.kind.len()].copy_from_slice(target.kind.as_bytes());
            spec[SPEC_BYTES..SPEC_BYTES + target.parameters.len()].copy_from_slice(target.parameters.as_bytes());
            self.bytes.extend(spec);
        }
        self.put(TARGET_COUNT, table.len() as u32);
        Ok(self)
    }

    /// With words for a target behind the head (`struct dm_target_msg`). The error is the mend.
    pub fn text(mut self, sector: u64, text: &str) -> Result<Message, String> {
        if text.trim().is_empty() || text.contains('\0') {
            return Err("a message needs words without a NUL byte".into());
        }
        self.bytes.extend(sector.to_ne_bytes());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        Ok(self)
    }

    /// The bytes, with room for an answer.
    pub fn bytes(&self, room: usize) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().max(room), 0);
        bytes
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// A string up to its NUL byte, if it has one.
fn string(bytes: &[u8]) -> Option<String> {
    let end = memchr::memchr(0, bytes)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// Answers are never shorter than the head: [`Message::bytes`] makes room for it, and the kernel writes into that.
fn head(answer: &[u8], at: usize) -> u32 {
    word(answer, at).unwrap_or(0)
}

pub fn was_cut(answer: &[u8]) -> bool {
    head(answer, FLAGS) & BUFFER_FULL_FLAG != 0
}

pub fn version(answer: &[u8]) -> (u32, u32, u32) {
    (head(answer, 0), head(answer, 4), head(answer, 8))
}

pub fn info(answer: &[u8]) -> Info {
    let flags = head(answer, FLAGS);
    // `huge_encode_dev`, which has the C library's order of the bits.
    let device = long(answer, DEVICE).unwrap_or(0);
    Info {
        number: (rustix::fs::major(device), rustix::fs::minor(device)),
        open_count: head(answer, OPEN_COUNT),
        is_suspended: flags & SUSPEND_FLAG != 0,
        has_table: flags & ACTIVE_PRESENT_FLAG != 0,
        has_new_table: flags & INACTIVE_PRESENT_FLAG != 0,
    }
}

/// The targets of an answer; `None` if it makes no sense.
pub fn targets(answer: &[u8]) -> Option<Vec<Target>> {
    let data = answer.get(head(answer, DATA_START) as usize..)?;
    let mut targets = Vec::new();
    let mut at = 0usize;
    for _ in 0..head(answer, TARGET_COUNT) {
        let spec = data.get(at..).filter(|spec| spec.len() > SPEC_BYTES)?;
        targets.push(Target {
            start_sectors: long(spec, 0)?,
            size_sectors: long(spec, SPEC_SIZE)?,
            kind: string(&spec[SPEC_KIND..SPEC_BYTES])?,
            parameters: string(&spec[SPEC_BYTES..])?,
        });
        // In what the kernel writes it counts from the first target's beginning. Never backwards, or this would not end.
        let next = word(spec, SPEC_NEXT)? as usize;
        if next <= at {
            return None;
        }
        at = next;
    }
    Some(targets)
}

/// The names of all devices (`struct dm_name_list`: number, distance to the next, name); `None` if the answer makes no sense.
pub fn names(answer: &[u8]) -> Option<Vec<String>> {
    const NUMBER_BYTES: usize = 8;
    const NAME_AT: usize = 12;
    let data = answer.get(head(answer, DATA_START) as usize..)?;
    let mut names = Vec::new();
    let mut at = 0usize;
    // Without devices there is one entry, of number 0.
    while let Some(entry) = data.get(at..).filter(|entry| long(entry, 0).is_some_and(|number| number != 0)) {
        names.push(string(entry.get(NAME_AT..)?)?);
        match word(entry, NUMBER_BYTES)? as usize {
            0 => break,
            next => at = at.checked_add(next)?,
        }
    }
    Some(names)
}

/// A target's answer to a message.
pub fn text(answer: &[u8]) -> Option<String> {
    if head(answer, FLAGS) & DATA_OUT_FLAG == 0 {
        return None;
    }
    string(answer.get(head(answer, DATA_START) as usize..)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(start_sectors: u64, size_sectors: u64, parameters: &str) -> Target {
        Target { start_sectors, size_sectors, kind: "linear".into(), parameters: parameters.into() }
    }

    /// The same table as the kernel would write it.
    fn as_answer(message: &Message) -> Vec<u8> {
        let mut bytes = message.bytes(0);
        let mut at = DM_HEAD_BYTES;
        while at < bytes.len() {
            let end = at - DM_HEAD_BYTES + word(&bytes, at + SPEC_NEXT).unwrap() as usize;
            bytes[at + SPEC_NEXT..at + SPEC_NEXT + 4].copy_from_slice(&(end as u32).to_ne_bytes());
            at = DM_HEAD_BYTES + end;
        }
        bytes
    }

    #[test]
    fn the_head_has_the_kernels_layout() {
        let bytes = Message::new().name("cache").unwrap().flags(SUSPEND_FLAG).bytes(4096);
        assert_eq!(bytes.len(), 4096);
        assert_eq!(version(&bytes), (4, 0, 0));
        assert_eq!(word(&bytes, DATA_START), Some(312));
        assert_eq!(word(&bytes, FLAGS), Some(2));
        assert_eq!(&bytes[NAME..NAME + 6], b"cache\0");
    }

    #[test]
    fn tables_read_back_as_they_were_written() {
        let table = [target(0, 8, "7:0 0"), target(8, 16, ""), target(24, 1 << 40, "/dev/a long name 4096")];
        let message = Message::new().name("x").unwrap().table(&table).unwrap();
        assert_eq!(message.bytes.len() % 8, 0);
        assert_eq!(targets(&as_answer(&message)).unwrap(), table);
    }

    #[test]
    fn names_are_read_one_after_the_other() {
        let mut bytes = Message::new().bytes(0);
        bytes.extend([&[5u8, 253, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0][..], b"cache\0", &[0; 6]].concat());
        bytes.extend([&[6u8, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], b"v\0", &[0; 10]].concat());
        assert_eq!(names(&bytes).unwrap(), ["cache", "v"]);
        let none = Message::new().bytes(DM_HEAD_BYTES + 64);
        assert_eq!(names(&none).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_the_kernel_would_misread_is_refused() {
        for name in ["", "a/b", "a\nb", &"n".repeat(128)] {
            assert!(Message::new().name(name).is_err(), "{name:?}");
        }
        assert!(Message::new().name(&"n".repeat(127)).is_ok());
        let kind = |kind: &str| Target { kind: kind.into(), ..target(0, 8, "") };
        for table in [
            vec![],
            vec![target(8, 8, "")],
            vec![target(0, 0, "")],
            vec![target(0, 8, ""), target(16, 8, "")],
            vec![target(0, u64::MAX, ""), target(u64::MAX, 8, "")],
            vec![target(0, 8, "a\0b")],
            vec![kind("")],
            vec![kind("a-type-of-16-byt")],
        ] {
            assert!(Message::new().table(&table).is_err(), "{table:?}");
        }
        assert!(Message::new().text(0, " ").is_err() && Message::new().text(0, "a\0").is_err());
    }

    #[test]
    fn an_answers_flags_and_number_are_read() {
        let mut bytes = Message::new().flags(SUSPEND_FLAG | ACTIVE_PRESENT_FLAG | BUFFER_FULL_FLAG).bytes(0);
        bytes[DEVICE..DEVICE + 8].copy_from_slice(&((253u64 << 8) | 5).to_ne_bytes());
        bytes[OPEN_COUNT] = 3;
        let expected =
            Info { number: (253, 5), open_count: 3, is_suspended: true, has_table: true, has_new_table: false };
        assert_eq!(info(&bytes), expected);
        assert!(was_cut(&bytes));
        assert_eq!(text(&bytes), None, "no words without the flag");
        let mut bytes = Message::new().flags(DATA_OUT_FLAG).bytes(0);
        bytes.extend(b"on\0junk");
        assert_eq!(text(&bytes).as_deref(), Some("on"));
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_or_run_on(
            tail in proptest::collection::vec(any::<u8>(), 0..400), count in any::<u32>(), start in 0u32..800,
        ) {
            let mut bytes = Message::new().flags(DATA_OUT_FLAG).bytes(0);
            bytes[TARGET_COUNT..TARGET_COUNT + 4].copy_from_slice(&count.to_ne_bytes());
            bytes[DATA_START..DATA_START + 4].copy_from_slice(&start.to_ne_bytes());
            bytes.extend(tail);
            let _ = (targets(&bytes), text(&bytes), info(&bytes), names(&bytes));
        }
    }
}
