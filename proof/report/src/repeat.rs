// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was run with several seeds, folded into one. What is drawn differs from seed to seed, so that a figure is the mean over the seeds, with
//! its margin. A verdict is on the mean. Of experiments all means are arithmetic; of scenarios those of times and sizes are geometric.

use std::collections::BTreeMap;

mod documents;
mod jackknife;
mod mean;

use mean::{Mean, T};

use crate::chart::{Chart, Point, Series};
use crate::document::Case;
use crate::experiment::Findings;
use crate::verdict::{Bound, Seeds, Verdict};

/// More have no entry in the table, and no use.
pub const MOST_SEEDS: u32 = T.len() as u32 + 1;

pub use documents::documents;
pub use mean::arithmetic;

/// A value of every seed, or not a number if one has none.
fn each<'f, T: 'f>(found: &'f [(u64, Findings)], of: impl Fn(&'f Findings) -> Option<T>) -> Vec<Option<T>> {
    found.iter().map(|(_, findings)| of(findings)).collect()
}

fn folded(values: impl IntoIterator<Item = Option<f64>>) -> Mean {
    arithmetic(&values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect::<Vec<_>>())
}

/// What an experiment found with each of several seeds, as one. What one seed's findings lack is left out, or not measured.
///
/// # Panics
/// If there is none.
pub fn fold(mut found: Vec<(u64, Findings)>) -> Findings {
    if found.len() == 1 {
        return found.remove(0).1;
    }
    let first = &found[0].1;
    let (cases, margins) = cases(&found.iter().map(|(_, f)| &f.cases[..]).collect::<Vec<_>>(), |_, v| arithmetic(v));
    Findings {
        cases,
        margins: margins.into_iter().filter(has_figures).collect(),
        verdicts: first.verdicts.iter().map(|v| verdict(&found, v)).collect(),
        charts: first.charts.iter().map(|c| chart(&found, c)).collect(),
        notes: notes(&found),
    }
}

fn has_figures(case: &Case) -> bool {
    !case.figures.is_empty()
}

/// The cases of all seeds as one: means of their figures by name, and their margins. A figure that one seed lacks is left out.
fn cases(of_seeds: &[&[Case]], mean: impl Fn(&str, &[f64]) -> Mean) -> (Vec<Case>, Vec<Case>) {
    let (mut means, mut margins): (Vec<Case>, Vec<Case>) = Default::default();
    for case in of_seeds.iter().copied().flatten() {
        let same = |other: &&Case| other.case == case.case && other.configuration == case.configuration;
        if means.iter().any(|known| same(&known)) {
            continue;
        }
        let (mut figures, mut widths) = (BTreeMap::new(), BTreeMap::new());
        for name in case.figures.keys() {
            let own: Option<Vec<f64>> =
                of_seeds.iter().map(|cases| cases.iter().find(same)?.figures.get(name).copied()).collect();
            let Some(own) = own else { continue };
            let (value, margin) = mean(name, &own);
            if value.is_finite() {
                figures.insert(name.clone(), value);
            }
            widths.extend(margin.map(|margin| (name.clone(), margin)));
        }
        means.push(Case { figures, ..case.clone() });
        margins.push(Case { figures: widths, ..case.clone() });
    }
    (means, margins)
}

fn verdict(found: &[(u64, Findings)], verdict: &Verdict) -> Verdict {
    let own = each(found, |f| f.verdicts.iter().find(|v| v.id == verdict.id));
    let (figure, margin) = folded(own.iter().map(|v| v.map(|v| v.figure)));
    let holds = own.iter().flatten().filter(|v| v.pass).count() as u32;
    let bound: Option<Bound> = verdict.bound.parse().ok();
    let pass = figure.is_finite() && bound.is_some_and(|bound| bound.holds(figure));
    let seeds = Some(Seeds { holds, of: found.len() as u32 });
    Verdict { figure, margin, pass, seeds, ..verdict.clone() }
}

fn chart(found: &[(u64, Findings)], chart: &Chart) -> Chart {
    let series = chart.series.iter().map(|series| {
        let own = each(found, |f| {
            let same = f.charts.iter().find(|c| c.title == chart.title)?;
            same.series.iter().find(|s| s.name == series.name)
        });
        let points = series.points.iter().map(|point| self::point(&own, point)).collect();
        Series { points, ..series.clone() }
    });
    Chart { series: series.collect(), ..chart.clone() }
}

fn point(own: &[Option<&Series>], point: &Point) -> Point {
    let found: Vec<Option<&Point>> =
        own.iter().map(|series| series.and_then(|s| s.points.iter().find(|p| p.x == point.x))).collect();
    let (y, margin) = folded(found.iter().map(|point| point.map(|p| p.y)));
    let to = point.to.map(|_| folded(found.iter().map(|point| point.and_then(|p| p.to))).0);
    Point { y, to, margin, ..point.clone() }
}

/// What is remarked with every seed, and what is only with the first.
fn notes(found: &[(u64, Findings)]) -> Vec<String> {
    let (seed, first) = &found[0];
    let everywhere = |note: &String| found.iter().all(|(_, findings)| findings.notes.contains(note));
    let word = |note: &String| if everywhere(note) { note.clone() } else { format!("with seed {seed}: {note}") };
    let how = format!(
        "means over {} seeds from {seed} on, \u{b1} half the width of the mean's 95 % confidence interval (Student's t); verdicts are \
         on the means",
        found.len()
    );
    [how].into_iter().chain(first.notes.iter().map(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Kind, Origin, Place};
    use crate::verdict;

    fn found(seed: u64, y: f64) -> (u64, Findings) {
        let mut chart = Chart::new("Hits", Kind::Bars, "", "%");
        chart.bars("ours", Origin::Ours, [("N", y)]);
        chart.paper_ranges("paper", [("N", 2.0, 13.0)]);
        let figures = BTreeMap::from([("hit_percent".to_owned(), y), ("pages".to_owned(), 7.0)]);
        let findings = Findings {
            cases: vec![Case { case: "N".into(), configuration: "lru".into(), figures }],
            verdicts: vec![verdict::verdict("hits", "hits much", "a paper", Some(y), Bound::AtLeast(11.0))],
            charts: vec![chart],
            notes: vec!["known".into(), format!("{y} %")],
            ..Findings::default()
        };
        (seed, findings)
    }

    #[test]
    fn one_seed_is_told_as_it_is() {
        assert_eq!(fold(vec![found(3, 10.0)]), found(3, 10.0).1);
    }

    #[test]
    fn several_seeds_are_their_mean_and_a_verdict_is_on_it() {
        let all = fold(vec![found(3, 10.0), found(4, 12.0), found(5, 14.0)]);
        let margin = 4.303 * (4f64 / 3.0).sqrt();
        assert_eq!(all.cases[0].figures, BTreeMap::from([("hit_percent".into(), 12.0), ("pages".into(), 7.0)]));
        assert_eq!(all.margins[0].figures, BTreeMap::from([("hit_percent".into(), margin)]));
        let verdict = &all.verdicts[0];
        assert_eq!((verdict.figure, verdict.margin, verdict.pass), (12.0, Some(margin), true));
        assert_eq!(verdict.seeds, Some(Seeds { holds: 2, of: 3 }));
        let [ours, paper] = &all.charts[0].series[..] else { panic!("{:?}", all.charts) };
        let of = |y, to, margin| vec![Point { x: Place::Name("N".into()), y, to, margin }];
        assert_eq!(ours.points, of(12.0, None, Some(margin)));
        assert_eq!(paper.points, of(2.0, Some(13.0), None), "the paper has no seeds");
        assert!(all.notes[0].starts_with("means over 3 seeds from 3 on"));
        assert_eq!(all.notes[1..], ["known", "with seed 3: 10 %"]);
    }

    #[test]
    fn what_one_seed_has_not_found_is_not_measured() {
        let (seed, mut lacking) = found(4, 12.0);
        lacking.cases[0].figures.remove("hit_percent");
        lacking.verdicts.clear();
        lacking.charts[0].series.remove(0);
        let all = fold(vec![found(3, 10.0), (seed, lacking)]);
        assert_eq!(all.cases[0].figures.keys().collect::<Vec<_>>(), ["pages"]);
        assert!(all.verdicts[0].figure.is_nan() && !all.verdicts[0].pass);
        assert_eq!(all.verdicts[0].seeds, Some(Seeds { holds: 0, of: 2 }));
        assert!(all.charts[0].series[0].points[0].y.is_nan());
    }
}
