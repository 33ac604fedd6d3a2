// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The manual as it is in the source tree says what the program does, and is well formed.

use std::path::{Path, PathBuf};
use std::process::Command;

use fovea_manual::{files, keys};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    std::fs::read_dir(root().join("man")).unwrap().map(|page| page.unwrap().path()).collect()
}

#[test]
fn what_is_in_the_tree_is_what_is_made_now() {
    let stale: Vec<_> = files()
        .into_iter()
        .filter(|(path, text)| std::fs::read_to_string(root().join(path)).ok().as_ref() != Some(text))
        .map(|(path, _)| path)
        .collect();
    assert!(stale.is_empty(), "{stale:?}: run `make man`");
}

#[test]
fn each_key_has_its_meaning_type_unit_range_and_default() {
    let page = std::fs::read_to_string(root().join("man/fovea.toml.5")).unwrap();
    let all = keys();
    assert!(all.len() > 60, "{}", all.len());
    for key in &all {
        let of = format!("{}.{}", key.section, key.name);
        assert!(!key.meaning.is_empty(), "{of}: packaging/expert.toml has no comment above it");
        assert!(!key.kind.is_empty() && !key.range.is_empty() && !key.default.is_empty(), "{of}");
        assert!(page.contains(&format!(".B {}\n", key.name)), "{of}");
    }
    let key = |section: &str, name: &str| all.iter().find(|key| (key.section, key.name) == (section, name)).unwrap();
    for (section, name, kind, range, default) in [
        ("zram", "size_percent", "whole number, percent", "1 to 100", "25"),
        ("memory", "watch_ms", "whole number, milliseconds", "1 to 60000", "50"),
        ("memory", "mode", "one of", "\"ladder\", \"full\"", "\"full\""),
        ("zram", "priority", "whole number", "-1 to 32767", "100"),
        ("freeze", "classes", "list of", "\"hidden\", \"empty\"", "[]"),
        ("disk", "enabled", "boolean", "true or false", "true"),
    ] {
        let key = key(section, name);
        assert_eq!((&*key.kind, &*key.range, &*key.default), (kind, range, default), "{section}.{name}");
    }
}

/// Where mandoc and man are; a date is not given, for a page is of a version.
#[test]
fn every_page_is_well_formed() {
    for page in pages() {
        let Ok(lint) = Command::new("mandoc").args(["-T", "lint"]).arg(&page).output() else {
            eprintln!("skipped: no mandoc here");
            return;
        };
        let said = String::from_utf8_lossy(&lint.stdout).into_owned();
        // A page refers to pages that are not installed yet.
        let wrong: Vec<_> = said
            .lines()
            .filter(|line| !line.contains("missing date") && !line.contains("referenced manual not found"))
            // The section NAME is one line, for apropos.
            .filter(|line| !(line.contains(":5:") && line.contains("longer than 80 bytes")))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Pages name each other as they are called.
#[test]
fn pages_refer_to_pages_that_there_are() {
    let names: Vec<String> =
        pages().iter().map(|page| page.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap().replace("\\-", "-");
        for (at, _) in text.match_indices(".BR fovea") {
            let line: String = text[at + 4..].lines().next().unwrap().replace(',', "");
            let name = line.trim_end_matches('.').replace(" (", ".").replace(')', "");
            assert!(names.contains(&name), "{}: {name}", page.display());
        }
    }
}
