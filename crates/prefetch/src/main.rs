// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea-prefetch`.

fn main() -> std::process::ExitCode {
    fovea_prefetch::main()
}
