// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tables of documents, made from results documents between markers, so that no figure is copied by hand:
//!
//! ```text
//! <!-- begin: figures workload.json kills read_bytes -->     a row per figure and case, a column per configuration
//! <!-- begin: verdicts reproduce.json hybrid-fig2 -->         a row per verdict of these experiments; of all if none is named
//! <!-- end -->
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::document::{Document, FileError};
use crate::experiment::within;
use crate::units::{number, Unit};

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

/// A cell's text: what would end the cell or become markup does neither.
fn cell(text: &str) -> String {
    let mut safe = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let opens = |next: &char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        match letter {
            '\\' | '|' | '`' => safe.extend(['\\', letter]),
            '<' if letters.peek().is_some_and(opens) => safe += "&lt;",
            '\n' | '\r' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

fn distinct<'d>(names: impl Iterator<Item = &'d str>) -> Vec<&'d str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn figures(document: &Document, names: &[&str]) -> Result<String, String> {
    if names.is_empty() {
        return Err("names no figure; name some behind the file".into());
    }
    let cases = distinct(document.cases.iter().map(|c| c.case.as_str()));
    let configurations = distinct(document.cases.iter().map(|c| c.configuration.as_str()));
    let mut text =
        row(["figure".to_owned()].into_iter().chain(configurations.iter().map(|c| format!("`{}`", cell(c)))));
    text += &row(["---".to_owned()].into_iter().chain(configurations.iter().map(|_| "--:".to_owned())));
    for case in &cases {
        for name in names {
            let values: Vec<Option<f64>> = configurations.iter().map(|c| document.figure(case, c, name)).collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let unit = Unit::of(name, values.iter().filter_map(|v| *v));
            let head = if case.is_empty() { format!("`{name}`") } else { format!("{}: `{name}`", cell(case)) };
            let shown = values.iter().map(|value| value.map_or("–".into(), |v| unit.show(v)));
            text += &row([head].into_iter().chain(shown));
        }
    }
    let known = |name: &&&str| document.cases.iter().any(|c| c.figures.contains_key(**name));
    match names.iter().find(|name| !known(name)) {
        Some(name) => Err(format!("no case has the figure {name}; take one that the file has")),
        None => Ok(text),
    }
}

fn verdicts(document: &Document, experiments: &[&str]) -> Result<String, String> {
    let of = |id: &str, names: &[&str]| names.is_empty() || names.iter().any(|name| within(name, id).is_some());
    if let Some(name) = experiments.iter().find(|name| !document.verdicts.iter().any(|v| of(&v.id, &[name]))) {
        return Err(format!("no verdict of {name}; take an experiment that the file has"));
    }
    let mut text = "| verdict | claim | claimed | ours | |\n|---|---|--:|--:|---|\n".to_owned();
    for v in document.verdicts.iter().filter(|v| of(&v.id, experiments)) {
        let word = if v.pass { "holds" } else { "**falls short**" };
        text += &row([
            format!("`{}`", cell(&v.id)),
            format!("{} ({})", cell(&v.claim), cell(&v.source)),
            cell(&v.bound),
            number(v.figure),
            word.into(),
        ]);
    }
    Ok(text)
}

/// What it was measured on.
fn origin(document: &Document, file: &str) -> String {
    let mut text = format!("\nFrom [{file}](results/{file}): {} mode", document.mode);
    for (name, value) in [("Linux", &document.kernel), ("QEMU", &document.qemu), ("seed", &document.seed.to_string())] {
        if !value.is_empty() && (name != "Linux" || !document.qemu.is_empty()) {
            let _ = write!(text, ", {name} {value}");
        }
    }
    let _ = writeln!(text, ", commit {}.", document.commit);
    text
}

/// The text with what stands between its markers made anew. `load` gives the document of a file's name.
///
/// # Errors
/// At the first marker that cannot be followed.
pub fn fill(text: &str, load: &dyn Fn(&str) -> Result<Document, String>) -> Result<String, Wrong> {
    let mut filled = String::new();
    let mut inside: Option<usize> = None;
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
                let [kind, file, names @ ..] = words.as_slice() else {
                    return Err(wrong("a marker names a kind and a file; see `fovea lab report --help`".into()));
                };
                let document = load(file).map_err(wrong)?;
                let table = match *kind {
                    "figures" => figures(&document, names),
                    "verdicts" => verdicts(&document, names),
                    other => Err(format!("{other}: not a kind of table; take figures or verdicts")),
                };
                filled += line;
                filled += &table.map_err(|what| wrong(format!("{file}: {what}")))?;
                filled += &origin(&document, file);
                inside = Some(at + 1);
            }
            (None, Some(_)) if line.trim_end() == END => {
                filled += line;
                inside = None;
            }
            (None, Some(_)) => {}
            (None, None) if line.trim_end() == END => {
                return Err(wrong("an end without a beginning; take it out".into()));
            }
            (None, None) => filled += line,
        }
    }
    match inside {
        Some(line) => Err(Wrong { line, what: format!("a table that does not end; write `{END}` behind it") }),
        None => Ok(filled),
    }
}

/// A page that was looked at.
#[derive(Debug)]
pub struct Page {
    /// Its file.
    pub path: PathBuf,
    /// What it says.
    pub found: String,
    /// What it should say, or the marker that cannot be followed.
    pub filled: Result<String, Wrong>,
}

/// Every `*.md` in a folder, beside what its markers and the results in `results/` make of it.
///
/// # Errors
/// If the folder or a page cannot be read.
pub fn pages(folder: &Path) -> Result<Vec<Page>, FileError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| FileError { path, cause }
    };
    let entries =
        fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(failed(folder))?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "md"));
    paths.sort();
    let load = |file: &str| {
        let text = fs::read(folder.join("results").join(file))
            .map_err(|e| format!("results/{file}: {e}; name one that is there"))?;
        serde_json::from_slice(&text).map_err(|e| format!("results/{file}: {e}; make it again"))
    };
    let page = |path: PathBuf| {
        let found = fs::read_to_string(&path).map_err(failed(&path))?;
        Ok(Page { filled: fill(&found, &load), path, found })
    };
    paths.into_iter().map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Case;
    use crate::verdict::{verdict, Bound};

    fn document() -> Document {
        let case = |configuration: &str, figures: &[(&str, f64)]| Case {
            case: "N".into(),
            configuration: configuration.into(),
            figures: figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        };
        let cases = vec![case("stock", &[("kills", 6.0), ("read_bytes", 54e6)]), case("fovea", &[("kills", 0.0)])];
        let verdicts = vec![
            verdict("a/less", "reads | less", "a paper", Some(1.5), Bound::AtMost(2.0)),
            verdict("ab/more", "more", "a paper", None, Bound::AtLeast(2.0)),
        ];
        Document { verdicts, seed: 3, commit: "abc".into(), ..Document::of_host("workload", cases) }
    }

    fn filled(text: &str) -> Result<String, Wrong> {
        fill(text, &|file| if file == "w.json" { Ok(document()) } else { Err(format!("{file}: not there")) })
    }

    #[test]
    fn tables_come_from_the_results_and_the_rest_is_left_alone() {
        let text = "before\n<!-- begin: figures w.json kills read_bytes -->\nstale 7\n<!-- end -->\nafter";
        let made = filled(text).unwrap();
        assert!(made
            .starts_with("before\n<!-- begin: figures w.json kills read_bytes -->\n| figure | `stock` | `fovea` |\n"));
        assert!(
            made.contains("| N: `kills` | 6 | 0 |") && made.contains("| N: `read_bytes` | 51.50 MiB | – |"),
            "{made}"
        );
        assert!(made.contains("host mode, seed 3, commit abc.\n<!-- end -->\nafter") && !made.contains("stale"));
        assert_eq!(filled(&made).unwrap(), made, "a second time changes nothing");
    }

    #[test]
    fn verdicts_are_those_of_the_experiments_named() {
        let of = |names: &str| filled(&format!("<!-- begin: verdicts w.json{names} -->\n<!-- end -->\n")).unwrap();
        assert!(of("").contains("`ab/more` | more (a paper) | >= 2 | not measured | **falls short** |"), "{}", of(""));
        let one = of(" a");
        assert!(
            one.contains("| `a/less` | reads \\| less (a paper) | <= 2 | 1.50 | holds |") && !one.contains("ab/more")
        );
    }

    #[test]
    fn texts_end_no_cell_and_are_no_markup() {
        assert_eq!(cell("a|b\\ <b> </b> <!-- `x` <= 2\nc"), "a\\|b\\\\ &lt;b> &lt;/b> &lt;!-- \\`x\\` <= 2 c");
    }

    #[test]
    fn what_cannot_be_followed_is_named_with_its_line() {
        let wrong = |text: &str| filled(text).unwrap_err();
        let end = "<!-- end -->\n";
        assert_eq!(wrong("x\n<!-- begin: figures w.json kills -->\n").line, 2);
        assert_eq!(wrong(&format!("x\n{end}")).line, 2);
        for marker in [
            "figures",
            "figures w.json",
            "figures w.json rubbish",
            "figures none.json kills",
            "verdicts w.json rubbish",
            "other w.json",
            "",
        ] {
            let error = wrong(&format!("<!-- begin: {marker} -->\n{end}"));
            assert_eq!(error.line, 1, "{marker}");
            assert!(!error.what.contains('\n') && error.what.len() > 10, "{error:?}");
        }
        assert!(filled("<!-- begin: figures w.json kills -->\n<!-- begin: figures w.json kills -->\n").is_err());
        assert!(filled("<!-- begin: figures w.json kills\n").is_err());
    }

    #[test]
    fn the_docs_are_current() {
        let pages = pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")).unwrap();
        let mut tables = 0;
        for page in pages {
            let name = page.path.display();
            let filled = page.filled.unwrap_or_else(|e| panic!("{name}:{}: {}", e.line, e.what));
            assert!(page.found == filled, "{name} is stale: run `fovea lab report --docs docs`");
            tables += filled.matches(BEGIN).count();
        }
        assert!(tables > 2, "the docs have no tables");
    }
}
