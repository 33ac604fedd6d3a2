// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The eCache's kernel module, `dm_ecache`: its pool, its devices, its settings (docs/design/ecache.md).

use std::path::PathBuf;

use fovea_apps::PoolReading;
use fovea_contract::{ecache_parameters, ecache_statistics as statistics, heap_attributes, HEAP_FOLDER};
use serde::{Deserialize, Serialize};

use crate::file::{read, Root};
use crate::proc::number;
use crate::Error;

/// The module's name in the kernel.
pub const MODULE: &str = fovea_contract::ECACHE_MODULE;

/// Folder of the device nodes.
fn nodes(root: &Root) -> PathBuf {
    root.join("dev").join(HEAP_FOLDER)
}

/// A reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// The device's name.
    pub name: String,
    /// Most it may have.
    pub size_bytes: u64,
    /// What it has.
    pub held_bytes: u64,
}

pub(crate) fn file_number(path: PathBuf) -> Result<u64, Error> {
    let text = read(&path)?;
    number(&text).ok_or_else(|| Error::file("reading", path, std::io::ErrorKind::InvalidData))
}

/// The pool; `None` without the module.
///
/// # Errors
/// The module's files cannot be read, or make no sense.
pub fn pool(root: &Root) -> Result<Option<PoolReading>, Error> {
    let folder = root.join(format!("sys/module/{MODULE}/pool"));
    if !folder.is_dir() {
        return Ok(None);
    }
    let of = |name: &str| file_number(folder.join(name));
    // A frame is a page of the kernel's.
    let pages = |name: &str| of(name).map(|frames| root.page_size().to_policy(frames));
    Ok(Some(PoolReading {
        frames: pages(statistics::FRAMES)?,
        cached: pages(statistics::CACHED)?,
        device: pages(statistics::DEVICE)? + pages(statistics::TOMBSTONES)?,
        free: pages(statistics::FREE)?,
        puts: pages(statistics::PUTS)?,
        gets: pages(statistics::GETS)?,
        hits: pages(statistics::HITS)?,
        allocs: of(statistics::ALLOCS)?,
        discarded: pages(statistics::DISCARDED)?,
        memory_bytes: of(statistics::MEMORY_BYTES)?,
    }))
}

/// Whether the module is to follow pages that move: not on a kernel without function tracing.
pub fn follows_moves(root: &Root) -> bool {
    let file = root.join(format!("sys/module/{MODULE}/parameters")).join(ecache_parameters::FOLLOW_MOVES);
    !std::fs::read(file).is_ok_and(|value| value.starts_with(b"N"))
}

/// Whether the kernel moves pages and the module, which looks anew, is not told, though it should be.
pub fn moves_are_unseen(root: &Root) -> bool {
    let folder = root.join(format!("sys/module/{MODULE}/pool"));
    follows_moves(root) && file_number(folder.join(statistics::MOVES_UNSEEN)).is_ok_and(|unseen| unseen > 0)
}

/// All reservations, by name; none without the module. (`contig-heap`, which is there to be compared with, shows up here too.)
///
/// # Errors
/// A file cannot be read, or makes no sense.
pub fn reservations(root: &Root) -> Result<Vec<Reservation>, Error> {
    let class = root.join("sys/class/misc");
    let entries = std::fs::read_dir(&class).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries {
        let file_name = entry.file_name();
        // A slash in a node's name is an exclamation mark in sysfs.
        let name = file_name.to_str().and_then(|name| name.strip_prefix(HEAP_FOLDER)?.strip_prefix('!'));
        let Some(name) = name else { continue };
        found.push(Reservation {
            name: name.into(),
            size_bytes: file_number(entry.path().join(heap_attributes::SIZE_BYTES))?,
            held_bytes: file_number(entry.path().join(heap_attributes::HELD_BYTES))?,
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// A device's node.
pub fn node(root: &Root, name: &str) -> PathBuf {
    nodes(root).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;

    #[test]
    fn without_the_module_there_is_no_pool_and_no_reservation() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!(pool(&root).unwrap(), None);
        assert_eq!(reservations(&root).unwrap(), []);
    }

    #[test]
    fn pool_and_reservations_are_read_from_sysfs() {
        let dir = tempfile::tempdir().unwrap();
        let names =
            ["frames", "cached", "device", "free", "puts", "gets", "hits", "allocs", "discarded", "memory_bytes"];
        for (value, name) in names.iter().enumerate() {
            capture(dir.path(), &format!("sys/module/dm_ecache/pool/{name}"), &format!("{}\n", value + 10));
        }
        capture(dir.path(), "sys/module/dm_ecache/pool/tombstones", "100\n");
        assert!(!moves_are_unseen(&Root::at(dir.path())), "an older module does not say");
        capture(dir.path(), "sys/module/dm_ecache/pool/moves_unseen", "1\n");
        assert!(moves_are_unseen(&Root::at(dir.path())));
        capture(dir.path(), "sys/module/dm_ecache/parameters/follow_moves", "Y\n");
        assert!(moves_are_unseen(&Root::at(dir.path())) && follows_moves(&Root::at(dir.path())));
        capture(dir.path(), "sys/module/dm_ecache/parameters/follow_moves", "N\n");
        assert!(!moves_are_unseen(&Root::at(dir.path())), "nobody asked for it");
        assert!(!follows_moves(&Root::at(dir.path())));
        for (name, size) in [("mfc1", 36), ("fimc", 12)] {
            capture(dir.path(), &format!("sys/class/misc/ecache!{name}/size_bytes"), &format!("{}\n", size << 20));
            capture(dir.path(), &format!("sys/class/misc/ecache!{name}/held_bytes"), "0\n");
        }
        capture(dir.path(), "sys/class/misc/rfkill/dev", "10:242\n");
        let root = Root::at(dir.path());
        let pool = pool(&root).unwrap().unwrap();
        assert_eq!((pool.frames, pool.device, pool.memory_bytes), (10, 112, 19));
        assert_eq!(pool.size_bytes(), 10 * 4096);
        // An auxiliary vector of one entry: AT_PAGESZ, 16384.
        capture(dir.path(), "proc/self/auxv", "\u{6}\0\0\0\0\0\0\0\0@\0\0\0\0\0\0");
        let larger = super::pool(&Root::at(dir.path())).unwrap().unwrap();
        assert_eq!((larger.size_bytes(), larger.hits, larger.allocs), (10 * 16384, 4 * 16, 17), "frames of 16 KiB");
        let names: Vec<_> = reservations(&root).unwrap().into_iter().map(|r| (r.name, r.size_bytes >> 20)).collect();
        assert_eq!(names, [("fimc".to_owned(), 12), ("mfc1".to_owned(), 36)]);
    }

    #[test]
    fn a_file_that_makes_no_sense_is_named() {
        let dir = tempfile::tempdir().unwrap();
        capture(dir.path(), "sys/module/dm_ecache/pool/frames", "many\n");
        let error = pool(&Root::at(dir.path())).unwrap_err().to_string();
        assert!(error.contains("pool/frames"), "{error}");
    }
}
