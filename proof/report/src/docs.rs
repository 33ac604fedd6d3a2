// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tables and pictures of documents, made from results documents between markers, so that no figure is copied by hand:
//!
//! ```text
//! <!-- begin: figures workload.json kills read_bytes -->     a row per figure and case, a column per configuration
//! <!-- begin: figures reproduce.json case=ecache-fig10 configuration=lru,belady hit_percent -->    of some cases and configurations
//! <!-- begin: paper lowmem.json restart_ns -->                the same, the paper's figures in brackets
//! <!-- begin: beside lowmem.json sim.json restart_ns -->      the same, the other file's figures behind a stroke
//! <!-- begin: verdicts reproduce.json hybrid-fig2 -->         a row per verdict of these experiments; of all if none is named
//! <!-- begin: claims peers.json relaunch-best -->            a row per claim that is made of each case, a column per case
//! <!-- begin: shortfalls peers.json -->                       how many verdicts hold, and a row for each that does not
//! <!-- begin: ablation ablation.json -->                       a row per rule, what changes without it
//! <!-- begin: systems lowmem.json ecache.json -->             a row or two per system: without, with, ratio, the paper's
//! <!-- begin: picture results.svg lowmem.json ecache.json --> what a person notices of them, drawn
//! <!-- end -->
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::document::{Document, FileError};
use crate::panel::Panel;
use crate::paper::Paper;

mod systems;
mod tables;
#[cfg(test)]
mod tests;

pub use tables::ablation as rules_table;

const BEGIN: &str = "<!-- begin: ";
const END: &str = "<!-- end -->";

/// What is wrong with a marker: the line, from 1, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line.
    pub line: usize,
    /// What is wrong there, and the mend.
    pub what: String,
}

/// What markers make of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// The text.
    pub text: String,
    /// Pictures that it shows: names and contents.
    pub pictures: Vec<(String, String)>,
}

/// What markers are followed with.
pub struct Source<'l> {
    /// Gives the document of a file's name.
    pub load: &'l dyn Fn(&str) -> Result<Document, String>,
    /// What papers print beside our figures.
    pub papers: &'l [Paper],
    /// What a picture shows of scenarios.
    pub panels: &'l [Panel],
}

/// A table, and the line that says what it was measured on, if it has one.
type Made = (String, String);

/// What belongs between a marker and its end. Links lead to `folder`, with its stroke, or "" for the text's own.
fn made(words: &[&str], folder: &str, from: &Source, pictures: &mut Vec<(String, String)>) -> Result<Made, String> {
    let [kind, file, rest @ ..] = words else {
        return Err("a marker names a kind and a file; see `fovea lab report --help`".into());
    };
    let all = |files: &[&str]| files.iter().map(|file| (from.load)(file)).collect::<Result<Vec<_>, _>>();
    let in_file = |what: String| format!("{file}: {what}");
    let results = format!("{folder}results/");
    let origin = |files: &[&str], documents: &[Document]| {
        let origins = files.iter().zip(documents).map(|(file, document)| tables::origin(document, file, &results));
        format!("\nFrom {}.\n", origins.collect::<Vec<_>>().join("; "))
    };
    if *kind == "picture" {
        let documents = all(rest)?;
        let (title, picture) = systems::picture(&documents, from.panels).map_err(in_file)?;
        pictures.push(((*file).to_owned(), picture));
        return Ok((format!("![{title}]({folder}{file})\n"), String::new()));
    }
    let files = match *kind {
        "beside" => words.get(1..3).ok_or_else(|| in_file("name the other file behind it".into()))?,
        "systems" => &words[1..],
        _ => &words[1..2],
    };
    let documents = all(files)?;
    let table = match *kind {
        "figures" => tables::figures(&documents[0], rest),
        "paper" => tables::paper(&documents[0], rest, from.papers),
        "beside" => tables::beside(&documents[0], &documents[1], &rest[1..]),
        "verdicts" => tables::verdicts(&documents[0], rest),
        "claims" => tables::claims(&documents[0], rest),
        "shortfalls" => Ok(tables::shortfalls(&documents[0])),
        "ablation" => tables::ablation(&documents[0]),
        // Its page tells what each row is from.
        "systems" => return systems::table(&documents, folder).map(|table| (table, String::new())).map_err(in_file),
        other => {
            let kinds = "take figures, paper, beside, verdicts, claims, shortfalls, ablation, systems or picture";
            return Err(in_file(format!("{other}: not a kind of table; {kinds}")));
        }
    };
    Ok((table.map_err(in_file)?, origin(files, &documents)))
}

/// The text with what stands between its markers made anew. Results are in
/// `folder`'s folder of that name, as links of the text have to say it. A table of the same results as the one before it does not
/// say again what they were measured on.
///
/// # Errors
/// At the first marker that cannot be followed.
pub fn fill(text: &str, folder: &str, from: &Source) -> Result<Filled, Wrong> {
    let mut filled = Filled::default();
    let mut inside: Option<usize> = None;
    let mut last_origin = String::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let wrong = |what: String| Wrong { line: at + 1, what };
        let marker = line.trim_end().strip_prefix(BEGIN).map(|m| m.strip_suffix(" -->"));
        match (marker, inside) {
            (Some(_), Some(begun)) => {
                return Err(wrong(format!("a table begins in that of line {begun}; end that first")))
            }
            (Some(None), None) => return Err(wrong("a marker without its end; write ` -->` behind it".into())),
            (Some(Some(marker)), None) => {
                let words: Vec<&str> = marker.split_whitespace().collect();
                filled.text += line;
                let (table, origin) = made(&words, folder, from, &mut filled.pictures).map_err(wrong)?;
                filled.text += &table;
                if origin != last_origin {
                    filled.text += &origin;
                    last_origin = origin;
                }
                inside = Some(at + 1);
            }
            (None, Some(_)) if line.trim_end() == END => {
                filled.text += line;
                inside = None;
            }
            (None, Some(_)) => {}
            (None, None) if line.trim_end() == END => {
                return Err(wrong("an end without a beginning; take it out".into()));
            }
            (None, None) => filled.text += line,
        }
    }
    match inside {
        Some(line) => Err(Wrong { line, what: format!("a table that does not end; write `{END}` behind it") }),
        None => Ok(filled),
    }
}

/// A page or picture that was looked at.
#[derive(Debug)]
pub struct Page {
    /// Its file.
    pub path: PathBuf,
    /// What it says; nothing if it is not there.
    pub found: String,
    /// What it should say, or the marker that cannot be followed.
    pub filled: Result<String, Wrong>,
}

/// The folders of pages, by reader.
const FOLDERS: [&str; 3] = ["guide", "design", "results"];

/// The pages of a folder, in the order of their names.
fn pages_of(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |cause| FileError { path: folder.to_owned(), cause };
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.sort();
    Ok(paths)
}

/// Every page of a folder and of its folders `guide`, `design` and `results`, the `README.md` beside the folder, and the pictures they
/// show, beside what their markers and the results in `results/` make of them.
///
/// # Errors
/// If a folder or a page cannot be read.
pub fn pages(folder: &Path, papers: &[Paper], panels: &[Panel]) -> Result<Vec<Page>, FileError> {
    let mut paths: Vec<(PathBuf, String)> = pages_of(folder)?.into_iter().map(|p| (p, String::new())).collect();
    for part in FOLDERS.map(|name| folder.join(name)).iter().filter(|part| part.is_dir()) {
        paths.extend(pages_of(part)?.into_iter().map(|p| (p, "../".to_owned())));
    }
    let name = folder.file_name().and_then(|name| name.to_str());
    let readme = folder.parent().map(|parent| parent.join("README.md"));
    if let (Some(name), Some(readme)) = (name, readme.filter(|readme| readme.is_file())) {
        paths.push((readme, format!("{name}/")));
    }
    let load = |file: &str| {
        let text = fs::read(folder.join("results").join(file))
            .map_err(|e| format!("results/{file}: {e}; name one that is there"))?;
        serde_json::from_slice(&text).map_err(|e| format!("results/{file}: {e}; make it again"))
    };
    let source = Source { load: &load, papers, panels };
    let mut pages = Vec::new();
    for (path, prefix) in paths {
        let found = fs::read_to_string(&path).map_err(|cause| FileError { path: path.clone(), cause })?;
        let filled = fill(&found, &prefix, &source).map(|filled| {
            pages.extend(filled.pictures.into_iter().map(|(name, picture)| {
                let path = folder.join(name);
                Page { found: fs::read_to_string(&path).unwrap_or_default(), path, filled: Ok(picture) }
            }));
            filled.text
        });
        pages.push(Page { path, found, filled });
    }
    Ok(pages)
}
