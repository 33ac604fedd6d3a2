// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Builds the C library into the program.

const LIBRARY: &str = "../../lib/heap";
const WARNINGS: [&str; 9] = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wpedantic",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
];

fn main() {
    println!("cargo:rerun-if-changed={LIBRARY}");
    let mut build = cc::Build::new();
    build.std("c11").include(LIBRARY).file(format!("{LIBRARY}/heap.c"));
    WARNINGS.iter().for_each(|warning| {
        build.flag(warning);
    });
    build.compile("fovea-heap");
}
