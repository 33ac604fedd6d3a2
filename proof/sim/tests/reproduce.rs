// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The experiment on the simulated phone, run short.

#[path = "../../../lab/tests/common/experiment.rs"]
mod experiment;

use std::collections::BTreeSet;

use fovea_lab::reproduce::ENTRIES;

#[test]
fn it_gives_the_same_on_any_number_of_threads() {
    let own: Vec<_> = fovea_sim::experiments().into_iter().skip(ENTRIES.len()).collect();
    assert_eq!(own.iter().map(|entry| entry.id).collect::<Vec<_>>(), ["lowmem-table"]);
    for entry in own {
        experiment::check(entry);
    }
}

#[test]
fn no_two_experiments_have_one_name() {
    let all = fovea_sim::experiments();
    assert_eq!(all.iter().map(|entry| entry.id).collect::<BTreeSet<_>>().len(), all.len());
}
