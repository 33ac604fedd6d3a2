// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The source text of the kernel modules: where it is, what it is, a copy of it.
//!
//! It lies beside the program as files and not inside it. The program is in the virtual phone, too, as the daemon, in memory that is
//! the apps'; and whoever changes a module should see the change without building the program anew.

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use twox_hash::XxHash64;

use crate::error::{Error, Result};

/// The modules, and the C core which they are built with.
const FOLDERS: [&str; 2] = ["kmod", "core"];
/// How deep the folders go at most; deeper is a circle of links.
const DEPTH_MAX: u32 = 8;

/// Folder with `kmod/` and `core/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    root: PathBuf,
}

impl Sources {
    /// `$FOVEA_SOURCE` if that is set, else `share/fovea/src` below the prefix of the running program (`bin/fovea` or
    /// `lib/fovea/fovea-lab`), else the nearest folder above the program that has them (one built in a checkout).
    ///
    /// # Errors
    /// They are in none of these places.
    pub fn find() -> Result<Sources> {
        let named = std::env::var_os("FOVEA_SOURCE").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let here = std::env::current_exe().map_err(Error::io("find the running program", "/proc/self/exe"))?;
        Sources::choose(named, &here)
    }

    /// A folder that has them.
    ///
    /// # Errors
    /// It has not.
    pub fn at(root: impl AsRef<Path>) -> Result<Sources> {
        let root = root.as_ref();
        match has_sources(root) {
            true => Ok(Sources { root: root.to_path_buf() }),
            false => Err(Error::missing(
                format!("no kernel modules' sources in {} (kmod/Makefile, core/)", root.display()),
                "name Fovea's source tree with FOVEA_SOURCE",
            )),
        }
    }

    fn choose(named: Option<PathBuf>, exe: &Path) -> Result<Sources> {
        if let Some(dir) = named {
            return Sources::at(dir);
        }
        let installed =
            ["../share/fovea/src", "../../share/fovea/src"].map(|place| exe.parent().map(|dir| dir.join(place)));
        let above = exe.ancestors().skip(1).map(Path::to_path_buf);
        let found = installed.into_iter().flatten().chain(above).find(|dir| has_sources(dir));
        found.map(|root| Sources { root }).ok_or_else(|| {
            let beside = exe.parent().unwrap_or(exe).display();
            Error::missing(
                format!("no kernel modules' sources in {beside}/../share/fovea/src or above {beside}"),
                "name Fovea's source tree with FOVEA_SOURCE, or run `make install` in it",
            )
        })
    }

    /// Where they are.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every file by its path below the root. What a build in the tree leaves behind is passed over.
    pub(super) fn read(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut files = BTreeMap::new();
        FOLDERS.iter().try_for_each(|folder| walk(&self.root, Path::new(folder), DEPTH_MAX, &mut files))?;
        Ok(files)
    }
}

fn has_sources(dir: &Path) -> bool {
    dir.join("kmod/Makefile").is_file() && dir.join("core").is_dir()
}

fn walk(root: &Path, below: &Path, depth: u32, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let dir = root.join(below);
    for entry in fs::read_dir(&dir).map_err(Error::io("read", &dir))? {
        let entry = entry.map_err(Error::io("read", &dir))?;
        let (name, path) = (below.join(entry.file_name()), entry.path());
        if path.is_dir() {
            if depth > 0 {
                walk(root, &name, depth - 1, files)?;
            }
        } else if is_source(&name) {
            files.insert(name, fs::read(&path).map_err(Error::io("read", &path))?);
        }
    }
    Ok(())
}

/// What goes into a build. Named by what it is and not by what it is not: objects, `.cmd`, `.mod.c` and editors' copies change without
/// any change of what is built.
fn is_source(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    if name.starts_with('.') || name.ends_with(".mod.c") {
        return false;
    }
    matches!(name, "Makefile" | "Kbuild") || [".c", ".h", ".S", ".mk"].iter().any(|ending| name.ends_with(ending))
}

/// A number for the content of all files and the words beside them.
pub(super) fn digest(files: &BTreeMap<PathBuf, Vec<u8>>, words: &[&str]) -> u64 {
    let mut hash = XxHash64::with_seed(0);
    // Each part goes in with its length, so that no two lists of parts run together to the same bytes.
    let mut part = |bytes: &[u8]| {
        hash.write_u64(bytes.len() as u64);
        hash.write(bytes);
    };
    words.iter().for_each(|word| part(word.as_bytes()));
    for (path, bytes) in files {
        part(path.as_os_str().as_encoded_bytes());
        part(bytes);
    }
    hash.finish()
}

/// Makes a folder's sources these. A file that is so already is not touched, so that `make` there sees what has changed.
pub(super) fn update(files: &BTreeMap<PathBuf, Vec<u8>>, to: &Path) -> Result<()> {
    let mut there = BTreeMap::new();
    for folder in FOLDERS {
        let dir = to.join(folder);
        fs::create_dir_all(&dir).map_err(Error::io("make", &dir))?;
        walk(to, Path::new(folder), DEPTH_MAX, &mut there)?;
    }
    for name in there.keys().filter(|&name| !files.contains_key(name)) {
        let path = to.join(name);
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    for (name, bytes) in files.iter().filter(|&(name, bytes)| there.get(name) != Some(bytes)) {
        let path = to.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
        }
        fs::write(&path, bytes).map_err(Error::io("write", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(root: &Path) {
        for folder in ["kmod/x", "core"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (name, text) in [("kmod/Makefile", "all:"), ("kmod/x/x.c", "int x;"), ("core/types.h", "")] {
            fs::write(root.join(name), text).unwrap();
        }
    }

    #[test]
    fn they_are_found_where_they_were_installed_or_built_unless_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let exe = root.join("checkout/target/release/fovea");
        let error = Sources::choose(None, &exe).unwrap_err();
        assert!(error.is_missing() && error.to_string().contains("FOVEA_SOURCE"), "{error}");
        tree(&root.join("checkout"));
        assert_eq!(Sources::choose(None, &exe).unwrap().root(), root.join("checkout"));
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        tree(&root.join("usr/share/fovea/src"));
        let installed = Sources::choose(None, &root.join("usr/bin/fovea")).unwrap();
        assert_eq!(installed.root(), root.join("usr/bin/../share/fovea/src"));
        let named = Sources::choose(Some(root.join("usr/share/fovea/src")), &exe).unwrap();
        assert_eq!(named.root(), root.join("usr/share/fovea/src"));
        assert!(Sources::choose(Some(root.join("empty")), &exe).unwrap_err().to_string().contains("empty"));
    }

    #[test]
    fn a_build_in_the_tree_changes_nothing_and_every_source_counts() {
        let dir = tempfile::tempdir().unwrap();
        tree(dir.path());
        let sources = Sources::at(dir.path()).unwrap();
        let before = sources.read().unwrap();
        let names: Vec<_> = before.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["core/types.h", "kmod/Makefile", "kmod/x/x.c"]);
        for left in ["x.o", "x.ko", "x.mod.c", ".x.o.cmd", "x.mod", "modules.order", "x.c~"] {
            fs::write(dir.path().join("kmod/x").join(left), "left behind").unwrap();
        }
        let built = sources.read().unwrap();
        assert_eq!(digest(&built, &["r"]), digest(&before, &["r"]));
        assert_ne!(digest(&before, &["r"]), digest(&before, &["r", ""]));
        fs::write(dir.path().join("core/types.h"), "typedef int u32;").unwrap();
        assert_ne!(digest(&sources.read().unwrap(), &["r"]), digest(&before, &["r"]));
    }

    #[test]
    fn a_copy_has_the_same_content_and_what_is_the_same_is_not_written_again() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        tree(from.path());
        let sources = Sources::at(from.path()).unwrap();
        let copied = || {
            update(&sources.read().unwrap(), to.path()).unwrap();
            assert_eq!(Sources::at(to.path()).unwrap().read().unwrap(), sources.read().unwrap());
            ["kmod/Makefile", "kmod/x/x.c"].map(|name| fs::metadata(to.path().join(name)).unwrap().modified().unwrap())
        };
        let first = copied();
        fs::write(to.path().join("kmod/x/x.o"), "an object").unwrap();
        fs::remove_file(from.path().join("core/types.h")).unwrap();
        fs::write(from.path().join("kmod/x/x.c"), "int y;").unwrap();
        let second = copied();
        assert!(first[0] == second[0] && first[1] != second[1]);
        assert!(to.path().join("kmod/x/x.o").exists());
    }
}
