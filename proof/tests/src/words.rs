// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the host asks of a program in the phone: words `fovea.PROGRAM.KEY=VALUE` on the kernel's command line.

/// Of one program, in the order of the line; of two words for a key the last counts.
#[derive(Debug)]
pub struct Words(Vec<(String, String)>);

impl Words {
    pub fn of(program: &str, command_line: &str) -> Words {
        let prefix = format!("fovea.{program}.");
        let words = command_line.split_ascii_whitespace();
        let words = words.filter_map(|word| word.strip_prefix(prefix.as_str())?.split_once('='));
        Words(words.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().rfind(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The default also for what is no number.
    pub fn number(&self, key: &str, default: u64) -> u64 {
        self.text(key).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    pub fn flag(&self, key: &str, default: bool) -> bool {
        self.number(key, u64::from(default)) == 1
    }
}
