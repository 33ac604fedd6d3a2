// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea --help` in groups: what people say apart from what units and scripts say.

use clap::Command;

/// What units, scripts and sources say; all the rest is for people.
pub const OF_UNITS: [&str; 8] = ["run", "reload", "restore", "source", "focus", "close", "screen", "metrics"];

/// Columns of the help.
const COLUMNS: usize = 80;
/// Columns before what a command does.
const INDENT: usize = 12;

/// Has the program's own help list its commands in two groups.
pub fn grouped(command: Command) -> Command {
    let list = |of_units: bool| -> String {
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        shown.filter(|sub| OF_UNITS.contains(&sub.get_name()) == of_units).map(line).collect()
    };
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands for people:\n{}\nCommands for units, scripts and sources:\n{}\nOptions:\n{{options}}",
        list(false),
        list(true)
    );
    command.help_template(template)
}

/// A command and what it does, wrapped.
fn line(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let (mut text, mut used) = (format!("  {:<1$}", command.get_name(), INDENT - 2), INDENT);
    for word in about.split_whitespace() {
        if used > INDENT && used + 1 + word.len() > COLUMNS {
            text += &format!("\n{:INDENT$}", "");
            used = INDENT;
        }
        if used > INDENT {
            text.push(' ');
            used += 1;
        }
        text += word;
        used += word.len();
    }
    text + "\n"
}
