// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the lab is built of: its own sources, those of the crates it links and of what they embed, and the versions of all others.

use std::{
    collections::hash_map::DefaultHasher,
    collections::BTreeSet,
    fs,
    hash::Hasher,
    path::{Path, PathBuf},
};

/// Of the repository, beside the crates: C that is compiled into `core`, what `contract` takes constants from, what `scenario` embeds,
/// and the versions of the crates of others.
const BESIDE: [&str; 5] = ["core", "kmod/include", "profiles", "crates/c_warnings.rs", "Cargo.lock"];
/// Of a crate.
const OF_CRATE: [&str; 4] = ["Cargo.toml", "build.rs", "build", "src"];

/// The folder of one of our crates: `lab` lies at the top, the others in the product's or the proof's folder.
fn folder(root: &Path, name: &str) -> PathBuf {
    let places = ["", "crates", "proof"].map(|above| root.join(above).join(name));
    let found = places.iter().find(|place| place.join("Cargo.toml").exists());
    found.unwrap_or_else(|| panic!("{name}: in none of {places:?}")).clone()
}

/// Names of the crates that this crate links, with its own.
pub fn linked(root: &Path, name: &str) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![name.to_owned()]);
    while let Some(name) = left.pop() {
        if !found.insert(name.clone()) {
            continue;
        }
        let path = folder(root, &name).join("Cargo.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let sections =
            text.split("\n[").filter(|s| s.starts_with("dependencies]") || s.starts_with("build-dependencies]"));
        let names = sections.flat_map(str::lines).filter_map(|line| line.strip_prefix("fovea-"));
        left.extend(names.filter_map(|rest| rest.split(['.', ' ', '=']).next()).map(str::to_owned));
    }
    found
}

/// The files and folders that count, of a repository.
pub fn places(root: &Path) -> Vec<PathBuf> {
    let of_crate = |name: String| {
        let folder = folder(root, &name);
        let c = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let c =
            c.map(|entry| entry.expect("a folder entry").path()).filter(|p| p.extension().is_some_and(|e| e == "c"));
        OF_CRATE.iter().map(|part| folder.join(part)).chain(c).collect::<Vec<_>>()
    };
    let crates = linked(root, "lab").into_iter().flat_map(of_crate);
    crates.chain(BESIDE.iter().map(|part| root.join(part))).filter(|place| place.exists()).collect()
}

/// A number that changes with every edit of them.
pub fn number(root: &Path) -> u64 {
    let (mut files, mut left) = (Vec::new(), places(root));
    while let Some(place) = left.pop() {
        if place.is_dir() {
            let entries = fs::read_dir(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()));
            left.extend(entries.map(|entry| entry.expect("a folder entry").path()));
        } else {
            files.push(place);
        }
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        for part in [name.as_bytes(), &fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))] {
            // Its length too, so that no text can move from one to the next unseen.
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    hasher.finish()
}
