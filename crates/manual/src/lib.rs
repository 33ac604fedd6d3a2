// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Man pages and completions, made of what the program itself goes by: its command line and its configuration's types.
//!
//! What is made is part of the source tree, so that whoever installs or packages needs none of this; a test compares.

mod commands;
mod configuration;
mod roff;

pub use configuration::{keys, Key};

use clap_complete::{generate, Shell};

/// Paths below the source tree, and what is to stand there.
pub fn files() -> Vec<(String, String)> {
    let mut files = commands::pages(fovea::command());
    files.push(("man/fovea.toml.5".into(), configuration::page()));
    for (shell, name) in [(Shell::Bash, "fovea.bash"), (Shell::Zsh, "_fovea"), (Shell::Fish, "fovea.fish")] {
        let mut text = Vec::new();
        generate(shell, &mut fovea::command(), "fovea", &mut text);
        // Some of their lines end in spaces.
        let text: Vec<_> = String::from_utf8_lossy(&text).lines().map(|line| line.trim_end().to_owned()).collect();
        files.push((format!("packaging/completions/{name}"), text.join("\n") + "\n"));
    }
    files
}
