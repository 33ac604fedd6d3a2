// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One results document of several runs of one scenario, each of cases or configurations of its own. A claim may
//! compare configurations that were run apart, so verdicts are made anew of all figures.

use fovea_report::document::{distinct, Part};

use crate::figures::completed;
use crate::{Case, Catalog, Document, Error, Scenario};

/// What of a command names the part that it ran.
const PARTIAL: [&str; 2] = ["cases", "configurations"];

/// The mode in which figures are the same in each run.
const EXACT: &str = "exact";

/// Merges documents.
///
/// # Errors
/// If they are not of one scenario, run the same way and exactly, or do not have each case under each configuration just once.
pub fn merge(parts: &[Document]) -> Result<Document, Error> {
    let Some(first) = parts.first() else { return Err(wrong("", "no document".into(), "name some")) };
    let refuse = |what: String, mend: &str| Err(wrong(&first.scenario, what, mend));
    let of_first = Run::of(first)?;
    if first.mode != EXACT {
        return refuse(
            format!("the parts are of {} mode", first.mode),
            "run them with --exact: only there runs apart compare",
        );
    }
    for part in parts {
        for (what, differs) in [
            ("scenario", part.scenario != first.scenario),
            ("mode", part.mode != first.mode),
            ("seed", part.seed != first.seed),
            ("kernel", part.kernel != first.kernel),
            ("qemu", part.qemu != first.qemu),
            ("command", Run::of(part)? != of_first),
        ] {
            if differs {
                return refuse(format!("two parts have another {what}"), "merge parts that were run the same way");
            }
        }
        if part.seeds.is_some() {
            return refuse("a part is a mean over seeds".into(), "run all of it in one call");
        }
    }
    let base = Scenario::load(of_first.scenario, &of_first.parameters)?;
    if !base.kind.about().is_judged_by_figures {
        return refuse("its verdicts need the boots".into(), "run all of it in one call");
    }
    let plans = base.plans(&Catalog::builtin()?, true)?;
    let rows: Vec<&Case> = parts.iter().flat_map(|part| &part.cases).collect();
    // In the scenario's order; what is played only where it is named comes last.
    let in_order = |usual: Vec<&str>, of: fn(&Case) -> &str| -> (Vec<String>, bool) {
        let had = distinct(rows.iter().map(|row| of(row)));
        let is_usual = usual.len() == had.len() && usual.iter().all(|name| had.contains(name));
        let known = usual.into_iter().filter(|name| had.contains(name));
        let names = distinct(known.chain(had.iter().copied())).into_iter().map(str::to_owned).collect();
        (names, is_usual)
    };
    let usual_cases = distinct(plans.iter().map(|plan| plan.case.as_str()));
    let usual_configurations = base.configurations.iter().map(|c| c.name()).collect();
    let (cases, all_cases) = in_order(usual_cases, |row| &row.case);
    let (configurations, all_configurations) = in_order(usual_configurations, |row| &row.configuration);

    let mut merged = Vec::new();
    for (case, configuration) in cases.iter().flat_map(|case| configurations.iter().map(move |c| (case, c))) {
        let mut found = rows.iter().filter(|row| row.case == *case && row.configuration == *configuration);
        match (found.next(), found.next()) {
            (Some(row), None) => merged.push((*row).clone()),
            (None, _) => {
                return refuse(format!("no part has {case:?} under {configuration}"), "name one that has, too")
            }
            (Some(_), Some(_)) => {
                return refuse(format!("two parts have {case:?} under {configuration}"), "leave one of them out")
            }
        }
    }
    let mut parameters = of_first.parameters.clone();
    // Elsewhere a case is a part of a boot, and no key names it.
    let all_cases = all_cases || !base.kind.about().lists.contains(&PARTIAL[0]);
    let named = [(PARTIAL[0], cases, all_cases), (PARTIAL[1], configurations, all_configurations)];
    parameters.extend(named.into_iter().filter(|n| !n.2).map(|(key, names, _)| format!("{key}={}", names.join(","))));
    let scenario = Scenario::load(of_first.scenario, &parameters)?;
    let verdicts = [completed(share_completed(parts))]
        .into_iter()
        .chain(scenario.parameters().verdicts(&scenario, &merged, &[]))
        .collect();
    let words = ["phone", "run", of_first.scenario].map(str::to_owned).into_iter();
    let commits = distinct(parts.iter().map(|part| part.commit.as_str()));
    Ok(Document {
        commit: commits.join(", "),
        command: words.chain(parameters).chain(of_first.options.iter().cloned()).collect(),
        parts: parts.iter().map(|part| Part { commit: part.commit.clone(), command: part.command.clone() }).collect(),
        cases: merged,
        verdicts,
        ..first.clone()
    })
}

/// What a command ran, but for cases and configurations.
#[derive(PartialEq)]
struct Run<'d> {
    scenario: &'d str,
    parameters: Vec<String>,
    options: &'d [String],
}

impl Run<'_> {
    fn of(part: &Document) -> Result<Run<'_>, Error> {
        let words = part.command.iter().map(String::as_str).collect::<Vec<_>>();
        let ["phone", "run", scenario, ..] = words[..] else {
            return Err(wrong(
                &part.scenario,
                "a part does not say how it was run".into(),
                "merge what fovea phone run wrote",
            ));
        };
        let rest = &part.command[3..];
        let (parameters, options) = rest.split_at(rest.iter().position(|w| w.starts_with("--")).unwrap_or(rest.len()));
        let is_partial = |word: &&String| PARTIAL.contains(&word.split_once('=').map_or("", |(key, _)| key.trim()));
        Ok(Run { scenario, parameters: parameters.iter().filter(|word| !is_partial(word)).cloned().collect(), options })
    }
}

/// Share of the boots that came to their end, percent, if every part says so: a boot for each row.
fn share_completed(parts: &[Document]) -> Option<f64> {
    let rows: usize = parts.iter().map(|part| part.cases.len()).sum();
    let of_part = |part: &Document| {
        let share = part.verdicts.iter().find(|v| v.id == completed(None).id)?.figure;
        Some(share * part.cases.len() as f64)
    };
    Some(parts.iter().map(of_part).sum::<Option<f64>>()? / rows.max(1) as f64)
}

fn wrong(scenario: &str, what: String, mend: &str) -> Error {
    Error::Scenario { scenario: scenario.into(), what, mend: mend.into() }
}
