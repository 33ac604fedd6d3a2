// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Names that anybody may choose (of cgroups, programs, bus connections, files), made fit to be printed.

use std::borrow::Cow;

use crate::limits::LOG_LINE_MAX_BYTES;

/// A text in which nothing steers a terminal or a reader's eye: control characters, line breaks among them, and what
/// turns the direction of text stand as escapes. Every name of somebody else's is printed through this, and through
/// nothing else.
pub fn printable(text: &str) -> Cow<'_, str> {
    match text.chars().any(steers) {
        false => Cow::Borrowed(text),
        true => text
            .chars()
            .fold(String::with_capacity(text.len() + 16), |mut out, c| {
                match steers(c) {
                    true => out.extend(c.escape_default()),
                    false => out.push(c),
                }
                out
            })
            .into(),
    }
}

/// The same as a line of the log, of which others' names may be no more than a part: of a long one the middle is left out.
pub fn log_line(text: &str) -> Cow<'_, str> {
    let line = printable(text);
    if line.len() <= LOG_LINE_MAX_BYTES {
        return line;
    }
    let half = LOG_LINE_MAX_BYTES / 2 - "…".len();
    let is_start = |at: &usize| line.is_char_boundary(*at);
    let (first, last) = ((0..=half).rev().find(is_start), (line.len() - half..).find(is_start));
    format!("{}…{}", &line[..first.unwrap_or(0)], &line[last.unwrap_or(line.len())..]).into()
}

/// The same of a text of ours with names in it, whose line breaks and tabs are meant.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\t');
    match text.chars().any(|c| steers(c) && !is_layout(c)) {
        false => Cow::Borrowed(text),
        true => text
            .split_inclusive(is_layout)
            .fold(String::with_capacity(text.len() + 16), |mut out, part| {
                let (body, end) = match part.char_indices().next_back().filter(|(_, c)| is_layout(*c)) {
                    Some((at, _)) => part.split_at(at),
                    None => (part, ""),
                };
                out += &printable(body);
                out + end
            })
            .into(),
    }
}

/// The same of JSON, where such a character can only stand in a string, and as an escape of JSON's.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\t');
    if !text.chars().any(|c| steers(c) && !is_layout(c)) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| match steers(c) && !is_layout(c) {
        // None of them is beyond what four digits hold.
        true => format!("\\u{:04x}", c as u32),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect::<String>().into()
}

/// Control characters of both sets, line and paragraph separators, and the marks, embeddings, overrides and isolates of
/// the bidirectional algorithm (Unicode Standard Annex 9, section 2).
fn steers(c: char) -> bool {
    let code = c as u32;
    c.is_control() || matches!(code, 0x61c | 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_line_of_the_log_keeps_its_ends() {
        let name = "ä".repeat(4000);
        let line = log_line(&format!("fovea: reading {name}/cgroup.procs: File name too long")).into_owned();
        assert!(line.len() <= LOG_LINE_MAX_BYTES && line.len() > LOG_LINE_MAX_BYTES - 8, "{}", line.len());
        assert!(line.starts_with("fovea: reading ä") && line.ends_with("ä/cgroup.procs: File name too long"));
        assert_eq!(log_line("short\n"), "short\\n");
    }

    #[test]
    fn what_steers_a_terminal_stands_as_escapes_and_all_else_as_it_is() {
        assert_eq!(printable("app-\u{1b}[2Jx-1.scope"), "app-\\u{1b}[2Jx-1.scope");
        assert_eq!(printable("a\nb\r\u{9b}\u{202e}c"), "a\\nb\\r\\u{9b}\\u{202e}c");
        assert_eq!(printable_lines("a\tb\n\u{1b}c\n"), "a\tb\n\\u{1b}c\n");
        for plain in ["org.gnome.Maps", "\u{441}\u{43f}\u{43e}\u{43a}", "a\\x2db"] {
            assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        }
    }

    proptest! {
        #[test]
        fn nothing_that_steers_is_left(text in "\\PC{0,20}[\\x00-\\x1f\\x7f-\\x9f\u{202e}\n]{0,6}\\PC{0,20}") {
            let json = serde_json::to_string(&text).unwrap();
            let shown = printable_json(&json);
            prop_assert!(!shown.chars().any(steers));
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text.clone());
            prop_assert!(!printable(&text).chars().any(steers));
            prop_assert!(!printable_lines(&text).chars().any(|c| steers(c) && !matches!(c, '\n' | '\t')));
        }
    }
}
