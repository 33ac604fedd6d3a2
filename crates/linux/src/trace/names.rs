// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Names for the files that a recording knows by number: from the processes that use them, and afterwards by a search of the mounts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Dev;
use crate::file::{self, Root};
use crate::proc;

/// A file's number.
pub type FileId = (Dev, u64);

/// Files that are named at most; the rest stay numbers.
const FILES_MAX: usize = 1 << 20;

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// Where it is, as the process that used it saw it.
    pub path: PathBuf,
    /// How long it was when it was looked at.
    pub size_bytes: u64,
}

/// Files wanted and found.
#[derive(Debug, Default)]
pub struct Names {
    wanted: HashSet<FileId>,
    known: HashMap<FileId, FileName>,
}

fn id_of(metadata: &fs::Metadata) -> FileId {
    let dev = metadata.dev();
    (Dev::new(rustix::fs::major(dev), rustix::fs::minor(dev)), metadata.ino())
}

impl Names {
    /// Asks for a file's name; true if it is not known yet.
    pub fn want(&mut self, file: FileId) -> bool {
        if self.known.contains_key(&file) {
            return false;
        }
        if self.wanted.len() < FILES_MAX {
            self.wanted.insert(file);
        }
        true
    }

    /// Files found.
    pub fn known(&self) -> &HashMap<FileId, FileName> {
        &self.known
    }

    /// Files wanted and not found.
    pub fn unknown(&self) -> usize {
        self.wanted.len()
    }

    fn found(&mut self, id: FileId, path: &Path, size_bytes: u64) {
        if self.wanted.remove(&id) {
            self.known.insert(id, FileName { path: path.to_owned(), size_bytes });
        }
    }

    /// Looks whether a path is one of the files, e.g. a program that was started.
    pub fn look_at_path(&mut self, path: &Path) {
        if let Ok(metadata) = fs::metadata(path) {
            self.found(id_of(&metadata), path, metadata.len());
        }
    }

    /// Looks through what a task has open and mapped now.
    pub fn look_at_task(&mut self, root: &Root, tid: u32) {
        for entry in fs::read_dir(root.join(format!("proc/{tid}/fd"))).into_iter().flatten().flatten() {
            // Through the link to the file itself, whether or not its path still leads there.
            let Ok(metadata) = fs::metadata(entry.path()) else { continue };
            if self.wanted.contains(&id_of(&metadata)) {
                let path = fs::read_link(entry.path()).unwrap_or_default();
                self.found(id_of(&metadata), &path, metadata.len());
            }
        }
        let maps = file::read(&root.join(format!("proc/{tid}/maps"))).unwrap_or_default();
        let mut last = None;
        for (id, path) in maps.split(|&b| b == b'\n').filter_map(mapping) {
            if last != Some(id) && self.wanted.contains(&id) {
                let size_bytes = fs::metadata(&path).ok().filter(|m| m.ino() == id.1).map(|m| m.len());
                // Without a size it is of less use than what the search may find.
                if let Some(size_bytes) = size_bytes {
                    self.found(id, &path, size_bytes);
                }
            }
            last = Some(id);
        }
    }

    /// Searches the mounts for what is still wanted, nearest the top first, for at most so long.
    pub fn search(&mut self, root: &Root, limit: Duration) {
        let end = Instant::now() + limit;
        let mountinfo = file::read(&root.join("proc/self/mountinfo")).unwrap_or_default();
        let mut places: VecDeque<(Dev, PathBuf)> = mountinfo.split(|&b| b == b'\n').filter_map(mount).collect();
        // Where some files are, others are likely.
        let mut beside: Vec<(Dev, PathBuf)> =
            self.known.iter().filter_map(|((dev, _), name)| Some((*dev, name.path.parent()?.to_owned()))).collect();
        beside.sort();
        beside.dedup();
        for place in beside.into_iter().rev() {
            places.push_front(place);
        }
        let mut seen = HashSet::new();
        while let Some((dev, folder)) = places.pop_front() {
            if self.wanted.is_empty() || Instant::now() >= end {
                return;
            }
            if !self.wanted.iter().any(|(wanted, _)| *wanted == dev) {
                continue;
            }
            // A mount point belongs to another file system, and a folder may be bound in two places.
            match fs::symlink_metadata(&folder) {
                Ok(metadata) if id_of(&metadata).0 == dev && seen.insert(id_of(&metadata)) => {
                    self.found(id_of(&metadata), &folder, metadata.len());
                }
                _ => continue,
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                // The folder itself tells number and kind, so that only what is found is looked at.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder {
                    places.push_back((dev, entry.path()));
                } else if self.wanted.contains(&(dev, entry.ino())) {
                    if let Ok(metadata) = fs::symlink_metadata(entry.path()) {
                        self.found(id_of(&metadata), &entry.path(), metadata.len());
                    }
                }
            }
        }
    }
}

/// `7f… r-xp 00001000 fe:01 1234   /usr/lib/x.so`; `None` for what has no file.
fn mapping(line: &[u8]) -> Option<(FileId, PathBuf)> {
    let mut words = line.splitn(6, |&b| b == b' ');
    let (major, minor) = std::str::from_utf8(words.nth(3)?).ok()?.split_once(':')?;
    let dev = Dev::new(u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let inode = proc::number(words.next()?).filter(|&inode| inode != 0)?;
    let path = words.next()?.trim_ascii_start();
    Some(((dev, inode), PathBuf::from(std::ffi::OsStr::from_bytes(path))))
}

/// Device and place of a mount.
fn mount(line: &[u8]) -> Option<(Dev, PathBuf)> {
    let mut words = line.split(|&b| b == b' ');
    let (major, minor) = std::str::from_utf8(words.nth(2)?).ok()?.split_once(':')?;
    let dev = Dev::new(major.parse().ok()?, minor.parse().ok()?);
    let point = std::ffi::OsString::from_vec(proc::unescape(words.nth(1)?));
    Some((dev, point.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(path: &Path) -> FileId {
        id_of(&fs::metadata(path).unwrap())
    }

    #[test]
    fn a_file_that_a_task_has_open_gets_its_name_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("open");
        fs::write(&path, "12345").unwrap();
        let held = fs::File::open(&path).unwrap();
        let mut names = Names::default();
        assert!(names.want(id(&path)));
        names.look_at_task(&Root::at("/"), std::process::id());
        assert_eq!(names.known()[&id(&path)], FileName { path: path.clone(), size_bytes: 5 });
        assert!(!names.want(id(&path)));
        assert_eq!(names.unknown(), 0);
        drop(held);
    }

    #[test]
    fn the_search_finds_files_by_number_and_stays_on_their_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("proc/self")).unwrap();
        fs::create_dir_all(top.join("tree/deep/er")).unwrap();
        let path = top.join("tree/deep/er/file");
        fs::write(&path, "123").unwrap();
        let dev = id(&path).0;
        let mounts =
            format!("1 1 9:9 / / rw - x x rw\n2 1 {dev} / {} rw - x x rw\nnonsense\n", top.join("tree").display());
        fs::write(top.join("proc/self/mountinfo"), mounts).unwrap();
        let mut names = Names::default();
        names.want(id(&path));
        names.want((dev, u64::MAX));
        names.search(&Root::at(&top), Duration::ZERO);
        assert_eq!(names.unknown(), 2, "no time, nothing found");
        names.search(&Root::at(&top), Duration::from_secs(600));
        assert_eq!(names.known()[&id(&path)], FileName { path, size_bytes: 3 });
        assert_eq!(names.unknown(), 1);
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_panic(line in prop::collection::vec(any::<u8>(), 0..80), tail in "[0-9a-f]{0,3}:[0-9a-f]{0,12} [0-9]{0,22} [ /a-z]{0,9}") {
            let _ = (mapping(&line), mount(&line));
            let _ = (mapping(format!("1-2 r-xp 0 {tail}").as_bytes()), mount(format!("1 2 {tail}").as_bytes()));
        }
    }
}
