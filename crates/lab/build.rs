// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Lists every file of `src/policies/` in the policy registry, so that a new policy is one new file and nothing else.
//! Also notes the commit that is built, for the results documents, and a number that changes with every edit of the sources.

use std::{
    collections::hash_map::DefaultHasher,
    env,
    fmt::Write as _,
    fs,
    hash::Hasher,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src");
    write_registry(&Path::new(&manifest).join("src/policies"), &Path::new(&out).join("policies.rs"));
    println!("cargo::rustc-env=FOVEA_LAB_COMMIT={}", commit());
    println!("cargo::rustc-env=FOVEA_LAB_SOURCES={:016x}", sources(&Path::new(&manifest).join("src")));
}

fn sources(folder: &Path) -> u64 {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let (inner, plain): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.map(|entry| entry.expect("a folder entry").path()).partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(plain);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for path in files {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        hasher.write(name.as_bytes());
        hasher.write(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
    }
    hasher.finish()
}

fn write_registry(folder: &Path, generated: &Path) {
    let mut modules: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| (path.file_stem().expect("a file name").to_string_lossy().into_owned(), path.display().to_string()))
        .collect();
    modules.sort();
    let mut code = String::new();
    for (module, path) in &modules {
        writeln!(code, "#[path = {path:?}]\npub mod {module};").expect("writing to a string");
    }
    code.push_str(
        "/// Every policy, in the order of their files' names.\npub static ALL: &[&super::Descriptor] = &[\n",
    );
    for (module, _) in &modules {
        writeln!(code, "    &{module}::POLICY,").expect("writing to a string");
    }
    code.push_str("];\n");
    fs::write(generated, code).unwrap_or_else(|e| panic!("{}: {e}", generated.display()));
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn commit() -> String {
    for name in ["HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        None => "unknown".into(),
        Some(head) => {
            let dirty = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|s| !s.is_empty());
            if dirty {
                format!("{head}-dirty")
            } else {
                head
            }
        }
    }
}
