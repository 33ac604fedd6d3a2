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

/// A list where the file's is one: `cases=L,N` is `cases=["L","N"]`, and `cases=` is none.
fn as_list(new: Value, text: &str) -> Value {
    match new {
        Value::Array(_) => new,
        _ if text.is_empty() => Value::Array(Vec::new()),
        _ => Value::Array(text.split(',').map(|part| value(part.trim())).collect()),
    }
}

/// Common keys whose value is a list.
const LISTS: [&str; 3] = ["configurations", "services", "seeds"];

/// Keys of which one takes the other's place, and what is wrong with both in one place, and the mend.
const SEED: [&str; 2] = ["seed", "seeds"];
pub(crate) const BOTH_SEEDS: (&str, &str) = ("seed and seeds are named both", "name one of them");

/// Keys that stand outside the section of the scenario's kind.
const COMMON: [&str; 11] = [
    "name",
    "kind",
    "phone",
    "configurations",
    "seed",
    "seeds",
    "scale",
    "zygote_mib",
    "kernel_mib",
    "zram_percent",
    "services",
];

/// The scenario with the overrides laid over its text.
pub(crate) fn apply(mut scenario: Scenario, file: &str, text: &str, overrides: &[String]) -> Result<Scenario, Error> {
    let mut table: Table = parse(file, text)?;
    let mut seed_key = None;
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
        if SEED.contains(&key) {
            if seed_key.is_some_and(|other| other != key) {
                return Err(wrong(BOTH_SEEDS.0.into(), BOTH_SEEDS.1));
            }
            seed_key = Some(key);
            SEED.iter().filter(|other| **other != key).for_each(|other| drop(table.remove(*other)));
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
        scenario = scenario_of(&table).map_err(|what| wrong(what, "docs/guide/scenarios.md lists the parameters"))?;
    }
    Ok(scenario)
}

/// By way of text, as positions, which apps carry, exist only there.
fn scenario_of(table: &Table) -> Result<Scenario, String> {
    let text = toml::to_string(table).map_err(|e| e.to_string())?;
    toml::from_str(&text).map_err(|e| e.message().replace('\n', " "))
}
