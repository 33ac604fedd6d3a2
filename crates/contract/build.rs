// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Turns the headers' lists into constants, a module for each list.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

#[path = "src/header.rs"]
mod header;

/// The headers, and the lists that are taken from each.
const HEADERS: [&str; 3] = ["../../kmod/include/contract.h", "../../core/ecache/ecache.h", "../../core/aciom/aciom.h"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/header.rs");
    let mut code = String::new();
    for path in HEADERS {
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let header = header::parse(&text).unwrap_or_else(|why| panic!("{path}: {why}"));
        for (name, text) in &header.texts {
            writeln!(code, "/// `{name}`.\npub const {name}: &str = {text:?};").expect("writing to a string");
        }
        header.lists.iter().for_each(|(name, entries)| list(&mut code, name, entries));
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("contract.rs"), code).expect("writing to OUT_DIR");
}

/// An entry is a name; or a C identifier and a name; or these and a number.
fn list(code: &mut String, list: &str, entries: &[Vec<String>]) {
    let word = |entry: &Vec<String>| entry.get(1).unwrap_or(&entry[0]).clone();
    writeln!(code, "/// `{list}`.\npub mod {} {{", list.to_lowercase()).expect("writing to a string");
    for entry in entries {
        let (name, constant) = (word(entry), entry[0].to_uppercase());
        writeln!(code, "/// `{name}`.\npub const {constant}: &str = {name:?};").expect("writing to a string");
        if let Some(number) = entry.get(2) {
            writeln!(code, "/// Its number.\npub const {constant}_NUMBER: u32 = {number};")
                .expect("writing to a string");
        }
    }
    let all: Vec<String> = entries.iter().map(word).collect();
    writeln!(code, "/// All, in the header's order.\npub const ALL: [&str; {}] = {all:?};\n}}", all.len())
        .expect("writing to a string");
}
