// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `docs/results.schema.json` is what the types say, and what programs write and what is checked in obeys it.

use std::{fs, path::Path};

use fovea_lab::replay::Counting;
use fovea_lab::reproduce::{reproduce, Settings};
use fovea_lab::{replay, ReplayOptions, Size};
use fovea_report::schema;
use fovea_scenario::Scenario;
use jsonschema::Validator;
use serde_json::{json, Value};

/// Set, the test writes the schema instead of comparing it.
const WRITE: &str = "FOVEA_WRITE_DOCS";

fn folder(of: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of)
}

fn published() -> Validator {
    let text = fs::read_to_string(folder("docs/results.schema.json")).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn check(validator: &Validator, name: &str, value: &Value) {
    let errors: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}

#[test]
fn the_published_schema_is_what_the_types_say() {
    let path = folder("docs/results.schema.json");
    let text = serde_json::to_string_pretty(&schema::results()).unwrap() + "\n";
    if std::env::var_os(WRITE).is_some() {
        // In one step: the other tests read it.
        let part = path.with_extension("part");
        fs::write(&part, &text).and_then(|()| fs::rename(&part, &path)).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "docs/results.schema.json is stale: {WRITE}=1 cargo test -p fovea-sim --test schema");
}

#[test]
fn what_is_written_obeys_it() {
    let validator = published();
    let write = |name: &str, value: &dyn Fn() -> Value| check(&validator, name, &value());
    let quick = Settings { seed: 1, seeds: 2, quick: true, threads: 1 };
    let entries: Vec<_> =
        fovea_sim::experiments().into_iter().filter(|e| ["hybrid-fig2", "lowmem-table"].contains(&e.id)).collect();
    assert_eq!(entries.len(), 2);
    write("lab reproduce", &|| serde_json::to_value(reproduce(&entries, &quick, |_| {}).unwrap()).unwrap());
    write("lab sim", &|| {
        let scenario = Scenario::load("lowmem", &["rounds=1".into()]).unwrap();
        let (plans, events) = fovea_sim::simulate(&scenario, 1).unwrap();
        serde_json::to_value(fovea_sim::results(&scenario, &plans, &events)).unwrap()
    });
    write("several seeds", &|| {
        let scenario = Scenario::load("pair", &["seeds=1,2".into()]).unwrap();
        let (plans, events) = fovea_sim::simulate(&scenario, 1).unwrap();
        let document = serde_json::to_value(fovea_sim::results(&scenario, &plans, &events)).unwrap();
        assert_eq!(document["seeds"], json!([1, 2]));
        document
    });
    // No boot was followed: its figures are `null`.
    write("nothing measured", &|| {
        let scenario = Scenario::load("lowmem", &["rounds=1".into()]).unwrap();
        serde_json::to_value(fovea_sim::results(&scenario, &[], &[])).unwrap()
    });
    write("lab replay", &|| {
        let options = ReplayOptions {
            trace: folder("lab/samples/sqlite.parquet"),
            policies: fovea_lab::policy::all(),
            sizes: vec!["10%".parse::<Size>().unwrap()],
            dense: Default::default(),
            counting: Counting { interval: Some(100), ..Counting::default() },
        };
        serde_json::to_value(replay(&options, |_, _, _| {}).unwrap().document()).unwrap()
    });
}

#[test]
fn what_is_checked_in_obeys_it() {
    let validator = published();
    let mut count = 0;
    for entry in fs::read_dir(folder("docs/results")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "json") {
            check(&validator, &path.display().to_string(), &serde_json::from_slice(&fs::read(&path).unwrap()).unwrap());
            count += 1;
        }
    }
    assert!(count > 0, "docs/results holds no results");
}

#[test]
fn what_is_no_results_document_does_not_obey_it() {
    let validator = published();
    let good = json!({
        "scenario": "lowmem", "mode": "exact", "kernel": "6.12", "qemu": "", "seed": 1, "commit": "abc",
        "cases": [{"case": "", "configuration": "zram", "figures": {"kills": 1.0}}],
        "verdicts": [{"id": "a", "claim": "b", "source": "c", "figure": null, "bound": ">= 1", "pass": false}],
    });
    check(&validator, "good", &good);
    let change = |at: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        assert!(!validator.is_valid(&bad), "{at}");
    };
    change("/seed", json!(-1));
    let with_seeds = |seeds: Value| {
        let mut some = good.clone();
        some["seeds"] = seeds;
        validator.is_valid(&some)
    };
    assert!(
        with_seeds(json!([1, 2])) && with_seeds(json!(5)) && !with_seeds(json!([1, "2"])) && !with_seeds(json!("5"))
    );
    change("/cases/0/figures/kills", json!("many"));
    change("/cases/0/figures", json!([1.0]));
    change("/verdicts/0/pass", json!("yes"));
    change("/verdicts/0/bound", json!(1));
    for field in ["scenario", "cases", "verdicts", "commit"] {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(field);
        assert!(!validator.is_valid(&bad), "{field}");
    }
}
