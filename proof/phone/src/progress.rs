// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Progress of long work: bars on a terminal, plain lines elsewhere, nothing if asked for.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Where progress is shown. Shared by runs side by side.
#[derive(Clone, Debug)]
pub struct Progress {
    mode: Mode,
}

#[derive(Clone, Debug)]
enum Mode {
    Bars(MultiProgress),
    Lines,
    Quiet,
}

/// One piece of work under way. Ends when dropped.
#[derive(Debug)]
pub struct Stage {
    mode: Mode,
    label: String,
    bar: ProgressBar,
}

impl Progress {
    /// Bars if standard error is a terminal, plain lines if not.
    pub fn auto() -> Progress {
        let mode = match std::io::stderr().is_terminal() {
            true => Mode::Bars(MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
            false => Mode::Lines,
        };
        Progress { mode }
    }

    /// Nothing is shown.
    pub fn quiet() -> Progress {
        Progress { mode: Mode::Quiet }
    }

    /// Begins a piece of work of `total` parts; 0 parts if that is not known.
    pub fn stage(&self, label: impl Into<String>, total: u64) -> Stage {
        let label = label.into();
        let bar = match &self.mode {
            Mode::Bars(bars) => {
                let bar = bars.add(if total == 0 { ProgressBar::new_spinner() } else { ProgressBar::new(total) });
                bar.set_style(style(total));
                bar.set_prefix(label.clone());
                bar.enable_steady_tick(Duration::from_millis(200));
                bar
            }
            Mode::Lines => {
                eprintln!("{label}");
                ProgressBar::hidden()
            }
            Mode::Quiet => ProgressBar::hidden(),
        };
        Stage { mode: self.mode.clone(), label, bar }
    }
}

fn style(total: u64) -> ProgressStyle {
    let template = match total {
        0 => "{spinner} {prefix} {msg} [{elapsed}]",
        _ => "{spinner} {prefix} [{bar:30}] {pos}/{len} {msg} [{elapsed}]",
    };
    // The templates are constant; a broken one would show the default bar.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

impl Stage {
    /// So many parts are done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Says what is being done now: shown beside the bar; not repeated as plain lines, which would be many.
    pub fn message(&self, message: impl Into<String>) {
        self.bar.set_message(message.into());
    }

    /// Ends the work with a word on how it went, which stays on the screen.
    pub fn finish(self, word: &str) {
        match &self.mode {
            Mode::Bars(bars) => {
                let _ = bars.println(format!("{}: {word}", self.label));
            }
            Mode::Lines => eprintln!("{}: {word}", self.label),
            Mode::Quiet => {}
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bar_templates_are_valid() {
        for total in [0, 1] {
            let bar = ProgressBar::hidden();
            bar.set_style(style(total));
            bar.set_prefix("x");
        }
        ProgressStyle::with_template("{spinner} {prefix} [{bar:30}] {pos}/{len} {msg} [{elapsed}]").unwrap();
    }
}
