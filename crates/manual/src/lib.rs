// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Man pages and completions, made of what the program itself goes by: its command line and its configuration's types.
//!
//! What is made is part of the source tree, so that whoever installs or packages needs none of this; a test compares.

mod commands;
mod configuration;
mod roff;

pub use configuration::{keys, Key};

use clap::Command;
use clap_complete::{generate, Shell};

/// What can be said on the command line, in words that programs beside `fovea` judge too.
fn command() -> Command {
    let beside =
        [("top", fovea_top::command()), ("metrics", fovea_metrics::command()), ("prefetch", fovea_prefetch::command())];
    beside.into_iter().fold(fovea::command(), |whole, (name, program)| {
        // The run folder is an option of the whole.
        whole.mut_subcommand(name, |_| program.name(name).version(None).mut_arg("run_folder", |arg| arg.hide(true)))
    })
}

/// Paths below the source tree, and what is to stand there.
pub fn files() -> Vec<(String, String)> {
    let mut files = commands::pages(command());
    files.push(("man/fovea.toml.5".into(), configuration::page()));
    for (shell, name) in [(Shell::Bash, "fovea.bash"), (Shell::Zsh, "_fovea"), (Shell::Fish, "fovea.fish")] {
        let mut text = Vec::new();
        generate(shell, &mut command(), "fovea", &mut text);
        // Some of their lines end in spaces.
        let text: Vec<_> = String::from_utf8_lossy(&text).lines().map(|line| line.trim_end().to_owned()).collect();
        files.push((format!("packaging/completions/{name}"), text.join("\n") + "\n"));
    }
    files
}
