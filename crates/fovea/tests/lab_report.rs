// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `lab report` as it is called: what is run, what is taken from saved results, what is left out, and that the page needs nothing else.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn lab(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fovea")).arg("lab").args(words).output().unwrap()
}

fn done(words: &[&str]) {
    let output = lab(words);
    assert!(output.status.success(), "{words:?}: {}", error(&output));
}

fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const LOWMEM: &str = r#"{"scenario": "lowmem", "mode": "exact", "kernel": "6.12.95", "qemu": "7.2.22", "seed": 1, "commit": "abc",
    "command": ["phone", "run", "lowmem", "rounds=1", "--exact"],
    "cases": [
        {"case": "", "configuration": "zram", "figures": {"restart_ns": 250000000.0}},
        {"case": "", "configuration": "fovea", "figures": {"restart_ns": 265000000.0}}],
    "verdicts": [{"id": "restart-zram", "claim": "hardly longer than under zram", "source": "LowMem13, section 4.2",
        "figure": 1.06, "bound": "<= 1.15", "pass": true}]}"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The page's text, after a look at what no page may have.
fn page(path: &Path) -> String {
    let page = fs::read_to_string(path).unwrap();
    for external in ["http://", "https://", "src=", "@import", "<script", "<link"] {
        assert!(!page.contains(external), "{external}");
    }
    page
}

#[test]
fn experiments_are_run_or_taken_from_what_was_saved_and_look_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    fs::create_dir(&results).unwrap();
    fs::write(results.join("phone.json"), LOWMEM).unwrap();
    let [first, again, taken] = ["first.html", "again.html", "taken.html"].map(|name| folder.path().join(name));
    let run = |to: &Path| {
        let only = ["--quick", "--only", "hybrid-fig2", "lowmem", "-o", text(to)];
        done(&[&["report", "--results", text(&results)], &only[..]].concat());
    };
    run(&first);
    run(&again);
    let ran = page(&first);
    assert_eq!(ran, page(&again), "the same input makes the same page");
    assert!(ran.contains("Run for this page (nothing saved)"));
    assert!(ran.contains("fovea lab reproduce hybrid-fig2 --seed 1 --quick"));
    assert!(ran.contains("fovea phone run lowmem rounds=1 --exact"));
    // A verdict of this experiment does not hold, and that is no failure of the page.
    let json = results.join("reproduce.json");
    let output = lab(&["reproduce", "hybrid-fig2", "--quick", "--json", text(&json)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).contains("verdicts do not hold: hybrid-fig2/lead"), "{}", error(&output));
    done(&["report", "--results", text(&results), "--saved", "--only", "hybrid-fig2,lowmem", "-o", text(&taken)]);
    let saved = page(&taken);
    // The short traces of --quick are told from what a run without it would have.
    assert!(saved.contains("Saved in reproduce.json, by another version of the program or with other settings"));
    assert!(saved.contains("Short traces"));
    // Apart from where they come from, the plots and tables are those of the run.
    let figures = |page: &str| {
        page.split("<figure>").skip(1).map(|f| f.split("</figure>").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(figures(&saved), figures(&ran));
    // A panel of lowmem's, two of the experiment, one of lowmem's figures.
    assert_eq!(figures(&ran).len(), 4);
}

#[test]
fn broken_results_are_left_out_named_on_the_page_and_fail_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("page.html");
    fs::write(folder.path().join("good.json"), LOWMEM).unwrap();
    fs::write(folder.path().join("cut.json"), &LOWMEM[..LOWMEM.len() / 2]).unwrap();
    let failed = lab(&["report", "--saved", "--results", text(folder.path()), "-o", text(&output)]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(error(&failed).contains("written without 1 of the results files"), "{}", error(&failed));
    let page = page(&output);
    assert!(page.contains("What is not on this page") && page.contains("cut.json") && page.contains("good.json"));
    // Nothing was run: what nobody saved is named too.
    assert!(page.contains("hybrid-fig2") && page.contains("run without --saved"));
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let report = |output: &str, results: &Path| lab(&["report", "--saved", "--results", text(results), "-o", output]);
    let error = error(&report("/no/such/folder/page.html", folder.path()));
    assert!(error.starts_with("fovea: /no/such/folder/page.html: "), "{error}");
    // A folder stands where the page should be.
    let output = folder.path().join("page.html");
    fs::create_dir(&output).unwrap();
    assert!(!report(text(&output), folder.path()).status.success());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn unknown_names_and_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(&["report", "--results", text(folder.path()), "--only", "no-such-figure"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("hybrid-fig2"), "{}", error(&output));
    assert_eq!(lab(&["report", "--results", "/no/such/folder"]).status.code(), Some(1));
}

#[test]
fn the_docs_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages =
        fovea_report::docs::pages(&folder, &fovea_scenario::kinds::papers(), &fovea_scenario::kinds::panels()).unwrap();
    let (mut tables, mut pictures) = (0, 0);
    for page in pages {
        let name = page.path.display();
        let filled = page.filled.unwrap_or_else(|e| panic!("{name}:{}: {}", e.line, e.what));
        assert!(page.found == filled, "{name} is stale: run `fovea lab report --docs docs`");
        tables += filled.matches("<!-- begin: ").count();
        pictures += usize::from(filled.starts_with("<svg"));
    }
    assert!(tables > 2 && pictures == 1, "the docs have no tables or pictures");
}
