// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A daemon that only answers, to look at the screens: `fake_daemon FOLDER`, and `fovea top --run-folder FOLDER` beside it.

#[path = "../tests/fake/mod.rs"]
mod fake;

fn main() {
    let folder = std::env::args_os().nth(1).expect("fake_daemon FOLDER");
    std::fs::create_dir_all(&folder).unwrap();
    fake::serve(&fake::listen(folder.as_ref()));
}
