// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `key=value` parameters from the command line, laid over a scenario's file.

use toml::{Table, Value};

use crate::error::{parse, Error};
use crate::kinds::{About, ABOUT};
use crate::scenario::Scenario;

/// The value as TOML would read it, else as text.
fn value(text: &str) -> Value {
    format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut t| t.remove("v"))
        .unwrap_or_else(|| Value::String(text.into()))
}

/// A list where the file's is one: `cases=L,N` is `cases=["L","N"]`.
fn as_list(new: Value, text: &str) -> Value {
    match new {
        Value::Array(_) => new,
        _ => Value::Array(text.split(',').map(|part| value(part.trim())).collect()),
    }
}

/// Common keys whose value is a list.
const LISTS: [&str; 2] = ["configurations", "services"];

/// Keys that stand outside the section of the scenario's kind.
const COMMON: [&str; 10] = [
    "name",
    "kind",
    "phone",
    "configurations",
    "seed",
    "scale",
    "zygote_mib",
    "kernel_mib",
    "zram_percent",
    "services",
];

/// The scenario with the overrides laid over its text.
pub(crate) fn apply(mut scenario: Scenario, file: &str, text: &str, overrides: &[String]) -> Result<Scenario, Error> {
    let mut table: Table = parse(file, text)?;
    for parameter in overrides {
        let wrong =
            |what: String, mend: &str| Error::Parameter { parameter: parameter.clone(), what, mend: mend.into() };
        let Some((key, text)) = parameter.split_once('=') else {
            return Err(wrong("is not key=value".into(), "write e.g. launches=200"));
        };
        let (mut key, text) = (key.trim(), text.trim());
        let kind = table.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let about = ABOUT.iter().find(|about| about.name == kind).unwrap_or(&About::NONE);
        let shorthands = about.shorthands.iter().chain(&[("profile", "phone")]);
        if let Some((_, long)) = shorthands.into_iter().find(|(short, _)| *short == key) {
            key = long;
        }
        let is_list = LISTS.contains(&key) || about.lists.contains(&key);
        let new = if is_list { as_list(value(text), text) } else { value(text) };
        if COMMON.contains(&key) || !about.has_section {
            table.insert(key.into(), new);
        } else {
            let section = table.entry(kind.clone()).or_insert_with(|| Value::Table(Table::new()));
            let Some(section) = section.as_table_mut() else {
                return Err(wrong(format!("{kind} is no section in {file}"), "correct the file"));
            };
            section.insert(key.into(), new);
        }
        // One at a time, so that the message names the one that is wrong.
        scenario = scenario_of(&table).map_err(|what| wrong(what, "docs/scenarios.md lists the parameters"))?;
    }
    Ok(scenario)
}

/// By way of text, as positions, which apps carry, exist only there.
fn scenario_of(table: &Table) -> Result<Scenario, String> {
    let text = toml::to_string(table).map_err(|e| e.to_string())?;
    toml::from_str(&text).map_err(|e| e.message().replace('\n', " "))
}
