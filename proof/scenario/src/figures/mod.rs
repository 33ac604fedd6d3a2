// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! From the events of all boots to the results document.

pub(crate) mod desktop;
pub(crate) mod fold;

use std::collections::BTreeMap;

use crate::scenario::Scenario;
use crate::{Case, Document, Event, Plan, Thresholds, Verdict};
use fold::{select, Folded};
use fovea_report::repeat::documents;
use fovea_report::verdict::{verdict, Bound};

/// One boot: what was planned, and what was reported.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its events, in order.
    pub events: &'a [Event],
}

/// What measured, beside what the events say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// QEMU's version.
    pub qemu: String,
    /// Commit of the source, with "-dirty" if changed.
    pub commit: String,
    /// The words of the command, as in [`Document::command`].
    pub command: Vec<String>,
}

/// Figures by name.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Makes the results document of a scenario from its boots: of several seeds, one of each, folded ([`fovea_report::repeat::documents`]). A boot
/// that did not come to its end, or failed, gives no figure, nor do the others of its case and configuration: an average over the rounds, or the
/// seeds, that happened to work is no result.
pub fn document(scenario: &Scenario, boots: &[Boot<'_>], provenance: &Provenance) -> Document {
    if scenario.seeds.len() < 2 {
        return of_one_seed(scenario, boots, provenance).0;
    }
    let of_seed = |&seed: &u64| {
        let own: Vec<Boot> = boots.iter().filter(|b| b.plan.of_seed == Some(seed)).copied().collect();
        of_one_seed(&scenario.with_seed(seed), &own, provenance)
    };
    let (each, complete): (Vec<Document>, Vec<usize>) = scenario.seeds.iter().map(of_seed).unzip();
    documents(each, |cases| verdicts(scenario, cases, boots, complete.iter().sum()))
}

/// And how many boots came to their end.
fn of_one_seed(scenario: &Scenario, boots: &[Boot<'_>], provenance: &Provenance) -> (Document, usize) {
    let folded: Vec<Folded> = boots.iter().map(Folded::new).collect();
    let complete = folded.iter().filter(|boot| boot.complete()).count();
    let cases = scenario.parameters().cases(scenario, &folded);
    let document = Document {
        scenario: scenario.name.clone(),
        mode: if boots.first().is_some_and(|b| b.plan.exact) { "exact" } else { "fast" }.into(),
        kernel: folded.iter().find_map(|f| f.kernel.clone()).unwrap_or_default(),
        qemu: provenance.qemu.clone(),
        seed: scenario.seed,
        commit: provenance.commit.clone(),
        command: provenance.command.clone(),
        verdicts: verdicts(scenario, &cases, boots, complete),
        cases,
        ..Document::default()
    };
    (document, complete)
}

/// What is claimed of the figures, and that there are all.
fn verdicts(scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>], complete: usize) -> Vec<Verdict> {
    let share = (!boots.is_empty()).then(|| complete as f64 / boots.len() as f64 * 100.0);
    [completed(share)].into_iter().chain(scenario.parameters().verdicts(scenario, cases, boots)).collect()
}

/// That so many percent of the boots came to their end.
pub(crate) fn completed(share: Option<f64>) -> Verdict {
    verdict("boots-completed", "every boot follows its plan to the end", "this project", share, Bound::Equal(100.0))
}

/// Whether what the papers claim is claimed here: they claim it of phones like theirs.
pub(crate) fn papers(boots: &[Boot<'_>]) -> bool {
    boots.iter().all(|b| b.plan.phone.thresholds == Thresholds::Paper)
}

/// Each case under each configuration, with the figures that `fill` makes of its boots, if all are complete.
pub(crate) fn by_case(
    scenario: &Scenario,
    cases: &[String],
    folded: &[Folded],
    fill: impl Fn(&mut Figures, &[&Folded]),
) -> Vec<Case> {
    let one = |case: &String, configuration: &str| {
        let mut figures = Figures::new();
        if let Some(boots) = select(folded, case, configuration) {
            fill(&mut figures, &boots);
        }
        Case { case: case.clone(), configuration: configuration.into(), figures }
    };
    cases.iter().flat_map(|case| scenario.configurations.iter().map(move |c| one(case, c.name()))).collect()
}

/// A figure of a case, if it was measured.
pub(crate) fn figure(cases: &[Case], case: &str, configuration: &str, name: &str) -> Option<f64> {
    cases.iter().find(|c| c.case == case && c.configuration == configuration)?.figures.get(name).copied()
}

/// An id with the case in it, if the scenario has cases.
pub(crate) fn id(name: &str, case: &str) -> String {
    if case.is_empty() {
        name.into()
    } else {
        format!("{name}-{case}")
    }
}

/// No page may come back wrong, whatever manages memory.
pub(crate) fn correctness(scenario: &Scenario, cases: &[Case], case: &str) -> Vec<Verdict> {
    scenario
        .configurations
        .iter()
        .map(|c| {
            verdict(
                &id(&format!("wrong-pages-{}", c.name()), case),
                &format!("no page comes back wrong under {}", c.name()),
                "this project",
                figure(cases, case, c.name(), "wrong_pages"),
                Bound::Equal(0.0),
            )
        })
        .collect()
}

/// What must hold where nothing of the papers' is claimed: who does more about memory kills no more for it.
pub(crate) fn kills_as_zram(scenario: &Scenario, cases: &[Case], case: &str) -> Option<Verdict> {
    let kills = |c: &str| figure(cases, case, c, "kills");
    compares(scenario, &["zram", "fovea"]).then(|| {
        verdict(
            &id("kills-zram", case),
            "no more kills than zram (kills less zram's)",
            "this project",
            kills("fovea").zip(kills("zram")).map(|(fovea, zram)| fovea - zram),
            Bound::AtMost(0.0),
        )
    })
}

/// Whether all these configurations are compared.
pub(crate) fn compares(scenario: &Scenario, names: &[&str]) -> bool {
    names.iter().all(|n| scenario.configurations.iter().any(|c| c.name() == *n))
}
