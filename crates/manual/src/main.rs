// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `make man`: writes man/ and packaging/completions/ below a source tree.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    for (path, text) in fovea_manual::files() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}
