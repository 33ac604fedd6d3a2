// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! fovea.toml(5): the keys as the daemon's types have them, their defaults, the ranges that the daemon accepts (found by asking it), and what
//! the packaged file says of each.

use std::path::Path;

use fovea_apps::{keys_of, Service};
use fovea_daemon::{Config, Preset};
use toml::{Table, Value};

use crate::roff::{escaped, Page};

const PACKAGED: &str = include_str!("../../../packaging/expert.toml");

/// The presets, and whom each is for.
const PRESETS: [(&str, &str); 3] = [
    ("desktop", "A desktop or laptop."),
    ("handheld", "A phone, tablet or console, whose apps do nothing in the background that their user would miss."),
    ("kiosk", "One app for ever, and nobody who reads notifications."),
];

/// What each key of a row of services means.
const ROW: [(&str, &str); 5] = [
    ("name", "The row's name, 1 to 64 characters; a built-in row of that name is replaced"),
    ("class", "time-sensitive, bursty, plain or foreground-dependent"),
    ("peers", "Programs, as the kernel names them: who is connected to one by a unix socket uses the service"),
    ("devices", "Device nodes below /dev: who has one open uses the service"),
    ("names", "Names on the session's message bus: who has one uses the service"),
];

/// A key.
pub struct Key {
    /// Its section.
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it means, as the packaged file says.
    pub meaning: String,
    /// Type, with the unit or what may be chosen.
    pub kind: String,
    /// The accepted range.
    pub range: String,
    /// Its default.
    pub default: String,
}

/// All keys but those of the rows of services.
pub fn keys() -> Vec<Key> {
    let defaults = Table::try_from(Config::default()).unwrap_or_default();
    let mut all = Vec::new();
    for (section, names) in Config::sections() {
        for &name in names.iter().filter(|name| (section, **name) != ("services", "row")) {
            let default = defaults.get(section).and_then(|table| table.get(name)).cloned();
            let (kind, range) = kind_and_range(section, name, default.as_ref());
            let default = default.map_or("none".into(), |value| value.to_string());
            all.push(Key { section, name, meaning: said_of(section, name).1, kind, range, default });
        }
    }
    all
}

fn accepts(section: &str, key: &str, value: &str) -> Result<(), String> {
    let text = format!("[{section}]\n{key} = {value}\n");
    Config::parse(&text, Path::new("fovea.toml")).map(drop).map_err(|e| e.to_string())
}

/// The unit, by the end of the name, as all names have it.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_bytes_per_s", "bytes a second"),
        ("_pages_per_s", "pages a second"),
        ("pages_per_s", "pages a second"),
        ("_refaults_per_s", "pages a second"),
        ("_bytes", "bytes"),
        ("_pages", "pages of memory"),
        ("_ms", "milliseconds"),
        ("_us", "microseconds"),
        ("_percent", "percent"),
        ("_permille", "thousandths"),
        ("_ppm", "millionths"),
    ];
    units.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

fn kind_and_range(section: &str, name: &str, default: Option<&Value>) -> (String, String) {
    let with_unit = |kind: &str| match unit(name) {
        "" => kind.to_owned(),
        unit => format!("{kind}, {unit}"),
    };
    match default {
        Some(Value::Boolean(_)) => ("boolean".into(), "true or false".into()),
        Some(Value::Integer(value)) => (with_unit("whole number"), range(section, name, *value, "")),
        Some(Value::Float(value)) => (with_unit("number"), range(section, name, *value as i64, ".0")),
        Some(Value::String(value)) if accepts(section, name, "\"/no-such-choice\"").is_ok() => (
            if value.starts_with('/') { "path" } else { "text" }.into(),
            if value.starts_with('/') { "an absolute path" } else { "any" }.into(),
        ),
        Some(Value::String(_)) => ("one of".into(), choices(section, name, |choice| format!("\"{choice}\""))),
        Some(Value::Array(_)) if accepts(section, name, "[\"no-such-choice\"]").is_ok() => {
            ("list of patterns".into(), "names, units, programs and paths; *, ? and [a-z] as in a shell".into())
        }
        Some(Value::Array(_)) => ("list of".into(), choices(section, name, |choice| format!("[\"{choice}\"]"))),
        _ if accepts(section, name, "[1, 1, 1, 1, 1, 1]").is_ok() => {
            (with_unit("list of 6 whole numbers"), "each 0 to 4294967296, not falling from left to right".into())
        }
        _ => (with_unit("whole number"), range(section, name, 1, "")),
    }
}

/// Those of the choices named in the refusal that are accepted.
fn choices(section: &str, name: &str, write: impl Fn(&str) -> String) -> String {
    let refusal = accepts(section, name, &write("no-such-choice")).err().unwrap_or_default();
    let named = refusal.split("expected").nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
    let accepted: Vec<_> = named
        .filter(|choice| accepts(section, name, &write(choice)).is_ok())
        .map(|choice| format!("\"{choice}\""))
        .collect();
    accepted.join(", ")
}

/// From the least to the most that is accepted.
fn range(section: &str, name: &str, inside: i64, end: &str) -> String {
    let is_fine = |value: i64| accepts(section, name, &format!("{value}{end}")).is_ok();
    let bound = |mut fine: i64, mut bad: i64| {
        if is_fine(bad) {
            return None;
        }
        while fine.abs_diff(bad) > 1 {
            let middle = ((i128::from(fine) + i128::from(bad)) / 2) as i64;
            *(if is_fine(middle) { &mut fine } else { &mut bad }) = middle;
        }
        Some(fine)
    };
    match (bound(inside, i64::MIN), bound(inside, i64::MAX)) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(most)) => format!("{most} or less"),
        (None, None) => "any".into(),
    }
}

/// What the packaged file says of a section, as far as that is apart, and of a key.
fn said_of(section: &str, name: &str) -> (String, String) {
    let (mut at, mut intro, mut comment) = ("", String::new(), String::new());
    for line in PACKAGED.lines() {
        let header = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).filter(|_| !line.starts_with("[["));
        let assigned =
            line.trim_start_matches("# ").split_once(" = ").map(|(key, _)| key).filter(|key| !key.contains(' '));
        if let Some(header) = header {
            (at, intro, comment) = (header, String::new(), String::new());
        } else if line == "#" {
            intro = std::mem::take(&mut comment);
        } else if let Some(key) = assigned {
            if at == section && key == name {
                return (intro, comment.trim().to_owned());
            }
            comment.clear();
        } else if let Some(words) = line.strip_prefix("# ") {
            comment += words;
            comment.push(' ');
        } else {
            comment.clear();
        }
    }
    Default::default()
}

/// The page.
pub fn page() -> String {
    let mut page = Page::new("fovea.toml", 5, "configuration of the daemon fovea");
    page.section("SYNOPSIS").line(".I /usr/lib/fovea/*.toml").line(".br").line(".I /etc/fovea.toml").line(".br");
    page.line(".I /etc/fovea.toml.d/*.toml");
    page.section("DESCRIPTION").text(
        "The files are read in this order, each folder's by their names; a later file's keys go before an earlier one's. `--config FILE` reads \
         FILE and FILE.d/*.toml instead. A file in /etc/fovea.toml.d stands in the place of the vendor's of the same name; a link to /dev/null masks \
         it. Each file and each key is optional; without them the defaults count. They are read when the daemon \
         starts, and again by `systemctl reload fovea` or `fovea reload`. [zram], [ecache], [watch] and [daemon] count from the next start on.\n\n\
         A file that cannot be used is said in the log, by `fovea status` and by `fovea check`, and a reload of it fails. Until it is mended the \
         last good configuration counts, of which a copy is kept in /var/lib/fovea/last-good, or else the defaults. A key that this version does \
         not know is said and left out; `fovea check --strict` and `fovea run --strict` refuse it.\n\n\
         The format is TOML: sections in brackets, `key = value`, texts in quotes.",
    );
    page.section("PRESET")
        .text("Before the first section stands what the device is; each preset is defaults of its own for some keys.");
    for (name, meaning) in PRESETS {
        let keys = Preset::text(name).map_or("The defaults below.".to_owned(), |keys| {
            let mut section = "";
            let mut said = Vec::new();
            for line in keys.lines() {
                match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    Some(header) => section = header,
                    None => said.push(format!("{section}.{line}")),
                }
            }
            format!("Sets {}.", said.join(", "))
        });
        page.item(&format!(".B preset = \\(dq{name}\\(dq"), &format!("{meaning} {keys}"));
    }
    let mut last = "";
    for key in keys() {
        if key.section != last {
            last = key.section;
            page.section(&format!("SECTION [{last}]"));
            let intro = said_of(key.section, key.name).0;
            if !intro.is_empty() {
                page.text(&intro);
            }
        }
        let facts = format!("Type: {}. Range: {}. Default: {}.", key.kind, key.range, key.default);
        page.item(&format!(".B {}", escaped(key.name)), &format!("{}\n\n{facts}", key.meaning));
        if (key.section, key.name) == ("services", "built_in") {
            page.line(".PP").text(
                "Rows of your own, at most 64, each begin with [[services.row]]; a list holds patterns as in [lists].",
            );
            for name in keys_of::<Service>() {
                let meaning = ROW.iter().find(|(key, _)| key == name).map_or("", |(_, meaning)| meaning);
                page.item(&format!(".B {}", escaped(name)), &format!("{meaning}."));
            }
        }
    }
    page.section("EXAMPLE").line(".EX");
    page.line(&escaped("[lists]\nprotect = [\"org.mozilla.firefox\"]\n\n[freeze]\nclasses = [\"empty\"]")).line(".EE");
    page.section("FILES").item(".I /usr/share/doc/fovea/fovea.toml", "The keys that most need, with their defaults.");
    page.item(".I /usr/share/doc/fovea/expert.toml", "All keys with their defaults.");
    page.section("SEE ALSO").line(".BR fovea (1),").line(".BR fovea (7)");
    page.done()
}
