// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Saved results: every results document in a folder and those below it, and what cannot be read.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::document::{Document, FileError};
use crate::experiment::{Findings, Reproduction, REPRODUCE};

/// A results document is a few hundred kilobytes; what is larger than this is none.
const MOST_BYTES: u64 = 64 << 20;

/// A scenario's results as they were saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The file, from the results folder on.
    pub path: String,
    /// Its content.
    pub document: Document,
}

/// Something that is not on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file or the experiment.
    pub what: String,
    /// Why, and what can be done.
    pub why: String,
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// Results of scenarios and replays, by path.
    pub documents: Vec<Saved>,
    /// Results of `lab reproduce`, by path.
    pub reproductions: Vec<(String, Reproduction)>,
    /// Files that should be results and are not.
    pub broken: Vec<LeftOut>,
}

enum Content {
    Scenario(Document),
    Reproduction(Reproduction),
    /// JSON of another kind, such as a boot's plan.
    Other,
}

const MEND: &str = "make it again, or remove it";

fn read(path: &Path) -> Result<Content, String> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(|e| format!("{e}; check its permissions"))?;
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|e| format!("{e}; check the disk"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("more than {} MiB, which no results document has; move it elsewhere", MOST_BYTES >> 20));
    }
    let broken = |e: serde_json::Error| format!("{e}; {MEND}");
    let value: Value = serde_json::from_slice(&text).map_err(broken)?;
    let has = |field: &str| value.get(field).is_some();
    if !(has("scenario") && (has("cases") || has("verdicts"))) {
        return Ok(Content::Other);
    }
    // Read once more and not taken from the value: now an error names its line.
    if value["scenario"] == REPRODUCE {
        serde_json::from_slice(&text).map(Content::Reproduction).map_err(broken)
    } else {
        serde_json::from_slice(&text).map(Content::Scenario).map_err(broken)
    }
}

/// All `*.json` files below a folder, in the order of their names. Links to folders are not followed: they may lead in a circle.
fn files(folder: &Path, into: &mut Vec<PathBuf>, broken: &mut Vec<(PathBuf, String)>) {
    let entries = match fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(e) => return broken.push((folder.to_owned(), format!("{e}; check its permissions"))),
    };
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        let kind = fs::symlink_metadata(&path).map(|m| m.file_type());
        if kind.is_ok_and(|k| k.is_dir()) {
            files(&path, into, broken);
        } else if path.extension().is_some_and(|e| e == "json") && !path.is_dir() {
            match fs::metadata(&path) {
                Ok(m) if m.is_file() => into.push(path),
                // Reading a pipe would wait for ever.
                Ok(_) => broken.push((path, "no file; remove it".into())),
                Err(e) => broken.push((path, format!("{e}; {MEND}"))),
            }
        }
    }
}

/// Reads every results document in a folder and those below it.
///
/// # Errors
/// If the folder itself cannot be listed; a file that cannot be read is among the [`broken`](Gathered::broken) instead.
pub fn gather(folder: &Path) -> Result<Gathered, FileError> {
    fs::read_dir(folder).map_err(|cause| FileError { path: folder.to_owned(), cause })?;
    let (mut paths, mut broken) = (Vec::new(), Vec::new());
    files(folder, &mut paths, &mut broken);
    let mut gathered = Gathered::default();
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    for path in paths {
        match read(&path) {
            Ok(Content::Scenario(document)) => gathered.documents.push(Saved { path: name(&path), document }),
            Ok(Content::Reproduction(all)) => gathered.reproductions.push((name(&path), all)),
            Ok(Content::Other) => {}
            Err(why) => broken.push((path, why)),
        }
    }
    broken.sort();
    gathered.broken = broken.into_iter().map(|(path, why)| LeftOut { what: name(&path), why }).collect();
    Ok(gathered)
}

impl Gathered {
    /// Saved experiments that this program does not know (`known` are those it does): of a newer one, or of one before it.
    pub fn unknown(&self, known: &[&str]) -> Vec<LeftOut> {
        let mut unknown: Vec<LeftOut> = Vec::new();
        for (path, all) in &self.reproductions {
            let ids =
                all.document.verdicts.iter().map(|v| v.id.as_str()).chain(all.charts.iter().map(|c| c.entry.as_str()));
            for id in ids.map(|id| id.split('/').next().unwrap_or(id)) {
                if !known.contains(&id) {
                    let why = format!(
                        "in {path}, but not an experiment of this program; commit {} has it",
                        all.document.commit
                    );
                    unknown.push(LeftOut { what: id.into(), why });
                }
            }
        }
        unknown.dedup();
        unknown
    }
}

/// An entry's saved results that can stand for a run of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<'g> {
    /// The file.
    pub path: &'g str,
    /// Its content.
    pub reproduction: &'g Reproduction,
    /// What it says of the entry.
    pub findings: Findings,
    /// Whether a run would find the same.
    pub fits: bool,
}

/// Whether a program of `theirs` computes what one of `ours` does: only a commit without changes says what was built.
fn same_program(theirs: &str, ours: &str) -> bool {
    theirs == ours && theirs != "unknown" && !theirs.ends_with("-dirty")
}

/// A run of an experiment that saved results may stand for.
#[derive(Clone, Copy, Debug)]
pub struct Run<'r> {
    /// Seed of everything drawn.
    pub seed: u64,
    /// How many seeds, from that on.
    pub seeds: u32,
    /// Whether with the short traces.
    pub quick: bool,
    /// Commit of the program that would run it.
    pub commit: &'r str,
}

/// Why saved results cannot stand for a run.
fn unfit(reproduction: &Reproduction, run: &Run<'_>) -> Option<String> {
    let document = &reproduction.document;
    if !same_program(&document.commit, run.commit) {
        Some(format!("is of commit {}, and this program is of {}", document.commit, run.commit))
    } else if document.seed != run.seed {
        Some(format!("has seed {}", document.seed))
    } else if document.seed_count() != run.seeds {
        Some(format!("has {} seeds, and {} are asked for", document.seed_count(), run.seeds))
    } else if reproduction.quick && !run.quick {
        Some("has the short traces".into())
    } else {
        None
    }
}

/// The saved results that can stand for a run of an entry: those of the same program and seed, and at least as long; or, if `any`
/// will do, those and else the first there are. The error is in words why there are none.
pub fn choose<'g>(gathered: &'g Gathered, entry: &str, run: &Run<'_>, any: bool) -> Result<Choice<'g>, String> {
    let saved = gathered.reproductions.iter().filter_map(|(path, reproduction)| {
        let fits = unfit(reproduction, run).is_none();
        Some(Choice { path, reproduction, findings: reproduction.findings(entry)?, fits })
    });
    // Full length first, and else the order of the paths.
    let mut saved: Vec<Choice> = saved.collect();
    saved.sort_by_key(|c| c.reproduction.quick);
    let Some(first) = saved.first() else { return Err("nothing saved".into()) };
    if let Some(fit) = saved.iter().find(|c| c.fits) {
        return Ok(fit.clone());
    }
    if any {
        return Ok(first.clone());
    }
    let why = unfit(first.reproduction, run).unwrap_or_default();
    Err(format!("{} {why}", first.path))
}

#[cfg(test)]
mod tests;
