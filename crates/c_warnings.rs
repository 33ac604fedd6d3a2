// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What our C for programs is compiled with, included by the build scripts of the crates that compile it.
[
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wpedantic",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
]
