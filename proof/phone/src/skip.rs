// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tests that boot phones, on machines that cannot.

/// Says why a test that boots a phone is skipped.
///
/// # Panics
///
/// Where `FOVEA_PHONES=required`, as continuous integration says, or where `CI` is set: a test that is skipped there unnoticed guards nothing.
pub fn skip(why: impl std::fmt::Display) {
    let set = |name: &str, off: &[&str]| std::env::var(name).is_ok_and(|value| !off.contains(&value.as_str()));
    let is_required = set("FOVEA_PHONES", &["", "optional"]) || set("CI", &["", "false", "0"]);
    assert!(!is_required, "a test that boots a phone cannot be skipped here (CI, FOVEA_PHONES): {why}");
    println!("skipped: {why}");
}
