// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a generated trace keeps to.

use super::*;

fn small(workload: &str) -> Trace {
    generate(&GenerateOptions::new(workload, 40, 3)).unwrap()
}

#[test]
fn a_trace_keeps_the_rules_of_an_exclusive_cache() {
    for workload in ["N", "LM", "HM"] {
        let trace = small(workload);
        let mut upper = vec![false; trace.pages.len()];
        let mut held = vec![false; trace.devices.len()];
        for event in &trace.events {
            match *event {
                Event::Get(page) => upper[page as usize] = true,
                Event::Put(page) => upper[page as usize] = false,
                Event::Alloc { device, frames } => {
                    assert!(!std::mem::replace(&mut held[usize::from(device)], true));
                    assert_eq!(frames, trace.devices[usize::from(device)].frames);
                }
                Event::Free { device } => assert!(std::mem::take(&mut held[usize::from(device)])),
                _ => {}
            }
        }
        assert!(held.iter().all(|&h| !h), "all devices are idle at the end");
        assert!(trace.gets() > 0 && upper.iter().any(|&u| u));
    }
}

#[test]
fn multimedia_workloads_allocate_more_and_the_same_seed_gives_the_same_trace() {
    assert!(small("LM").allocs() > 2 * small("L").allocs());
    assert_eq!(small("N"), small("N"));
}

#[test]
fn unknown_workloads_are_refused() {
    let error = generate(&GenerateOptions::new("X", 10, 1)).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

/// What the generator's text says of the phone that it plays.
#[test]
fn two_or_three_apps_stay_alive_behind_the_one_in_front_and_the_page_cache_is_the_papers() {
    let mean = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len() as f64;
    let (trace, record) = generate_recorded(&GenerateOptions::new("N", 400, 1)).unwrap();
    let (behind, mib) =
        (mean(&record.alive_behind), mean(&record.cached_pages) * PAGE_BYTES as f64 / f64::from(1 << 20));
    assert!((2.0..=3.0).contains(&behind), "{behind} apps");
    assert!((32.0..=40.0).contains(&mib), "{mib} MiB");
    // Table 9: 2.3 GB asked of the eCache.
    let asked = trace.gets() as f64 * PAGE_BYTES as f64 / 1e9;
    assert!((2.2..2.4).contains(&asked), "{asked} GB");
}

#[test]
fn pages_are_asked_for_again_during_a_session() {
    let (_, record) = generate_recorded(&GenerateOptions::new("N", 40, 1)).unwrap();
    let requests: usize = record.reads.values().map(Vec::len).sum();
    let pages: usize =
        record.reads.values().map(|reads| reads.iter().collect::<std::collections::BTreeSet<_>>().len()).sum();
    assert!(requests as f64 > 2.0 * pages as f64, "{requests} requests for {pages} pages");
}
