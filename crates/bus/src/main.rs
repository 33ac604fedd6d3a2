// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea-bus`.

fn main() -> std::process::ExitCode {
    fovea_bus::main()
}
