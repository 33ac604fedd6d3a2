// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a person notices of a scenario. The panels stand where the figures are defined; whoever draws hands them in.

/// How a question's figures are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Beside each other.
    Bars,
    /// As a line: what so many of a hundred stay within, as each figure's label says.
    Shares,
}

/// One question and the figures that answer it.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Whose results answer it.
    pub scenario: &'static str,
    /// The question.
    pub title: &'static str,
    /// How.
    pub form: Form,
    /// Figures of one unit, each with what a person calls it.
    pub figures: &'static [(&'static str, &'static str)],
}
