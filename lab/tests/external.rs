// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Policies that are programs: one in C beside its twin that is built in, request by request; and programs that end early, answer
//! something else or claim what they do not hold.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use fovea_lab::{
    dense::{Dense, DenseOptions},
    policy::{Choice, Request, NEVER},
    replay::{run, run_counted, Counting, WarmUp},
    sweep, Size, SweepOptions,
};
use proptest::prelude::*;

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lib/policy")
}

/// Compiles a program into a folder of the tests'.
fn compile(source: &Path, name: &str, options: &[&str]) -> String {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("external-{}-{name}", std::process::id()));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler)
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(library())
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program.display().to_string()
}

fn clock() -> &'static str {
    static CLOCK: OnceLock<String> = OnceLock::new();
    CLOCK.get_or_init(|| compile(&library().join("clock.c"), "clock", &[]))
}

/// A program that does one thing wrong.
fn wrong(what: &str) -> Choice {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external_wrong.c");
    format!("external:{}", compile(&source, what, &[&format!("-D{what}")])).parse().unwrap()
}

fn dense(objects: impl IntoIterator<Item = (u64, u32)>) -> Dense {
    Dense::from_objects(objects, &DenseOptions::default()).unwrap()
}

#[test]
fn a_program_is_told_of_no_object_that_has_no_room_in_its_words() {
    let choice: Choice = format!("external:{}", clock()).parse().unwrap();
    let mut program = choice.build(1 << 40);
    program.ensure_ids(1);
    assert!(!program.access(Request { id: 0, size: 1 << 32, next_distance: NEVER, time_ns: 0 }));
    let failure = program.failure().unwrap();
    assert!(failure.contains("an object of 4294967296 bytes; a program is told of less than 4 GiB"), "{failure}");
}

fn skewed(requests: u64) -> Vec<(u64, u32)> {
    let mut state = 3u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..requests)
        .map(|_| {
            let limit = 1 + draw(2000);
            let object = draw(limit);
            (object, 1 + (object * 37 % 500) as u32)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_program_serves_each_request_as_its_twin_does(
        requests in prop::collection::vec((0..30u32, 1..9u32), 1..200),
        capacity in 1..60u64,
        bits in 1..4u8,
    ) {
        let mut twin = format!("clock:bits={bits}").parse::<Choice>().unwrap().build(capacity);
        let mut program = format!("external:{}:bits={bits}", clock()).parse::<Choice>().unwrap().build(capacity);
        twin.ensure_ids(30);
        program.ensure_ids(30);
        for (at, &(id, size)) in requests.iter().enumerate() {
            let request = Request { id, size: size.into(), next_distance: NEVER, time_ns: 0 };
            prop_assert_eq!(program.access(request), twin.access(request), "request {}: {:?}", at, program.failure());
            prop_assert_eq!(program.used(), twin.used());
            for id in 0..30 {
                prop_assert_eq!(program.contains(id), twin.contains(id), "object {} after request {}", id, at);
            }
        }
        prop_assert_eq!(program.failure(), None);
    }
}

#[test]
fn a_replay_in_batches_counts_what_the_twin_counts_with_hooks_too() {
    let dense = dense(skewed(200_000));
    let counting = Counting { warm_up: WarmUp::Requests(1000), interval: Some(70_000) };
    for (parameters, size) in
        [("bits=1", Size::Objects(100)), ("bits=3", Size::Bytes(30_000)), ("bits=2:ttl=500", Size::Objects(300))]
    {
        let count = |policy: String| {
            let outcome = run_counted(&dense, &policy.parse().unwrap(), size, &counting).unwrap();
            assert!(outcome.hits > 0 && outcome.misses() > 0);
            (outcome.hits, outcome.hit_weight, outcome.intervals)
        };
        assert_eq!(count(format!("external:{}:{parameters}", clock())), count(format!("clock:{parameters}")));
    }
}

#[test]
fn its_name_tells_its_content_and_asks_for_it() {
    let choice: Choice = format!("external:{}:ttl=9:bits=2", clock()).parse().unwrap();
    let name = choice.to_string();
    assert!(name.starts_with(&format!("external:{}:bits=2:xxh64=", clock())) && name.ends_with(":ttl=9"), "{name}");
    assert_eq!(name.parse::<Choice>().unwrap().to_string(), name);
    let copy = format!("{}-copy", clock());
    std::fs::copy(clock(), &copy).unwrap();
    let choice: Choice = format!("external:{copy}").parse().unwrap();
    // One more byte behind its end changes nothing of what it does.
    std::fs::write(&copy, [std::fs::read(&copy).unwrap(), vec![0]].concat()).unwrap();
    let error = run(&dense([(1, 1), (2, 1)]), &choice, Size::Objects(1)).err().unwrap().to_string();
    assert!(error.ends_with("the program was changed since it was named; run again"), "{error}");
    let error = choice.to_string().parse::<Choice>().err().unwrap().to_string();
    assert!(error.contains("its content is ") && error.lines().count() == 1, "{error}");
}

#[test]
fn a_sweep_takes_cells_over_from_the_same_program_only() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.txt");
    let ids: Vec<_> = skewed(3000).iter().map(|r| format!("{}\n", r.0)).collect();
    std::fs::write(&trace, ids.concat()).unwrap();
    let (program, broken) = (format!("{}-swept", clock()), wrong("ENDS_AT_ONCE"));
    let options = || SweepOptions {
        traces: vec![trace.clone()],
        // The second serves nothing, so that the journal stays.
        policies: vec![format!("external:{program}").parse().unwrap(), broken.clone()],
        sizes: vec![Size::Objects(50)],
        output: folder.path().join("swept"),
        threads: Some(1),
        dense: DenseOptions::default(),
        counting: Counting::default(),
    };
    let journal = folder.path().join("swept.partial.jsonl");
    let lines = || std::fs::read_to_string(&journal).unwrap().lines().count();
    std::fs::copy(clock(), &program).unwrap();
    assert!(sweep(&options(), |_, _| {}).is_err());
    assert_eq!(lines(), 1);
    assert!(sweep(&options(), |_, _| {}).is_err());
    assert_eq!(lines(), 1, "taken over");
    std::fs::write(&program, [std::fs::read(clock()).unwrap(), vec![0]].concat()).unwrap();
    assert!(sweep(&options(), |_, _| {}).is_err());
    assert_eq!(lines(), 2, "computed anew");
}

#[test]
fn programs_that_do_not_do_their_part_end_the_replay_with_a_line() {
    let dense = dense((0..300_000).map(|at| (at * at % 997 % 40, 1)));
    for (what, says) in [
        ("ENDS_AT_ONCE", "ended and did not answer as a policy does; build it with fovea-policy.h"),
        ("ECHOES", "does not answer as a policy does; build it with fovea-policy.h"),
        (
            "OTHER_VERSION",
            "speaks version 2 of the protocol and this program version 1; build it with this fovea-policy.h",
        ),
        ("REFUSES", "refuses to start: not today"),
        ("ENDS_LATER", "ended before it answered request 65537 and those behind it"),
        ("CLAIMS_A_HIT", "at request 1: says that object 0 is a hit, which it does not hold"),
        ("HIDES_A_HIT", "at request 8: says that object 3 is a miss, which it holds"),
        ("HOLDS_TOO_MUCH", "holds 11 where 10 have room"),
        ("EVICTS_A_STRANGER", "at request 1: evicts object 39, which it does not hold"),
        ("EVICTS_NONE_OF_THE_TRACE", "at request 1: evicts object 4000000000, which it does not hold"),
        ("TAKES_IN_TWICE", "at request 8: takes in object 3, which it held"),
        ("ANSWERS_TOO_LITTLE", "at request 1: answers 65536 requests with 65535 words"),
        ("ANSWERS_TOO_MUCH", "at request 65536: answers more than it was asked"),
        ("ANSWERS_WITHOUT_END", "at request 1: answers 65536 requests with 4294967295 words"),
    ] {
        let error = run(&dense, &wrong(what), Size::Objects(10)).err().unwrap_or_else(|| panic!("{what} passed"));
        let error = error.to_string();
        assert!(error.ends_with(says), "{what}: {error}");
        assert!(error.starts_with("policy external:") && error.lines().count() == 1, "{what}: {error}");
    }
    run(&dense, &wrong("DOES_NOTHING_WRONG"), Size::Objects(10)).unwrap();
}

#[test]
fn what_is_no_such_program_is_told_before_anything_runs() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    for (policy, says) in [
        ("external".to_owned(), "no program named"),
        ("external:/no/such/program".to_owned(), "No such file"),
        (format!("external:{folder}"), "no file"),
        (format!("external:{}:bits", clock()), "\"bits\" is no parameter; write name=value"),
        (format!("external:{}:ttl=0.5", clock()), "ttl is \"0.5\"; take a number"),
        (format!("external:{}:times=yes", clock()), "times is \"yes\"; take 1"),
    ] {
        let error = policy.parse::<Choice>().err().unwrap_or_else(|| panic!("{policy} is taken")).to_string();
        assert!(error.contains(says) && error.lines().count() == 1, "{policy}: {error}");
    }
    let plain = Path::new(folder).join(format!("external-{}-plain", std::process::id()));
    std::fs::write(&plain, "no program").unwrap();
    for (policy, says) in [
        (format!("external:{}", plain.display()), "cannot be started: "),
        (format!("external:{}:bits=9", clock()), "refuses to start: bits is 9; take 1 to 7"),
        (format!("external:{}:bits=x", clock()), "refuses to start: bits=x is no number"),
        (format!("external:{}:bit=1", clock()), "refuses to start: it has no parameter bit=1"),
        (format!("external:{}:times=1", clock()), "needs the trace's times"),
    ] {
        let error = run(&dense([(1, 1), (2, 1)]), &policy.parse().unwrap(), Size::Objects(1)).err().unwrap();
        let error = error.to_string();
        assert!(error.contains(says) && error.lines().count() == 1, "{policy}: {error}");
    }
}
