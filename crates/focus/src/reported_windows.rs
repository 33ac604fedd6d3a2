// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a script within a desktop says of its windows: `{"front": PID or null, "visible": [PID, ...]}`.

use serde::Deserialize;

use crate::Windows;

/// As many as a request to the daemon holds.
const VISIBLE_MAX: usize = 256;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    front: Option<i64>,
    visible: Vec<i64>,
}

/// `None` if it makes no sense. A window whose process the desktop does not know has 0 or less.
pub fn read(text: &str) -> Option<Windows> {
    let report: Report = serde_json::from_str(text).ok()?;
    let pid = |pid: i64| u32::try_from(pid).ok().filter(|&pid| pid > 0);
    Some(Windows::new(report.front.and_then(pid), report.visible.into_iter().filter_map(pid).take(VISIBLE_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_without_a_process_are_passed_over() {
        assert_eq!(read(r#"{"front":7,"visible":[9,7,-1,0,9]}"#), Some(Windows::new(Some(7), [9])));
        assert_eq!(read(r#"{"front":-1,"visible":[]}"#), Some(Windows::default()));
        assert_eq!(read(r#"{"front":null,"visible":[3]}"#), Some(Windows::new(None, [3])));
        for nonsense in
            ["", "{}", "[]", r#"{"front":7}"#, r#"{"front":7,"visible":["7"]}"#, r#"{"front":7,"visible":[1e99]}"#]
        {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[{}\\[\\]\",:0-9a-z-]{0,60}") {
            let _ = read(&text);
        }
    }
}
