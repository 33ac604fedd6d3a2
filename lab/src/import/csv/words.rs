// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the names of columns mean in a table of any kind, and what the words of operations do.

use super::{known::Role, number::TimeUnit};
use crate::import::text::SECTOR_BYTES;

/// A column's name without case, and with what is neither letter nor digit as one `_`.
pub fn plain(name: &str) -> String {
    let mut plain = String::new();
    for character in name.trim_start_matches('\u{feff}').chars() {
        match character {
            c if c.is_alphanumeric() => plain.extend(c.to_lowercase()),
            _ if plain.is_empty() || plain.ends_with('_') => {}
            _ => plain.push('_'),
        }
    }
    plain.truncate(plain.trim_end_matches('_').len());
    plain
}

/// Names that mean one thing only, in tables of any kind.
pub(super) const SYNONYMS: &[(Role, &[&str])] = &[
    (
        Role::Time,
        &[
            "time",
            "timestamp",
            "timestamps",
            "ts",
            "clock_time",
            "real_time",
            "op_time",
            "access_time",
            "request_time",
            "req_time",
            "arrival_time",
            "start_time",
            "date",
            "datetime",
            "date_time",
            "epoch",
            "unix_time",
            "unixtime",
            "unix_timestamp",
            "unix",
        ],
    ),
    (
        Role::Id,
        &[
            "id",
            "ids",
            "obj",
            "objid",
            "obj_id",
            "object",
            "objectid",
            "object_id",
            "key",
            "cache_key",
            "cachekey",
            "anonymized_key",
            "item",
            "itemid",
            "item_id",
            "oid",
            "content_id",
            "url",
            "uri",
            "path",
            "file",
            "filename",
            "file_id",
            "page",
            "page_id",
            "block",
            "block_id",
            "document",
            "document_id",
            "video_id",
            "photo_id",
            "hash",
        ],
    ),
    (
        Role::Size,
        &[
            "size",
            "size_bytes",
            "bytes",
            "obj_size",
            "objsize",
            "object_size",
            "objectsize",
            "value_size",
            "val_size",
            "item_size",
            "file_size",
            "content_length",
            "response_size",
            "return_size",
            "size_in_bytes",
        ],
    ),
    (
        Role::Op,
        &[
            "op",
            "ops",
            "operation",
            "opcode",
            "op_type",
            "optype",
            "op_name",
            "type",
            "io_type",
            "iotype",
            "rw",
            "rw_flag",
            "method",
            "verb",
            "request_type",
            "cmd",
            "command",
        ],
    ),
    (Role::Count, &["op_count"]),
    (
        Role::Disk,
        &[
            "disk",
            "disk_id",
            "disknumber",
            "disk_number",
            "device",
            "device_id",
            "dev",
            "volume",
            "volume_id",
            "volumeid",
            "vol",
            "lun",
            "asu",
        ],
    ),
    (
        Role::Offset,
        &["offset", "offset_bytes", "byte_offset", "sector", "start_sector", "lba", "lbn", "address", "offset_sectors"],
    ),
    (Role::Length, &["length", "len", "length_bytes", "sectors", "nr_sectors", "length_sectors", "io_size"]),
];

/// Ends of the names of times.
const TIME_ENDS: &[(&str, TimeUnit)] = &[
    ("s", TimeUnit::Seconds),
    ("sec", TimeUnit::Seconds),
    ("secs", TimeUnit::Seconds),
    ("seconds", TimeUnit::Seconds),
    ("ms", TimeUnit::Millis),
    ("msec", TimeUnit::Millis),
    ("millis", TimeUnit::Millis),
    ("milliseconds", TimeUnit::Millis),
    ("us", TimeUnit::Micros),
    ("usec", TimeUnit::Micros),
    ("micros", TimeUnit::Micros),
    ("microseconds", TimeUnit::Micros),
    ("ns", TimeUnit::Nanos),
    ("nsec", TimeUnit::Nanos),
    ("nanos", TimeUnit::Nanos),
    ("nanoseconds", TimeUnit::Nanos),
];

/// What a column of this plain name holds, and the unit of its times if the name tells.
pub fn role_of(name: &str) -> Option<(Role, Option<TimeUnit>)> {
    let of = |name: &str| SYNONYMS.iter().find(|(_, names)| names.contains(&name)).map(|(role, _)| *role);
    if let Some(role) = of(name) {
        return Some((role, None));
    }
    let (stem, end) = name.rsplit_once('_')?;
    let unit = TIME_ENDS.iter().find(|(known, _)| *known == end).map(|(_, unit)| *unit)?;
    (of(stem) == Some(Role::Time)).then_some((Role::Time, Some(unit)))
}

/// What a column holds whose name means one thing only, and the unit of its times if the name tells.
pub fn role_of_title(title: &str) -> Option<(Role, Option<TimeUnit>)> {
    role_of(&plain(title))
}

/// Bytes of a unit of offsets or lengths that a column's plain name tells.
pub fn block_bytes_of(name: &str) -> Option<u64> {
    match name {
        _ if name.ends_with("_bytes") || name.starts_with("byte") => Some(1),
        // Linux counts sectors of 512 bytes whatever the disk's own.
        _ if name.contains("sector") => Some(SECTOR_BYTES),
        _ => None,
    }
}

/// Whether a column of this plain name, which may be the operation, may be anything else as well.
pub fn may_be_anything(name: &str) -> bool {
    ["type", "method", "verb", "request_type", "cmd", "command"].contains(&name)
}

/// Whether a column's plain name says that its times are counted from 1970.
pub fn is_epoch(name: &str) -> bool {
    ["timestamp", "timestamps", "epoch", "unix", "unix_time", "unixtime", "unix_timestamp"].contains(&name)
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Says that the object is no more, or that a disk's blocks are.
    Delete,
}

/// What a word in a column of operations means; `numbers` if the table writes 0 for a read and 1 for a write.
pub fn does(text: &[u8], numbers: bool) -> Option<Does> {
    const WORDS: &[(&[&str], Does)] = &[
        (
            &[
                "r",
                "read",
                "rs",
                "ra",
                "rm",
                "get",
                "gets",
                "get_lease",
                "getlease",
                "gat",
                "head",
                "lookup",
                "scan",
                "touch",
            ],
            Does::Read,
        ),
        (
            &[
                "w",
                "write",
                "ws",
                "wm",
                "wsm",
                "wfs",
                "set",
                "set_lease",
                "add",
                "replace",
                "cas",
                "append",
                "prepend",
                "incr",
                "decr",
                "put",
                "post",
                "insert",
                "update",
            ],
            Does::Write,
        ),
        (&["d", "del", "delete", "remove", "purge", "trim", "discard", "unmap"], Does::Delete),
    ];
    let text = std::str::from_utf8(text).ok()?;
    match text {
        "0" if numbers => return Some(Does::Read),
        "1" if numbers => return Some(Does::Write),
        _ => {}
    }
    for (words, does) in WORDS {
        if words.iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Some(*does);
        }
    }
    // Tectonic's are followed by the state of what is asked for.
    match text.split('.').next() {
        Some("getChunkData") => Some(Does::Read),
        Some("putChunk") => Some(Does::Write),
        _ => None,
    }
}
