// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab report`: gathers, runs what is not saved, writes the page.

use std::path::{Path, PathBuf};

use clap::Args;

use fovea_lab::output::write_text;
use fovea_lab::reproduce::{Entry, Settings};
use fovea_lab::{replay, threads};
use fovea_report::docs;
use fovea_report::document::Document;
use fovea_report::experiment::Reproduction;
use fovea_report::gather::{choose, gather, Gathered, LeftOut, Run};
use fovea_report::page::Report;
use fovea_report::repeat::MOST_SEEDS;
use fovea_report::seeds::SeedList;
use fovea_scenario::kinds::{panels, papers};
use fovea_sim::experiments;

use super::bar;
use crate::failure::Failure;
use crate::output::print;

/// Where results are looked for if nobody says otherwise.
const RESULTS: &str = "results";

/// `fovea lab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The page; - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Folder of saved results; `results` without this, if it is there.
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Only these experiments and scenarios.
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    only: Vec<String>,
    /// Run experiments with shorter traces, for a first look.
    #[arg(long)]
    quick: bool,
    /// Run nothing: show what is saved, whatever version of the program made it.
    #[arg(long, conflicts_with_all = ["quick", "threads"])]
    saved: bool,
    /// Seed of experiments that are run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds they are run with, from --seed on: 5, or 1 with --quick.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SEEDS)))]
    seeds: Option<u32>,
    /// Make tables and pictures of documents anew, between their markers, from the results in DIR/results, and no page: of DIR/*.md, of
    /// the pages in DIR/guide, DIR/design and DIR/results, and of the README.md beside DIR.
    #[arg(long, value_name = "DIR", exclusive = true)]
    docs: Option<PathBuf>,
    /// A line under the title, such as the date.
    #[arg(long, value_name = "TEXT")]
    stamp: Option<String>,
    /// Threads; all cores unless told otherwise. The results do not depend on them.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl ReportArgs {
    pub fn run(self) -> Result<(), Failure> {
        if let Some(folder) = &self.docs {
            return fill_docs(folder);
        }
        let mut gathered = match &self.results {
            Some(folder) => gather(folder)?,
            None if Path::new(RESULTS).is_dir() => gather(Path::new(RESULTS))?,
            None => Gathered::default(),
        };
        let entries = self.select(&mut gathered)?;
        // Whoever hears nothing of a broken file takes the page for the whole.
        for LeftOut { what, why } in &gathered.broken {
            crate::output::say_as_is(format!("left out: {what}: {why}"));
        }
        let broken = gathered.broken.len();
        let report = self.report(&entries, gathered)?;
        let to_stdout = self.output == Path::new("-");
        if to_stdout {
            print(&report.html(&papers(), &panels()))?;
        } else {
            write_text(&self.output, &report.html(&papers(), &panels()), "make room and run again")?;
            print(&self.last_word(&report))?;
        }
        match broken {
            0 => Ok(()),
            files => Err(Failure::failed(format!(
                "{}: written without {files} of the results files; the lines above name them",
                self.output.display()
            ))),
        }
    }

    /// The experiments that are asked for; drops the scenarios that are not.
    fn select(&self, gathered: &mut Gathered) -> Result<Vec<&'static Entry>, Failure> {
        if self.only.is_empty() {
            return Ok(experiments());
        }
        let scenarios = gathered.documents.iter().map(|s| s.document.scenario.as_str());
        let mut known: Vec<&str> = experiments().iter().map(|e| e.id).chain(scenarios).collect();
        if let Some(id) = self.only.iter().find(|id| !known.contains(&id.as_str())) {
            known.sort_unstable();
            known.dedup();
            return Err(Failure::Usage(format!(
                "{id:?}: neither an experiment nor saved; take of {}",
                known.join(", ")
            )));
        }
        let wanted = |id: &str| self.only.iter().any(|only| only == id);
        gathered.documents.retain(|s| wanted(&s.document.scenario));
        Ok(experiments().into_iter().filter(|e| wanted(e.id)).collect())
    }

    fn report(&self, entries: &[&Entry], gathered: Gathered) -> Result<Report, Failure> {
        let made_here = replay::document("lab reproduce", Vec::new());
        let settings = Settings {
            seed: self.seed,
            seeds: self.seeds.unwrap_or(Settings::usual_seeds(self.quick)),
            quick: self.quick,
            threads: threads(self.threads.map(usize::from)),
        };
        let run = Run { seed: self.seed, seeds: settings.seeds, quick: self.quick, commit: &made_here.commit };
        let bar = bar("{spinner} {msg}");
        let mut report = Report {
            command: self.command(),
            commit: made_here.commit.clone(),
            stamp: self.stamp.clone(),
            left_out: gathered.broken.clone(),
            ..Report::default()
        };
        for entry in entries {
            let why = match choose(&gathered, entry.id, &run, self.saved) {
                Ok(saved) => {
                    let Reproduction { quick, ref document, .. } = *saved.reproduction;
                    let made_by = document.clone();
                    let other =
                        if saved.fits { "" } else { ", by another version of the program or with other settings" };
                    let origin = format!("Saved in {}{other}", saved.path);
                    report.experiments.push(entry.experiment(saved.findings, quick, origin, made_by));
                    continue;
                }
                Err(why) => why,
            };
            if self.saved {
                report.left_out.push(LeftOut { what: entry.id.into(), why: format!("{why}; run without --saved") });
                continue;
            }
            bar.set_message(entry.id);
            bar.tick();
            let findings = entry.with_seeds(&settings)?;
            let seeds = SeedList::of(&settings.each_seed().collect::<Vec<_>>());
            let made_by = Document { seed: self.seed, seeds, ..made_here.clone() };
            let origin = format!("Run for this page ({why})");
            report.experiments.push(entry.experiment(findings, self.quick, origin, made_by));
        }
        bar.finish_and_clear();
        if self.only.is_empty() {
            report.left_out.extend(gathered.unknown(&experiments().iter().map(|e| e.id).collect::<Vec<_>>()));
        }
        report.documents = gathered.documents;
        Ok(report)
    }

    /// The words that make the page again.
    fn command(&self) -> Vec<String> {
        let mut words = vec!["lab".to_owned(), "report".to_owned()];
        let mut option = |name: &str, values: &[String]| {
            if !values.is_empty() {
                words.push(name.to_owned());
                words.extend_from_slice(values);
            }
        };
        option("--results", &self.results.iter().map(|r| r.display().to_string()).collect::<Vec<_>>());
        option("--only", &self.only);
        option("--seed", &[self.seed.to_string()]);
        option("--seeds", &self.seeds.iter().map(u32::to_string).collect::<Vec<_>>());
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.saved.then(|| "--saved".to_owned()));
        words
    }

    fn last_word(&self, report: &Report) -> String {
        let (all, pass) = (report.verdicts().count(), report.verdicts().filter(|v| v.pass).count());
        format!(
            "{}: {} experiments, {} results of scenarios; {pass} of {all} verdicts hold, {} fall short\n",
            self.output.display(),
            report.experiments.len(),
            report.documents.len(),
            all - pass
        )
    }
}

/// Writes every document whose tables are stale. One that cannot be filled in fails the call, after the others are done.
fn fill_docs(folder: &Path) -> Result<(), Failure> {
    let mut wrong = None;
    for page in docs::pages(folder, &papers(), &panels())? {
        match page.filled {
            Ok(filled) if filled == page.found => {}
            Ok(filled) => {
                write_text(&page.path, &filled, "make room and run again")?;
                print(&format!("{}: made anew\n", page.path.display()))?;
            }
            Err(e) => {
                let line = format!("{}:{}: {}", page.path.display(), e.line, e.what);
                wrong.get_or_insert(Failure::failed(line));
            }
        }
    }
    wrong.map_or(Ok(()), Err)
}
