// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Builds the C cores as the kernel would have them: freestanding, and with every warning an error.

use std::env;

const CORE: &str = "../../core";
const FILES: [&str; 16] = [
    "aciom/app.c",
    "aciom/check.c",
    "aciom/init.c",
    "aciom/latency.c",
    "aciom/queue.c",
    "aciom/rate.c",
    "aciom/ready.c",
    "ecache/ecache.c",
    "ecache/alloc.c",
    "ecache/check.c",
    "ecache/cost.c",
    "ecache/init.c",
    "ecache/layout.c",
    "ecache/list.c",
    "ecache/place.c",
    "ecache/salvage.c",
];
const WARNINGS: [&str; 9] = include!("../c_warnings.rs");
/// A feature `broken-NAME` each, and what it defines.
const BROKEN: [(&str, &[&str]); 2] = [
    (
        "ECACHE",
        &["GET", "ALLOC", "FREE", "PLACE", "TOMBSTONE", "SUM", "SALVAGE", "PROTECT", "RENUMBER", "PIN", "RETIRE"],
    ),
    (
        "ACIOM",
        &["FLOOR", "URGENT", "DROP", "EDF", "CREDIT", "LIMIT", "WINDOW", "OPEN", "ROOM", "CHARGE", "READS", "WRITES"],
    ),
];

fn main() {
    println!("cargo:rerun-if-changed={CORE}");
    println!("cargo:rerun-if-changed=abi.c");
    let mut build = cc::Build::new();
    build.std("c11").flag("-ffreestanding").include(CORE).file("abi.c");
    // The lab replays millions of operations in debug builds too, and the kernel knows no -O0.
    build.opt_level(2);
    for file in FILES {
        build.file(format!("{CORE}/{file}"));
    }
    for warning in WARNINGS {
        build.flag(warning);
    }
    for (core, names) in BROKEN {
        for name in names {
            if env::var_os(format!("CARGO_FEATURE_BROKEN_{name}")).is_some() {
                build.define(&format!("{core}_BROKEN_{name}"), "1");
            }
        }
    }
    build.compile("fovea_core");
}
