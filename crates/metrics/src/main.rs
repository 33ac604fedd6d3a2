// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea metrics`.

fn main() -> std::process::ExitCode {
    fovea_metrics::main()
}
