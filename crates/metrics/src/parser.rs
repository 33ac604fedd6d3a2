// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! OpenMetrics text read by its grammar (OpenMetrics 1.0.0, section "ABNF", and its rules on families), as strictly as a consumer may.

use std::collections::{BTreeMap, BTreeSet};

/// A sample: its name, its labels, its value.
pub type Sample = (String, BTreeMap<String, String>, f64);

fn is_name(text: &str, colon: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(fits)
}

/// A text in quotes, from behind the first one; what follows the last one is left.
fn quoted<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok(&text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                other => return Err(format!("no escape: {other:?}")),
            },
            c => out.push(c),
        }
    }
    Err("a text without an end".into())
}

fn labels(text: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut labels = BTreeMap::new();
    let Some(mut rest) = text.strip_prefix('{') else { return Ok((labels, text)) };
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("a label without a value")?;
        let mut value = String::new();
        rest = quoted(after, &mut value)?;
        if !is_name(name, false) || labels.insert(name.to_owned(), value).is_some() {
            return Err(format!("no label, or twice: {name}"));
        }
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok((labels, rest.strip_prefix('}').ok_or("labels without an end")?)),
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text {
        "NaN" => Ok(f64::NAN),
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        text if text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) => {
            text.parse().map_err(|e| format!("{text}: {e}"))
        }
        text => Err(format!("no number: {text}")),
    }
}

/// One family as it was described, until the next one begins.
#[derive(Default)]
struct Family {
    name: String,
    kind: Option<String>,
    unit: Option<String>,
    help: bool,
    samples: usize,
}

impl Family {
    fn check(&self) -> Result<(), String> {
        let unit = self.unit.as_deref().unwrap_or_default();
        match unit.is_empty() || self.name.ends_with(&format!("_{unit}")) {
            true => Ok(()),
            false => Err(format!("{} does not end in its unit {unit}", self.name)),
        }
    }
}

/// All samples.
pub fn parsed(text: &str) -> Result<Vec<Sample>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end in # EOF")?;
    let (mut samples, mut seen, mut families) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut family = Family::default();
    for line in body.split_terminator('\n') {
        let wrong = |what: &str| Err(format!("{what}: {line:?}"));
        if let Some(described) = line.strip_prefix("# ") {
            let mut words = described.splitn(3, ' ');
            let (Some(what), Some(name), Some(said)) = (words.next(), words.next(), words.next()) else {
                return wrong("a line that describes nothing");
            };
            if !is_name(name, true) {
                return wrong("no name");
            }
            if name != family.name {
                family.check()?;
                if !families.insert(name.to_owned()) {
                    return wrong("a family in two parts");
                }
                family = Family { name: name.to_owned(), ..Family::default() };
            }
            if family.samples > 0 {
                return wrong("described behind its samples");
            }
            let once = match what {
                "TYPE" if ["counter", "gauge"].contains(&said) => family.kind.replace(said.to_owned()).is_none(),
                "UNIT" => is_name(said, true) && family.unit.replace(said.to_owned()).is_none(),
                "HELP" => {
                    quoted(&format!("{said}\""), &mut String::new()).is_ok_and(str::is_empty)
                        && !std::mem::replace(&mut family.help, true)
                }
                _ => false,
            };
            if !once {
                return wrong("no such description, or twice");
            }
            continue;
        }
        let end = line.find(['{', ' ']).ok_or_else(|| format!("no sample: {line:?}"))?;
        let (labels, rest) = labels(&line[end..]).map_err(|e| format!("{e}: {line:?}"))?;
        let name = &line[..end];
        let of_family = match family.kind.as_deref() {
            Some("counter") => name == format!("{}_total", family.name),
            Some("gauge") => name == family.name && !name.ends_with("_total"),
            _ => false,
        };
        if !is_name(name, true) || !of_family {
            return wrong("a sample that is not the family's");
        }
        let value = number(rest.strip_prefix(' ').ok_or("no value")?)?;
        if family.kind.as_deref() == Some("counter") && (value.is_nan() || value < 0.0) {
            return wrong("a counter below 0");
        }
        if !seen.insert((name.to_owned(), labels.clone())) {
            return wrong("a sample twice");
        }
        family.samples += 1;
        samples.push((name.to_owned(), labels, value));
    }
    family.check().map(|()| samples)
}
