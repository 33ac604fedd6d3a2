// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The words that the programs beside it are told what to do by.

use fovea_tests::words::Words;

#[test]
fn the_last_word_for_a_key_counts_and_other_programs_words_do_not() {
    let words =
        Words::of("power", "quiet fovea.power.to=sleep fovea.power.to=kexec fovea.torture.seed=3 fovea.power.n=x");
    assert_eq!((words.text("to"), words.text("seed")), (Some("kexec"), None));
    assert_eq!((words.number("n", 7), words.flag("on", true), words.flag("off", false)), (7, true, false));
}
