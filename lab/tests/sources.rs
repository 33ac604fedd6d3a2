// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The number that results and kept forms have for the program's sources changes with all that the lab links, and with nothing else.

#[path = "../build/sources.rs"]
mod sources;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_crates_are_those_that_cargo_links() {
    let mut cargo = Command::new(env!("CARGO"));
    let tree =
        cargo.args(["tree", "--offline", "--locked", "-p", "fovea-lab", "-e", "normal,build", "--prefix", "none"]);
    let output = tree.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("fovea-")?.split(' ').next());
    assert_eq!(sources::linked(&root(), "lab"), names.map(str::to_owned).collect::<BTreeSet<_>>());
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn it_changes_with_each_of_them_and_the_core_s_c() {
    let folder = tempfile::tempdir().unwrap();
    for place in sources::places(&root()) {
        copy(&place, &folder.path().join(place.strip_prefix(root()).unwrap()));
    }
    let number = || sources::number(folder.path());
    let ours = number();
    assert_eq!(ours, sources::number(&root()), "wherever it lies");
    let of_crates = sources::places(&root()).into_iter().filter(|place| place.ends_with("src"));
    let of_crates = of_crates.map(|src| src.join("lib.rs").strip_prefix(root()).unwrap().display().to_string());
    let others = ["core/ecache/cost.c", "core/types.h", "crates/core/abi.c", "lab/src/policies/lru.rs", "Cargo.lock"];
    for file in of_crates.chain(others.map(str::to_owned)) {
        let path = folder.path().join(&file);
        let text = fs::read(&path).unwrap();
        fs::write(&path, [text.as_slice(), b"\n"].concat()).unwrap();
        assert_ne!(number(), ours, "{file}");
        fs::write(&path, text).unwrap();
        assert_eq!(number(), ours, "{file}");
    }
    fs::create_dir_all(folder.path().join("lab/tests")).unwrap();
    fs::write(folder.path().join("lab/tests/more.rs"), "").unwrap();
    assert_eq!(number(), ours, "a test is not linked");
    fs::write(folder.path().join("core/ecache/new.h"), "").unwrap();
    assert_ne!(number(), ours, "a new file of the core");
}
