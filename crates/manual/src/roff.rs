// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A page in man(7)'s macros.

use std::fmt::Write;

/// Columns of a source line.
const LINE_MAX: usize = 78;

/// A page that is being written.
pub struct Page(String);

/// A text as it is, in the middle of a line.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq")
}

impl Page {
    /// A page's head and its section NAME.
    pub fn new(name: &str, section: u8, title: &str) -> Self {
        // REUSE-IgnoreStart
        let mut page = Self(String::from(".\\\" SPDX-License-Identifier: GPL-2.0-only OR MIT\n"));
        // REUSE-IgnoreEnd
        page.0 += ".\\\" Made by `make man`; change what it is made of.\n";
        let _ = writeln!(
            page.0,
            ".TH {} {section} \"\" \"Fovea\" \"Fovea manual\"",
            name.to_uppercase().replace('-', "\\-")
        );
        page.section("NAME").line(&format!("{} \\- {}", escaped(name), escaped(title)));
        page
    }

    /// A section's heading.
    pub fn section(&mut self, heading: &str) -> &mut Self {
        let _ = writeln!(self.0, ".SH {heading}");
        self
    }

    /// A subsection's heading.
    pub fn subsection(&mut self, heading: &str) -> &mut Self {
        let _ = writeln!(self.0, ".SS {}", escaped(heading));
        self
    }

    /// A line of macros or of escaped text.
    pub fn line(&mut self, line: &str) -> &mut Self {
        self.0 += line;
        self.0.push('\n');
        self
    }

    /// Text: a line for each sentence; a new paragraph where it has an empty line.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for (at, paragraph) in text.split("\n\n").enumerate() {
            if at > 0 {
                self.line(".PP");
            }
            self.sentences(paragraph);
        }
        self
    }

    /// A term and what it means.
    pub fn item(&mut self, term: &str, meaning: &str) -> &mut Self {
        self.line(".TP").line(term);
        for (at, paragraph) in meaning.split("\n\n").enumerate() {
            if at > 0 {
                self.line(".IP");
            }
            self.sentences(paragraph);
        }
        self
    }

    fn sentences(&mut self, paragraph: &str) {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in words.replace(". ", ".\n").lines() {
            let mut line = String::new();
            for word in sentence.split(' ').map(escaped) {
                if !line.is_empty() && line.len() + 1 + word.len() > LINE_MAX {
                    self.line(&std::mem::take(&mut line));
                }
                // A line that begins so would be a macro.
                let guard = if line.is_empty() && word.starts_with(['.', '\'']) { "\\&" } else { "" };
                let before = if line.is_empty() { guard } else { " " };
                line += before;
                line += &word;
            }
            self.line(&line);
        }
    }

    /// The page.
    pub fn done(self) -> String {
        self.0
    }
}
