// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kernel module of all device buffers, `fovea_heap`: its mapping cache (docs/design/mapping-cache.md), and the memory that buffers of any
//! device can be of.

use fovea_apps::BufferHolder;
use fovea_contract::{
    heap_attributes, heap_holder_words as words, heap_mapcache_statistics as statistics, heap_parameters,
    wrap_statistics as wraps, HEAP_HOLDERS_FILE, HEAP_MAPCACHE_FOLDER, HEAP_MODULE, HEAP_SHARED_FOLDER, SYSTEM_NODE,
    WRAP_FOLDER, WRAP_MODULE,
};
use serde::{Deserialize, Serialize};

use crate::check::{missing, Finding};
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
    /// Times that the kernel itself mapped a buffer, for importers without DMA, and found the mapping it had.
    pub vmap_hits: u64,
    /// Times that it did not.
    pub vmap_misses: u64,
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
        vmap_hits: of(statistics::VMAP_HITS)?,
        vmap_misses: of(statistics::VMAP_MISSES)?,
    }))
}

/// Holders of buffers of our nodes; `None` without the module.
///
/// # Errors
/// The file cannot be read (it is root's), or makes no sense.
pub fn holders(root: &Root) -> Result<Option<Vec<BufferHolder>>, Error> {
    let path = root.join(format!("proc/{HEAP_HOLDERS_FILE}"));
    if !path.exists() {
        return Ok(None);
    }
    let bytes = read(&path)?;
    let text = String::from_utf8_lossy(&bytes);
    let holder = |line: &str| {
        let number = |name: &str| -> Option<u64> {
            line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
        };
        Some(BufferHolder {
            cgroup: number(words::CGROUP)?,
            uid: number(words::UID)?.try_into().ok()?,
            buffers: number(words::BUFFERS)?,
            bytes: number(words::BYTES)?,
        })
    };
    let of_line = |line: &str| holder(line).ok_or_else(|| Error::parse(&path, line.as_bytes()));
    text.lines().map(of_line).collect::<Result<_, _>>().map(Some)
}

/// What the module that wraps other exporters' buffers has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrap {
    /// Whether it sees new buffers: something else may have switched its probe off.
    pub active: bool,
    /// Buffers since loading.
    pub wrapped: u64,
    /// Of these, what stays as its exporter made it.
    pub refused: u64,
    /// Buffers that were exported while too many others were.
    pub missed: u64,
}

/// The module; `None` if it is not loaded. It tries its probe for this.
///
/// # Errors
/// The module's files cannot be read, or make no sense.
pub fn wrap(root: &Root) -> Result<Option<Wrap>, Error> {
    let folder = root.join(format!("sys/module/{WRAP_MODULE}/{WRAP_FOLDER}"));
    if !folder.is_dir() {
        return Ok(None);
    }
    let of = |name: &str| file_number(folder.join(name));
    Ok(Some(Wrap {
        active: of(wraps::ACTIVE)? != 0,
        wrapped: of(wraps::WRAPPED)?,
        refused: of(wraps::REFUSED)?,
        missed: of(wraps::MISSED)?,
    }))
}

/// The row of `fovea check`. Never missing where nobody asked for it, as most machines have no need of it.
pub(crate) fn look(root: &Root) -> Finding {
    match (mapping_cache(root), wrap(root)) {
        (Err(e), _) | (_, Err(e)) => Finding::Unknown(e.to_string()),
        (Ok(_), Ok(Some(wrap))) if !wrap.active => missing(
            "fovea-heap-wrap is loaded and sees no new buffers: its probe is switched off",
            "write 1 to /proc/sys/kernel/ftrace_enabled and /sys/kernel/debug/kprobes/enabled",
        ),
        (Ok(None), _) => Finding::Unknown("fovea-heap is not loaded; only buffers of several devices need it".into()),
        (Ok(Some(cache)), Ok(wrap)) => {
            let wrapped = wrap.map_or(String::new(), |wrap| {
                format!("; of other exporters {} buffers, {} left as they are", wrap.wrapped, wrap.refused)
            });
            let on = if cache.on { "on" } else { "off" };
            Finding::Present(format!("{on}, {} hits, {} misses{wrapped}", cache.hits, cache.misses))
        }
    }
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
        assert_eq!((holders(&root).unwrap(), wrap(&root).unwrap()), (None, None));
    }

    #[test]
    fn holders_are_read_and_a_line_that_makes_no_sense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let file = "proc/fovea-heap-holders";
        capture(dir.path(), file, "");
        assert_eq!(holders(&root).unwrap(), Some(Vec::new()));
        capture(dir.path(), file, "cgroup=77 uid=1000 buffers=2 bytes=8192\ncgroup=1 uid=0 buffers=1 bytes=4096\n");
        let found = holders(&root).unwrap().unwrap();
        assert_eq!(found[0], BufferHolder { cgroup: 77, uid: 1000, buffers: 2, bytes: 8192 });
        assert_eq!(found.len(), 2);
        for bad in ["cgroup=77 uid=1000 buffers=2\n", "cgroup=x uid=0 buffers=1 bytes=1\n", "\n"] {
            capture(dir.path(), file, bad);
            assert!(holders(&root).unwrap_err().to_string().contains("fovea-heap-holders"), "{bad}");
        }
    }

    #[test]
    fn a_wrap_whose_probe_is_dead_is_not_active() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        for (value, name) in wraps::ALL.iter().enumerate() {
            capture(dir.path(), &format!("sys/module/fovea_heap_wrap/wrap/{name}"), &format!("{value}\n"));
        }
        assert_eq!(wrap(&root).unwrap(), Some(Wrap { active: false, wrapped: 1, refused: 2, missed: 3 }));
        let Finding::Missing { mend, .. } = look(&root) else { panic!("a row that says it is well") };
        assert!(mend.contains("ftrace_enabled"), "{mend}");
        capture(dir.path(), "sys/module/fovea_heap_wrap/wrap/active", "1\n");
        assert!(matches!(look(&root), Finding::Unknown(_)), "without fovea-heap there is nothing to say");
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
        assert_eq!((cache.mappings, cache.mapped_bytes, cache.vmap_misses), (1, 3, statistics::ALL.len() as u64));
        assert_eq!(system_held_bytes(&root).unwrap(), Some(8192));
        capture(dir.path(), "sys/module/fovea_heap/mapcache/hits", "many\n");
        assert!(mapping_cache(&root).unwrap_err().to_string().contains("mapcache/hits"));
    }
}
