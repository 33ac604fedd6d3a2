// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea phone merge`: one results document of a scenario that was run in parts.

use std::path::PathBuf;

use clap::Args;
use fovea_report::document::Document;
use fovea_report::text::render;
use fovea_scenario::kinds::papers;
use fovea_scenario::merge;

use crate::failure::Failure;
use crate::output::print;

/// `fovea phone merge`.
#[derive(Args)]
pub struct Merge {
    /// Results documents that `fovea phone run` wrote with --json.
    #[arg(value_name = "FILE", required = true)]
    parts: Vec<PathBuf>,
    /// Write the results document.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Merge {
    pub fn run(&self) -> Result<(), Failure> {
        let parts = self.parts.iter().map(|path| Document::read(path)).collect::<Result<Vec<_>, _>>()?;
        let document = merge(&parts)?;
        print(&render(&document, &papers()))?;
        if let Some(path) = &self.json {
            document.write(path)?;
        }
        super::verdict([&document].into_iter())
    }
}
