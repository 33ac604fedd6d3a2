// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kernel module of all device buffers, `fovea_heap`: its mapping cache (docs/mapping-cache.md), and the memory that buffers of any
//! device can be of.

use fovea_contract::{
    heap_attributes, heap_mapcache_statistics as statistics, heap_parameters, HEAP_MAPCACHE_FOLDER, HEAP_MODULE,
    HEAP_SHARED_FOLDER, SYSTEM_NODE,
};
use serde::{Deserialize, Serialize};

use crate::ecache::file_number;
use crate::file::{read, Root};
use crate::Error;

/// What stays mapped for devices, and what that was good for since the module was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingCache {
    /// Whether anything is kept.
    pub on: bool,
    /// Buffers as devices see them: one for each device and direction.
    pub mappings: u64,
    /// Of these, what nobody uses at the moment.
    pub idle: u64,
    /// What all of them take of the devices' addresses.
    pub mapped_bytes: u64,
    /// Uses that found their mapping.
    pub hits: u64,
    /// Uses that did not.
    pub misses: u64,
    /// Ended because the device had more than its cap, or no addresses left.
    pub evicted: u64,
    /// Ended because memory was short.
    pub shrunk: u64,
    /// Mappings that could not be made.
    pub failures: u64,
}

/// The cache; `None` without the module.
///
/// # Errors
/// The module's files cannot be read, or make no sense.
pub fn mapping_cache(root: &Root) -> Result<Option<MappingCache>, Error> {
    let module = root.join(format!("sys/module/{HEAP_MODULE}"));
    let folder = module.join(HEAP_MAPCACHE_FOLDER);
    if !folder.is_dir() {
        return Ok(None);
    }
    let of = |name: &str| file_number(folder.join(name));
    let on = read(&module.join("parameters").join(heap_parameters::MAPCACHE))?;
    Ok(Some(MappingCache {
        on: on.starts_with(b"Y"),
        mappings: of(statistics::MAPPINGS)?,
        idle: of(statistics::IDLE)?,
        mapped_bytes: of(statistics::MAPPED_BYTES)?,
        hits: of(statistics::HITS)?,
        misses: of(statistics::MISSES)?,
        evicted: of(statistics::EVICTED)?,
        shrunk: of(statistics::SHRUNK)?,
        failures: of(statistics::FAILURES)?,
    }))
}

/// What buffers of the system's pages hold; `None` without the module that makes them.
///
/// # Errors
/// The node's file makes no sense.
pub fn system_held_bytes(root: &Root) -> Result<Option<u64>, Error> {
    // A slash in a node's name is an exclamation mark in sysfs.
    let node = root.join(format!("sys/class/misc/{HEAP_SHARED_FOLDER}!{SYSTEM_NODE}"));
    if !node.is_dir() {
        return Ok(None);
    }
    file_number(node.join(heap_attributes::HELD_BYTES)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;

    #[test]
    fn without_the_modules_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!((mapping_cache(&root).unwrap(), system_held_bytes(&root).unwrap()), (None, None));
    }

    #[test]
    fn the_cache_is_read_from_sysfs_and_a_file_that_makes_no_sense_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        for (value, name) in statistics::ALL.iter().enumerate() {
            capture(dir.path(), &format!("sys/module/fovea_heap/mapcache/{name}"), &format!("{}\n", value + 1));
        }
        capture(dir.path(), "sys/module/fovea_heap/parameters/mapcache", "Y\n");
        capture(dir.path(), "sys/class/misc/fovea-heap!system/held_bytes", "8192\n");
        let cache = mapping_cache(&root).unwrap().unwrap();
        assert!(cache.on);
        assert_eq!((cache.mappings, cache.mapped_bytes, cache.failures), (1, 3, statistics::ALL.len() as u64));
        assert_eq!(system_held_bytes(&root).unwrap(), Some(8192));
        capture(dir.path(), "sys/module/fovea_heap/mapcache/hits", "many\n");
        assert!(mapping_cache(&root).unwrap_err().to_string().contains("mapcache/hits"));
    }
}
