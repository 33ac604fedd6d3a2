// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Lists every file of `src/policies/` in the policy registry, so that a new policy is one new file and nothing else.
//! Also notes the commit that is built, for the results documents, and a number that changes with every edit of what the
//! lab is built of.

use std::{env, fmt::Write as _, fs, path::Path, process::Command};

#[path = "sources.rs"]
mod sources;

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let root = Path::new(&manifest).join("..");
    for place in sources::places(&root) {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    write_registry(&Path::new(&manifest).join("src/policies"), &Path::new(&out).join("policies.rs"));
    println!("cargo::rustc-env=FOVEA_LAB_COMMIT={}", commit());
    println!("cargo::rustc-env=FOVEA_LAB_SOURCES={:016x}", sources::number(&root));
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
