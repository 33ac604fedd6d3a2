// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What each rule of the memory policy buys: scenes of the simulated phone with all rules, and with each switched off alone.

use std::collections::{BTreeMap, BTreeSet};

use fovea_lab::{parallel, Error, Result};
use fovea_policy::memory::{Rule, RulesOff};
use fovea_report::document::{Case, Document};
use fovea_report::seeds::SeedList;
use fovea_scenario::{Catalog, Plan, Scenario};

use super::{failures, results, run_without, MODE};

/// The case in which every rule holds.
pub const ALL_RULES: &str = "all rules";

/// Verdicts that hold with all rules and not without one, counted once for each seed.
const LOST: &str = "verdicts_lost";

/// Figures of a scene: means over seeds. Kills are summed over its cases, times are averaged.
const FIGURES: [&str; 3] = ["kills", "launch_geomean_ns", "psi_full_ns"];

/// The scenes, with their parameters: more apps than fit, a service that leaks, and apps whose pages do not compress.
pub const SCENES: [(&str, &[&str]); 3] =
    [("workload", &["cases=H", "scale=1.6", "launches=24"]), ("leak", &["cases=background"]), ("incompressible", &[])];

/// A scene and its boots.
struct Scene {
    name: String,
    scenario: Scenario,
    plans: Vec<Plan>,
}

fn scene(name: &str, parameters: &[&str], seeds: &[u64]) -> Result<Scene> {
    let wrong = |e: fovea_scenario::Error| Error::Usage(e.to_string());
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut overrides: Vec<String> = parameters.iter().map(|&p| p.to_owned()).collect();
    overrides.push(format!("seeds={}", seeds.join(",")));
    overrides.push("configurations=fovea".into());
    let scenario = Scenario::load(name, &overrides).map_err(wrong)?;
    let plans = scenario.plans(&Catalog::builtin().map_err(wrong)?, true).map_err(wrong)?;
    Ok(Scene { name: [&[name][..], parameters].concat().join(" "), scenario, plans })
}

/// The claims of a document that hold, with their seeds: so many of each.
fn held(document: &Document) -> BTreeMap<&str, u32> {
    let seeds = |v: &fovea_report::Verdict| v.seeds.map_or(u32::from(v.pass), |seeds| seeds.holds);
    document.verdicts.iter().map(|v| (v.id.as_str(), seeds(v))).collect()
}

fn figures(document: &Document) -> BTreeMap<String, f64> {
    let mean = |name: &str| {
        let all: Vec<f64> = document.cases.iter().filter_map(|c| c.figures.get(name)).copied().collect();
        let sum: f64 = all.iter().sum();
        (!all.is_empty()).then(|| if name == "kills" { sum } else { sum / all.len() as f64 })
    };
    FIGURES.iter().filter_map(|&name| Some((name.to_owned(), mean(name)?))).collect()
}

/// Plays the scenes. The document has a case a rule, and a configuration a scene; its options name the verdicts that a rule keeps.
///
/// # Errors
/// If a boot does not follow its plan to the end.
pub fn ablate(scenes: &[(&str, &[&str])], seeds: &[u64], threads: usize) -> Result<Document> {
    let scenes = scenes.iter().map(|(name, parameters)| scene(name, parameters, seeds)).collect::<Result<Vec<_>>>()?;
    let variants: Vec<(&str, RulesOff)> = [(ALL_RULES, RulesOff::default())]
        .into_iter()
        .chain(Rule::ALL.map(|rule| (rule.name(), RulesOff::one(rule))))
        .collect();
    let mut boots: Vec<(&Plan, RulesOff)> = Vec::new();
    for scene in &scenes {
        boots.extend(variants.iter().flat_map(|&(_, off)| scene.plans.iter().map(move |plan| (plan, off))));
    }
    let mut events = parallel::map(&boots, threads, |(plan, off)| run_without(plan, *off), |_| {}).into_iter();
    let mut document = Document {
        scenario: "ablation".into(),
        mode: MODE.into(),
        seed: seeds.first().copied().unwrap_or_default(),
        seeds: SeedList::of(seeds),
        commit: fovea_lab::COMMIT.into(),
        ..Document::default()
    };
    for scene in &scenes {
        let mut all: Option<Document> = None;
        for (name, _) in &variants {
            let own: Vec<_> = events.by_ref().take(scene.plans.len()).collect();
            if let Some(failure) = failures(&scene.plans, &own).into_iter().next() {
                return Err(Error::Experiment(format!("{}, {name}: {failure}", scene.name)));
            }
            let found = results(&scene.scenario, &scene.plans, &own);
            let mut figures = figures(&found);
            let with_all = all.get_or_insert_with(|| found.clone());
            let (before, now) = (held(with_all), held(&found));
            let lost: BTreeMap<&str, u32> = before
                .iter()
                .map(|(&id, &holds)| (id, holds.saturating_sub(now.get(id).copied().unwrap_or(0))))
                .filter(|&(_, lost)| lost > 0)
                .collect();
            figures.insert(LOST.into(), f64::from(lost.values().sum::<u32>()));
            if !lost.is_empty() {
                let text: Vec<String> = lost.iter().map(|(id, seeds)| format!("{id} ({seeds})")).collect();
                document.options.insert(format!("{name}, {}", scene.name), text.join(", "));
            }
            document.cases.push(Case { case: (*name).to_owned(), configuration: scene.name.clone(), figures });
        }
    }
    // All scenes of a rule stand together.
    let order = |case: &Case| variants.iter().position(|(name, _)| *name == case.case);
    document.cases.sort_by_key(order);
    debug_assert_eq!(document.cases.iter().map(|c| &c.case).collect::<BTreeSet<_>>().len(), variants.len());
    Ok(document)
}
