// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea top`.

fn main() -> std::process::ExitCode {
    fovea_top::main()
}
