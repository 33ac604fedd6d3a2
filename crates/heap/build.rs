// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Builds the C library into the program.

const LIBRARY: &str = "../../lib/heap";
const WARNINGS: [&str; 9] = include!("../c_warnings.rs");

fn main() {
    println!("cargo:rerun-if-changed={LIBRARY}");
    println!("cargo:rerun-if-changed=../../kmod/include/fovea-heap.h");
    let mut build = cc::Build::new();
    build.std("c11").include(LIBRARY).file(format!("{LIBRARY}/heap.c"));
    WARNINGS.iter().for_each(|warning| {
        build.flag(warning);
    });
    build.compile("fovea-heap");
}
