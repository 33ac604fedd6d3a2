// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The papers' experiments, run short.

#[path = "common/experiment.rs"]
mod experiment;

use fovea_lab::reproduce::ENTRIES;

#[test]
fn every_experiment_gives_the_same_on_any_number_of_threads() {
    for entry in ENTRIES {
        experiment::check(entry);
    }
}
