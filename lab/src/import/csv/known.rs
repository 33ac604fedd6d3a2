// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What columns are called, in tables that are published and in others.

use super::number::TimeUnit;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// When.
    Time,
    /// The object's id.
    Id,
    /// The object's size in bytes.
    Size,
    /// Read, written, deleted.
    Op,
    /// How many such requests the row stands for.
    Count,
    /// The disk or volume.
    Disk,
    /// First byte or sector.
    Offset,
    /// Bytes or sectors.
    Length,
}

impl Role {
    /// Every one, by its name on the command line.
    pub const NAMES: [(&'static str, Role); 8] = [
        ("time", Role::Time),
        ("id", Role::Id),
        ("size", Role::Size),
        ("op", Role::Op),
        ("count", Role::Count),
        ("disk", Role::Disk),
        ("offset", Role::Offset),
        ("length", Role::Length),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Role> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }
}

/// A published table.
pub struct Known {
    /// Its name, for `--format` where its rows alone do not tell it.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its columns in their order, as [`plain`] has their names; those with `?` are not in every release.
    pub columns: &'static [&'static str],
    /// Which of them hold what. A role that several have is their sum.
    pub roles: &'static [(Role, &'static str)],
    /// Unit of its times.
    pub time_unit: TimeUnit,
    /// Bytes of a unit of offsets, and of lengths.
    pub units_bytes: [u64; 2],
    /// Whether a row without a header can be one of it and of nothing else.
    pub row: Option<fn(&[String]) -> bool>,
}

fn number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn decimal(text: &str) -> bool {
    super::number::Decimal::of(text.as_bytes()).is_some()
}

fn letter(text: &str) -> bool {
    ["r", "w"].iter().any(|known| text.eq_ignore_ascii_case(known))
}

/// Words of Twitter's caches.
const TWITTER_OPS: [&str; 11] =
    ["get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr"];

/// Sector of a disk, where the table says so.
const SECTOR: u64 = super::super::text::SECTOR_BYTES;

/// Every published table that is read by its columns.
pub static TABLES: &[Known] = &[
    Known {
        name: "libcachesim-csv",
        about: "libCacheSim csv",
        columns: &["time", "object", "size", "next_access_vtime"],
        roles: &[(Role::Time, "time"), (Role::Id, "object"), (Role::Size, "size")],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "cachelib",
        about: "CacheLib key-value cache traces (Meta)",
        columns: &["op_time?", "key", "op", "size", "op_count", "key_size"],
        roles: &[
            (Role::Time, "op_time"),
            (Role::Id, "key"),
            (Role::Op, "op"),
            (Role::Size, "size"),
            (Role::Count, "op_count"),
        ],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "meta-cdn",
        about: "CDN traces (Meta)",
        columns: &["timestamp", "cachekey", "optype", "objectsize"],
        roles: &[(Role::Time, "timestamp"), (Role::Id, "cachekey"), (Role::Size, "objectsize")],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "meta-storage",
        about: "Tectonic block storage traces (Meta)",
        columns: &["op_time", "block_id", "io_size", "io_offset", "op_name", "op_count"],
        roles: &[
            (Role::Time, "op_time"),
            (Role::Id, "block_id"),
            (Role::Offset, "io_offset"),
            (Role::Length, "io_size"),
            (Role::Op, "op_name"),
            (Role::Count, "op_count"),
        ],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "wikimedia",
        about: "Wikimedia CDN traces (upload)",
        columns: &["relative_unix", "hashed_path_query", "image_type", "response_size"],
        roles: &[(Role::Time, "relative_unix"), (Role::Id, "hashed_path_query"), (Role::Size, "response_size")],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "wikimedia-text",
        about: "Wikimedia CDN traces (text)",
        columns: &["relative_unix", "hashed_host_path_query", "response_size"],
        roles: &[(Role::Time, "relative_unix"), (Role::Id, "hashed_host_path_query"), (Role::Size, "response_size")],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "twitter",
        about: "Twitter cache traces",
        columns: &["timestamp", "anonymized_key", "key_size", "value_size", "client_id", "operation", "ttl"],
        roles: &[
            (Role::Time, "timestamp"),
            (Role::Id, "anonymized_key"),
            (Role::Size, "key_size"),
            (Role::Size, "value_size"),
            (Role::Op, "operation"),
        ],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: Some(|r| {
            r.len() == 7 && [0, 2, 3, 4, 6].iter().all(|&at| number(&r[at])) && TWITTER_OPS.contains(&&*r[5])
        }),
    },
    Known {
        name: "alibaba-block",
        about: "Alibaba Cloud block traces",
        columns: &["device_id", "opcode", "offset", "length", "timestamp"],
        roles: &[
            (Role::Disk, "device_id"),
            (Role::Op, "opcode"),
            (Role::Offset, "offset"),
            (Role::Length, "length"),
            (Role::Time, "timestamp"),
        ],
        time_unit: TimeUnit::Micros,
        units_bytes: [1, 1],
        // Its times are of 2020.
        row: Some(|r| {
            r.len() == 5
                && [0, 2, 3, 4].iter().all(|&at| number(&r[at]))
                && letter(&r[1])
                && r[4].len() == 16
                && r[4].starts_with("15")
        }),
    },
    Known {
        name: "tencent-block",
        about: "Tencent Cloud block traces",
        columns: &["timestamp", "offset", "size", "iotype", "volumeid"],
        roles: &[
            (Role::Time, "timestamp"),
            (Role::Offset, "offset"),
            (Role::Length, "size"),
            (Role::Op, "iotype"),
            (Role::Disk, "volumeid"),
        ],
        time_unit: TimeUnit::Seconds,
        units_bytes: [SECTOR, SECTOR],
        row: None,
    },
    Known {
        name: "tencent-photo",
        about: "Tencent photo cache traces",
        columns: &[
            "timestamp",
            "photo_id",
            "image_format",
            "size_category",
            "return_size",
            "cache_hit",
            "terminal_type",
            "response_time",
        ],
        roles: &[(Role::Time, "timestamp"), (Role::Id, "photo_id"), (Role::Size, "return_size")],
        time_unit: TimeUnit::CompactDate,
        units_bytes: [1, 1],
        row: Some(|r| r.len() == 8 && r[0].len() == 14 && number(&r[0]) && ["PHONE", "PC"].contains(&&*r[6])),
    },
    Known {
        name: "spc",
        about: "SPC traces (UMass: Financial, WebSearch)",
        columns: &["asu", "lba", "size", "opcode", "timestamp"],
        roles: &[
            (Role::Disk, "asu"),
            (Role::Offset, "lba"),
            (Role::Length, "size"),
            (Role::Op, "opcode"),
            (Role::Time, "timestamp"),
        ],
        time_unit: TimeUnit::Seconds,
        units_bytes: [SECTOR, 1],
        row: Some(|r| {
            (5..=8).contains(&r.len())
                && [0, 1, 2].iter().all(|&at| number(&r[at]))
                && letter(&r[3])
                && decimal(&r[4])
                && r[4].contains('.')
        }),
    },
    Known {
        name: "msr-csv",
        about: "MSR Cambridge block traces",
        columns: &["timestamp", "hostname", "disknumber", "type", "offset", "size", "responsetime"],
        roles: &[
            (Role::Time, "timestamp"),
            (Role::Disk, "hostname"),
            (Role::Disk, "disknumber"),
            (Role::Op, "type"),
            (Role::Offset, "offset"),
            (Role::Length, "size"),
        ],
        time_unit: TimeUnit::Filetime,
        units_bytes: [1, 1],
        row: None,
    },
    Known {
        name: "systor17-csv",
        about: "SYSTOR '17 enterprise storage traces",
        columns: &["timestamp", "response", "iotype", "lun", "offset", "size"],
        roles: &[
            (Role::Time, "timestamp"),
            (Role::Op, "iotype"),
            (Role::Disk, "lun"),
            (Role::Offset, "offset"),
            (Role::Length, "size"),
        ],
        time_unit: TimeUnit::Seconds,
        units_bytes: [1, 1],
        row: None,
    },
];

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Known {}

impl Known {
    /// The table of this name.
    pub fn named(name: &str) -> Option<&'static Known> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// The table whose columns these are; there may be others between them.
    pub fn of_header(names: &[String]) -> Option<&'static Known> {
        let has = |column: &str| names.iter().filter(|name| *name == column).count() == 1;
        let all = |table: &Known| table.columns.iter().filter(|c| !c.ends_with('?')).all(|c| has(c));
        let found = TABLES.iter().filter(|table| all(table));
        found.max_by_key(|table| table.columns.len())
    }

    /// The names of its columns, in the order of a file without a header.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.trim_end_matches('?'))
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::{plain, role_of, SYNONYMS};
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_marks() {
        for (name, expected) in [
            ("Object ID", "object_id"),
            ("\u{feff}time (ms)", "time_ms"),
            ("  anonymized key", "anonymized_key"),
            ("# id", "id"),
            ("__", ""),
        ] {
            assert_eq!(plain(name), expected);
        }
    }

    #[test]
    fn every_table_and_every_synonym_means_one_thing() {
        for table in TABLES {
            let names: Vec<String> = table.names().map(str::to_owned).collect();
            let found = Known::of_header(&names).unwrap();
            assert_eq!(found.name, table.name, "its own header");
            assert!(table.roles.iter().all(|(_, column)| names.iter().any(|name| name == column)), "{}", table.name);
            assert!(table.names().all(|name| plain(name) == name), "{}", table.name);
        }
        let all: Vec<_> = SYNONYMS.iter().flat_map(|(_, names)| names.iter()).collect();
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
        assert_eq!(role_of("timestamp_us"), Some((Role::Time, Some(TimeUnit::Micros))));
        assert_eq!(role_of("key_size"), None);
    }
}
