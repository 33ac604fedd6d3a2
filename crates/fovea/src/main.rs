// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The program; the library is what it does, so that the manual can be made of its commands.

fn main() -> std::process::ExitCode {
    fovea::main()
}
