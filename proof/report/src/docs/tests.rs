// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Markers followed, and the documents as they are.

use super::tables::cell;
use super::*;
use crate::document::Case;
use crate::panel::Form;
use crate::seeds::SeedList;
use crate::verdict::{verdict, Bound, Seeds};

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

fn load(file: &str) -> Result<Document, String> {
    if file == "w.json" {
        Ok(document())
    } else {
        Err(format!("{file}: not there"))
    }
}

/// Of one paper.
const PAPERS: [Paper; 1] = [Paper {
    scenario: "lowmem",
    source: "a paper",
    configurations: &["stock", "zram"],
    figures: &[
        ("restart_ns", &[Some(2061.0), Some(298.0)]),
        ("user_memory_bytes", &[None, Some(835.0)]),
        ("free_after_idle_bytes", &[None, Some(18.9358)]),
    ],
    shares: None,
}];

const PANELS: [Panel; 1] = [Panel {
    scenario: "lowmem",
    title: "Opening an app",
    form: Form::Bars,
    figures: &[("restart_ns", "coming back")],
}];

fn follow(text: &str, folder: &str, load: &dyn Fn(&str) -> Result<Document, String>) -> Result<Filled, Wrong> {
    fill(text, folder, &Source { load, papers: &PAPERS, panels: &PANELS })
}

fn filled(text: &str) -> Result<String, Wrong> {
    follow(text, "", &load).map(|filled| filled.text)
}

#[test]
fn tables_come_from_the_results_and_the_rest_is_left_alone() {
    let text = "before\n<!-- begin: figures w.json kills read_bytes -->\nstale 7\n<!-- end -->\nafter";
    let made = filled(text).unwrap();
    assert!(
        made.starts_with("before\n<!-- begin: figures w.json kills read_bytes -->\n| figure | `stock` | `fovea` |\n")
    );
    assert!(made.contains("| N: `kills` | 6 | 0 |") && made.contains("| N: `read_bytes` | 51.50 MiB | – |"), "{made}");
    assert!(made.contains("host mode, seed 3, commit abc.\n<!-- end -->\nafter") && !made.contains("stale"));
    assert_eq!(filled(&made).unwrap(), made, "a second time changes nothing");
}

#[test]
fn a_table_of_several_seeds_says_that_it_is_of_means_and_of_which() {
    let seeds = SeedList::of(&[21, 22, 23]);
    let of_seeds = |_: &str| Ok(Document { seeds: seeds.clone(), seed: 21, ..document() });
    let made = follow("<!-- begin: figures w.json kills -->\n<!-- end -->\n", "", &of_seeds).unwrap().text;
    assert!(made.contains("host mode, means over seeds 21, 22 and 23, commit abc.\n"), "{made}");
    let of_seeds = |_: &str| {
        let mut document = document();
        document.verdicts[0].seeds = Some(Seeds { holds: 2, of: 3 });
        Ok(document)
    };
    let made = follow("<!-- begin: verdicts w.json -->\n<!-- end -->\n", "", &of_seeds).unwrap().text;
    assert!(made.contains("| holds, with 2 of 3 seeds |"), "{made}");
}

#[test]
fn verdicts_are_those_of_the_experiments_named() {
    let of = |names: &str| filled(&format!("<!-- begin: verdicts w.json{names} -->\n<!-- end -->\n")).unwrap();
    assert!(of("").contains("`ab/more` | more (a paper) | >= 2 | not measured | **falls short** |"), "{}", of(""));
    let one = of(" a");
    assert!(one.contains("| `a/less` | reads \\| less (a paper) | <= 2 | 1.50 | holds |") && !one.contains("ab/more"));
}

#[test]
fn claims_of_each_case_stand_side_by_side() {
    let of_cases = |_: &str| {
        let claim = |id: &str, figure, margin| {
            let judged = verdict(id, "sooner | than any", "a paper", figure, Bound::AtMost(0.9));
            crate::verdict::Verdict { margin, ..judged }
        };
        let found = vec![claim("best-N", Some(0.848), Some(0.09)), claim("best-H", None, None)];
        let cases = ["N", "H", "HM"].map(|case| Case { case: case.into(), ..document().cases[0].clone() });
        Ok(Document { cases: cases.into(), verdicts: found, ..document() })
    };
    let made = follow("<!-- begin: claims w.json best -->\n<!-- end -->\n", "", &of_cases).unwrap().text;
    assert!(made.contains("| claim | claimed | N | H |\n| --- | --: | --: | --: |\n"), "{made}");
    assert!(made.contains("| sooner \\| than any | <= 0.9 | 0.848 \u{b1} 0.090 | **not measured** |\n"), "{made}");
}

#[test]
fn what_falls_short_is_told_with_how_many_hold() {
    let made = filled("<!-- begin: shortfalls w.json -->\n<!-- end -->\n").unwrap();
    assert!(made.contains("1 of 2 verdicts hold. The others:\n\n| verdict |"), "{made}");
    assert!(made.contains("| `ab/more` | more (a paper) |") && !made.contains("`a/less`"), "{made}");
    let of_good = |_: &str| Ok(Document { verdicts: document().verdicts[..1].to_vec(), ..document() });
    let made = follow("<!-- begin: shortfalls w.json -->\n<!-- end -->\n", "", &of_good).unwrap().text;
    assert!(made.contains("All 1 verdicts hold.\n"), "{made}");
}

#[test]
fn rules_are_told_with_what_changes_without_them() {
    let of = |case: &str, scene: &str, figures: [f64; 3]| Case {
        case: case.into(),
        configuration: scene.into(),
        figures: ["verdicts_lost", "kills", "launch_geomean_ns"].map(str::to_owned).into_iter().zip(figures).collect(),
    };
    let cases = vec![
        of("all rules", "day", [0.0, 2.0, 100.0]),
        of("all rules", "leak", [0.0, 1.0, 100.0]),
        of("of-use", "day", [3.0, 4.5, 101.0]),
        of("of-use", "leak", [1.0, 1.0, 90.0]),
    ];
    let load = |_: &str| Ok(Document { cases: cases.clone(), ..document() });
    let made = follow("<!-- begin: ablation w.json -->\n<!-- end -->\n", "", &load).unwrap().text;
    assert!(made.contains("| without | verdicts lost | kills | launches, % |\n"), "{made}");
    assert!(made.contains("|`of-use`|4|+2.5|-10.0|\n") && !made.contains("`all rules`"), "{made}");
    let nothing = |_: &str| Ok(Document { cases: Vec::new(), ..document() });
    assert!(follow("<!-- begin: ablation w.json -->\n<!-- end -->\n", "", &nothing).is_err());
}

#[test]
fn what_a_table_was_measured_on_is_said_once() {
    let of = "<!-- begin: figures w.json kills -->\n<!-- end -->\n";
    assert_eq!(filled(&of.repeat(2)).unwrap().matches("\nFrom [").count(), 1);
    let load = |file: &str| Ok(Document { commit: file.into(), ..document() });
    let text = of.repeat(2) + &of.replace("w.json", "other.json") + of;
    let made = follow(&text, "", &load).unwrap().text;
    assert_eq!(made.matches("\nFrom [").count(), 3, "{made}");
}

#[test]
fn pages_by_reader_are_filled_with_links_that_lead_up() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs");
    for part in ["guide", "results", "history"] {
        std::fs::create_dir_all(docs.join(part)).unwrap();
    }
    std::fs::write(docs.join("results/w.json"), serde_json::to_string(&document()).unwrap()).unwrap();
    let marker = "<!-- begin: figures w.json kills -->\n<!-- end -->\n";
    for page in ["top.md", "guide/use.md", "results/all.md", "history/old.md"] {
        std::fs::write(docs.join(page), marker).unwrap();
    }
    let made = pages(&docs, &[], &[]).unwrap();
    let names: Vec<_> = made.iter().map(|page| page.path.strip_prefix(&docs).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["top.md", "guide/use.md", "results/all.md"], "history keeps what it says");
    assert!(made[0].filled.as_ref().unwrap().contains("[w.json](results/w.json)"));
    assert!(made[1].filled.as_ref().unwrap().contains("[w.json](../results/w.json)"));
}

#[test]
fn cases_and_configurations_can_be_chosen() {
    let of = |words: &str| filled(&format!("<!-- begin: figures w.json {words} -->\n<!-- end -->\n"));
    let one = of("case=N configuration=fovea,stock kills").unwrap();
    assert!(one.contains("| figure | `fovea` | `stock` |\n") && one.contains("| `kills` | 0 | 6 |"), "{one}");
    for words in ["case=H kills", "configuration=none kills", "seed=1 kills", "case=N"] {
        assert!(of(words).is_err(), "{words}");
    }
}

/// A document as `lowmem` writes it.
fn lowmem(_: &str) -> Result<Document, String> {
    let figures = [("restart_ns", 1869e6), ("free_after_idle_bytes", 30e6), ("user_memory_bytes", 300e6)];
    let case = |configuration: &str| Case {
        case: String::new(),
        configuration: configuration.into(),
        figures: figures.map(|(name, value)| (name.to_owned(), value)).into(),
    };
    Ok(Document { mode: "exact".into(), ..Document::of_host("lowmem", vec![case("stock"), case("zram")]) })
}

#[test]
fn the_papers_figures_stand_in_brackets_and_anothers_behind_a_stroke() {
    let of = |words: &str| follow(&format!("<!-- begin: {words} -->\n<!-- end -->\n"), "", &lowmem).unwrap().text;
    let paper = of("paper l.json restart_ns free_after_idle_bytes");
    assert!(paper.contains("| `restart_ns` | 1869 ms (2061 ms) | 1869 ms (298 ms) |"), "{paper}");
    assert!(paper.contains("| `free_after_idle_bytes` | 10 % | 10 % (2.27 %) |"), "{paper}");
    let both = of("beside l.json m.json restart_ns");
    assert!(both.contains("| `restart_ns` | 1869 / 1869 ms | 1869 / 1869 ms |"), "{both}");
    assert!(both.contains("From [l.json](results/l.json)") && both.contains("; [m.json](results/m.json)"), "{both}");
}

#[test]
fn a_system_is_shown_with_what_was_measured_of_it() {
    let saved = |file: &str| {
        let mut document = lowmem(file)?;
        document.cases[0].configuration = "fovea".into();
        document.cases[0].figures.insert("restart_ns".into(), 300e6);
        Ok(document)
    };
    let text = "<!-- begin: picture p.svg l.json -->\n<!-- end -->\n<!-- begin: systems l.json -->\n<!-- end -->\n";
    let Filled { text, pictures } = follow(text, "docs/", &saved).unwrap();
    assert!(text.contains("](docs/p.svg)\n"), "{text}");
    assert!(
        text.contains("| [Low memory](docs/results/lowmem.md) |") && text.contains("| 1869 ms (zram) | 300 ms | 6.2 |"),
        "{text}"
    );
    assert!(matches!(&pictures[..], [(name, svg)] if name == "p.svg" && svg.contains("coming back")));
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
        "claims w.json",
        "claims w.json rubbish",
        "other w.json",
        "paper w.json",
        "beside w.json",
        "beside w.json none.json kills",
        "systems",
        "picture p.svg none.json",
        "picture p.svg",
        "",
    ] {
        let error = wrong(&format!("<!-- begin: {marker} -->\n{end}"));
        assert_eq!(error.line, 1, "{marker}");
        assert!(!error.what.contains('\n') && error.what.len() > 10, "{error:?}");
    }
    assert!(filled("<!-- begin: figures w.json kills -->\n<!-- begin: figures w.json kills -->\n").is_err());
    assert!(filled("<!-- begin: figures w.json kills\n").is_err());
}
