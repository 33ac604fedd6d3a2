// SPDX-License-Identifier: GPL-2.0-only OR MIT
use super::*;
use crate::experiment::Note;
use crate::seeds::SeedList;
use crate::verdict::{verdict, Bound};

fn saved(seed: u64, commit: &str, quick: bool) -> Reproduction {
    let seeds = SeedList::of(&[seed, seed + 1]);
    let mut document = Document { seed, seeds, commit: commit.into(), ..Document::of_host(REPRODUCE, Vec::new()) };
    document.verdicts.push(verdict("hybrid-fig2/lead", "leads", "a paper", Some(1.0), Bound::AtLeast(0.0)));
    Reproduction::new(document, quick)
}

fn write(folder: &Path, name: &str, content: &impl serde::Serialize) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, serde_json::to_vec(content).unwrap()).unwrap();
}

const FULL: Run = Run { seed: 1, seeds: 2, quick: false, commit: "abc" };

#[test]
fn results_are_found_at_any_depth_and_other_json_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let lowmem = Document { scenario: "lowmem".into(), ..Document::default() };
    write(folder.path(), "b/deep/lowmem.json", &lowmem);
    write(folder.path(), "a.json", &lowmem);
    write(folder.path(), "r.json", &saved(1, "abc", false));
    write(folder.path(), "plan.json", &serde_json::json!({"scenario": "lowmem", "steps": []}));
    write(folder.path(), "notes.txt", &lowmem);
    let gathered = gather(folder.path()).unwrap();
    let paths: Vec<_> = gathered.documents.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(paths, ["a.json", "b/deep/lowmem.json"]);
    assert_eq!(gathered.reproductions.len(), 1);
    assert_eq!(gathered.broken, []);
}

#[test]
fn broken_files_are_named_with_the_cause_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good.json", &Document::of_host("lowmem", Vec::new()));
    fs::write(folder.path().join("empty.json"), "").unwrap();
    fs::write(folder.path().join("cut.json"), "{\"scenario\": \"lowmem\",\n\"cas").unwrap();
    fs::write(folder.path().join("latin.json"), b"{\"scenario\": \"\xe9\"}").unwrap();
    write(folder.path(), "wrong.json", &serde_json::json!({"scenario": "lowmem", "cases": 7}));
    fs::write(folder.path().join("deep.json"), "[".repeat(100_000)).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("link.json")).unwrap();
    std::os::unix::fs::symlink("..", folder.path().join("circle")).unwrap();
    let gathered = gather(folder.path()).unwrap();
    assert_eq!(gathered.documents.len(), 1);
    let broken: Vec<_> = gathered.broken.iter().map(|b| b.what.as_str()).collect();
    assert_eq!(broken, ["cut.json", "deep.json", "empty.json", "latin.json", "link.json", "wrong.json"]);
    assert!(gathered.broken[0].why.contains("line 2") && gathered.broken[0].why.contains("make it again"));
    assert!(gathered.broken.iter().all(|b| !b.why.contains('\n')));
}

#[test]
fn a_missing_folder_is_an_error_with_its_name() {
    let error = gather(Path::new("/no/such/folder")).unwrap_err();
    assert!(error.to_string().starts_with("/no/such/folder: "), "{error}");
}

#[test]
fn saved_results_stand_for_a_run_only_if_they_are_those_of_the_run() {
    let of = |saved: &[Reproduction]| Gathered {
        reproductions: saved.iter().enumerate().map(|(at, r)| (format!("{at}.json"), r.clone())).collect(),
        ..Gathered::default()
    };
    let path =
        |saved: &[Reproduction], run: &Run, any| choose(&of(saved), "hybrid-fig2", run, any).map(|c| c.path.to_owned());
    assert_eq!(path(&[], &FULL, false), Err("nothing saved".into()));
    assert_eq!(path(&[saved(1, "abc", false)], &FULL, false), Ok("0.json".into()));
    // Another program, another seed, shorter traces.
    let why = path(&[saved(1, "abd", false)], &FULL, false).unwrap_err();
    assert_eq!(why, "0.json is of commit abd, and this program is of abc");
    assert_eq!(path(&[saved(2, "abc", false)], &FULL, false), Err("0.json has seed 2".into()));
    assert_eq!(path(&[saved(1, "abc", true)], &FULL, false), Err("0.json has the short traces".into()));
    let five = Run { seeds: 5, ..FULL };
    let why = path(&[saved(1, "abc", false)], &five, false).unwrap_err();
    assert_eq!(why, "0.json has 2 seeds, and 5 are asked for");
    // Longer ones than asked for are better.
    let quick = Run { quick: true, ..FULL };
    assert_eq!(path(&[saved(1, "abc", true), saved(1, "abc", false)], &quick, false), Ok("1.json".into()));
    assert_eq!(path(&[saved(2, "abd", true), saved(2, "abd", false)], &FULL, true), Ok("1.json".into()));
}

#[test]
fn changed_sources_are_never_the_same_program() {
    assert!(same_program("abc", "abc"));
    assert!(!same_program("abc-dirty", "abc-dirty"));
    assert!(!same_program("unknown", "unknown"));
}

#[test]
fn experiments_of_another_program_are_not_lost_in_silence() {
    let mut strange = saved(1, "abc", false);
    strange.document.verdicts[0].id = "hybrid-fig99/lead".into();
    strange.notes.push(Note { entry: "hybrid-fig2".into(), text: "known".into() });
    let gathered = Gathered { reproductions: vec![("r.json".into(), strange)], ..Gathered::default() };
    let unknown = gathered.unknown(&["hybrid-fig2"]);
    assert_eq!(unknown.len(), 1);
    assert_eq!(unknown[0].what, "hybrid-fig99");
    assert!(unknown[0].why.contains("r.json") && unknown[0].why.contains("abc"));
}
