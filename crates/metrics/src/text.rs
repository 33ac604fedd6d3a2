// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! OpenMetrics text (version 1.0.0). It is also text that node_exporter reads, in which `# UNIT` and `# EOF` are comments; so only types
//! that both know are used.

use std::fmt::Write;

use fovea_apps::printable;

/// The content type of an answer.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a family's samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the daemon or the device starts anew. Its samples' names end in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values; what a value holds may be another's choice.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

/// Values of one meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Its name, which ends in its unit and has no `_total`.
    pub name: &'static str,
    /// What its samples are.
    pub kind: Kind,
    /// The unit, or none.
    pub unit: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its values.
    pub samples: Vec<Sample>,
}

/// All of them as text. A family without samples is left out.
pub fn written(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let (name, kind) = match family.kind {
            Kind::Counter => ("_total", "counter"),
            Kind::Gauge => ("", "gauge"),
        };
        let _ = writeln!(out, "# TYPE {} {kind}", family.name);
        if !family.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {} {}", family.name, family.unit);
        }
        let _ = writeln!(out, "# HELP {} {}", family.name, escaped(family.help));
        for sample in &family.samples {
            let labels = sample.labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
            let labels = labels.collect::<Vec<_>>().join(",");
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(out, "{}{name}{labels} {}", family.name, number(sample.value));
        }
    }
    out + "# EOF\n"
}

/// A text of others' within quotes: nothing in it steers whoever looks at the file, and nothing ends the quotes.
fn escaped(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}

fn number(value: f64) -> String {
    match value {
        value if value == f64::INFINITY => "+Inf".into(),
        value if value == f64::NEG_INFINITY => "-Inf".into(),
        value if value.is_nan() => "NaN".into(),
        value => value.to_string(),
    }
}
