// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is meant by an entry of a list.

use super::*;

const UNIT: &str = "user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.mozilla.firefox-4160.scope";

fn lists(list: Standing, patterns: &[&str]) -> Lists {
    let mut lists = Lists::default();
    *lists.of_mut(list).unwrap() = patterns.iter().map(|p| p.parse().unwrap()).collect();
    lists
}

fn entry(lists: &Lists, programs: &[&str]) -> Option<String> {
    let programs: Vec<String> = programs.iter().map(|&p| p.to_owned()).collect();
    let app = Identity {
        name: "org.mozilla.firefox@1000",
        label: Some("org.mozilla.firefox"),
        cgroup: UNIT,
        programs: &programs,
    };
    lists.entry(&app).map(|listed| listed.to_string())
}

#[test]
fn an_app_is_meant_by_its_name_its_unit_or_a_program() {
    let programs = ["/usr/bin/bwrap", "/usr/lib/firefox/firefox"];
    for pattern in [
        "org.mozilla.firefox",
        "org.mozilla.firefox@1000",
        "org.mozilla.*",
        "app-gnome-org.mozilla.firefox-4160.scope",
        "app-*.scope",
        "firefox",
        "fire[a-z]ox",
        "?irefox",
        "/usr/lib/firefox/*",
        "/usr/*/firefox",
        "bwrap",
    ] {
        let listed = entry(&lists(Standing::Protect, &["other", pattern]), &programs);
        assert_eq!(listed, Some(format!("protect {pattern}")));
    }
    for pattern in
        ["mozilla", "fire", "Firefox", "usr/lib/firefox/firefox", "/usr/lib/firefox", "app.slice", "app-*.service"]
    {
        assert_eq!(entry(&lists(Standing::Protect, &[pattern]), &programs), None, "{pattern}");
    }
    assert_eq!(entry(&lists(Standing::Protect, &["firefox"]), &[]), None, "what it runs is not known");
}

#[test]
fn of_several_lists_the_most_careful_one_counts() {
    let mut all = Lists::default();
    for list in [Standing::Prefer, Standing::Avoid, Standing::Protect, Standing::Ignore] {
        all.of_mut(list).unwrap().push("*firefox*".parse().unwrap());
        assert_eq!(entry(&all, &[]), Some(format!("{list} *firefox*")));
    }
    assert!(Lists::default().is_empty() && !all.is_empty());
    assert!(Lists::default().of_mut(Standing::Plain).is_none());
}

/// `prefer = ["cc1"]` must not cost the user his terminal.
#[test]
fn to_be_preferred_an_app_must_have_been_started_as_that_program() {
    let programs = ["/usr/bin/bash", "/usr/lib/gcc/cc1"];
    assert_eq!(entry(&lists(Standing::Prefer, &["cc1"]), &programs), None);
    assert!(entry(&lists(Standing::Prefer, &["bash"]), &programs).is_some());
    assert!(entry(&lists(Standing::Avoid, &["cc1"]), &programs).is_some());
}

#[test]
fn what_is_no_pattern_is_refused_with_its_place_and_a_mend() {
    let error = |text: &str| text.parse::<Pattern>().unwrap_err().to_string();
    assert!(
        error("fire[fox").contains("character 5") && error("fire[fox").contains("write [*]"),
        "{}",
        error("fire[fox")
    );
    assert!(error("a***b").contains("\"a***b\""), "{}", error("a***b"));
    for text in ["", "  ", "a\nb", "\u{7}", &"x".repeat(257)] {
        assert!(error(text).contains("printable"), "{text:?}");
        assert!(!error(text).contains(char::is_control) && error(text).len() < 200);
    }
    assert!("x".repeat(256).parse::<Pattern>().is_ok());
}

#[test]
fn the_kernel_is_told_the_same_order() {
    let adj = Standing::oom_score_adj;
    for importance in Importance::ALL {
        assert_eq!(adj(Standing::Plain, importance), importance.oom_score_adj());
        assert_eq!(adj(Standing::Avoid, importance), 0);
        assert!(adj(Standing::Prefer, importance) <= 1000);
    }
    assert!(Importance::ALL.windows(2).all(|w| {
        let preferred = adj(Standing::Prefer, w[0]);
        preferred > w[0].oom_score_adj() && preferred < w[1].oom_score_adj()
    }));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(pattern in "[a\\[\\]!*?/-]{0,12}|\\PC{0,30}", name in "\\PC{0,20}", program in "/?\\PC{0,20}") {
        if let Ok(pattern) = pattern.parse::<Pattern>() {
            proptest::prop_assert_eq!(&String::from(pattern.clone()).parse::<Pattern>().unwrap(), &pattern);
            let lists = Lists { avoid: vec![pattern], ..Lists::default() };
            let programs = [program];
            let _ = lists.entry(&Identity { name: &name, label: None, cgroup: &name, programs: &programs });
        }
    }
}

#[test]
fn of_a_flatpak_any_program_is_preferred_for_all_are_started_as_the_sandbox() {
    let prefer = lists(Standing::Prefer, &["gimp"]);
    for sandbox in ["/usr/bin/bwrap", "/usr/libexec/flatpak-bwrap"] {
        let programs = [sandbox, "/usr/bin/xdg-dbus-proxy", "/bin/sh", "/app/bin/gimp"];
        assert_eq!(entry(&prefer, &programs), Some("prefer gimp".into()), "{sandbox}");
    }
    assert_eq!(
        entry(&prefer, &["/usr/bin/xterm", "/usr/bin/bwrap", "/app/bin/gimp"]),
        None,
        "a terminal that runs one"
    );
}
