// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! fovea(1), and a page for each of its commands.

use clap::{Arg, Command};

use crate::roff::{escaped, Page};

/// All pages.
pub fn pages(command: Command) -> Vec<(String, String)> {
    // Said of every command alike.
    let mut command = command.disable_help_flag(true).disable_help_subcommand(true).disable_version_flag(true);
    command.build();
    let mut pages = vec![("man/fovea.1".to_owned(), overview(&command))];
    for sub in shown(&command) {
        let name = format!("fovea-{}", sub.get_name());
        let mut page = Page::new(&name, 1, &title(sub));
        page.section("SYNOPSIS");
        synopsis(&mut page, sub, &format!("fovea {}", sub.get_name()));
        page.section("DESCRIPTION").text(&sentence(&about(sub)));
        if arguments(sub).next().is_some() {
            page.section("OPTIONS");
            options(&mut page, sub);
        }
        if shown(sub).next().is_some() {
            page.section("COMMANDS");
            nested(&mut page, sub, &format!("fovea {}", sub.get_name()));
        }
        page.section("EXIT STATUS")
            .text("0: done. 1: failed. 2: used wrongly. 3: this machine lacks something, which is named.");
        page.section("SEE ALSO").line(".BR fovea (1),").line(".BR fovea (7),").line(".BR fovea.toml (5)");
        pages.push((format!("man/{name}.1"), page.done()));
    }
    pages
}

fn overview(command: &Command) -> String {
    let mut page = Page::new("fovea", 1, &title(command));
    page.section("SYNOPSIS").line(".B fovea").line("[\\fIOPTIONS\\fP] \\fICOMMAND\\fP ...");
    page.section("DESCRIPTION").text(&sentence(&about(command)));
    page.text("The daemon is started by its unit, fovea.service; `fovea check` says what it can do on this machine.");
    page.section("COMMANDS");
    for sub in shown(command) {
        page.line(".TP").line(&format!(".BR fovea\\-{} (1)", escaped(sub.get_name()))).text(&sentence(&title(sub)));
    }
    page.section("OPTIONS").text("They stand before or after the command.");
    options(&mut page, command);
    page.item(".BR \\-h \", \" \\-\\-help", "Print help: in short, or all of it.");
    page.item(".BR \\-V \", \" \\-\\-version", "Print the version.");
    page.section("EXIT STATUS")
        .text("0: done. 1: failed. 2: used wrongly. 3: this machine lacks something, which is named.");
    page.section("SEE ALSO");
    for name in ["fovea (7)", "fovea.toml (5)", "fovea-ecache (4)", "fovea-heap (4)", "fovea-aciom (4)"] {
        let end = if name.starts_with("fovea-aciom") { "" } else { "," };
        page.line(&format!(".BR {}{end}", name.replace('-', "\\-")));
    }
    page.done()
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// What is a command's own.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_root = command.get_name() == "fovea";
    command.get_arguments().filter(move |arg| !arg.is_hide_set() && (is_root || !arg.is_global_set()))
}

fn title(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let first = about.split("; ").next().unwrap_or_default();
    first.trim_end_matches('.').split_whitespace().collect::<Vec<_>>().join(" ")
}

fn about(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

fn sentence(text: &str) -> String {
    match text.ends_with(['.', ':', '!', '?']) || text.is_empty() {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

fn nested(page: &mut Page, command: &Command, name: &str) {
    for sub in shown(command) {
        let name = format!("{name} {}", sub.get_name());
        page.subsection(&name);
        synopsis(page, sub, &name);
        page.line(".PP").text(&sentence(&about(sub)));
        options(page, sub);
        nested(page, sub, &name);
    }
}

fn synopsis(page: &mut Page, command: &Command, name: &str) {
    let mut words = String::new();
    if arguments(command).any(|arg| !arg.is_positional() && !arg.is_required_set()) {
        words += " [\\fIOPTIONS\\fP]";
    }
    for arg in arguments(command).filter(|arg| !arg.is_positional() && arg.is_required_set()) {
        words += &format!(" {}", term(arg));
    }
    for arg in command.get_positionals().filter(|arg| !arg.is_hide_set()) {
        let before = if arg.is_last_set() { "\\-\\- " } else { "" };
        let more = if arg.get_num_args().is_some_and(|count| count.max_values() > 1) { "..." } else { "" };
        let one = format!("{before}{}{more}", value(arg));
        words += &if arg.is_required_set() { format!(" {one}") } else { format!(" [{one}]") };
    }
    if shown(command).next().is_some() {
        words += " \\fICOMMAND\\fP ...";
    }
    page.line(&format!("\\fB{}\\fP{words}", escaped(name)));
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let named = names.iter().map(|name| format!("\\fI{}\\fP", escaped(name))).collect::<Vec<_>>().join(" ");
    if named.is_empty() {
        format!("\\fI{}\\fP", escaped(&arg.get_id().as_str().to_uppercase()))
    } else {
        named
    }
}

fn term(arg: &Arg) -> String {
    if arg.is_positional() {
        return value(arg);
    }
    let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fP"));
    let long = arg.get_long().map(|long| format!("\\fB\\-\\-{}\\fP", escaped(long)));
    let names = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    match arg.get_action().takes_values() {
        true => format!("{names} {}", value(arg)),
        false => names,
    }
}

fn options(page: &mut Page, command: &Command) {
    for arg in arguments(command) {
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let mut text = sentence(&help);
        if arg.get_action().takes_values() {
            let choices: Vec<_> = arg
                .get_possible_values()
                .iter()
                .filter(|v| !v.is_hide_set())
                .map(|v| v.get_name().to_owned())
                .collect();
            let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
            if !choices.is_empty() {
                text += &format!(" One of: {}.", choices.join(", "));
            }
            if !defaults.is_empty() {
                text += &format!(" Default: {}.", defaults.join(" "));
            }
        }
        if let Some(variable) = arg.get_env() {
            text += &format!(" Environment: {}.", variable.to_string_lossy());
        }
        page.item(&term(arg), text.trim());
    }
}
