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
